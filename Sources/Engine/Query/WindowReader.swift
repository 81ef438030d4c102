/// Reads the columns of chosen rows of leaves, some rows at a time.
///
/// Thread rule: confined.
package final class WindowReader {
  private let columnIDs: [UInt32]
  private let decoded: [DecodedColumn]
  private let windowRows: Int
  /// The leaf whose columns are open. Kept, since what they point to is valid as long as it exists.
  private var opened: Leaf?
  private var columns: [LeafColumn] = []
  /// Whether a first part was decoded of the open columns.
  private var isContinued = false
  /// The numbers of the rows of a window of which all rows are chosen.
  private var allRows: [Int32] = []

  /// When fewer than one row in this many is chosen, a leaf is read in small pieces, and pieces without a
  /// chosen row are skipped.
  private static let sparse = 32
  private static let pieceRows = 512
  /// The number of fields in a window: their spans and text fit into a processor's second-level cache.
  private static let windowFields = 1 << 15

  package init(columnIDs: [UInt32]) {
    self.columnIDs = columnIDs
    decoded = columnIDs.map { _ in DecodedColumn() }
    let rows = Self.windowFields / max(columnIDs.count, 1)
    // Whole blocks, at whose beginnings numbers and codes can be read.
    windowRows = max(Self.pieceRows, rows & ~(Self.pieceRows - 1))
  }

  var columnCount: Int { columnIDs.count }

  /// Calls `body` with windows of the chosen rows, in their order.
  ///
  /// - Parameters:
  ///   - range: the rows of the leaf that are read; nil: all.
  ///   - body: also receives the row to which the window's `rows` are relative.
  /// - Complexity: O(rows), and O(entries of dictionaries) once for calls that follow each other with the
  ///   same leaf of a file.
  package func read(
    _ leaf: Leaf, _ chosen: RowBits, in range: Range<Int>? = nil, withKeys: Bool,
    _ body: (ResultWindow, _ firstRow: Int) throws -> Void
  ) throws {
    let range = range?.clamped(to: 0..<leaf.rowCount) ?? 0..<leaf.rowCount
    guard let first = chosen.next(from: range.lowerBound), first < range.upperBound,
      let last = chosen.last
    else { return }
    let bound = min(last + 1, range.upperBound)
    let keys = withKeys ? try leaf.keys() : nil
    try open(leaf)
    let isFull = chosen.isFull
    let isDense = isFull || chosen.population * Self.sparse >= last - first
    let size = isDense ? windowRows : Self.pieceRows
    var next: Int? = first
    while let start = next, start < bound {
      // Later windows begin where blocks do.
      let end = min((start / size + 1) * size, bound)
      let rows = isFull ? all(end - start) : Self.rows(chosen, start..<end)
      for (column, decoded) in zip(columns, decoded) {
        column.decode(
          rows: start..<end, into: decoded,
          part: isDense ? isContinued ? .next : .first : .only)
      }
      isContinued = isDense
      let window = ResultWindow(
        rows: rows, keys: keys.map { keys in rows.map { keys.key(Int($0) + start) } } ?? [],
        columns: try decoded.map { column in
          guard column.count == end - start, let spans = column.spans.baseAddress else {
            throw ClusterError.damagedHeader("a column has fewer rows than its leaf")
          }
          return (column.base, UnsafePointer(spans))
        }, decoded: decoded)
      try body(window, start)
      next = chosen.next(from: end)
    }
  }

  private func open(_ leaf: Leaf) throws {
    if let place = leaf.place, place == opened?.place { return }
    opened = nil
    isContinued = false
    columns = try columnIDs.map { try leaf.column(id: $0) }
    opened = leaf
  }

  private func all(_ count: Int) -> [Int32] {
    if allRows.count != count { allRows = (0..<count).map { Int32(truncatingIfNeeded: $0) } }
    return allRows
  }

  /// The chosen rows of a range, counted from its beginning.
  private static func rows(_ chosen: RowBits, _ range: Range<Int>) -> [Int32] {
    var rows: [Int32] = []
    var row = chosen.next(from: range.lowerBound)
    while let found = row, found < range.upperBound {
      rows.append(Int32(truncatingIfNeeded: found - range.lowerBound))
      row = chosen.next(from: found + 1)
    }
    return rows
  }
}
