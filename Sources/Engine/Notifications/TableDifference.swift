/// The changes of a table between two versions, object by object.
///
/// Both versions' trees are walked in parallel, and shared parts are skipped, whole subtrees at once: a block
/// never changes in place, so equal references mean equal contents. Versions in different files, as before
/// and after a compaction, share nothing and are compared by their values.
///
/// Fields are compared by their spellings: `4.1` and `4.10` differ, and a new type or name alone does not
/// change a column. A column that only one of the versions has is null in the other.
///
/// **Memory.** The differences, and the columns of a few leaves.
///
/// Thread rule: a plain value, `Sendable`.
package struct TableDifference: Sendable {
  /// An object that is in only one of the versions.
  package struct Lone: Sendable, Equatable {
    package let key: Int64
    /// Its position in the order of keys, in its version.
    package let position: Int
  }

  /// An object that is in both versions with different fields.
  package struct Modification: Sendable, Equatable {
    package let key: Int64
    package let oldPosition: Int
    package let newPosition: Int
    /// The columns that differ, as an index into `columnSets`.
    package let columnSet: Int
  }

  /// The amount of comparison.
  package struct Cost: Sendable, Equatable {
    package internal(set) var nodesRead = 0
    package internal(set) var leavesOpened = 0
  }

  /// In the order of keys, like the two lists below.
  package private(set) var deleted: [Lone] = []
  package private(set) var inserted: [Lone] = []
  package private(set) var modified: [Modification] = []
  /// The distinct sets of identifiers of changed columns, each ascending.
  package private(set) var columnSets: [[UInt32]] = []
  package internal(set) var cost = Cost()
  private var numbers: [[UInt32]: Int] = [:]

  init() {}

  /// Compares two versions of a table.
  ///
  /// - Parameters:
  ///   - old: an earlier version, or a later one: insertions are then reported as deletions.
  ///   - new: the same table, with the same number.
  /// - Complexity: O(changed nodes + rows of changed leaves), where only the changed rows of a leaf with an
  ///   overlay count; O(rows) when the versions share nothing. After a column was removed, every leaf is
  ///   opened.
  /// - Throws: `EngineError.invalidArgument` for two different tables, `.damaged`.
  package init(from old: Table, to new: Table) throws {
    var comparison = try TableComparison(old, new)
    self = try comparison.run { _ in false }
  }

  /// Compares two versions of a table; nil when more than `most` objects have changed.
  package init?(from old: Table, to new: Table, most: Int) throws {
    var comparison = try TableComparison(old, new)
    self = try comparison.run { $0.count > most }
    if count > most { return nil }
  }

  private var count: Int { deleted.count + inserted.count + modified.count }

  /// Returns whether two versions of a table have the same objects with the same fields.
  ///
  /// - Complexity: that of `init`, but ends at the first leaf that differs.
  /// - Throws: the errors of `init`.
  package static func areEqual(_ old: Table, _ new: Table) throws -> Bool {
    var comparison = try TableComparison(old, new)
    return try comparison.run { !$0.isEmpty }.isEmpty
  }

  package var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && modified.isEmpty }

  // MARK: Filling

  private func check(_ key: Int64, behind last: Int64?) throws(ClusterError) {
    if let last, key <= last { throw .damagedKeys("they do not ascend at key \(key)") }
  }

  mutating func delete(_ key: Int64, at position: Int) throws(ClusterError) {
    try check(key, behind: deleted.last?.key)
    deleted.append(Lone(key: key, position: position))
  }

  mutating func insert(_ key: Int64, at position: Int) throws(ClusterError) {
    try check(key, behind: inserted.last?.key)
    inserted.append(Lone(key: key, position: position))
  }

  mutating func modify(
    _ key: Int64, from oldPosition: Int, to newPosition: Int, columns: [UInt32]
  ) throws(ClusterError) {
    try check(key, behind: modified.last?.key)
    let number = numbers[columns] ?? columnSets.count
    if number == columnSets.count {
      columnSets.append(columns)
      numbers[columns] = number
    }
    modified.append(
      Modification(
        key: key, oldPosition: oldPosition, newPosition: newPosition, columnSet: number))
  }
}

/// Differences up to the newest version, shared by observers of one table.
///
/// Thread rule: confined.
package final class DifferenceCache {
  private struct Pair: Hashable {
    let table: UInt32
    let old: UInt64
  }

  private var newest: UInt64 = 0
  private var known: [Pair: TableDifference] = [:]

  package init() {}

  /// The changes of a table between two versions.
  ///
  /// - Parameters:
  ///   - old: a version of the same database.
  ///   - new: the version to which all observers move; another version than before empties the cache.
  /// - Complexity: that of `TableDifference.init`, once for each pair of versions.
  /// - Throws: the errors of `TableDifference.init`.
  package func difference(from old: Table, to new: Table) throws -> TableDifference {
    if new.version != newest {
      known = [:]
      newest = new.version
    }
    let pair = Pair(table: new.number, old: old.version)
    if let difference = known[pair] { return difference }
    let difference = try TableDifference(from: old, to: new)
    known[pair] = difference
    return difference
  }
}
