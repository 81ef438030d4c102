/// How an input separates and quotes its fields. `docs/csv.md` has the rules.
///
/// Record ends are always `\n`, `\r\n` and `\r`.
package struct Dialect: Sendable, Equatable {
  /// The maximum bytes of a delimiter, and of a comment's beginning.
  package static let maximumPatternBytes = 4
  /// The name of the delimiter for runs of blanks, which is longer than any other delimiter.
  package static let whitespace = Array(ImportOptions.whitespace.utf8)

  /// One to four bytes; a space where runs of blanks separate fields.
  package let delimiter: ShortPattern
  /// True when a run of spaces and tabs is one delimiter, and none at the beginning and end of a line.
  package let isWhitespace: Bool
  /// Nil: quotes are ordinary characters.
  package let quote: UInt8?
  /// Makes a following quote, delimiter, record end or escape literal. If it equals the quote, quotes inside
  /// quotes are doubled. Nil: a quoted field cannot contain a quote.
  package let escape: UInt8?
  /// The beginning of lines that are not records.
  package let comment: ShortPattern?
  /// Set when the comment was found rather than given: a comment line with as many fields as a record may be
  /// a record, so it is malformed and not skipped.
  package var possibleRecordFields: Int?
  /// True when text after a closing quote belongs to the field; otherwise the record is malformed.
  package var keepsTextBehindQuotes = false
  /// Bit 0: a space is a blank; bit 1: a tab is a blank.
  private let blanks: UInt8

  /// Comma and double quote, as in RFC 4180.
  package static let rfc4180 = Dialect()

  private init() {
    delimiter = ShortPattern(0x2C)
    isWhitespace = false
    quote = 0x22
    escape = 0x22
    comment = nil
    blanks = 3
  }

  /// - Parameters:
  ///   - delimiter: one to four bytes of UTF-8, or `whitespace`.
  ///   - escape: `.some(nil)` for none; by default equal to the quote.
  ///   - comment: one to four bytes; nil or empty for none.
  /// - Throws: `ImportError.invalidDialect` when two of them, or one and a record end, cannot be
  ///   distinguished.
  package init(
    delimiter: [UInt8] = [0x2C], quote: UInt8? = 0x22, escape: UInt8?? = nil,
    comment: [UInt8]? = nil
  ) throws(ImportError) {
    let comment = comment.flatMap { $0.isEmpty ? nil : $0 }
    let ownEscape = escape ?? quote
    let isWhitespace = delimiter == Self.whitespace
    let delimiter = isWhitespace ? [0x20, 0x09] : delimiter
    guard let pattern = ShortPattern(delimiter), pattern.count <= Self.maximumPatternBytes else {
      throw .invalidDialect(
        reason: "the delimiter has \(delimiter.count) bytes, not 1 to \(Self.maximumPatternBytes)")
    }
    guard comment.map({ $0.count <= Self.maximumPatternBytes }) ?? true else {
      throw .invalidDialect(
        reason: "the comment is longer than \(Self.maximumPatternBytes) bytes")
    }
    try Self.check(delimiter, "delimiter")
    if let quote { try Self.check([quote], "quote") }
    if let ownEscape { try Self.check([ownEscape], "escape") }
    if let comment { try Self.check(comment, "comment") }
    try Self.tellApart(delimiter, isWhitespace, quote, ownEscape, comment)
    self.delimiter = isWhitespace ? ShortPattern(0x20) : pattern
    self.isWhitespace = isWhitespace
    self.quote = quote
    self.escape = ownEscape
    self.comment = comment.flatMap(ShortPattern.init)
    let taken = delimiter + [quote, ownEscape].compactMap { $0 }
    blanks = (taken.contains(0x20) ? 0 : 1) | (taken.contains(0x09) ? 0 : 2)
  }

  private static func check(_ bytes: [UInt8], _ role: String) throws(ImportError) {
    if bytes.contains(0x0A) || bytes.contains(0x0D) {
      throw .invalidDialect(reason: "the \(role) holds a record end")
    }
    let isText = bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return false }
      return UTF8Validation.firstInvalid(base, from: 0, count: buffer.count) == buffer.count
    }
    if !isText {
      // One byte of a longer character would split characters.
      throw .invalidDialect(reason: "the \(role) is not a character")
    }
  }

  private static func tellApart(
    _ delimiter: [UInt8], _ isWhitespace: Bool, _ quote: UInt8?, _ escape: UInt8?,
    _ comment: [UInt8]?
  ) throws(ImportError) {
    if let quote, delimiter.contains(quote) {
      throw .invalidDialect(
        reason: delimiter.count == 1
          ? "the delimiter and the quote are the same" : "the delimiter holds the quote")
    }
    if let escape, escape != quote, delimiter.contains(escape) {
      throw .invalidDialect(reason: "the delimiter holds the escape")
    }
    guard let comment, let first = comment.first else { return }
    let beginsDelimiter = first == delimiter.first || (isWhitespace && delimiter.contains(first))
    if first == quote || first == escape || beginsDelimiter {
      let other = first == quote ? "quote" : first == escape ? "escape" : "delimiter"
      throw .invalidDialect(reason: "the comment begins as the \(other) does")
    }
  }

  /// True when masks can parse blocks of 64 bytes.
  var isPlain: Bool { delimiter.count == 1 && escape == quote && comment == nil }

  /// The delimiter's name in options and reports.
  package var delimiterName: String {
    isWhitespace ? ImportOptions.whitespace : delimiter.text
  }

  /// The number of fields in the beginning of a comment.
  var commentFields: Int {
    guard isWhitespace, let comment else { return 1 }
    return comment.bytes.split { isSeparatingBlank($0) }.count
  }

  /// Whether a byte is a blank that separates fields.
  @inline(__always)
  func isSeparatingBlank(_ byte: UInt8) -> Bool {
    isWhitespace && (byte == 0x20 || byte == 0x09)
  }

  /// Whether a delimiter, or a blank that separates fields, is at `position` of `count` readable bytes.
  @inline(__always)
  func matchDelimiter(
    _ bytes: UnsafeRawPointer, at position: Int, count: Int
  ) -> ShortPattern.Match {
    if isWhitespace, position < count,
      bytes.load(fromByteOffset: position, as: UInt8.self) == 0x09
    {
      return .yes
    }
    return delimiter.match(bytes, at: position, count: count)
  }

  /// The escape, unless it equals the quote.
  var ownEscape: UInt8? { escape == quote ? nil : escape }

  /// True when two quotes inside quotes represent one. They do whenever a quote can be escaped, also by
  /// another escape, since otherwise they could only be an error.
  var doublesQuotes: Bool { quote != nil && escape != nil }

  /// Returns whether a byte may surround a quoted field without belonging to it.
  @inline(__always)
  func isBlank(_ byte: UInt8) -> Bool {
    (byte == 0x20 && blanks & 1 != 0) || (byte == 0x09 && blanks & 2 != 0)
  }
}
