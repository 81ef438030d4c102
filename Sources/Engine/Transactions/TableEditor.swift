import Base

/// A table inside a write transaction.
///
/// Thread rule: confined to the transaction's thread.
package final class TableEditor {
  // Many properties are unchecked: no function called during a change accesses them again, and for each added
  // object the checks would cost as much as finding its place.
  @exclusivity(unchecked) var table: Catalogue.TableEntry
  package internal(set) var schema: TableSchema {
    didSet {
      knownShape = nil
      knownInsertion = nil
      knownEncoder = nil
      schemaChangeCount += 1
    }
  }
  private(set) var schemaChangeCount = 0
  private var knownShape: RowShape?
  /// The facts that adding an object needs; created when the first one is added.
  @exclusivity(unchecked) var knownInsertion: Insertion?
  @exclusivity(unchecked) var knownEncoder: RowEncoder?
  let tree: TreeEditor
  let store: ClusterStore
  package let path: String
  @exclusivity(unchecked) private var appended = 0
  /// True when the next key is known to be above all keys.
  @exclusivity(unchecked) var nextKeyIsChecked = false
  /// The key after the last one that a caller has received; nil when there is none. Rows added in bulk get
  /// keys too, but their caller does not receive these.
  @exclusivity(unchecked) var nextGivenKey: Int64?
  var schemaIsChanged: Bool
  /// The primary key's index; empty when there is no key.
  @exclusivity(unchecked) package internal(set) var index: KeyIndex
  /// The secondary indexes, by ascending number of their columns.
  @exclusivity(unchecked) package internal(set) var valueIndexes: [ValueIndex]
  /// True when a secondary index was added or removed.
  var indexesAreChanged = false
  /// Makes a secondary index of the transaction, either new or as in the catalogue.
  let makeIndex: (Catalogue.Index, _ isNew: Bool) -> ValueIndex
  private var notesAreChanged = false
  /// The leaves that `forEachLeaf` has encoded.
  var leafCopies = LeafCopies(changes: 0)
  /// The only thread or queue that may use the table; nil: not checked.
  @exclusivity(unchecked) var owner: ExecutionContext?
  /// Shared by all tables of the transaction: whether it has failed.
  let health: TransactionHealth
  /// True when the transaction has ended; every further use throws.
  @exclusivity(unchecked) package var isEnded = false
  /// True when the table was deleted; every further use throws.
  @exclusivity(unchecked) var isDeleted = false
  /// The running calls of `forEachRow`.
  var visits: [Visit] = []

  package init(
    _ table: Catalogue.TableEntry, _ schema: TableSchema, isNew: Bool, store: ClusterStore,
    tree: TreeEditor, index: KeyIndex, path: String, health: TransactionHealth,
    makeIndex: @escaping (Catalogue.Index, _ isNew: Bool) -> ValueIndex
  ) {
    self.table = table
    self.schema = schema
    self.store = store
    self.tree = tree
    self.index = index
    self.path = path
    self.health = health
    self.makeIndex = makeIndex
    valueIndexes = table.valueIndexes.map { makeIndex($0, false) }
    schemaIsChanged = isNew
    store.columnIDs = schema.columnIDs
  }

  package var name: String { table.name }
  package var number: UInt32 { table.number }
  /// The cluster to which the next small transaction is likely to append.
  package var tail: ClusterStore.Tail? { store.lastClosed }
  package var isChanged: Bool {
    schemaIsChanged || notesAreChanged || indexesAreChanged || tree.isChanged || index.isChanged
      || valueIndexes.contains(where: \.isChanged)
  }

  /// The state in which an operation began.
  struct Start {
    fileprivate let changes: Int
    fileprivate let nextKey: Int64
  }

  /// Begins an operation. It is refused when the table or the transaction has ended.
  ///
  /// For operations of a few hundred nanoseconds: the closure of `use` counts references to what it captures,
  /// several times, and that took a third of the time of adding an object. Errors that are thrown after this
  /// go through `failed`.
  @inline(__always)
  func begin() throws -> Start {
    // Checked first: the transaction may be ending on another thread at this moment.
    if let owner, !owner.isHere {
      throw EngineError.wrongThread(what: "a table of a write transaction")
    }
    if isEnded { throw EngineError.transactionEnded }
    try health.check()
    if isDeleted { throw EngineError.noSuchTable(name: name, known: []) }
    return Start(changes: tree.changeCount, nextKey: table.nextKey)
  }

  /// Makes the transaction fail because of an operation's error, and returns what is to be thrown.
  func failed(_ error: any Error, since start: Start) -> any Error {
    let error = translated(error, path)
    let isChanged = tree.changeCount != start.changes || table.nextKey != start.nextKey
    health.note(error, afterChange: isChanged)
    return error
  }

  /// Runs an operation. It is refused when the table or the transaction has ended; its failure makes the
  /// transaction fail.
  func use<Result>(_ body: () throws -> Result) throws -> Result {
    let start = try begin()
    do {
      return try body()
    } catch {
      throw failed(error, since: start)
    }
  }

  /// Runs a query, which reads leaves itself. An error of reading makes the transaction fail; an error of the
  /// caller's closure does not.
  func query<Result>(_ body: () throws -> Result) throws -> Result {
    try use {}
    do {
      return try body()
    } catch let error as EngineError {
      switch error {
      case .damaged, .system: health.note(error, afterChange: false)
      default: break
      }
      throw error
    }
  }

  // MARK: Reading

  /// The columns of rows.
  package var shape: RowShape {
    if let knownShape { return knownShape }
    let shape = RowShape(schema)
    knownShape = shape
    return shape
  }

  package func count() throws -> Int { try use { Int(clamping: tree.count) } }

  package func row(forKey key: Int64) throws -> Row? {
    var reader = ObjectReader(self)
    return try reader.go(to: key) ? reader.row() : nil
  }

  package func row(at position: Int) throws -> Row? {
    var reader = ObjectReader(self)
    return try reader.go(toPosition: position) ? reader.row() : nil
  }

  // MARK: Changing objects

  /// The open rows to which the next object is added. Call `countAppended` after that.
  func openTail() throws -> OpenCluster {
    try tree.openTail(nextKey: table.nextKey, appended: appended)
  }

  /// Counts an object that was added to the open rows, whose key is the next one.
  func countAppended() throws {
    tree.countTail(more: 1)
    appended += 1
    try advance(by: 1)
    if appended & 63 == 0 { try tree.limitMemory() }
  }

  /// Checks the next key. In a damaged file it may be among the keys of existing objects, and a new object
  /// would replace one of these.
  ///
  /// - Throws: `EngineError.damaged`.
  func checkNextKey() throws {
    if nextKeyIsChecked { return }
    if let last = try tree.lastKey(), last >= table.nextKey || last < 1 {
      throw EngineError.damaged(
        path: path, where: "the catalogue's entry of table '\(name)'",
        reason: "the next object would get key \(table.nextKey), and there is one with key \(last)")
    }
    nextKeyIsChecked = true
  }

  func advance(by count: Int) throws {
    let (next, overflow) = table.nextKey.addingReportingOverflow(Int64(count))
    guard !overflow else { throw EngineError.tooLarge(what: "a key", limit: "2^63") }
    table.nextKey = next
  }

  /// Adds objects given as spellings, row by row, into small clusters that later ones fill.
  ///
  /// The caller has checked that every spelling fits its column.
  ///
  /// - Parameter keysAreNew: true when `find` has just found none of their primary keys, and no two rows have
  ///   the same key.
  /// - Throws: `EngineError.duplicateKey`; nothing is then added.
  package func append(
    arena: UnsafeRawBufferPointer, spans: UnsafeBufferPointer<TextSpan>, rowCount: Int,
    keysAreNew: Bool = false
  ) throws {
    try use {
      guard let base = arena.baseAddress ?? UnsafeRawPointer(spans.baseAddress),
        let first = spans.baseAddress, spans.count == rowCount * schema.columns.count
      else {
        if rowCount == 0 { return }
        throw EngineError.invalidArgument("rows without as many spans as columns")
      }
      try checkNextKey()
      try withKeys(base, first, rowCount) { base, keys in
        try addKeys(base: base, keys, firstObject: table.nextKey, areNew: keysAreNew)
      }
      let firstKey = table.nextKey
      for row in 0..<rowCount {
        try openTail().rows.append(
          key: table.nextKey, base: base, row: first + row * schema.columns.count)
        try countAppended()
      }
      enter(base: base, first, rowCount: rowCount, firstObject: firstKey)
      try limitIndex()
    }
  }

  /// Adds an encoded cluster's objects, with their primary keys, which are read from it. Columns that the
  /// cluster lacks get their default.
  ///
  /// - Throws: `EngineError.duplicateKey`; nothing is then added.
  package func append(_ cluster: EncodedCluster) throws {
    try use {
      try checkNextKey()
      if !schema.keyColumns.isEmpty { try addKeys(of: cluster) }
      try place(cluster)
    }
  }

  /// Adds an encoded cluster's objects, whose primary keys `find` has just not found.
  ///
  /// - Parameters:
  ///   - base: the address that the spans' offsets are relative to.
  ///   - newKeys: the primary key of each row; no two are the same.
  ///   - codes: the codes of the keys, from a `KeyScout`; nil: they are computed here.
  package func append(
    _ cluster: EncodedCluster, base: UnsafeRawPointer, newKeys: UnsafeBufferPointer<TextSpan>,
    codes: [Int64]? = nil
  ) throws {
    try use {
      guard !schema.keyColumns.isEmpty, newKeys.count == cluster.rowCount,
        codes.map({ $0.count == newKeys.count }) ?? true
      else {
        throw EngineError.invalidArgument("keys for another number of rows, or without a key")
      }
      try checkNextKey()
      try addKeys(base: base, newKeys, codes: codes, firstObject: table.nextKey, areNew: true)
      try place(cluster)
    }
  }

  private func place(_ cluster: EncodedCluster) throws {
    guard cluster.rowCount > 0 else { return }
    let cluster = try withDefaults(cluster)
    // Once is enough: it would rewrite what the transaction itself has appended.
    if appended == 0 { try tree.joinTail(before: cluster.rowCount) }
    let lifetime = tree.limits.lifetime(ofRows: cluster.rowCount)
    try tree.append(try store.write(cluster, firstKey: table.nextKey, lifetime: lifetime))
    appended += cluster.rowCount
    try enter(cluster, firstObject: table.nextKey)
    try advance(by: cluster.rowCount)
    try limitIndex()
  }

  /// Changes some values of an object.
  package func update(_ key: Int64, _ changes: [(column: Int, value: Value)]) throws {
    try use {
      var changes = changes
      for index in changes.indices {
        try fit(&changes[index].value, column: changes[index].column)
      }
      if let spelling = try changedKey(of: key, changes) { try changeKey(of: key, to: spelling) }
      let entries = try newEntries(of: key, changes)
      guard try tree.update(key, changes) else {
        throw EngineError.noSuchObject(table: name, key: key)
      }
      for visit in visits { visit.changed(key) }
      enter(entries, of: key)
      try tree.limitMemory()
      try limitIndex()
    }
  }

  /// Replaces all values of an object by spellings.
  ///
  /// The caller has checked that every spelling fits its column.
  ///
  /// - Parameters:
  ///   - base: the address that the spans' offsets are relative to.
  ///   - row: a span for each column, in the columns' order.
  ///   - keepsPrimaryKey: true when the caller knows that the primary key, if any, does not change.
  /// - Complexity: O(log n); the leaf's other rows are not decoded.
  /// - Throws: `EngineError.noSuchObject`, `.duplicateKey`, `.tooLarge`, `.damaged`.
  package func replace(
    _ key: Int64, base: UnsafeRawPointer, row: UnsafePointer<TextSpan>,
    keepsPrimaryKey: Bool = false
  ) throws {
    try use {
      if !schema.keyColumns.isEmpty, !keepsPrimaryKey {
        try changeKey(of: key, to: keyBytes(base, row))
      }
      let entries = try newEntries(of: key, base: base, row: row)
      guard try tree.replace(key, base: base, row: row) else {
        throw EngineError.noSuchObject(table: name, key: key)
      }
      for visit in visits { visit.changed(key) }
      enter(entries, of: key)
      try tree.limitMemory()
      try limitIndex()
    }
  }

  /// Removes an object; returns false when no object has that key.
  package func delete(_ key: Int64) throws -> Bool {
    try use {
      guard try tree.delete(key) else { return false }
      for visit in visits { visit.changed(key) }
      try tree.limitMemory()
      return true
    }
  }

  package func deleteAll() throws {
    try use {
      try tree.removeAll()
      try index.removeAll()
      for visit in visits { visit.changedAll() }
      for index in valueIndexes { try index.removeAll() }
    }
  }

  package func note(_ name: String) -> [UInt8]? { table.notes[name] }

  /// Stores a small value with the table, or removes it.
  package func setNote(_ name: String, _ value: [UInt8]?) throws {
    try use {
      table.notes[name] = value
      notesAreChanged = true
    }
  }

  // MARK: Writing

  /// Writes everything that has changed and returns the table's entry for the catalogue.
  package func seal() throws -> Catalogue.TableEntry {
    // First, because sealing the index may read objects.
    table.index = try index.seal(objects: tree.count, removeOutdated)
    table.valueIndexes = try sealValueIndexes()
    table.root = try tree.seal()
    if schemaIsChanged {
      if table.schema.length > 0 { try store.drop(table.schema) }
      table.schema = try store.write(node: schema.encode())
      table.hasCompoundKey = schema.keyColumns.count > 1
    }
    return table
  }
}
