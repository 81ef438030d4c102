import Base
import Engine

/// The transaction in which an import writes: one for each batch; or one for all inputs, when the old table
/// must stay until the new one is complete; or one for each batch of a pending table
/// (`ImportTransaction+Pending.swift`).
///
/// Thread rule: confined to the writer's thread.
final class ImportTransaction {
  let database: Database
  let tableName: String
  let durability: Durability
  /// True when it stays open between batches and inputs, until the import commits it.
  private let spansInputs: Bool
  let allowsEmpty: Bool
  private let patient: Waiting
  private let keptVersions: Int?
  /// True when the version before the import is needed at the end.
  private let needsBase: Bool
  /// The description of the versions that it creates.
  let description: String
  /// True when batches go to a pending table.
  let publishesAtEnd: Bool
  /// True when the import has a pending table, its own or one that it continues.
  var hasPending = false
  /// The pending table of an earlier import that this one has dropped.
  var dropped: PendingTable?
  /// Inputs whose checkpoints are removed in the first transaction, or when the pending table is begun.
  var forgotten: Set<UInt64> = []
  /// What checkpoints know the inputs by.
  let inputKeys: [UInt64]
  /// The import's entry in the database's list of imports.
  let journal: RunJournal
  /// True when it continues an interrupted import.
  var goesOn = false
  /// True when the version before the import was kept.
  private var hasKept = false
  /// True when that was done for what is pending.
  private var hasKeptBegun = false
  var transaction: WriteTransaction?
  /// The import's table in the transaction.
  var table: WritableTable?
  /// True when it has emptied a table that had objects.
  private var replacesObjects = false
  /// The number of objects that the import has deleted, including uncommitted deletions.
  private(set) var deleted = 0
  private var pendingDeleted = 0
  /// True when it has emptied the table.
  private(set) var isEmptied = false
  /// The version that the import has read or created last.
  var version: UInt64?
  /// True when others have written since the import read that version.
  private(set) var isDisturbed = false
  /// True when the transaction began from a version that others have created.
  private(set) var followsOthers = false
  /// The import's own changes since versions that parsers may use.
  let changes = OwnChanges()
  /// The objects whose keys the inputs have; nil: all stay.
  let seen: SeenObjects?
  /// The table as it was when the pending one was begun: its objects that the inputs lack are deleted when
  /// the pending table replaces it; nil: none are deleted.
  var complete: Table?
  /// The rule for records whose keys exist.
  let rule: ConflictRule
  /// True when the table is to be emptied first.
  let truncates: Bool
  /// The newest version that was found to be mergeable with the pending table.
  var mergeable: UInt64?
  /// The result of merging the changes of others, and the number of objects that they had added minus those
  /// that they had deleted; nil: there were no changes.
  var merged: (outcome: MergeOutcome, objects: Int)?
  let shouldStop: @Sendable () -> Bool
  private let notes = KnownNotes()

  /// - Parameters:
  ///   - inputs: the paths of the inputs; nil: those of the options.
  ///   - keys: what checkpoints know them by.
  init(
    _ database: Database, _ options: ImportOptions, inputs: [String]? = nil, keys: [UInt64] = [],
    table: String
  ) {
    inputKeys = keys
    self.database = database
    tableName = table
    durability = options.durability
    spansInputs = options.isOneTransaction
    allowsEmpty = options.allowsEmpty
    keptVersions = options.keepVersions
    seen = options.deletesMissing ? SeenObjects() : nil
    (rule, truncates) = (options.conflictRule, options.truncate)
    needsBase = options.changes != nil
    shouldStop = options.shouldStop
    publishesAtEnd = options.publishesAtEnd
    description = Self.description(options.inputs, table)
    journal = RunJournal(options, inputs: inputs ?? options.inputs, table: table)
    patient = Waiting(seconds: .infinity, notice: options.onWaiting)
  }

