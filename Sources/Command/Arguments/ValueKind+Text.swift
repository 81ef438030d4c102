import Engine
import Importer

// Kinds of values that are words: paths, names, characters, choices.

extension ValueKind where Value == String {
  /// A file; any text but an empty one.
  static var path: ValueKind {
    ValueKind(placeholder: "FILE", allowed: "the path of a file", completion: .files) {
      $0.isEmpty ? nil : $0
    }
  }

  /// A name; any text but an empty one.
  static var name: ValueKind {
    ValueKind(placeholder: "NAME", allowed: "a name") { $0.isEmpty ? nil : $0 }
  }

  /// Any text, an empty one included.
  static var text: ValueKind {
    ValueKind(placeholder: "TEXT", allowed: "a text") { $0 }
  }
}

extension ValueKind where Value == [String] {
  /// Names separated by commas; a name that holds a comma stands in double quotes.
  static var nameList: ValueKind {
    ValueKind(
      placeholder: "NAME,...", allowed: "names separated by commas", parse: ColumnList.names)
  }
}

extension ValueKind where Value == [SortOrder] {
  /// Names separated by commas, each optionally followed by `:asc` or `:desc`.
  static var sortOrders: ValueKind {
    ValueKind(
      placeholder: "NAME[:desc],...",
      allowed: "names separated by commas, each with :desc behind it if it is to descend"
    ) { text in
      ColumnList.names(text)?.map { name in
        if name.hasSuffix(":desc") { return .descending(String(name.dropLast(5))) }
        return .ascending(name.hasSuffix(":asc") ? String(name.dropLast(4)) : name)
      }
    }
  }
}

// MARK: Characters of a dialect

extension ValueKind where Value == String {
  /// One to four bytes, or `whitespace`. Line ends are refused: they end records.
  static var delimiter: ValueKind {
    let whitespace = ImportOptions.whitespace
    return ValueKind(
      placeholder: "TEXT|\(whitespace)",
      allowed: "one to four bytes of text, \\t for a tab, \\xHH, or \"\(whitespace)\"",
      completion: .words([whitespace])
    ) { $0 == whitespace ? whitespace : shortText($0) }
  }

  /// One to four bytes, or `none`, which becomes an empty text.
  static var comment: ValueKind {
    ValueKind(
      placeholder: "TEXT|none", allowed: "one to four bytes of text, or \"none\""
    ) { $0 == "none" ? "" : shortText($0) }
  }
}

extension ValueKind where Value == UInt8? {
  /// One ASCII character, `\t`, or `none`.
  static var characterOrNone: ValueKind {
    ValueKind(
      placeholder: "CHAR|none", allowed: "one ASCII character, \\t for a tab, or \"none\"",
      completion: .words(["none"])
    ) { text in
      if text == "none" { return .some(nil) }
      return asciiByte(text).map { .some($0) }
    }
  }
}

@Sendable private func asciiByte(_ text: String) -> UInt8? {
  guard let plain = shortText(text), plain.utf8.count == 1 else { return nil }
  return plain.utf8.first
}

/// The text with its `\t`, `\xHH` (00 to 7F) and `\u{H}`, as messages show such characters, replaced, if it
/// then has one to four bytes without a line end.
@Sendable private func shortText(_ text: String) -> String? {
  var bytes: [UInt8] = []
  var rest = Array(text.utf8)[...]
  while let byte = rest.popFirst() {
    if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "t") {
      rest.removeFirst()
      bytes.append(0x09)
    } else if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"), rest.count >= 3 {
      let digits = rest.dropFirst().prefix(2)
      guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16), value < 0x80
      else { return nil }
      rest = rest.dropFirst(3)
      bytes.append(value)
    } else if byte == UInt8(ascii: "\\"), rest.starts(with: "u{".utf8),
      let end = rest.firstIndex(of: UInt8(ascii: "}"))
    {
      let digits = rest[..<end].dropFirst(2)
      guard (1...6).contains(digits.count),
        digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
        let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
        let scalar = Unicode.Scalar(value)
      else { return nil }
      rest = rest[(end + 1)...]
      bytes += Array(String(Character(scalar)).utf8)
    } else {
      bytes.append(byte)
    }
  }
  guard (1...4).contains(bytes.count), !bytes.contains(0x0A), !bytes.contains(0x0D) else {
    return nil
  }
  return String(decoding: bytes, as: UTF8.self)
}

// MARK: Choices

extension ValueKind
where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
  /// One of the words of an enumeration.
  static var choice: ValueKind {
    let words = Value.allCases.map(\.rawValue)
    return ValueKind(
      placeholder: words.joined(separator: "|"),
      allowed: words.dropLast().joined(separator: ", ") + " or " + (words.last ?? ""),
      completion: .words(words),
      parse: { Value(rawValue: $0) })
  }
}

// MARK: What only an import asks for

/// The source of the columns' names.
enum HeaderChoice: Sendable, Equatable {
  case firstRecord
  case absent
  case names([String])
}

extension ValueKind where Value == HeaderChoice {
  static var header: ValueKind {
    ValueKind(
      placeholder: "yes|no|NAME,...", allowed: "yes, no, or names separated by commas",
      completion: .words(["yes", "no"])
    ) { text in
      switch text.lowercased() {
      case "yes": .firstRecord
      case "no": .absent
      default: ColumnList.names(text).map { .names($0) }
      }
    }
  }
}

/// The types that can be given by name: a CSV field cannot be raw bytes.
private let namedTypes = ColumnType.allCases.filter { $0 != .data }

/// A column and the type it must have.
struct NamedType: Sendable, Equatable {
  let column: String
  let type: ColumnType
}

/// How the types of the columns are found.
enum TypesChoice: Sendable, Equatable {
  case infer
  case text
  /// The named columns are strict; the others are inferred.
  case named([NamedType])
}

extension ValueKind where Value == TypesChoice {
  static var types: ValueKind {
    ValueKind(
      placeholder: "infer|text|NAME:TYPE,...",
      allowed: "infer, text, or a list of NAME:TYPE with the types "
        + namedTypes.map(\.name).joined(separator: ", "),
      completion: .words(["infer", "text"])
    ) { text in
      if text == "infer" { return .infer }
      if text == "text" { return .text }
      guard let list = ColumnList.entries(text) else { return nil }
      var types: [NamedType] = []
      for entry in list {
        // Only the last colon separates, so that others need no backslash.
        guard let parts = ColumnList.parts(entry), parts.count > 1,
          let type = parts.last.flatMap(ColumnType.init(name:)), namedTypes.contains(type)
        else { return nil }
        types.append(NamedType(column: parts.dropLast().joined(separator: ":"), type: type))
      }
      return .named(types)
    }
  }
}

extension ValueKind where Value == TextEncoding {
  /// The name of an encoding.
  static var encoding: ValueKind {
    ValueKind(
      placeholder: "NAME", allowed: "the name of an encoding",
      completion: .words(TextEncoding.usualNames),
      refusal: { text in
        do throws(ImportError) {
          _ = try TextEncoding(named: text)
          return nil
        } catch {
          // A known name is taken as that name.
          return TextEncoding.isKnown(text)
            ? "\(error)" : "\(error)" + Suggestion.phrase(for: text, among: TextEncoding.usualNames)
        }
      },
      parse: { TextEncoding(rawValue: $0) })
  }
}
