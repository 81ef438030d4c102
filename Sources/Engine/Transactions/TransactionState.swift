import Base

/// The state of a write transaction, of which `WriteTransaction` is the public interface. Tables opened
/// through it keep a reference to this, so that their use after the end throws.
///
/// Thread rule: confined to the thread that began it.
final class TransactionState {
  let host: any TransactionHost
  let base: VersionRecord
  var catalogue: Catalogue
  let parts: FileParts
  private let turn: WriterQueue.Turn
  let writer: BlockWriter
  let space: SpaceMap
  var editors: [String: TableEditor] = [:]
  /// The editors of tables that the transaction has deleted.
  var deletedEditors: [TableEditor] = []
  var catalogueIsChanged = false
  /// True when tables that readers see have changed in it: not those of the file itself, nor pending ones.
  var visibleTablesAreChanged = false
  /// The history, once it was read, and as it is in the file; see `TransactionState+History.swift`.
  var knownHistory: History?
  var storedHistory = StoredHistory()
  var historyIsChanged = false
  /// The pending tables that the transaction has opened.
  var pendingTables: [PendingTables] = []
  /// The end of the version from which tables were restored; nil when none were.
  var restoredEnd: UInt64?
  /// True when the map of pages is no longer right, and the next transaction must rebuild it.
  var losesMap = false
  /// True when a copied version has, or keeps, keys of several columns.
  var copiesCompoundKeys = false
  /// True when a copied history has parts.
  var copiesParts = false
  /// The description of the new version.
  var madeBy = ""
  /// True when the new version has the same content as its base, and so the base's origin.
  var keepsOrigin = false
  /// The number of the new version; nil: the next one.
  var number: UInt64?
  private(set) var isEnded = false
  /// Tables of the file have lower numbers; tables created by this transaction do not.
  private let firstNewTable: UInt32
  private let given: GivenNumbers?
  private let health = TransactionHealth()
  private let nesting: NestingGuard.Entry
  private let owner = ExecutionContext.here

  init(_ host: any TransactionHost) throws {
    self.host = host
    guard !host.settings.isReadOnly else {
      throw EngineError.readOnly(path: host.path)
    }
    let path = host.path
    nesting = try NestingGuard.enter(host.lockFile, path: path)
    do {
      try host.addTransaction()
    } catch {
      NestingGuard.leave(nesting)
      throw error
    }
    do {
      let turn = try translatingErrors(path) { try host.takeTurn() }
      self.turn = turn
      do {
        // Only after waiting: a compaction that came first has replaced the parts.
        parts = try translatingErrors(path) { try host.parts }
        if let failure = parts.pipeline.failure {
          throw EngineError.poisoned(path: path, cause: failure)
        }
        (base, space, writer, catalogue) = try translatingErrors(path) { [parts] in
          try Self.begin(host, parts, waiting: turn.waiting)
        }
        given = host.given
        firstNewTable = catalogue.nextTableNumber
        catalogue.nextTableNumber = given?.nextTable(from: firstNewTable) ?? firstNewTable
      } catch {
        host.leave(turn)
        throw error
      }
    } catch {
      NestingGuard.leave(nesting)
      host.removeTransaction()
      throw error
    }
  }

  private static func begin(
    _ host: any TransactionHost, _ parts: FileParts, waiting: Waiting?
  ) throws -> (VersionRecord, SpaceMap, BlockWriter, Catalogue) {
    let (base, isFresh) = try parts.pipeline.beginTransaction(waiting: waiting)
    do {
      let catalogue = try Self.catalogue(of: base, host, parts)
      // The slot decides which programs may write over kept pages, so it must agree with the catalogue.
      guard base.hasHistory == (catalogue.history != nil) else {
        throw EngineError.damaged(
          path: host.path, where: "the commit slots",
          reason:
            "version \(base.version) has \(base.hasHistory ? "no" : "a") history, and its slot says "
            + "otherwise")
      }
      guard base.hasCompoundKeys || !catalogue.hasCompoundKeys else {
        throw EngineError.damaged(
          path: host.path, where: "the commit slots",
          reason:
            "a table of version \(base.version) has a key of several columns, and its slot says "
            + "otherwise")
      }
      // Another program may have migrated the file since it was opened.
      if let declared = host.settings.schemaVersion, catalogue.schemaVersion > declared {
        throw EngineError.newerSchema(
          path: host.path, fileVersion: catalogue.schemaVersion,
          declaredVersion: declared)
      }
      let space: SpaceMap
      if let kept = host.memory.space, !isFresh, kept.version == base.version {
        space = kept
      } else {
        space = try host.freshSpace(base, parts)
        host.memory.space = space
      }
      space.reclaim(try host.versionsToKeep(parts).versions)
      let writer = BlockWriter(
        storage: parts.storage, space: space, length: try parts.storage.length())
      return (base, space, writer, catalogue)
    } catch {
      try parts.pipeline.endTransaction()
      throw error
    }
  }

