/// A leaf while a transaction changes it: a small one as rows, a large one as its overlay.
///
/// Thread rule: only the transaction's thread.
package enum OpenLeaf {
  case rows(OpenCluster)
  case overlay(OpenOverlay)

  package var count: Int {
    switch self {
    case .rows(let cluster): cluster.count
    case .overlay(let overlay): overlay.count
    }
  }

  /// The approximate memory of its values.
  var memory: Int {
    switch self {
    case .rows(let cluster): cluster.bytes
    case .overlay(let overlay): overlay.memory
    }
  }

  /// The row of a key; nil when there is none.
  package func row(ofKey key: Int64) -> Int? {
    switch self {
    case .rows(let cluster): cluster.rows.row(ofKey: key)
    case .overlay(let overlay): overlay.row(ofKey: key)
    }
  }

  /// - Precondition: the row exists.
  package func key(_ row: Int) -> Int64 {
    switch self {
    case .rows(let cluster): cluster.rows.keys[row]
    case .overlay(let overlay): overlay.key(row)
    }
  }

  /// A field's bytes; nil for null.
  ///
  /// - Precondition: the row and the column exist.
  /// - Throws: `ClusterError` when the leaf is damaged.
  package func spelling(row: Int, column: Int) throws -> [UInt8]? {
    switch self {
    case .rows(let cluster): cluster.rows.spelling(row: row, column: column)
    case .overlay(let overlay): try overlay.spelling(row: row, column: column)
    }
  }

  /// Removes a row; returns false when no row has that key.
  func delete(_ key: Int64) -> Bool {
    switch self {
    case .rows(let cluster):
      guard let row = cluster.rows.row(ofKey: key) else { return false }
      cluster.rows.removeRows { $0 == row }
      return true
    case .overlay(let overlay): return overlay.delete(key)
    }
  }

  /// Replaces all fields of a row; returns false when no row has that key.
  ///
  /// - Parameters:
  ///   - base: the address that the spans' offsets are relative to.
  ///   - row: a span for each column.
  /// - Throws: `ClusterError.tooLarge`, without any change.
  func replace(
    _ key: Int64, base: UnsafeRawPointer, row spans: UnsafePointer<TextSpan>
  ) throws(ClusterError) -> Bool {
    switch self {
    case .rows(let cluster):
      guard let row = cluster.rows.row(ofKey: key) else { return false }
      try cluster.rows.replace(row, base: base, row: spans)
      return true
    case .overlay(let overlay): return try overlay.replace(key, base: base, row: spans)
    }
  }

  /// Changes some fields of a row; returns false when no row has that key.
  func update(_ key: Int64, _ changes: [(column: Int, value: Value)]) throws -> Bool {
    switch self {
    case .rows(let cluster):
      guard let row = cluster.rows.row(ofKey: key) else { return false }
      for change in changes {
        try cluster.rows.set(row: row, column: change.column, to: change.value)
      }
      return true
    case .overlay(let overlay): return try overlay.update(key, changes)
    }
  }
}
