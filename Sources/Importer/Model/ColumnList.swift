import Base

/// Lists of column names as options take them, some with something behind a colon.
package enum ColumnList {
  /// Names separated by commas.
  package static func written(_ names: [String]) -> String {
    names.map(entry).joined(separator: ",")
  }

  /// Pairs of a name and what a colon separates from it.
  package static func written(_ pairs: [(String, String)]) -> String {
    pairs.map { entry(escaped($0) + ":" + escaped($1)) }.joined(separator: ",")
  }

  /// A name in which a colon is no separator.
  package static func escaped(_ name: String) -> String {
    name.replacing(sign: "\\", with: "\\\\").replacing(sign: ":", with: "\\:")
  }

  /// An entry with a comma stands in double quotes, and a quote in it is doubled.
  private static func entry(_ text: String) -> String {
    guard text.contains(sign: ",") || text.begins(withSign: "\"") else { return text }
    return "\"" + text.replacing(sign: "\"", with: "\"\"") + "\""
  }
}