  /// The catalogue of the version that the transaction begins from.
  private static func catalogue(
    of base: VersionRecord, _ host: any TransactionHost, _ parts: FileParts
  ) throws -> Catalogue {
    if let known = host.memory.catalogue, known.root == base.root { return known.catalogue }
    return try parts.blocks.withCopy(of: base.root, end: base.end) { try Catalogue(decoding: $0) }
  }

  deinit { abandon() }

  /// - Throws: `EngineError.transactionEnded`; `.transactionFailed` when the transaction can only be rolled
  ///   back.
  func checkOpen() throws {
    if isEnded { throw EngineError.transactionEnded }
    try health.check()
  }

  /// Runs an operation on tables, as `TableEditor.use` does for their objects. Refusals come before any
  /// change.
  func use<Result>(_ body: () throws -> Result) throws -> Result {
    try checkOpen()
    do {
      return try translatingErrors(host.path, body)
    } catch {
      health.note(error, afterChange: false)
      throw error
    }
  }

  // MARK: Tables

  func createTable(_ name: String, _ columns: [Column], keys: [String], indexes: [String]) throws {
    try use { try create(name, columns, keys: keys, indexes: indexes) }
  }

  private func create(
    _ name: String, _ columns: [Column], keys: [String], indexes: [String]
  ) throws {
    try checkName(name)
    guard catalogue.place(named: name) == nil else {
      throw EngineError.tableExists(name: name)
    }
    let table = try newTable(name, columns, keys: keys, indexes: indexes)
    catalogue.add(table.entry)
    noteVisibleChange()
    editors[name] = try makeEditor(table.entry, table.schema, isNew: true)
  }

  /// The editor of a table of programs.
  func programEditor(_ name: String) throws -> TableEditor {
    guard !Catalogue.isReserved(name) else {
      throw EngineError.noSuchTable(name: name, known: catalogue.programTables.map(\.name))
    }
    return try editor(name)
  }

  func companion(
    _ purpose: String, of table: TableEditor, columns: [Column]?
  ) throws -> TableEditor? {
    let name = Catalogue.companionName(purpose, of: table.number)
    let keys = columns?.first.map { [$0.name] } ?? []
    guard let pending = pendingTables.first(where: { $0.has(table) }) else {
      return try reserved(name, columns, keys: keys)
    }
    return try companion(name, in: pending, columns, keys: keys)
  }

  /// The editor of a table that stores data for the file.
  func ownTable(_ purpose: String, columns: [Column]?) throws -> TableEditor? {
    try reserved(Catalogue.ownName(purpose), columns, keys: [])
  }

  private func reserved(_ name: String, _ columns: [Column]?, keys: [String]) throws -> TableEditor?
  {
    try use {
      if catalogue.place(named: name) == nil {
        guard let columns else { return nil }
        let table = try newTable(name, columns, keys: keys)
        catalogue.add(table.entry)
        catalogueIsChanged = true
        editors[name] = try makeEditor(table.entry, table.schema, isNew: true)
      }
      return try editor(name)
    }
  }

  func editor(_ name: String) throws -> TableEditor {
    try use {
      if let editor = editors[name] { return editor }
      guard let table = catalogue.table(named: name) else {
        throw EngineError.noSuchTable(name: name, known: catalogue.programTables.map(\.name))
      }
      let editor = try open(table)
      editors[name] = editor
      return editor
    }
  }

  /// Makes an editor of a table that the transaction has not opened yet.
  func open(_ table: Catalogue.TableEntry) throws -> TableEditor {
    var table = table
    let known = host.memory.knownTables[table.number]
    let schema: TableSchema
    if let known, known.reference == table.schema {
      schema = known.schema
    } else {
      schema = try TableSchema(
        decoding: try parts.blocks.block(table.schema, end: base.end))
    }
    try table.checkIndexes(schema)
    let editor = try makeEditor(table, schema, isNew: false)
    if let bounded = known?.bounded {
      editor.nextKeyIsChecked = bounded == (table.root, editor.table.nextKey)
    }
    return editor
  }

  /// The editor of a table with a number, whatever its current name; nil when the table no longer exists.
  func editor(number: UInt32) throws -> TableEditor? {
    try checkOpen()
    return try catalogue.table(number: number).map { try editor($0.name) }
  }

