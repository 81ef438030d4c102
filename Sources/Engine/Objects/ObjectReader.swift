/// Reads single objects in a transaction, as spellings. Made for ascending keys: a leaf is opened once
/// for all that follow each other in it, a column of it when it is first asked for, and where the
/// objects lie close together, their values are decoded many at a time.
///
/// Thread rule: used by the transaction's thread only, and not across changes.
package struct ObjectReader {
  /// A column of the leaf, and some of its rows decoded.
  private struct OpenColumn {
    var column: LeafColumn?
    var decoded: DecodedColumn?
    var rows = 0..<0
  }

  private let editor: TableEditor
  private var entry: NodeEntry?
  private var leaf: Leaf?
  private var keys: LeafKeys?
  private var columns: [OpenColumn]
  private var open: OpenLeaf?
  private var row = -1
  /// How many objects in turn lay close to the one before.
  private var neighbours = 0

  /// Objects less than so many rows apart are close; after so many of them, so many rows are decoded.
  /// One by one, a value costs about four times what it does decoded with others.
  private static let (closeRows, fewNeighbours, window) = (5, 16, 256)

  package init(_ editor: TableEditor) {
    self.editor = editor
    columns = Array(repeating: OpenColumn(), count: editor.schema.columns.count)
  }

  /// Goes to an object; false when there is none with that key.
  ///
  /// - Throws: `EngineError.damaged`, `.transactionEnded`.
  package mutating func go(to key: Int64) throws -> Bool {
    open = nil
    switch try editor.use({ try editor.tree.place(ofKey: key) }) {
    case nil: return go(toRow: nil)
    case .open(let leaf, _):
      open = leaf
      return go(toRow: leaf.row(ofKey: key))
    case .stored(let entry, _):
      if entry != self.entry {
        self.entry = nil
        (leaf, keys) = try editor.use {
          let leaf = try editor.store.leaf(entry)
          return (leaf, try leaf.keys())
        }
        for index in columns.indices {
          columns[index].column = nil
          columns[index].rows = 0..<0
        }
        self.entry = entry
        row = -1
      }
      return go(toRow: keys?.row(ofKey: key))
    }
  }

  private mutating func go(toRow next: Int?) -> Bool {
    guard let next else {
      row = -1
      return false
    }
    neighbours = next > row && next - row < Self.closeRows ? neighbours + 1 : 0
    row = next
    return true
  }

  /// Calls `body` with the bytes of one of the object's values; with nil when it is null, or there is
  /// no object to read.
  ///
  /// - Parameter column: its position in the schema.
  package mutating func withSpelling<Result>(
    _ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    guard row >= 0, columns.indices.contains(column) else { return try body(nil) }
    if let open {
      let stored = try editor.use { try open.spelling(row: row, column: column) }
      guard let spelling = stored else { return try body(nil) }
      return try spelling.withUnsafeBytes { try body($0) }
    }
    if columns[column].rows.contains(row), let decoded = columns[column].decoded {
      return try body(decoded[row - columns[column].rows.lowerBound])
    }
    if columns[column].column == nil {
      let id = editor.schema.columnIDs[column]
      columns[column].column = try editor.use { try leaf?.column(id: id) }
    }
    guard let opened = columns[column].column else { return try body(nil) }
    if neighbours < Self.fewNeighbours { return try opened.withSpelling(row, body) }
    let decoded = columns[column].decoded ?? DecodedColumn()
    let rows = row..<min(row + Self.window, opened.rowCount)
    opened.decode(rows: rows, into: decoded)
    columns[column].decoded = decoded
    columns[column].rows = rows
    return try body(decoded[0])
  }
}
