import Engine

/// Why a record is malformed.
package enum MalformedReason: Sendable, Equatable, CustomStringConvertible {
  case tooFewFields(expected: Int, found: Int)
  case tooManyFields(expected: Int, found: Int)
  case textAfterClosingQuote
  case unterminatedQuote
  case invalidUTF8
  /// Like `invalidUTF8`, in an input with another encoding.
  case invalidText(TextEncoding)
  /// All of its fields equal the names of the columns.
  case repeatedHeader
  /// It begins like a comment, which was found rather than given, and has as many fields as a record.
  case possibleComment(String)

  package var description: String {
    switch self {
    case .tooFewFields(let expected, let found):
      "too few fields: \(found) where \(expected) are expected"
    case .tooManyFields(let expected, let found):
      "too many fields: \(found) where \(expected) are expected"
    case .textAfterClosingQuote: "text after a closing quote; --quotes lenient keeps it"
    case .unterminatedQuote: "a quote is opened and never closed"
    case .invalidUTF8: "bytes that are not valid UTF-8"
    case .invalidText(let encoding): "bytes that are not valid \(encoding.displayName)"
    case .repeatedHeader: "the header again, or a record of nothing but the columns' names"
    case .possibleComment(let prefix):
      "it may be a comment or a record: say --comment '\(prefix)' or --comment none"
    }
  }
}

extension MalformedReason {
  /// Advice that depends on the record's bytes.
  ///
  /// - Parameter likelyEncoding: the likely encoding of an input that is not UTF-8.
  func advice(_ record: [UInt8], likelyEncoding: String?) -> String {
    if self == .textAfterClosingQuote || self == .unterminatedQuote,
      Self.hasEscapedQuote(record)
    {
      return "; where \\ is before a quote that belongs to the field, use --escape '\\'"
    }
    guard self == .invalidUTF8 else { return "" }
    return "; name the encoding of the input with --encoding"
      + (likelyEncoding.map { ", which is likely \($0)" } ?? "")
  }

  /// The encoding of a record after a beginning that is UTF-8: Windows-1252 when its bytes beyond ASCII are
  /// single accented letters, as in Western languages. Trying more encodings would take too long for many
  /// records.
  static func likelyEncoding(_ record: [UInt8]) -> String? {
    var previous: UInt8 = 0
    var isForeign = false
    for byte in record {
      if byte >= 0x80 {
        if previous >= 0x80 || Transcoder.undefined.contains(byte) { return nil }
        isForeign = true
      }
      previous = byte
    }
    return isForeign ? TextEncoding.windows1252.rawValue : nil
  }

  /// Whether a quote follows a backslash.
  private static func hasEscapedQuote(_ bytes: [UInt8]) -> Bool {
    zip(bytes, bytes.dropFirst()).contains { $0 == 0x5C && ($1 == 0x22 || $1 == 0x27) }
  }
}

/// A malformed record, and where its error is.
///
/// The position is that of the record for too few fields, of the first surplus field for too many, of the
/// first text after the closing quote, of the opening quote, or of the first byte of the ill-formed sequence.
/// Of several errors, quotes are reported before encoding, and encoding before the number of fields.
package struct MalformedRecord: Sendable, Equatable {
  /// The index among the records of its chunk, including malformed ones.
  package let record: Int
  package let reason: MalformedReason
  /// From the start of the input.
  package let byteOffset: Int
  /// 1-based.
  package let line: Int
  /// 1-based, in bytes.
  package let column: Int
}

/// A field of a long record, kept under `ImportOptions.Ragged.extend`.
package struct SurplusField: Sendable, Equatable {
  private let rowNumber: UInt32
  private let fieldNumber: UInt32
  package let span: TextSpan

  // Half the size of two Int: there may be millions of them in a chunk.
  init(row: Int, index: Int, span: TextSpan) {
    rowNumber = UInt32(truncatingIfNeeded: row)
    fieldNumber = UInt32(truncatingIfNeeded: index)
    self.span = span
  }

  package var row: Int { Int(rowNumber) }
  /// 0 for the first field beyond the columns.
  package var index: Int { Int(fieldNumber) }
}