  func makeEditor(_ table: Catalogue.TableEntry, _ schema: TableSchema, isNew: Bool) throws
    -> TableEditor
  {
    let store = ClusterStore(
      writer: writer, blocks: parts.blocks, baseEnd: base.end, builder: host.memory.builder)
    var table = table
    table.nextKey = given?.nextKey(of: table.number, from: table.nextKey) ?? table.nextKey
    store.tail = host.memory.tails.take(table.number)
    let reader = TreeReader(blocks: parts.blocks, root: table.root, end: base.end)
    let tree = try TreeEditor(
      reader: reader, clusters: store, limits: host.settings.limits)
    let recent = host.memory.recentKeys.take(table.number)
    let index = KeyIndex(
      runs: table.index, writer: writer, blocks: parts.blocks, baseEnd: base.end,
      limits: host.settings.indexLimits, recent: recent)
    let limits = host.settings.indexLimits
    let editor = TableEditor(
      table, schema, isNew: isNew, store: store, tree: tree, index: index, path: host.path,
      health: health
    ) { [writer, parts, base] stored, isNew in
      ValueIndex(
        column: stored.column, stored.code, runs: stored.runs, writer: writer,
        blocks: parts.blocks, baseEnd: base.end, limits: limits, isNew: isNew)
    }
    editor.owner = owner
    return editor
  }

  // MARK: Ending

  /// - Parameters:
  ///   - isUrgent: false when `completion` may wait briefly, so that other commits can share the flush.
  ///   - newest: called with the new version, held, while no other writer can follow.
  func commit(
    _ durability: Durability?, isUrgent: Bool = true, newest: ((Snapshot) -> Void)? = nil,
    _ completion: (@Sendable (String?) -> Void)?
  ) throws -> UInt64 {
    if isEnded { throw EngineError.transactionEnded }
    let durability = durability ?? host.settings.durability
    do {
      try health.check()
      let version = try translatingErrors(host.path) {
        if completion != nil || durability == .group { try parts.pipeline.startFlusher() }
        var version = base.version
        if isChanged {
          try host.checkActiveVersions()
          // With the other durabilities the name is checked once the version is durable.
          if durability == .none { try parts.storage.checkName() }
          let record = try writeBlocks()
          #if DEBUG
            Invariants.require { () throws(BrokenInvariant) in try checkWritten(record) }
          #endif
          try parts.pipeline.complete(record)
          host.noteCommit()
          version = record.version
          // The commit succeeded even if its version cannot be held because too many are; the caller then
          // moves to it later, as others do.
          if let newest, let held = try? host.hold(record, parts) { newest(held) }
        } else {
          // Nothing to write; but the base may still have to become durable.
          space.rollBack()
        }
        if let completion { parts.pipeline.onDurable(isUrgent: isUrgent, completion) }
        switch durability {
        case .full: try parts.pipeline.makeDurable()
        case .group:
          parts.pipeline.showComplete()
          parts.pipeline.requestDurability()
        case .none:
          parts.pipeline.showComplete()
          // Other handles cannot write before this commit is durable, and must not wait forever.
          // In this order: a writer that begins to wait after the look is seen by the watching thread.
          if !host.isAskedToMakeWay() || host.othersWait {
            try parts.pipeline.makeDurable()
          }
        }
        return version
      }
      keepKeys { _ in true }
      try end()
      return version
    } catch {
      health.note(error, afterChange: false)
      abandon()
      throw error
    }
  }

  /// True when there is something to commit.
  var isChanged: Bool {
    catalogueIsChanged || historyIsChanged || editors.values.contains(where: \.isChanged)
      || pendingTables.contains(where: \.isChanged)
  }

  /// Phase one: writes everything except the slot.
  private func writeBlocks() throws -> VersionRecord {
    for editor in editors.values where editor.isChanged {
      guard let place = catalogue.place(number: editor.number) else { continue }
      catalogue.tables[place] = try editor.seal()
    }
    try sealPending()
    try sealHistory()
    // The map of pages lacks restored trees.
    if restoredEnd == nil, !losesMap { try gatherRoots() }
    let encoded = catalogue.encode()
    let root = try writer.append(node: encoded)
    try writer.drop(base.root)
    try writer.writeOut()
    let version = try number ?? base.nextVersion
    try writer.commit(version: version)
    parts.blocks.recent.replace(with: writer.recent)
    keepCatalogue(root, encoded)
    for editor in editors.values where editor.isChanged {
      guard let table = catalogue.table(number: editor.number) else { continue }
      remember(editor, table)
    }
    for pending in pendingTables {
      for editor in pending.editors.values where editor.isChanged {
        if let table = pending.catalogue.table(number: editor.number) { remember(editor, table) }
      }
    }
    host.noteWritten(bytes: writer.bytesWritten)
    let record = VersionRecord(
      version: version, root: root,
      end: max(UInt64(space.liveEnd * Layout.pageBytes), restoredEnd ?? 0),
      hasHistory: catalogue.history != nil,
      hasPending: catalogue.history != nil
        && (knownHistory.map { !$0.pending.isEmpty } ?? base.hasPending),
      hasCompoundKeys: hasCompoundKeys, hasParts: hasParts)
    if restoredEnd != nil || losesMap {
      host.memory.forget()
      host.memory.hasRestored = true
    }
    noteKept(by: record)
    return record
  }

