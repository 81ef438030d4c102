import Base
import Engine

/// The transaction that an import writes in: one for each batch; or one for all inputs, when the old table
/// must stay until the new one is complete; or one for each batch of a pending table
/// (`ImportTransaction+Pending.swift`).
///
/// Thread rule: belongs to the writer's thread.
final class ImportTransaction {
  let database: Database
  let tableName: String
  let durability: Durability
  /// Whether it stays open from batch to batch and from input to input, until the import commits it.
  private let spansInputs: Bool
  let allowsEmpty: Bool
  private let patient: Waiting
  private let keptVersions: Int?
  /// Whether the version before the import is needed at its end.
  private let needsBase: Bool
  /// The description of the versions that it makes.
  let description: String
  /// Whether batches go to a pending table.
  let publishesAtEnd: Bool
  /// Whether the import has a pending table, its own or one that it continues.
  var hasPending = false
  /// The pending table of an earlier import that this one has dropped.
  var dropped: PendingTable?
  /// Inputs whose checkpoints are removed in the first transaction, or when the pending table is begun.
  var forgotten: Set<UInt64> = []
  /// The import's entry in the database's list of imports.
  let journal: RunJournal
  /// Whether it continues an interrupted import.
  var goesOn = false
  /// Whether the version before the import has been kept.
  private var hasKept = false
  var transaction: WriteTransaction?
  /// The table in it.
  var table: WritableTable?
  /// Whether it has emptied a table that had objects.
  private var replacesObjects = false
  /// Objects that the import has deleted, uncommitted ones included.
  private(set) var deleted = 0
  private var pendingDeleted = 0
  /// Whether it has emptied the table.
  private(set) var isEmptied = false
  /// The version that the import has read or made last.
  var version: UInt64?
  /// Whether somebody else has written since the import read that version.
  private(set) var isDisturbed = false
  /// Whether the transaction began from a version that somebody else has made.
  private(set) var followsOthers = false
  /// The import's own changes since versions that parsers may look in.
  let changes = OwnChanges()
  /// The objects whose keys the inputs have; nil: all stay.
  let seen: SeenObjects?
  /// The table, as it was when the pending one was begun, whose objects that the inputs do not have are to be
  /// deleted when that takes its place; nil: none are.
  var complete: Table?
  /// What becomes of records whose keys are there.
  let rule: ConflictRule
  /// Whether the table is to be emptied first.
  let truncates: Bool
  /// The newest version that was found to be one that the pending table can be merged with.
  var mergeable: UInt64?
  /// What became of what somebody else had done to the table, and how many objects they had added, less those
  /// that they had deleted; nil: they had done nothing.
  var merged: (outcome: MergeOutcome, objects: Int)?
  let shouldStop: @Sendable () -> Bool
  private let notes = KnownNotes()

  /// - Parameter inputs: their paths; nil: those of the options.
  init(
    _ database: Database, _ options: ImportOptions, inputs: [String]? = nil, table: String
  ) {
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

  /// The inputs, as far as there is room, and the table.
  private static func description(_ inputs: [String], _ table: String) -> String {
    let names = inputs.map { PathText.shown($0) }.joined(separator: " ")
    let shown = names.utf8.count <= 600 ? names : "\(inputs.count) inputs"
    return "sheaf import \(shown)\(table.utf8.count <= 300 ? " into \(table)" : "")"
  }

  /// Keeps the version before the import, if the options say so, in the first transaction that changes
  /// anything. A resumed import has kept it before.
  ///
  /// - Parameter publishes: whether this transaction makes all imported records visible.
  func keepBase(_ transaction: borrowing WriteTransaction, publishes: Bool = false) throws {
    try transaction.describe(description)
    if hasKept { return }
    journal.begin(from: transaction.baseVersion)
    let isKnown = try journal.goesOn(transaction)
    // Until then readers see the earlier version.
    if publishesAtEnd, !publishes { return }
    hasKept = true
    if isKnown, !publishes { return }
    if goesOn, !publishes, transaction.baseMadeBy == description { return }
    var most = try keptVersions ?? transaction.keptVersionsLimit
    if needsBase, most == 0 {
      // Without a limit all present ones stay, also those from before an undo.
      most = try max(1, keptVersions ?? transaction.keptVersions.count)
    }
    try transaction.keepBase(most: most)
  }

  var isOpen: Bool { transaction != nil }

  /// Notes that the import knows the content of this version.
  func looks(at version: UInt64) {
    self.version = version
    isDisturbed = false
    changes.begin(at: version)
  }

  /// Begins a transaction, unless one is open.
  ///
  /// - Parameter columns: of a new table; nil: it exists.
  /// - Returns: false when a table should be created and exists already.
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
    // Objects of other imports may be deleted: none of these imports is complete any more.
    if isNew, seen != nil { try memory?.removeAll() }
    if isNew, columns == nil, !forgotten.isEmpty { try memory?.forget(forgotten) }
    return true
  }

  /// The table's checkpoints, to be changed.
  var memory: InputMemoryEditor? {
    guard let table else { return nil }
    return InputMemoryEditor(table, notes) { [unowned self] makes in
      try transaction?.companion(
        InputMemory.purpose, of: table, columns: makes ? InputMemory.columns : nil) ?? nil
    }
  }

  /// The table as the transaction has found it, for the parsers; nil when it cannot be held.
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
    // The objects of earlier imports are gone: none of these imports is complete any more.
    try memory?.removeAll()
  }

  /// Deletes the objects that the inputs do not have.
  ///
  /// - Parameter before: the table as the transaction has found it.
  func deleteMissing(of before: Table) throws {
    guard let table else { return }
    changes.end()
    replacesObjects = true
    pendingDeleted += try deleteMissing(of: before, in: table)
  }

  /// Deletes the objects that the inputs do not have.
  ///
  /// - Returns: their number.
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
  ///   - isLast: no batch comes after it.
  ///   - mayJoin: whether others may share its version.
  func commitBatch(isLast: Bool, mayJoin: Bool) throws -> BatchOutcome {
    if try !publishesAtEnd && (spansInputs || leavesEmpty()) { return .waits }
    journal.endBatch()
    // Nobody waits for the version to be on the disk, except a writer for its turn: then others may join.
    if mayJoin, durability != .full, !database.othersWait { return .joins }
    try commit(isLast && !publishesAtEnd ? .complete : .unfinished)
    return .committed
  }

  /// Commits the joined batches.
  func commitJoined() throws { try commit(.unfinished) }

  /// Commits the rest when all inputs have been read.
  ///
  /// - Returns: whether there was any.
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

  /// Records how the import has ended, if its last transaction did not.
  func close(isInterrupted: Bool) throws {
    try journal.close(isInterrupted ? .interrupted : .complete, database, durability)
  }

  /// Whether the commit would leave a table empty that had objects.
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
      if !publishesAtEnd { forgotten = [] }
      if publishesAtEnd { hasPending = true }
      deleted += deleting
    }
    if let version { changes.committed(version) }
    // From now on an early end would leave a part of the inputs: other writers are waited for as long as they
    // take.
    database.turnWaiting = patient
  }

  func rollBack() {
    end()
    transaction.take()?.rollBack()
  }

  private func end() {
    table = nil
    (replacesObjects, isEmptied, pendingDeleted) = (false, false, 0)
  }
}
