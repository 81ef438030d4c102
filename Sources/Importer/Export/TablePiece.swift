import Engine

/// Some rows of a table, of one or several leaves, that one thread writes.
///
/// Thread rule: passed from the thread that walks the table to the one that writes the rows.
struct TablePiece: @unchecked Sendable {
  // @unchecked: leaves are only read, overlays were prepared for it, and their version is held until all are
  // written.
  fileprivate struct Part {
    let leaf: Leaf
    let chosen: RowBits
    let range: Range<Int>
  }

  fileprivate let path: String
  fileprivate var parts: [Part] = []
  /// The number of chosen rows.
  fileprivate(set) var rowCount = 0

  /// Calls `body` with windows of the rows, in order.
  ///
  /// - Throws: `EngineError.damaged`, and what `body` throws.
  func read(_ reader: WindowReader, _ body: (ResultWindow) throws -> Void) throws {
    try translatingErrors(path) {
      for part in parts {
        try reader.read(part.leaf, part.chosen, in: part.range, withKeys: false) { window, _ in
          try body(window)
        }
      }
    }
  }
}

/// Cuts a table into pieces: small leaves become one, large ones several.
///
/// A piece is large enough for the cost of handing it over, and small enough for its output to stay in a
/// processor's cache, and for several threads to share a table of one leaf.
struct TablePieces {
  private let rowLimit: Int
  private var piece: TablePiece
  private var fill = 0.0

  /// The number of fields, and of stored bytes, in a piece.
  private static let fields = 1 << 16
  private static let bytes = 1 << 20
  /// Ranges begin at multiples of this number, where numbers and codes can be read.
  private static let blockRows = 512

  init(path: String, columns: Int) {
    rowLimit = Self.fields / max(columns, 1)
    piece = TablePiece(path: path)
  }

  /// Adds the chosen rows of the next leaf.
  ///
  /// - Parameter put: takes a piece; returns false to end.
  /// - Returns: false when `put` did.
  mutating func add(
    _ leaf: Leaf, _ chosen: RowBits, _ put: (TablePiece) -> Bool
  ) -> Bool {
    leaf.overlay?.prepareForThreads()
    // Of a leaf that is longer than a piece; stored bytes count as if all rows had as many.
    let byBytes = Self.bytes * max(leaf.rowCount, 1) / max(leaf.cluster.byteCount, 1)
    let rows = max(min(rowLimit, byBytes), 1)
    let step = max(rows / Self.blockRows, 1) * Self.blockRows
    for start in stride(from: 0, to: leaf.rowCount, by: step) {
      let range = start..<min(start + step, leaf.rowCount)
      let count = chosen.population(range)
      if count == 0 { continue }
      piece.parts.append(TablePiece.Part(leaf: leaf, chosen: chosen, range: range))
      piece.rowCount += count
      fill += Double(range.count) / Double(rows)
      guard fill >= 1 else { continue }
      if let full = end(), !put(full) { return false }
    }
    return true
  }

  /// The rows that are in no piece yet.
  mutating func end() -> TablePiece? {
    if piece.parts.isEmpty { return nil }
    defer {
      piece = TablePiece(path: piece.path)
      fill = 0
    }
    return piece
  }
}
