/// The spellings of one object in some columns.
///
/// Unsafe for speed: it points into the memory of the sweep, and is valid during the call that receives it.
package struct ObjectFields {
  fileprivate let columns: UnsafePointer<(base: UnsafeRawPointer, spans: UnsafePointer<TextSpan>)>
  fileprivate let row: Int

  /// The spelling in a column, by its index among the sweep's columns; nil for null.
  @inline(__always)
  package func field(_ column: Int) -> UnsafeRawBufferPointer? {
    let (base, spans) = columns[column]
    let span = spans[row]
    if span.isNull { return nil }
    return UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length))
  }
}

extension ObjectFields {
  /// Returns whether the object has a primary key, if the sweep's first columns are those of the key.
  ///
  /// - Parameters:
  ///   - key: the bytes of the primary key.
  ///   - columns: the number of the key's columns.
  @inline(__always)
  package func has(_ key: UnsafeRawBufferPointer, columns: Int) -> Bool {
    KeyTuple.areEqual(key, columns: columns, field)
  }
}

/// Reads some columns of many objects in the order of their keys, in a version or in a transaction.
///
/// If many objects of a leaf are requested, its columns are decoded in pieces, which costs a small part of
/// reading each value; if few are, each is read alone.
///
/// Thread rule: confined; in a transaction, to its thread.
package final class ObjectSweep {
  private enum Source {
    case transaction(TableEditor)
    case version(Table)
  }

  private let source: Source
  private let columns: [Int]
  private let columnIDs: [UInt32]
  private let decoded: [DecodedColumn]
  /// The reader in a transaction.
  private var single: ObjectReader?
  /// In a version, the leaf from which a single object was read last.
  private var singleLeaf: Leaf?
  private var singleArena: [UInt8] = []
  private var singleSpans: [TextSpan] = []

  /// Fewer objects are looked up one by one.
  private static let fewObjects = 8
  /// A piece is decoded when at least one in this many of its rows is requested.
  private static let sparseness = 16
  private static let pieceRows = 2048

  /// - Parameter columns: indices of columns of the table.
  package convenience init(_ editor: TableEditor, columns: [Int]) {
    self.init(.transaction(editor), editor.schema, columns)
    single = ObjectReader(editor)
  }

  /// - Parameter columns: indices of columns of the table.
  package convenience init(_ table: Table, columns: [Int]) {
    self.init(.version(table), table.schema, columns)
  }

  private init(_ source: Source, _ schema: TableSchema, _ columns: [Int]) {
    self.source = source
    self.columns = columns
    columnIDs = columns.map { schema.columnIDs[$0] }
    decoded = columns.map { _ in DecodedColumn() }
  }

  private func use<Result>(_ body: () throws -> Result) throws -> Result {
    switch source {
    case .transaction(let editor): try editor.use(body)
    case .version(let table): try table.reading(body)
    }
  }

  /// Calls `body` with the objects' indices in the list and their fields, until it returns false.
  ///
  /// - Parameters:
  ///   - objects: keys, not descending.
  ///   - first: the index to begin with.
  ///   - body: receives nil for an object that does not exist. It must not change the table, except before it
  ///     returns false.
  /// - Throws: `EngineError.damaged`, and the errors of `body`.
  package func run(
    _ objects: [Int64], from first: Int = 0, _ body: (Int, ObjectFields?) throws -> Bool
  ) throws {
    var next = first
    while next < objects.count {
      if objects.count - next >= Self.fewObjects, let leaf = try storedLeaf(of: objects[next]) {
        guard try run(objects, &next, in: leaf, body) else { return }
      } else {
        guard try readSingle(objects[next], next, body) else { return }
        next += 1
      }
    }
  }

  // MARK: Leaf by leaf

  private func storedLeaf(of object: Int64) throws -> Leaf? {
    try use {
      switch source {
      case .transaction(let editor):
        guard case .stored(let entry, _) = try editor.tree.place(ofKey: object) else { return nil }
        return try editor.store.leaf(entry)
      case .version(let table):
        return try table.tree.leaf(ofKey: object).map {
          try Leaf($0, table.tree.blocks, end: table.tree.end)
        }
      }
    }
  }

  /// Visits all objects of the list that may be in a leaf, at least one.
  ///
  /// - Returns: false when `body` has returned false.
  private func run(
    _ objects: [Int64], _ next: inout Int, in leaf: Leaf,
    _ body: (Int, ObjectFields?) throws -> Bool
  ) throws -> Bool {
    let first = next
    // Nil for objects that do not exist, since they have an index in the list too.
    var rows: [Int?] = []
    try use {
      let keys = try leaf.keys()
      let last = keys.key(leaf.rowCount - 1)
      repeat {
        rows.append(keys.row(ofKey: objects[next]))
        next += 1
      } while next < objects.count && objects[next] <= last
    }
    var start = 0
    while start < rows.count {
      guard let low = rows[start] else {
        guard try body(first + start, nil) else { return false }
        start += 1
        continue
      }
      var (end, high) = (start, low)
      while end < rows.count, rows[end] ?? high < low + Self.pieceRows {
        high = rows[end] ?? high
        end += 1
      }
      guard (end - start) * Self.sparseness > high - low else {
        guard try readSingle(objects[first + start], first + start, body) else { return false }
        start += 1
        continue
      }
      let places = try decode(leaf, low..<high + 1)
      let goesOn = try places.withUnsafeBufferPointer { places in
        guard let columns = places.baseAddress else { return true }
        for index in start..<end {
          let fields = rows[index].map { ObjectFields(columns: columns, row: $0 - low) }
          guard try body(first + index, fields) else { return false }
        }
        return true
      }
      guard goesOn else { return false }
      start = end
    }
    return true
  }

  /// Finds the decoded rows of each column.
  private func decode(
    _ leaf: Leaf, _ rows: Range<Int>
  ) throws -> [(base: UnsafeRawPointer, spans: UnsafePointer<TextSpan>)] {
    try use {
      try zip(columnIDs, decoded).map { id, decoded in
        try leaf.column(id: id).decode(rows: rows, into: decoded)
        guard decoded.count == rows.count, let spans = decoded.spans.baseAddress else {
          throw ClusterError.damagedHeader("a column has fewer rows than its leaf")
        }
        return (decoded.base, spans)
      }
    }
  }

  // MARK: One by one

  /// - Returns: false when the object does not exist.
  private func copyFromTransaction(_ object: Int64) throws -> Bool {
    guard try single?.go(to: object) == true else { return false }
    for column in columns { try single?.withSpelling(column) { try copy($0) } }
    return true
  }

  private func copy(_ object: Int64, from table: Table) throws -> Bool {
    try use {
      guard let entry = try table.tree.leaf(ofKey: object) else { return false }
      var leaf = singleLeaf
      if leaf?.entry != entry { leaf = try Leaf(entry, table.tree.blocks, end: table.tree.end) }
      singleLeaf = leaf
      guard let leaf, let row = try leaf.keys().row(ofKey: object) else { return false }
      for id in columnIDs { try leaf.column(id: id).withSpelling(row) { try copy($0) } }
      return true
    }
  }

  private func copy(_ bytes: UnsafeRawBufferPointer?) throws {
    guard let bytes else { return singleSpans.append(.null) }
    guard let offset = UInt32(exactly: singleArena.count), offset != .max else {
      throw EngineError.tooLarge(what: "an object's values together", limit: "4 GB")
    }
    singleSpans.append(TextSpan(offset: offset, length: UInt32(clamping: bytes.count)))
    singleArena.append(contentsOf: bytes)
  }

  private func readSingle(
    _ object: Int64, _ place: Int, _ body: (Int, ObjectFields?) throws -> Bool
  ) throws -> Bool {
    singleArena.removeAll(keepingCapacity: true)
    singleSpans.removeAll(keepingCapacity: true)
    let isThere =
      switch source {
      case .transaction: try copyFromTransaction(object)
      case .version(let table): try copy(object, from: table)
      }
    guard isThere else { return try body(place, nil) }
    // Provides an address even if nothing is read.
    singleArena.append(0)
    return try singleArena.withUnsafeBytes { arena in
      try singleSpans.withUnsafeBufferPointer { spans in
        guard let base = arena.baseAddress, let first = spans.baseAddress else { return true }
        let places = columns.indices.map { (base: base, spans: first + $0) }
        return try places.withUnsafeBufferPointer { places in
          guard let columns = places.baseAddress else { return true }
          return try body(place, ObjectFields(columns: columns, row: 0))
        }
      }
    }
  }
}
