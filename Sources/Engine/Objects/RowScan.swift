/// Reads all rows of leaves, column by column, some rows at a time.
///
/// Thread rule: confined.
final class RowScan {
  private let shape: RowShape
  private let columnIDs: [UInt32]
  private let windows: [ColumnWindow]
  private let references: UnsafeMutablePointer<Unmanaged<ColumnWindow>>
  /// Memory for the values of some rows; empty between calls.
  private let room: UnsafeMutablePointer<Value>

  /// This many rows of all columns fit into the processor's caches.
  private static let windowRows = 2048

  /// - Parameters:
  ///   - shape: the columns of the rows.
  ///   - columnIDs: the identifiers of the columns in the leaves; nil for those of the shape.
  ///   - copies: whether to copy values instead of giving bytes in place.
  init(_ shape: RowShape, columnIDs: [UInt32]? = nil, copies: Bool) {
    self.shape = shape
    self.columnIDs = columnIDs ?? shape.schema.columnIDs
    windows = shape.columns.map { ColumnWindow($0.reading, makesValues: copies) }
    references = .allocate(capacity: max(windows.count, 1))
    room = .allocate(capacity: max(windows.count, 1) * Self.copiedRows)
    for (index, window) in windows.enumerated() {
      (references + index).initialize(to: .passUnretained(window))
    }
  }

  deinit {
    references.deallocate()
    room.deallocate()
  }

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
    try forEachWindow(leaf) { rows, keys in
      for start in stride(from: 0, to: rows.count, by: Self.copiedRows) {
        let copied = start..<min(start + Self.copiedRows, rows.count)
        try withValues(copied) { values in
          try forEachRow(copied, values) { place, row in
            try body(Row(key: keys.key(rows.lowerBound + place), values: row, shape: shape))
          }
        }
      }
    }
  }

  /// The number of rows whose values are made at a time, column by column.
  private static let copiedRows = 128

  /// Calls `body` with the values of decoded rows, row after row.
  private func withValues(
    _ rows: Range<Int>, _ body: (UnsafeMutablePointer<Value>) throws -> Void
  ) throws {
    let count = windows.count
    var failure: ClusterError?
    for column in 0..<count {
      do throws(ClusterError) {
        try windows[column].initialize(room + column, stride: count, rows: rows)
      } catch { failure = error }
    }
    defer { room.deinitialize(count: rows.count * count) }
    if let failure { throw failure }
    try body(room)
  }

  /// Calls `body` with each row's values as an array, which is the same one unless `body` has kept it.
  private func forEachRow(
    _ rows: Range<Int>, _ values: UnsafeMutablePointer<Value>,
    _ body: (Int, [Value]) throws -> Void
  ) throws {
    let count = windows.count
    var array = [Value](repeating: .null, count: count)
    var isKept = false
    for index in 0..<rows.count {
      let source = UnsafeMutableBufferPointer(start: values + index * count, count: count)
      if isKept {
        try body(rows.lowerBound + index, Array(source))
        continue
      }
      let before = array.withUnsafeBufferPointer { $0.baseAddress }
      array.withUnsafeMutableBufferPointer { target in
        isKept = target.baseAddress.map { UnsafePointer($0) } != before
        // The old values take the place of the new ones and are released with them.
        for column in 0..<count { swap(&target[column], &source[column]) }
      }
      try body(rows.lowerBound + index, array)
    }
  }

  /// Decodes rows of all columns and calls `body` with them.
  private func forEachWindow(
    _ leaf: Leaf, _ body: (Range<Int>, LeafKeys) throws -> Void
  ) throws {
    let keys = try leaf.keys()
    let columns = try columnIDs.map { try leaf.column(id: $0) }
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
