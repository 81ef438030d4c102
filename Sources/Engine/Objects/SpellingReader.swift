/// Reads one column of single objects in a transaction. Made for ascending keys: a leaf is opened once
/// for all that follow each other in it.
///
/// Thread rule: used by the transaction's thread only, and not across changes.
struct SpellingReader {
  private let editor: TableEditor
  private let column: Int
  private var entry: NodeEntry?
  private var keys: LeafKeys?
  private var values: LeafColumn?

  init(_ editor: TableEditor, _ column: Int) {
    self.editor = editor
    self.column = column
  }

  /// Calls `body` with the bytes of an object's value; with nil when it is null or there is no object of
  /// that key.
  mutating func withSpelling<Result>(
    of key: Int64, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    if let result = try withValue(of: key, body) { return result }
    return try body(nil)
  }

  /// Calls `body` with the bytes of an object's value, with nil when it is null; returns nil when there is
  /// no object of that key.
  mutating func withValue<Result>(
    of key: Int64, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result? {
    switch try editor.tree.place(ofKey: key) {
    case nil: return nil
    case .open(let leaf, _):
      guard let row = leaf.row(ofKey: key) else { return nil }
      guard let spelling = try leaf.spelling(row: row, column: column) else {
        return try body(nil)
      }
      return try spelling.withUnsafeBytes { try body($0) }
    case .stored(let entry, _):
      if entry != self.entry || values == nil {
        let leaf = try editor.store.leaf(entry)
        keys = try leaf.keys()
        values = try leaf.column(id: editor.schema.columnIDs[column])
        self.entry = entry
      }
      guard let row = keys?.row(ofKey: key), let values else { return nil }
      return try values.withSpelling(row, body)
    }
  }
}
