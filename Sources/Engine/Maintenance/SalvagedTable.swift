/// Objects of a damaged table that cannot be read, described by the references to them.
package struct LostPart: Sendable, Equatable {
  /// All of its objects have keys in this range, and no others do.
  package let keys: ClosedRange<Int64>
  package let objects: UInt64
  /// The block that cannot be read.
  package let offset: UInt64
  package let reason: String
}

/// The readable part of a damaged table: every object of a sound leaf below sound nodes.
///
/// Each leaf is verified before any of its rows is returned: its keys, and every value of the requested
/// columns. So all returned values are those that were stored. A leaf that fails is omitted completely, and
/// so is everything below a damaged node. Indexes are not used.
///
/// Thread rule: one thread at a time, while the version is held.
package final class SalvagedTable: LeafSource {
  private let table: Table
  private let columns: [(name: String, id: UInt32, reading: Reading)]
  private let lost: (LostPart) -> Void

  /// - Parameters:
  ///   - query: the query to run; columns that it does not use may be damaged.
  ///   - lost: called with each omitted part, in the order of keys.
  /// - Throws: `EngineError.noSuchColumn`.
  fileprivate init(_ table: Table, for query: Query, lost: @escaping (LostPart) -> Void) throws {
    self.table = table
    self.lost = lost
    let schema = table.schema
    var needed = Set(try query.columns.map(table.indices) ?? Array(schema.columns.indices))
    needed.formUnion(try table.indices(of: query.sort.map(\.column)))
    needed.formUnion(try table.indices(of: query.distinctColumns ?? []))
    // The query itself reports the name of a missing column.
    if let filter = query.filter { needed.formUnion(filter.columns.compactMap(schema.index)) }
    columns = needed.sorted().map {
      (schema.columns[$0].name, schema.columnIDs[$0], schema.columns[$0].reading)
    }
  }

  package var name: String { table.name }
  package var schema: TableSchema { table.schema }
  package var path: String { table.path }
  package var objectCount: Int { table.count }
  package var changeCount: Int { 0 }
  package func checkUnchanged(since changes: Int) {}
  package func valueIndexReader(ofColumn id: UInt32) -> (code: ValueCode, entries: IndexReader)? {
    nil
  }
  package func keyIndexReader() -> (code: KeyCode, entries: IndexReader)? { nil }
  package func leaf(holding key: Int64) throws -> Leaf? { try table.leaf(holding: key) }
  package func leafCount() throws -> Int { try table.leafCount() }

  /// Calls `body` with each sound leaf, until it returns false.
  ///
  /// - Complexity: O(bytes of the requested columns).
  package func walkLeaves(_ body: (Leaf) throws -> Bool) throws {
    let tree = table.tree
    var parts = TreeParts(tree)
    // Limits the work for a damaged tree, whose nodes may refer to the same ones repeatedly.
    var budget = tree.end
    while let part = parts.part {
      let entry = part.entry
      // All keys below an entry are lower than the next entry's first key.
      let end = part.end ?? table.nextKey
      let (rest, overflow) = budget.subtractingReportingOverflow(UInt64(entry.reference.length))
      budget = overflow ? 0 : rest
      do {
        if overflow {
          throw Unreadable(entry.reference, "the tree refers to more bytes than the file has")
        }
        if part.level > 0 {
          try parts.descend()
          continue
        }
        let leaf = try Leaf(entry, tree.blocks, end: tree.end)
        try verify(leaf, end: end)
        // An error of `body` is not a problem of the leaf.
        do {
          guard try translatingErrors(path, { try body(leaf) }) else { return }
        } catch {
          throw Passed(error: error)
        }
      } catch let passed as Passed {
        throw passed.error
      } catch {
        let problem = Unreadable(error, entry.reference)
        lost(
          LostPart(
            keys: entry.firstKey...max(entry.firstKey, end - 1), objects: entry.count,
            offset: problem.offset, reason: problem.reason))
      }
      parts.skip()
    }
  }

  private struct Passed: Error { let error: any Error }

  private struct Unreadable: Error {
    let offset: UInt64
    let reason: String

    init(_ reference: BlockReference, _ reason: String) {
      offset = reference.offset
      self.reason = reason
    }

    init(_ error: any Error, _ reference: BlockReference) {
      switch error {
      case let error as Unreadable: self = error
      case let error as BlockError:
        offset = error.offset
        reason = error.what
      default:
        offset = reference.offset
        reason = "\(error)"
      }
    }
  }

  /// - Throws: `Unreadable`, or the error of reading.
  private func verify(_ leaf: Leaf, end: Int64) throws {
    let base = leaf.overlay?.base ?? leaf.entry
    do {
      try leaf.cluster.validateKeys()
    } catch {
      throw Unreadable(base.reference, "\(error)")
    }
    let (_, overflow) = base.firstKey.addingReportingOverflow(
      try leaf.cluster.keys().offset(leaf.cluster.rowCount - 1))
    let keys = try leaf.keys()
    guard !overflow, keys.key(0) == leaf.entry.firstKey, keys.key(leaf.rowCount - 1) < end else {
      throw Unreadable(base.reference, "its keys are not those that the tree says")
    }
    for column in columns {
      do {
        try leaf.cluster.validate(id: column.id)
        try leaf.overlay?.validate(id: column.id)
        let values = try leaf.column(id: column.id)
        if column.reading.type == .data { continue }
        if let stored = values.unchanged {
          try stored.validate(as: column.reading)
        } else {
          for row in 0..<leaf.rowCount { _ = try values.value(row, as: column.reading) }
        }
      } catch {
        throw Unreadable(base.reference, "column '\(column.name)': \(error)")
      }
    }
  }
}

extension Snapshot {
  /// A table for reading the sound part of a damaged one.
  ///
  /// - Parameter lost: called with each part that cannot be read.
  /// - Returns: nil when the table's schema cannot be read, and so nothing of the table; `lost` is then
  ///   called too.
  /// - Throws: `EngineError.noSuchTable`, `.noSuchColumn`.
  package func salvage(
    _ name: String, for query: Query, lost: @escaping (LostPart) -> Void
  ) throws -> SalvagedTable? {
    guard var entry = catalogue.table(named: name) else {
      throw EngineError.noSuchTable(name: name, known: tableNames)
    }
    // A damaged index costs no object: indexes are not used.
    entry.index = []
    entry.valueIndexes = []
    let table: Table
    do {
      table = try Table(snapshot: self, entry: entry)
    } catch {
      let first = entry.root.level == 0 ? 1 : entry.root.entry.firstKey
      lost(
        LostPart(
          keys: first...max(first, entry.nextKey - 1), objects: entry.root.count,
          offset: entry.schema.offset,
          reason: "the table's schema cannot be read: \((error as? BlockError)?.what ?? "\(error)")"
        ))
      return nil
    }
    return try SalvagedTable(table, for: query, lost: lost)
  }
}

extension Predicate {
  /// The names of the columns that the predicate uses.
  fileprivate var columns: Set<String> {
    var columns: Set<String> = []
    var pending = [self]
    while let part = pending.popLast() {
      switch part {
      case .test(let test): columns.insert(test.column)
      case .not(let part): pending.append(part)
      case .all(let parts), .any(let parts): pending += parts
      }
    }
    return columns
  }
}
