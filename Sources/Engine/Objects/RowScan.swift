/// Reads all rows of leaves, column by column, some at a time.
///
/// Thread rule: confined.
final class RowScan {
  private let shape: RowShape
  private let windows: [ColumnWindow]
  private let references: UnsafeMutablePointer<Unmanaged<ColumnWindow>>

  /// So many rows of all columns stay in the processor's caches.
  private static let windowRows = 2048

  /// - Parameter copies: values are asked for, and not bytes in place.
  init(_ shape: RowShape, copies: Bool) {
    self.shape = shape
    windows = shape.columns.map { ColumnWindow($0.type, makesValues: copies) }
    references = .allocate(capacity: max(windows.count, 1))
    for (index, window) in windows.enumerated() {
      (references + index).initialize(to: .passUnretained(window))
    }
  }

  deinit { references.deallocate() }

  /// Calls `body` with every row, in place.
  func forEachView(_ leaf: Leaf, _ body: (RowView) throws -> Void) throws {
    try forEachWindow(leaf) { rows, keys in
      for row in rows {
        try body(
          RowView(
            references, count: windows.count, row: row - rows.lowerBound, key: keys.key(row)))
      }
    }
  }

  /// Calls `body` with every row, copied.
  func forEachRow(_ leaf: Leaf, _ body: (Row) throws -> Void) throws {
    let count = windows.count
    try forEachWindow(leaf) { rows, keys in
      for row in rows {
        let place = row - rows.lowerBound
        let values = try [Value](unsafeUninitializedCapacity: count) { target, made in
          while made < count {
            let value = try references[made]._withUnsafeGuaranteedRef { try $0.value(place) }
            target.baseAddress?.advanced(by: made).initialize(to: value)
            made += 1
          }
        }
        try body(Row(key: keys.key(row), values: values, shape: shape))
      }
    }
  }

  /// Decodes rows of all columns and calls `body` with them.
  private func forEachWindow(
    _ leaf: Leaf, _ body: (Range<Int>, LeafKeys) throws -> Void
  ) throws {
    let keys = try leaf.keys()
    let columns = try shape.schema.columnIDs.map { try leaf.column(id: $0) }
    for (column, window) in zip(columns, windows) { try column.open(window) }
    var start = 0
    while start < leaf.rowCount {
      let rows = start..<min(start + Self.windowRows, leaf.rowCount)
      for (column, window) in zip(columns, windows) {
        try column.decode(rows: rows, into: window)
        guard window.count == rows.count else {
          throw ClusterError.damagedHeader("a column has fewer rows than its leaf")
        }
      }
      try body(rows, keys)
      start = rows.upperBound
    }
  }
}
