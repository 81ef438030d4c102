import Base
import Engine
import Importer

// Kinds of values that name columns of an input and describe their contents.

/// A column and its name in the table.
struct RenamedColumn: Sendable, Equatable {
  let old: String
  let new: String
}

extension ValueKind where Value == [RenamedColumn] {
  /// Pairs separated by commas; see `ColumnList`.
  static var renames: ValueKind {
    ValueKind(
      placeholder: "OLD:NEW,...",
      allowed: "pairs of an old and a new name, such as Rating:stars, separated by commas"
    ) { text in
      ColumnList.entries(text)?.reduce([]) { (list: [RenamedColumn]?, entry) in
        guard let parts = ColumnList.parts(entry), parts.count == 2 else { return nil }
        return list.map { $0 + [RenamedColumn(old: parts[0], new: parts[1])] }
      }
    }
  }
}

extension ValueKind where Value == ImportOptions.DateFormat {
  /// A format, or a column and its format. A format has a `%` before its first colon; a name has none. `\:`
  /// is a colon in a name, `\%` a percent sign.
  static var dateFormat: ValueKind {
    ValueKind(
      placeholder: "[NAME:]FORMAT",
      allowed: "a format such as %d/%m/%Y, with a column's name and a colon before it if it is for "
        + "that column only"
    ) { text in
      guard let (name, rest) = ColumnList.name(text, until: ["%", ":"]) else { return nil }
      guard rest.begins(withSign: ":") else { return text.isEmpty ? nil : .init(text) }
      let format = String(rest.unicodeScalars.dropFirst())
      return name.isEmpty || format.isEmpty ? nil : .init(format, column: name)
    }
  }
}

extension ValueKind where Value == AddedColumn {
  /// A name, `=` and the values' description.
  static var addedColumn: ValueKind {
    ValueKind(
      placeholder: "NAME=VALUE",
      allowed: "a column's name, = and its value, such as region=eu or source={name}",
      refusal: { text in
        guard let (name, value) = addedColumnParts(text) else { return nil }
        do {
          _ = try AddedColumn(name, value)
          return nil
        } catch {
          return "\(error)"
        }
      },
      parse: { text in addedColumnParts(text).flatMap { try? AddedColumn($0, $1) } })
  }

  private static func addedColumnParts(_ text: String) -> (String, String)? {
    let scalars = text.unicodeScalars
    guard let mark = scalars.firstIndex(of: "="), mark > text.startIndex else { return nil }
    return (String(scalars[..<mark]), String(scalars[scalars.index(after: mark)...]))
  }
}

/// A column and a value for it.
struct ColumnValue: Sendable, Equatable {
  let column: String
  let text: String

  /// This value, split at the first `=` behind one of the given names; unchanged when there is none.
  func naming(oneOf columns: Set<String>) -> ColumnValue {
    let whole = Array("\(column)=\(text)".unicodeScalars)
    func part(_ range: Range<Int>) -> String {
      var scalars = String.UnicodeScalarView()
      scalars.append(contentsOf: whole[range])
      return String(scalars)
    }
    for mark in whole.indices where whole[mark] == "=" && columns.contains(part(0..<mark)) {
      return ColumnValue(column: part(0..<mark), text: part(mark + 1..<whole.count))
    }
    return self
  }
}

extension ValueKind where Value == ColumnValue {
  /// A name, `=` and a value, taken literally. The name ends at the first `=`: see `ColumnValue.naming`.
  static var columnValue: ValueKind {
    ValueKind(
      placeholder: "NAME=VALUE", allowed: "a column's name, = and a value, such as region=eu"
    ) { text in
      let scalars = text.unicodeScalars
      guard let mark = scalars.firstIndex(of: "="), mark > text.startIndex else { return nil }
      return ColumnValue(
        column: String(scalars[..<mark]), text: String(scalars[scalars.index(after: mark)...]))
    }
  }
}

extension ValueKind where Value == UInt8? {
  /// A separator of thousands.
  static var thousands: ValueKind {
    let words: [String: UInt8] = ["comma": 0x2C, "point": 0x2E, "space": 0x20]
    return ValueKind(
      placeholder: "CHAR|none", allowed: "one of , . ' _ or comma, point, space, none"
    ) { text in
      if text == "none" { return .some(nil) }
      if let byte = words[text] { return byte }
      guard text.utf8.count == 1, let byte = text.utf8.first, ",.'_ ".utf8.contains(byte) else {
        return nil
      }
      return byte
    }
  }
}