  /// Stores the catalogue for the next transaction, which would read it first.
  private func keepCatalogue(_ root: BlockReference, _ encoded: [UInt8]) {
    // Larger catalogues would use memory that no limit counts.
    host.memory.catalogue = encoded.count <= 1 << 16 ? (root, catalogue.asStored) : nil
    #if DEBUG
      if let kept = host.memory.catalogue?.catalogue {
        Invariants.require { () throws(BrokenInvariant) in try checkKept(kept, encoded) }
      }
    #endif
  }

  /// Stores the state of a table for the next transaction.
  private func remember(_ editor: TableEditor, _ table: Catalogue.TableEntry) {
    if let tail = editor.tail { host.memory.tails.keep(tail, of: editor.number) }
    host.memory.knownTables.keep(KnownTable(table, editor), of: editor.number)
  }

  /// Moves the roots and other blocks that the catalogue refers to together, if they are in sparse pages,
  /// since tables may be many and small. Runs of indexes stay, because the state kept in memory names them by
  /// their places.
  private func gatherRoots() throws {
    var references: [BlockReference] = []
    references.reserveCapacity(catalogue.tables.count * 2)
    for table in catalogue.tables {
      references.append(table.schema)
      references.append(table.root.entry.reference)
    }
    if let history = catalogue.history { references.append(history) }
    let left = try Gatherer(writer: writer).gather(&references)
    if left.isEmpty { return }
    if catalogue.history != nil { catalogue.history = references.last }
    for index in catalogue.tables.indices {
      catalogue.tables[index].schema = references[2 * index]
      if catalogue.tables[index].root.level > 0 {
        catalogue.tables[index].root.entry.reference = references[2 * index + 1]
      }
    }
    try left.forEach(writer.drop)
  }

  private func end() throws {
    isEnded = true
    for editor in editors.values { editor.isEnded = true }
    for editor in deletedEditors { editor.isEnded = true }
    for pending in pendingTables { pending.end() }
    editors = [:]
    deletedEditors = []
    pendingTables = []
    defer {
      NestingGuard.leave(nesting)
      host.removeTransaction()
    }
    try translatingErrors(host.path) {
      do {
        try parts.pipeline.endTransaction()
      } catch {
        host.leave(turn)
        throw error
      }
      host.leave(turn)
    }
  }

  /// Stores the entries of an index for the next transaction.
  private func keepKeys(where isTrue: (KeyIndex) -> Bool) {
    let pending = pendingTables.flatMap(\.editors.values)
    for editor in Array(editors.values) + pending where isTrue(editor.index) {
      if let keys = editor.index.kept { host.memory.recentKeys.keep(keys, of: editor.number) }
    }
  }

  /// Prevents other transactions of this process from assigning the numbers that this one has assigned in
  /// vain.
  private func noteGivenNumbers() {
    let all = Array(editors.values) + deletedEditors
    given?.add(
      nextTable: catalogue.nextTableNumber,
      nextKeys: all.filter { $0.number < firstNewTable }.compactMap { editor in
        editor.nextGivenKey.map { (editor.number, $0) }
      },
      tables: { Set(catalogue.tables.map(\.number) + deletedEditors.map(\.number)) })
  }

  /// Rolls back unless the transaction has ended.
  func abandon() {
    if isEnded { return }
    noteGivenNumbers()
    if writer.bytesWritten > 0 || health.failure != nil { host.noteBlocksInVain() }
    if health.failure == nil {
      space.rollBack()
      keepKeys { !$0.isChanged }
    } else {
      // After a failure the next transaction gets no state that may be half changed: it finds free pages by a
      // walk.
      host.memory.forget()
    }
    do {
      try end()
    } catch {
      // Unlocking failed: the handle must not write as if it still had the turn.
      parts.pipeline.fail("\(error)")
    }
  }
}
