/// Applies a filter to single objects, without reading the other objects of the table.
///
/// Thread rule: one thread at a time, while the table's version is held.
package final class RowMatcher {
  private let table: Table
  private let filter: CompiledPredicate
  private let scan = LeafScan()

  /// When at least one row in this many is requested, all rows of a leaf are tested column by column.
  private static let sparse = 8

  /// - Parameter other: another version of the table, whose columns the filter may also name; see
  ///   `CompiledPredicate.init(_:of:besides:)`.
  /// - Throws: `QueryError` when the filter does not fit the table's columns.
  package init(_ filter: Predicate, _ table: Table, besides other: Table? = nil) throws {
    self.table = table
    self.filter =
      try other.map {
        try CompiledPredicate(
          filter, of: table.schema, besides: $0.schema, isNewer: table.version >= $0.version)
      } ?? CompiledPredicate(filter, table.schema)
  }

  /// Returns for each of some objects whether it matches.
  ///
  /// - Parameter keys: of objects of the table, ascending; a key without an object does not match.
  /// - Complexity: O(k log n) for k keys; each leaf is opened once.
  /// - Throws: `EngineError.damaged`.
  package func matches(_ keys: [Int64]) throws -> [Bool] {
    try translatingErrors(table.tree.blocks.storage.path) {
      var answers: [Bool] = []
      answers.reserveCapacity(keys.count)
      while answers.count < keys.count {
        guard let place = try table.tree.location(ofKey: keys[answers.count]) else {
          answers.append(false)
          continue
        }
        let leaf = try Leaf(place.entry, table.tree.blocks, end: table.tree.end)
        let leafKeys = try leaf.keys()
        var rows: [Int] = []
        while answers.count + rows.count < keys.count,
          let row = leafKeys.row(ofKey: keys[answers.count + rows.count])
        {
          rows.append(row)
        }
        if rows.isEmpty { answers.append(false) }
        answers += try matches(rows, of: leaf)
      }
      return answers
    }
  }

  private func matches(_ rows: [Int], of leaf: Leaf) throws -> [Bool] {
    if rows.count * Self.sparse >= leaf.rowCount {
      let found = try scan.rows(leaf, filter)
      return rows.map { found[$0] }
    }
    var columns: [UInt32: LeafColumn] = [:]
    return try rows.map { try scan.matches(filter, leaf, $0, &columns) }
  }
}

extension Predicate {
  /// The names of the columns that the predicate uses.
  package var columnNames: Set<String> {
    // Without recursion: a predicate built in code may be too deep for the stack.
    var names: Set<String> = []
    var left = [self]
    while let predicate = left.popLast() {
      switch predicate {
      case .test(let test): names.insert(test.column)
      case .not(let part): left.append(part)
      case .all(let parts), .any(let parts): left += parts
      }
    }
    return names
  }
}
