/// Applies a filter to single objects, without reading the table's others.
///
/// Thread rule: one thread at a time, while the table's version is held.
package final class RowMatcher {
  private let table: Table
  private let filter: CompiledPredicate
  private let scan = LeafScan()
  /// Memory that is reused from value to value.
  private var room: [UInt8] = []

  /// When at least one row in this many is asked about, all rows of a leaf are tested column by column.
  private static let sparse = 8

  /// - Parameter other: another version of the table, whose columns the filter may name too; see
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

  /// Which of some objects match.
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
    return try rows.map { try matches($0, of: leaf, filter, &columns) }
  }

  /// The recursion is as deep as the predicate; compiling it has limited its depth.
  private func matches(
    _ row: Int, of leaf: Leaf, _ predicate: CompiledPredicate,
    _ columns: inout [UInt32: LeafColumn]
  ) throws -> Bool {
    switch predicate {
    case .constant(let isTrue): return isTrue
    case .all(let parts):
      for part in parts where try !matches(row, of: leaf, part, &columns) { return false }
      return true
    case .any(let parts):
      for part in parts where try matches(row, of: leaf, part, &columns) { return true }
      return false
    case .test(let test):
      let column = try columns[test.columnID] ?? leaf.column(id: test.columnID)
      columns[test.columnID] = column
      return try column.withSpelling(row) { spelling in
        guard let spelling else {
          if case .isNull = test.question { return !test.isNegated }
          return false
        }
        guard let answer = test.matches(spelling, room: &room) else {
          throw ClusterError.misfit(column: test.columnID, row: row, type: test.type)
        }
        return answer
      }
    }
  }
}

extension Predicate {
  /// The names of the columns that the predicate uses.
  package var columnNames: Set<String> {
    // Without recursion: a predicate built in code may be nested too deeply for the stack.
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
