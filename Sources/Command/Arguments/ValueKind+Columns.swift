import Engine
import Importer

// Kinds of values that name columns of an input, and say what is in them.

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
  /// A format, or a column and its format. A format has a `%` before its first colon, so that a name is
  /// told from it; `\:` is a colon in a name, `\%` a percent sign.
  static var dateFormat: ValueKind {
    ValueKind(
      placeholder: "[NAME:]FORMAT",
      allowed: "a format such as %d/%m/%Y, with a column's name and a colon before it if it is for "
        + "that column only"
    ) { text in
      guard let (name, rest) = ColumnList.name(text, until: ["%", ":"]) else { return nil }
      guard rest.first == ":" else { return text.isEmpty ? nil : .init(text) }
      let format = String(rest.dropFirst())
      return name.isEmpty || format.isEmpty ? nil : .init(format, column: name)
    }
  }
}

extension ValueKind where Value == AddedColumn {
  /// A name, `=` and what the values are.
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
    guard let mark = text.firstIndex(of: "="), mark > text.startIndex else { return nil }
    return (String(text[..<mark]), String(text[text.index(after: mark)...]))
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

/// Lists of column names with something behind a colon.
enum ColumnList {
  /// Pairs as `entries` and `parts` read them.
  static func written(_ pairs: [(String, String)]) -> String {
    pairs.map { name, value in
      let pair = escaped(name) + ":" + escaped(value)
      guard pair.contains(",") || pair.hasPrefix("\"") else { return pair }
      return "\"" + pair.replacing("\"", with: "\"\"") + "\""
    }.joined(separator: ",")
  }

  /// A name as `parts` reads it.
  static func escaped(_ name: String) -> String {
    name.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
  }

  /// What commas separate. An entry in double quotes may hold commas, and two quotes for one.
  static func entries(_ text: String) -> [String]? {
    var entries: [String] = []
    var rest = text[...]
    while true {
      var entry = ""
      if rest.first == "\"" {
        rest.removeFirst()
        var isOpen = true
        while isOpen {
          guard let end = rest.firstIndex(of: "\"") else { return nil }
          entry += rest[..<end]
          rest = rest[rest.index(after: end)...]
          isOpen = rest.first == "\""
          if isOpen {
            entry += "\""
            rest.removeFirst()
          }
        }
        // `"Last, first":text`: the quotes were around the name only, which is as it stands.
        if rest.first == ":" {
          entry = entry.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
        }
      }
      let tail = rest.prefix { $0 != "," }
      entry += tail
      rest = rest.dropFirst(tail.count)
      if entry.isEmpty { return nil }
      entries.append(entry)
      guard rest.first == "," else { return rest.isEmpty ? entries : nil }
      rest.removeFirst()
    }
  }

  /// What colons separate; `\:` is a colon, `\\` a backslash. Nil when a part is empty.
  static func parts(_ entry: String) -> [String]? {
    var parts: [String] = []
    var rest = entry[...]
    while let (part, after) = name(String(rest), until: [":"]) {
      guard !part.isEmpty else { return nil }
      parts.append(part)
      guard after.first == ":" else { return parts }
      rest = after.dropFirst()
    }
    return nil
  }

  /// What stands before the first of some characters, and the rest; nil when it ends with a backslash. A
  /// backslash makes a character mean itself.
  static func name(_ text: String, until ends: [Character]) -> (String, Substring)? {
    var name = ""
    var rest = text[...]
    while let character = rest.first, !ends.contains(character) {
      rest.removeFirst()
      guard character == "\\" else {
        name.append(character)
        continue
      }
      guard let next = rest.popFirst() else { return nil }
      // Before anything else a backslash is one.
      if next != ":", next != "\\", next != "%" { name.append("\\") }
      name.append(next)
    }
    return (name, rest)
  }
}