  /// The inputs, as many as fit, and the table.
  private static func description(_ inputs: [String], _ table: String) -> String {
    let names = inputs.map { PathText.shown($0) }.joined(separator: " ")
    let shown = names.utf8.count <= 600 ? names : "\(inputs.count) inputs"
    return "sheaf import \(shown)\(table.utf8.count <= 300 ? " into \(table)" : "")"
  }

  /// Keeps the version before the import, if the options say so, in the first transaction with changes. A
  /// resumed import has kept it before.
  func keepBase(_ transaction: borrowing WriteTransaction) throws {
    try transaction.describe(description)
    if hasKept { return }
    journal.begin(from: transaction.baseVersion)
    let isKnown = try continues(transaction)
    if publishesAtEnd {
      // It has the number and the time by which readers know it; those before the last transaction have not.
      let most = try keptVersions ?? transaction.keptVersionsLimit
      if !hasKeptBegun { _ = try transaction.keepBaseOnce(most: most, drops: false) }
      hasKeptBegun = true
      return
    }
    hasKept = true
    if isKnown || (goesOn && transaction.baseMadeBy == description) { return }
    try transaction.keepBase(most: mostKept(transaction))
  }

  /// Keeps the version that readers see before the import's records become visible at once. It was kept when
  /// the import began, unless others have written since.
  ///
  /// - Returns: its number.
  func keepUnpublished(_ transaction: borrowing WriteTransaction) throws -> UInt64 {
    try transaction.describe(description)
    hasKept = true
    return try transaction.keepBaseOnce(most: mostKept(transaction), drops: true)
  }

  private func mostKept(_ transaction: borrowing WriteTransaction) throws -> Int {
    let most = try keptVersions ?? transaction.keptVersionsLimit
    // Without a limit all current ones stay, also those from before an undo.
    if !needsBase || most > 0 { return most }
    return try max(1, keptVersions ?? transaction.keptVersions.count)
  }

  var isOpen: Bool { transaction != nil }

  /// Records that the import knows the content of this version.
  func looks(at version: UInt64) {
    self.version = version
    isDisturbed = false
    changes.begin(at: version)
  }

  /// Begins a transaction, unless one is open.
  ///
  /// - Parameter columns: the columns of a new table; nil: it exists.
  /// - Returns: false when a table is to be created and exists already.
  func begin(creating columns: [Column]?, keys: [String]) throws -> Bool {
    let isNew = transaction == nil
    if isNew {
      do {
        let begun = try database.beginWrite()
        try keepBase(begun)
        transaction = consume begun
      } catch EngineError.cancelled {
        throw ImportError.interrupted
      }
      followsOthers = false
      if let base = transaction?.baseVersion, base != version {
        (isDisturbed, followsOthers) = (true, true)
        changes.begin(at: base)
      }
    }
    if publishesAtEnd { return try beginPending(creating: columns, keys: keys) }
    if let columns {
      if transaction?.tableNames.contains(tableName) == true { return false }
      try transaction?.createTable(tableName, columns: columns, keys: keys)
    }
    table = try transaction?.table(tableName)
    // Objects of other imports may be deleted: these imports are then no longer complete.
    if isNew, seen != nil { try memory?.removeAll() }
    if isNew, columns == nil, !forgotten.isEmpty { try memory?.forget(forgotten) }
    return true
  }

  /// The table's checkpoints, for changing them.
  var memory: InputMemoryEditor? {
    guard let table else { return nil }
    return InputMemoryEditor(table, notes) { [unowned self] makes in
      try transaction?.companion(
        InputMemory.purpose, of: table, columns: makes ? InputMemory.columns : nil) ?? nil
    }
  }

  /// The table before the transaction's changes, for the parsers; nil when it cannot be held.
  func keyView() throws -> KeyView? {
    guard let table else { return nil }
    return try transaction?.keyView(of: table)
  }

