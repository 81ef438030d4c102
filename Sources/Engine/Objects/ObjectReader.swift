/// Reads single objects in a transaction, as spellings. Made for ascending keys: a leaf is opened once
/// for all that follow each other in it, and a column of it when it is first asked for.
///
/// Thread rule: used by the transaction's thread only, and not across changes.
package struct ObjectReader {
  private let editor: TableEditor
  private var entry: NodeEntry?
  private var leaf: Leaf?
  private var keys: LeafKeys?
  private var columns: [LeafColumn?]
  private var open: OpenCluster?
  private var row: Int?

  package init(_ editor: TableEditor) {
    self.editor = editor
    columns = Array(repeating: nil, count: editor.schema.columns.count)
  }

  /// Goes to an object; false when there is none with that key.
  ///
  /// - Throws: `EngineError.damaged`, `.transactionEnded`.
  package mutating func go(to key: Int64) throws -> Bool {
    open = nil
    row = nil
    switch try editor.use({ try editor.tree.place(ofKey: key) }) {
    case nil: return false
    case .open(let cluster, _):
      open = cluster
      row = cluster.rows.row(ofKey: key)
    case .stored(let entry, _):
      if entry != self.entry {
        (leaf, keys) = try editor.use {
          let leaf = try editor.store.leaf(entry)
          return (leaf, try leaf.keys())
        }
        for index in columns.indices { columns[index] = nil }
        self.entry = entry
      }
      row = keys?.row(ofKey: key)
    }
    return row != nil
  }

  /// Calls `body` with the bytes of one of the object's values; with nil when it is null.
  ///
  /// - Parameter column: its position in the schema.
  package mutating func withSpelling<Result>(
    _ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    guard let row, columns.indices.contains(column) else { return try body(nil) }
    if let open {
      guard let spelling = open.rows.spelling(row: row, column: column) else {
        return try body(nil)
      }
      return try spelling.withUnsafeBytes { try body($0) }
    }
    if let opened = columns[column] { return try opened.withSpelling(row, body) }
    let id = editor.schema.columnIDs[column]
    guard let opened = try editor.use({ try leaf?.column(id: id) }) else { return try body(nil) }
    columns[column] = opened
    return try opened.withSpelling(row, body)
  }
}
