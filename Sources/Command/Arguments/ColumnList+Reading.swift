import Base
import Importer

/// Parses lists scalar by scalar: a combining mark after a comma belongs to the next name.
extension ColumnList {
  /// Names separated by commas; nil when one is empty or a quote is left open.
  @Sendable static func names(_ text: String) -> [String]? {
    var names: [String] = []
    var rest = text.unicodeScalars[...]
    while true {
      if rest.first == "\"" {
        guard let name = quoted(&rest), rest.isEmpty || rest.first == "," else { return nil }
        names.append(name)
      } else {
        names.append(unquoted(&rest))
      }
      if names.last?.isEmpty ?? true { return nil }
      guard rest.popFirst() != nil else { return names }
    }
  }

  /// The text that `names` reads as these names; a single name stays as it is.
  static func shown(_ names: [String]) -> String {
    if names.count == 1 { return names[0] }
    return names.map { name in
      guard name.isEmpty || name.utf8.contains(0x2C) || name.utf8.contains(0x22) else {
        return name
      }
      return "\""
        + name.split(separator: "\"", omittingEmptySubsequences: false)
        .joined(separator: "\"\"") + "\""
    }.joined(separator: ",")
  }

  /// The entries between commas. An entry in double quotes may hold commas, and two quotes for one.
  static func entries(_ text: String) -> [String]? {
    var entries: [String] = []
    var rest = text.unicodeScalars[...]
    while true {
      var entry = ""
      if rest.first == "\"" {
        guard let content = quoted(&rest) else { return nil }
        // `"Last, first":text`: the quotes enclose the name only, in which nothing is escaped.
        entry = rest.first == ":" ? escaped(content) : content
      }
      entry += unquoted(&rest)
      if entry.isEmpty { return nil }
      entries.append(entry)
      guard rest.popFirst() != nil else { return entries }
    }
  }

  /// The parts between colons; `\:` is a colon, `\\` a backslash. Nil when a part is empty.
  static func parts(_ entry: String) -> [String]? {
    var parts: [String] = []
    var rest = entry[...]
    while let (part, after) = name(String(rest), until: [":"]) {
      guard !part.isEmpty else { return nil }
      parts.append(part)
      guard after.begins(withSign: ":") else { return parts }
      rest = Substring(after.unicodeScalars.dropFirst())
    }
    return nil
  }

  /// The text before the first of the given signs, and the rest; nil when it ends with a backslash. A sign
  /// after a backslash is part of the text.
  static func name(_ text: String, until ends: [Unicode.Scalar]) -> (String, Substring)? {
    var name = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let scalar = rest.first, !ends.contains(scalar) {
      rest.removeFirst()
      guard scalar == "\\" else {
        name.append(scalar)
        continue
      }
      guard let next = rest.popFirst() else { return nil }
      // A backslash before any other character stands for itself.
      if next != ":", next != "\\", next != "%" { name.append("\\") }
      name.append(next)
    }
    return (String(name), Substring(rest))
  }

  /// The content of the quotes that the text begins with; nil when they are left open.
  private static func quoted(_ rest: inout Substring.UnicodeScalarView) -> String? {
    rest.removeFirst()
    var content = String.UnicodeScalarView()
    while let end = rest.firstIndex(of: "\"") {
      content.append(contentsOf: rest[..<end])
      rest = rest[rest.index(after: end)...]
      guard rest.first == "\"" else { return String(content) }
      content.append("\"")
      rest.removeFirst()
    }
    return nil
  }

  private static func unquoted(_ rest: inout Substring.UnicodeScalarView) -> String {
    let text = rest.prefix { $0 != "," }
    rest = rest[text.endIndex...]
    return String(text)
  }
}
