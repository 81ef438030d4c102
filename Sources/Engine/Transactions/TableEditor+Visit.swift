import Base

/// Visits the objects of a table that changes meanwhile.
extension TableEditor {
  /// The changes since some rows were read ahead.
  final class Visit {
    private var keys: Set<Int64> = []
    private var isAll = false

    func changed(_ key: Int64) { keys.insert(key) }
    func changedAll() { isAll = true }

    func isChanged(_ key: Int64) -> Bool { isAll || keys.contains(key) }

    func readAhead() {
      keys.removeAll(keepingCapacity: true)
      isAll = false
    }
  }

  /// The number of rows read at a time.
  private static let ahead = 256

  /// Calls `body` with every object that exists at the beginning, in the order of keys, with the values that
  /// it has when it is visited. `body` may change, add and delete objects; objects that it has added or
  /// deleted are not visited.
  ///
  /// - Complexity: O(n), plus O(log n) for each object that `body` changes before its visit.
  package func forEachRow(_ body: (Row) throws -> Void) throws {
    let end = table.nextKey
    let visit = Visit()
    visits.append(visit)
    defer { visits.removeAll { $0 === visit } }
    var next = Int64.min
    while true {
      visit.readAhead()
      let rows = try use { try readAhead(from: next, below: end) }
      guard let last = rows.last else { return }
      for row in rows {
        if visit.isChanged(row.key) {
          if let fresh = try self.row(forKey: row.key) { try body(fresh) }
        } else {
          try body(row)
        }
      }
      next = last.key + 1
    }
  }

  /// Some of the objects with the lowest keys in a range; none when there are none.
  private func readAhead(from first: Int64, below end: Int64) throws -> [Row] {
    var (position, leaf) = try tree.place(ofKeysFrom: first)
    switch leaf {
    case nil: break
    case .open(let leaf, _):
      position += UInt64(partitionPoint(0..<leaf.count) { leaf.key($0) >= first })
    case .stored(let entry, _):
      let keys = try store.leaf(entry).keys()
      position += UInt64(partitionPoint(0..<Int(clamping: entry.count)) { keys.key($0) >= first })
    }
    var rows: [Row] = []
    var reader = ObjectReader(self)
    while rows.count < Self.ahead, try reader.go(toPosition: Int(clamping: position)),
      let key = reader.key, key < end, let row = try reader.row()
    {
      let least = rows.last.map { $0.key + 1 } ?? first
      // An object that is returned again would be returned forever.
      guard key >= least else {
        throw EngineError.damaged(
          path: path, where: "table '\(name)'",
          reason: "the object at position \(position) has key \(key), where none is below \(least)")
      }
      rows.append(row)
      position += 1
    }
    return rows
  }
}
