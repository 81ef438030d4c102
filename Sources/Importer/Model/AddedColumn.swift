/// A column that the input lacks and every record gets, such as the record's origin.
///
/// Thread rule: a plain value, `Sendable`.
public struct AddedColumn: Sendable, Equatable {
  /// The name of the column in the table.
  public let name: String
  /// The template as given.
  public let template: String
  let parts: [Part]

  /// A part of the template: fixed text, or a placeholder.
  enum Part: Sendable, Equatable {
    case text(String)
    case path, name, now, line, record
  }

  /// The names of placeholders, without their braces.
  package static let placeholders = ["path", "name", "now", "line", "record"]

  /// - Parameters:
  ///   - name: the name of the column in the table.
  ///   - template: the value. `{path}` stands for the input's path as given, `{name}` for the last part of
  ///     the path, `{now}` for the moment when the import began (UTC), `{line}` and `{record}` for the number
  ///     of the record's first line and of the record, from 1, `{{` and `}}` for braces. An empty value is
  ///     null.
  /// - Throws: `ImportError.invalidOption` for anything else in braces, a single brace, and an empty name.
  public init(_ name: String, _ template: String) throws(ImportError) {
    self.name = name
    self.template = template
    guard !name.isEmpty else { throw .invalidOption("a column that is added needs a name") }
    var parts: [Part] = []
    var text = ""
    var rest = template.unicodeScalars[...]
    func invalid(_ what: String) -> ImportError {
      .invalidOption(
        "in '\(template)', \(what): known are "
          + Self.placeholders.map { "{\($0)}" }.joined(separator: ", ")
          + ", and {{ and }} for braces")
    }
    while let character = rest.popFirst() {
      guard character == "{" || character == "}" else {
        text.unicodeScalars.append(character)
        continue
      }
      if rest.first == character {
        text.unicodeScalars.append(character)
        rest.removeFirst()
        continue
      }
      guard character == "{", let end = rest.firstIndex(of: "}") else {
        throw invalid("there is a single '\(character)'")
      }
      let word = String(rest[..<end])
      rest = rest[rest.index(after: end)...]
      if !text.isEmpty { parts.append(.text(text)) }
      text = ""
      switch word {
      case "path": parts.append(.path)
      case "name": parts.append(.name)
      case "now": parts.append(.now)
      case "line": parts.append(.line)
      case "record": parts.append(.record)
      default: throw invalid("'{\(word)}' stands for nothing")
      }
    }
    if !text.isEmpty { parts.append(.text(text)) }
    self.parts = parts
  }
}
