/// Reads single objects in a transaction, with its own changes. For ascending keys: a leaf is opened once for
/// all consecutive objects in it.
///
/// After a change to the table it finds its object again by the key.
///
/// Thread rule: confined to the transaction's thread.
package struct ObjectReader {
  private let editor: TableEditor
  /// The columns by which `value` numbers them.
  package private(set) var shape: RowShape
  /// The key of the current object; nil before the first `go`, and when there was none.
  package private(set) var key: Int64?
  private var leaf: OpenedLeaf?
  /// The row of the object in the leaf.
  private var place = 0
  /// The number of objects before the leaf.
  private var leafPosition = 0
  /// Kept when the next objects are in other leaves.
  private var reader: LeafReader?
  /// The table's change count when the leaf was found.
  private var changeCount: Int

  private enum OpenedLeaf {
    case open(OpenLeaf)
    case stored(LeafReader)

    var rowCount: Int {
      switch self {
      case .open(let leaf): leaf.count
      case .stored(let reader): reader.rowCount
      }
    }

    func key(_ row: Int) -> Int64 {
      switch self {
      case .open(let leaf): leaf.key(row)
      case .stored(let reader): reader.key(row)
      }
    }

    func row(ofKey key: Int64) -> Int? {
      switch self {
      case .open(let leaf): leaf.row(ofKey: key)
      case .stored(let reader): reader.row(ofKey: key)
      }
    }
  }

  package init(_ editor: TableEditor) {
    self.editor = editor
    shape = editor.shape
    changeCount = editor.tree.changeCount
  }

  // MARK: Going

  /// Moves to the object with a key; returns false when there is none.
  ///
  /// - Throws: `EngineError.damaged`, `.transactionEnded`.
  package mutating func go(to key: Int64) throws -> Bool {
    if self.key == key, isCurrent, leaf != nil { return true }
    forgetWhatChanged()
    self.key = nil
    return try editor.use {
      // Most ascending keys are in the same leaf as the previous one.
      if let leaf, let row = leaf.row(ofKey: key) {
        (self.key, place) = (key, row)
        return true
      }
      guard let leaf = try open(try editor.tree.place(ofKey: key)),
        let row = leaf.row(ofKey: key)
      else { return false }
      (self.key, place) = (key, row)
      return true
    }
  }

  /// Moves to the object at a position in the order of keys, from 0; returns false when there is none.
  ///
  /// - Throws: the errors of `go(to:)`.
  package mutating func go(toPosition position: Int) throws -> Bool {
    forgetWhatChanged()
    key = nil
    return try editor.use {
      guard position >= 0 else { return false }
      var found: OpenedLeaf?
      if let leaf, position >= leafPosition, position - leafPosition < leaf.rowCount {
        found = leaf
      } else {
        found = try open(try editor.tree.place(ofPosition: UInt64(position)))
      }
      guard let found, position - leafPosition < found.rowCount else { return false }
      place = position - leafPosition
      key = found.key(place)
      return true
    }
  }

  private mutating func open(_ place: TreeEditor.LeafPlace?) throws -> OpenedLeaf? {
    switch place {
    case nil: leaf = nil
    case .open(let open, let position):
      (leaf, leafPosition) = (.open(open), Int(clamping: position))
    case .stored(let entry, let position):
      if reader?.leaf.entry != entry {
        reader = try LeafReader(editor.store.leaf(entry), shape)
      }
      (leaf, leafPosition) = (reader.map { .stored($0) }, Int(clamping: position))
    }
    return leaf
  }

  /// True when the table has not changed since the leaf was found.
  private var isCurrent: Bool {
    changeCount == editor.tree.changeCount && shape === editor.shape
  }

  private mutating func forgetWhatChanged() {
    if isCurrent { return }
    changeCount = editor.tree.changeCount
    shape = editor.shape
    (leaf, reader) = (nil, nil)
  }

  /// The leaf of the object; nil when the object no longer exists.
  private mutating func current() throws -> OpenedLeaf? {
    guard let key else { return nil }
    if isCurrent { return leaf }
    return try go(to: key) ? leaf : nil
  }

  // MARK: Values

  /// A value of the object; null when there is no object.
  ///
  /// - Parameter column: the index of the column in the schema; null where there is none.
  /// - Throws: the errors of `go(to:)`.
  package mutating func value(_ column: Int) throws -> Value {
    guard let leaf = try current(), shape.columns.indices.contains(column) else { return .null }
    return try editor.use { try value(leaf, column) }
  }

  private func value(_ leaf: OpenedLeaf, _ column: Int) throws -> Value {
    switch leaf {
    case .stored(let reader): return try reader.value(place, column)
    case .open(let leaf):
      guard let spelling = try leaf.spelling(row: place, column: column) else { return .null }
      let (id, reading) = (shape.schema.columnIDs[column], shape.columns[column].reading)
      guard let value = Value(spelling: spelling, as: reading) else {
        throw ClusterError.misfit(column: id, row: place, type: reading.type)
      }
      return value
    }
  }

  /// Calls `body` with the bytes of a value; nil when it is null.
  ///
  /// - Throws: the errors of `go(to:)` and of `body`.
  package mutating func withSpelling<Result>(
    _ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    guard let leaf = try current(), shape.columns.indices.contains(column) else {
      return try body(nil)
    }
    switch leaf {
    case .stored(let reader):
      return try editor.use { try reader.withSpelling(place, column, body) }
    case .open(let leaf):
      let stored = try editor.use { try leaf.spelling(row: place, column: column) }
      guard let spelling = stored else { return try body(nil) }
      return try spelling.withUnsafeBytes { try body($0) }
    }
  }

  /// Calls `body` with the object's primary key; with nil when a part of it is null, or there is no object.
  ///
  /// - Parameter columns: the key's columns, in its order.
  package mutating func withKey<Result>(
    _ columns: [Int], _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    if columns.count == 1 { return try withSpelling(columns[0], body) }
    var key: [UInt8] = []
    for column in columns {
      let isNull = try withSpelling(column) { part in
        if let part { KeyTuple.append(part, to: &key) }
        return part == nil
      }
      if isNull { return try body(nil) }
    }
    return try key.withUnsafeBytes { try body($0) }
  }

  /// Returns whether the object has the given primary key.
  ///
  /// - Parameter columns: the key's columns, in its order.
  package mutating func has(_ key: UnsafeRawBufferPointer, _ columns: [Int]) throws -> Bool {
    try withKey(columns) { $0.map { Bytes.areEqual($0, key) } ?? false }
  }

  /// All values of the object; nil when there is no object.
  ///
  /// - Throws: the errors of `go(to:)`.
  package mutating func row() throws -> Row? {
    guard let leaf = try current(), let key else { return nil }
    return try editor.use {
      switch leaf {
      case .stored(let reader): Row(key: key, values: try reader.values(place), shape: shape)
      case .open:
        Row(
          key: key, values: try shape.columns.indices.map { try value(leaf, $0) }, shape: shape)
      }
    }
  }
}
