import Engine

/// A table in two versions of a file.
struct TablePair {
  /// Its name in the later version.
  let name: String
  /// Nil for a table that was created.
  let old: Table?
  /// Nil for a table that was deleted.
  let new: Table?

  /// True when it has the name in either version; true without a name.
  func isNamed(_ wanted: String?) -> Bool {
    wanted.map { $0 == name || $0 == old?.name } ?? true
  }

  /// The tables that differ.
  static func differing(_ old: Snapshot, _ new: Snapshot) throws -> [TablePair] {
    let changes = try new.changes(since: old)
    var pairs = try changes.deleted.map { TablePair(name: $0, old: try old.table($0), new: nil) }
    pairs += try changes.created.map { TablePair(name: $0, old: nil, new: try new.table($0)) }
    pairs += try changes.changed.map { name in
      let table = try new.table(name)
      return TablePair(name: name, old: try old.table(number: table.number), new: table)
    }
    return pairs
  }
}
