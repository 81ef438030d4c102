import Base

/// Lists of column names in the form of options; some entries have a second part after a colon.
package enum ColumnList {
  /// Names, separated by commas.
  package static func written(_ names: [String]) -> String {
    names.map(entry).joined(separator: ",")
  }

  /// Pairs of a name and a second part, separated by a colon.
  package static func written(_ pairs: [(String, String)]) -> String {
    pairs.map { entry(escaped($0) + ":" + escaped($1)) }.joined(separator: ",")
  }

  /// The option that gives a column a type, quoted for a shell.
  static func types(_ name: String, _ type: String) -> String {
    "--types " + ShellWord.inQuotes(written([(name, type)]))
  }

  /// A name whose colons are not separators.
  package static func escaped(_ name: String) -> String {
    name.replacing(sign: "\\", with: "\\\\").replacing(sign: ":", with: "\\:")
  }

  /// An entry of a list. With a comma it is in double quotes, and a quote in it is doubled.
  private static func entry(_ text: String) -> String {
    guard text.contains(sign: ",") || text.begins(withSign: "\"") else { return text }
    return "\"" + text.replacing(sign: "\"", with: "\"\"") + "\""
  }
}
