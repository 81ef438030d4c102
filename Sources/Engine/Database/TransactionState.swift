/// What a write transaction is made of. The public face is `WriteTransaction`; tables opened through
/// it keep a reference here, so that using one after the end throws.
///
/// Thread rule: the thread that began it.
final class TransactionState {
  let database: Database
  let base: VersionRecord
  private(set) var catalogue: Catalogue
  private let parts: Database.Parts
  private let turn: WriterQueue.Turn
  private let writer: BlockWriter
  private let space: SpaceMap
  private var editors: [String: TableEditor] = [:]
  private var catalogueIsChanged = false
  private var isEnded = false
  private let nesting: NestingGuard.Entry

  init(_ database: Database) throws {
    self.database = database
    guard database.options.access != .readOnly else {
      throw EngineError.readOnly(path: database.path)
    }
    let path = database.path
    nesting = try NestingGuard.enter(database.coordination.identity, path: path)
    do {
      parts = try translatingErrors(path) { try database.parts }
      if let failure = parts.pipeline.failure {
        throw EngineError.poisoned(path: path, cause: failure)
      }
      let turn = try translatingErrors(path) { try database.queue.enter() }
      self.turn = turn
      do {
        (base, space, writer, catalogue) = try translatingErrors(path) { [parts] in
          try Self.begin(database, parts)
        }
      } catch {
        try? database.queue.leave(turn)
        throw error
      }
    } catch {
      NestingGuard.leave(nesting)
      throw error
    }
  }

  private static func begin(_ database: Database, _ parts: Database.Parts) throws
    -> (VersionRecord, SpaceMap, BlockWriter, Catalogue)
  {
    let (base, isFresh) = try parts.pipeline.beginTransaction()
    do {
      let bytes = try parts.blocks.block(base.root, end: base.end)
      let catalogue = try Catalogue(decoding: bytes)
      let space: SpaceMap
      if let kept = database.space, !isFresh {
        space = kept
      } else {
        space = try SpaceMap.walking(
          parts.blocks, newest: VersionRoots(base, parts.blocks),
          held: try database.coordination.heldVersions().map {
            try VersionRoots($0.record, parts.blocks)
          })
        database.space = space
      }
      space.reclaim(held: try database.versionsToKeep(parts))
      let writer = BlockWriter(
        storage: parts.storage, space: space, length: try parts.storage.length())
      return (base, space, writer, catalogue)
    } catch {
      try parts.pipeline.endTransaction()
      throw error
    }
  }

  deinit { abandon() }

  private func checkOpen() throws {
    if isEnded { throw EngineError.transactionEnded }
  }

  // MARK: Tables

  func createTable(_ name: String, _ columns: [Column]) throws {
    try checkOpen()
    guard !name.isEmpty else {
      throw EngineError.invalidSchema(table: name, reason: "a table needs a name")
    }
    guard !catalogue.tables.contains(where: { $0.name == name }) else {
      throw EngineError.tableExists(name: name)
    }
    let schema = try TableSchema(columns, table: name)
    let table = Catalogue.Table(number: catalogue.nextTableNumber, name: name)
    catalogue.nextTableNumber &+= 1
    catalogue.tables.append(table)
    catalogueIsChanged = true
    editors[name] = try makeEditor(table, schema, isNew: true)
  }

  func editor(_ name: String) throws -> TableEditor {
    try checkOpen()
    if let editor = editors[name] { return editor }
    guard let table = catalogue.tables.first(where: { $0.name == name }) else {
      throw EngineError.noSuchTable(name: name, known: catalogue.tables.map(\.name))
    }
    let editor = try translatingErrors(database.path) {
      let bytes = try parts.blocks.block(table.schema, end: base.end)
      return try makeEditor(table, TableSchema(decoding: bytes), isNew: false)
    }
    editors[name] = editor
    return editor
  }

  private func makeEditor(_ table: Catalogue.Table, _ schema: TableSchema, isNew: Bool) throws
    -> TableEditor
  {
    let store = ClusterStore(writer: writer, blocks: parts.blocks, baseEnd: base.end)
    let reader = TreeReader(blocks: parts.blocks, root: table.root, end: base.end)
    let tree = try TreeEditor(
      reader: reader, clusters: store, limits: database.options.limits)
    return TableEditor(
      table, schema, isNew: isNew, store: store, tree: tree, path: database.path)
  }

  // MARK: Ending

  func commit(_ durability: Durability?, _ completion: (@Sendable (String?) -> Void)?) throws
    -> UInt64
  {
    try checkOpen()
    let durability = durability ?? database.options.durability
    let path = database.path
    do {
      guard catalogueIsChanged || editors.values.contains(where: \.isChanged) else {
        abandon()
        completion?(nil)
        return base.version
      }
      let record = try translatingErrors(path) { try writeBlocks() }
      parts.pipeline.complete(record)
      database.lock.withLock { database.shared.hasWritten = true }
      try translatingErrors(path) {
        switch durability {
        case .full:
          if let completion { try parts.pipeline.requestDurability(completion) }
          try parts.pipeline.makeDurable()
        case .group: try parts.pipeline.requestDurability(completion)
        case .none:
          parts.pipeline.showComplete()
          if let completion { parts.pipeline.onDurable(completion) }
        }
      }
      try end()
      return record.version
    } catch {
      abandon()
      throw error
    }
  }

  /// Phase one: everything but the slot. After an error the pages taken are free again.
  private func writeBlocks() throws -> VersionRecord {
    for (name, editor) in editors where editor.isChanged {
      guard let index = catalogue.tables.firstIndex(where: { $0.name == name }) else { continue }
      catalogue.tables[index] = try editor.seal()
    }
    let root = try writer.append(node: catalogue.encode())
    writer.drop(base.root)
    try writer.writeOut()
    let version = base.version + 1
    space.commit(version: version, added: writer.added, dropped: writer.dropped)
    database.bytesWritten(writer.bytesWritten)
    return VersionRecord(
      version: version, root: root, end: UInt64(space.liveEnd * Layout.pageBytes))
  }

  private func end() throws {
    isEnded = true
    for editor in editors.values { editor.isEnded = true }
    editors = [:]
    defer { NestingGuard.leave(nesting) }
    try translatingErrors(database.path) {
      do {
        try parts.pipeline.endTransaction()
      } catch {
        try database.queue.leave(turn)
        throw error
      }
      try database.queue.leave(turn)
    }
  }

  /// Rolls back unless the transaction has ended already.
  func abandon() {
    if isEnded { return }
    space.rollBack()
    do {
      try end()
    } catch {
      // Unlocking failed: the handle must not write on as if the next one could not come in.
      parts.pipeline.fail("\(error)")
    }
  }
}