  /// Empties the table.
  func truncate() throws {
    guard let table else { return }
    pendingDeleted += try table.count
    if pendingDeleted > 0 { replacesObjects = true }
    isEmptied = true
    changes.end()
    try table.deleteAll()
    // The objects of earlier imports are deleted: these imports are no longer complete.
    try memory?.removeAll()
  }

  /// Deletes the objects that the inputs lack.
  ///
  /// - Parameter before: the table before the transaction's changes.
  func deleteMissing(of before: Table) throws {
    guard let table else { return }
    changes.end()
    replacesObjects = true
    pendingDeleted += try deleteMissing(of: before, in: table)
  }

  /// Deletes the objects that the inputs lack.
  ///
  /// - Returns: the number of deleted objects.
  func deleteMissing(of before: Table, in table: WritableTable) throws -> Int {
    guard let seen else { return 0 }
    var deleted = 0
    try before.forEachKey { object in
      if !seen.contains(object), try table.delete(object) { deleted += 1 }
    }
    return deleted
  }

  /// Counts the deletions of a committed transaction.
  func count(deleted number: Int) { deleted += number }

  /// Commits a batch, unless the transaction stays open.
  ///
  /// - Parameters:
  ///   - isLast: whether no further batch follows.
  ///   - mayJoin: whether other batches may share its version.
  func commitBatch(isLast: Bool, mayJoin: Bool) throws -> BatchOutcome {
    if try !publishesAtEnd && (spansInputs || leavesEmpty()) { return .waits }
    journal.endBatch()
    // No caller waits for the version to be durable, except a writer for its turn; otherwise others may join.
    if mayJoin, durability != .full, !database.othersWait { return .joins }
    try commit(isLast && !publishesAtEnd ? .complete : .unfinished)
    return .committed
  }

  /// Commits the joined batches.
  func commitJoined() throws { try commit(.unfinished) }

  /// Commits the rest after all inputs.
  ///
  /// - Returns: whether there was anything to commit.
  /// - Throws: `ImportError.emptyReplacement`.
  func finish() throws -> Bool {
    guard isOpen else { return false }
    if try leavesEmpty() {
      throw ImportError.emptyReplacement(table: tableName, database: database.path)
    }
    journal.endBatch()
    try commit(.complete)
    return true
  }

  /// Records how the import has ended, if its last transaction did not record it.
  func close(isInterrupted: Bool) throws {
    try journal.close(isInterrupted ? .interrupted : .complete, database, durability)
  }

  /// Records how far the import has come when an error ends it. The entry has the counts of the last second
  /// otherwise, or of the first batch of a short import.
  ///
  /// - Throws: what the commit throws; what was committed before is not changed then.
  func closeAfterError() throws {
    rollBack()
    // The error is told before others have done their work.
    database.turnWaiting = Waiting(seconds: 0)
    try journal.close(.unfinished, database, durability)
  }

  /// Returns whether the commit would empty a table that had objects.
  private func leavesEmpty() throws -> Bool {
    try replacesObjects && !allowsEmpty && table?.count == 0
  }

  private func commit(_ status: RunEntry.Status) throws {
    let deleting = pendingDeleted
    end()
    if let open = transaction.take() {
      journal.deleted = deleted + deleting
      do {
        try journal.write(status, open)
      } catch {
        open.rollBack()
        throw error
      }
      version = try open.commit(durability: durability)
      journal.commit()
      if !publishesAtEnd { forgotten = [] }
      if publishesAtEnd { hasPending = true }
      deleted += deleting
    }
    if let version { changes.committed(version) }
    // From now on an early end would leave only a part of the inputs, so other writers are waited for without
    // a limit.
    database.turnWaiting = patient
  }

  func rollBack() {
    end()
    journal.rollBack()
    transaction.take()?.rollBack()
  }

  private func end() {
    table = nil
    (replacesObjects, isEmptied, pendingDeleted) = (false, false, 0)
  }
}
