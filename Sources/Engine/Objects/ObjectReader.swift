/// Reads single objects in a transaction. Made for ascending keys: a leaf is opened once for all that
/// follow each other in it.
///
/// Thread rule: used by the transaction's thread only, and not across changes.
package struct ObjectReader: ObjectReading {
  private let editor: TableEditor
  package let shape: RowShape
  private var place: Place?
  private var reader: LeafReader?
  /// How many objects come before the place's leaf.
  private var leafPosition = 0

  /// Where the object is.
  private enum Place {
    case open(OpenLeaf, row: Int)
    case stored(LeafReader, row: Int)
  }

  package init(_ editor: TableEditor) {
    self.editor = editor
    shape = editor.shape
  }

  package var key: Int64? {
    switch place {
    case nil: nil
    case .open(let leaf, let row): leaf.key(row)
    case .stored(let reader, let row): reader.key(row)
    }
  }

  package mutating func go(to key: Int64) throws -> Bool {
    try go(try editor.use { try editor.tree.place(ofKey: key) }) { leaf in
      leaf.row(ofKey: key)
    } stored: { reader in
      reader.row(ofKey: key)
    }
  }

  package mutating func go(toPosition position: Int) throws -> Bool {
    guard position >= 0 else {
      place = nil
      return false
    }
    let found = try editor.use { try editor.tree.place(ofPosition: UInt64(position)) }
    return try go(found) { [first = found?.position ?? 0] leaf in
      Self.row(position, first, count: leaf.count)
    } stored: { [first = found?.position ?? 0] reader in
      Self.row(position, first, count: reader.rowCount)
    }
  }

  private static func row(_ position: Int, _ first: UInt64, count: Int) -> Int? {
    let row = position - Int(clamping: first)
    return row >= 0 && row < count ? row : nil
  }

  private mutating func go(
    _ found: TreeEditor.Place?, _ open: (OpenLeaf) -> Int?, stored: (LeafReader) -> Int?
  ) throws -> Bool {
    place = nil
    switch found {
    case nil: return false
    case .open(let leaf, let position):
      leafPosition = Int(clamping: position)
      place = open(leaf).map { .open(leaf, row: $0) }
    case .stored(let entry, let position):
      leafPosition = Int(clamping: position)
      let reader = try opened(entry)
      place = stored(reader).map { .stored(reader, row: $0) }
    }
    return place != nil
  }

  private mutating func opened(_ entry: NodeEntry) throws -> LeafReader {
    if let reader, reader.leaf.entry == entry { return reader }
    let opened = try editor.use { try LeafReader(editor.store.leaf(entry), shape) }
    reader = opened
    return opened
  }

  package func position() throws -> Int? {
    switch place {
    case nil: nil
    case .open(_, let row), .stored(_, let row): leafPosition + row
    }
  }

  package func value(_ column: Int) throws -> Value {
    guard let place, shape.columns.indices.contains(column) else { return .null }
    return try editor.use {
      switch place {
      case .stored(let reader, let row): return try reader.value(row, column)
      case .open(let leaf, let row):
        guard let spelling = try leaf.spelling(row: row, column: column) else { return .null }
        let (id, type) = (shape.schema.columnIDs[column], shape.columns[column].type)
        guard let value = Value(spelling: spelling, type: type) else {
          throw ClusterError.misfit(column: id, row: row, type: type)
        }
        return value
      }
    }
  }

  package func withSpelling<Result>(
    _ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    guard shape.columns.indices.contains(column) else { return try body(nil) }
    switch place {
    case nil: return try body(nil)
    case .stored(let reader, let row): return try reader.withSpelling(row, column, body)
    case .open(let leaf, let row):
      let stored = try editor.use { try leaf.spelling(row: row, column: column) }
      guard let spelling = stored else { return try body(nil) }
      return try spelling.withUnsafeBytes { try body($0) }
    }
  }

  package func row() throws -> Row? {
    guard let place else { return nil }
    return try editor.use {
      switch place {
      case .stored(let reader, let row):
        return Row(key: reader.key(row), values: try reader.values(row), shape: shape)
      case .open(let leaf, let row):
        return Row(
          key: leaf.key(row), values: try shape.columns.indices.map { try value($0) },
          shape: shape)
      }
    }
  }
}
