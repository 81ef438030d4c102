import Engine

/// Batches in a pending table, and its publication.
extension ImportTransaction {
  /// Opens the pending table, or begins it.
  ///
  /// - Parameter columns: the columns of a new table; nil: it exists, or is pending.
  /// - Returns: false when the table does not exist, or is to be created and exists already.
  /// - Throws: `EngineError.busy` when others have changed the table since.
  func beginPending(creating columns: [Column]?, keys: [String]) throws -> Bool {
    if table != nil { return true }
    if hasPending {
      guard columns == nil else { return false }
      if let base = transaction?.baseVersion, base != mergeable {
        if let change = try transaction?.changeBesidePending(tableName) {
          _ = try besidePending(change)
        }
        mergeable = base
      }
      table = try transaction?.pendingTable(tableName)
      return table != nil
    }
    let isThere = transaction?.tableNames.contains(tableName) == true
    guard isThere == (columns == nil) else { return false }
    dropped = try transaction?.pendingTables.first { $0.name == tableName }
    try transaction?.abandonPending(tableName)
    table = try transaction?.beginPending(
      tableName, creating: columns, keys: keys, describedAs: description)
    // Objects of other imports may be deleted: these imports are then no longer complete.
    if isThere, seen != nil {
      try memory?.removeAll()
    } else if isThere, !forgotten.isEmpty {
      try memory?.forget(forgotten)
    }
    return true
  }

  private func changed(_ change: String, _ reason: String?) -> EngineError {
    .busy(
      path: database.path,
      reason:
        "\(change) by somebody else since this import was begun\(reason.map { " (\($0))" } ?? ""), so that "
        + "what is pending cannot take its place: the table is as they left it; import it anew, without "
        + "--resume, or drop what is pending with sheaf import --abandon")
  }

  /// The visible table as it was when the pending one was begun, and in its current state, if the changes of
  /// others may be merged.
  ///
  /// - Throws: `EngineError.busy` when they cannot be merged.
  private func besidePending(_ change: String) throws -> (before: Snapshot, theirs: Snapshot) {
    let theirs = try database.snapshot()
    guard let before = try database.pendingSnapshot(of: tableName, asBegun: true),
      before.tableNames.contains(tableName), theirs.tableNames.contains(tableName)
    else { throw changed(change, nil) }
    let tables = (try before.table(tableName), try theirs.table(tableName))
    guard tables.0.number == tables.1.number else { throw changed(change, nil) }
    if let obstacle = TableMerge.obstacle(tables.0, tables.1, truncates: truncates) {
      throw changed(change, obstacle)
    }
    return (before, theirs)
  }

  /// Merges the changes of others into the table that has just replaced the visible one.
  ///
  /// - Parameters:
  ///   - beside: the table from which the pending one was begun, and the table with the changes of others.
  ///   - inputs: the inputs of the import.
  private func merge(
    _ beside: (before: Snapshot, theirs: Snapshot), _ table: WritableTable,
    _ open: borrowing WriteTransaction, inputs: Set<UInt64>
  ) throws {
    let before = try beside.before.table(tableName)
    let theirs = try beside.theirs.table(tableName)
    var merge = TableMerge(
      rule, from: before, to: theirs, into: table.editor, seen, shouldStop: shouldStop)
    try merge.run()
    merged = (merge.outcome, theirs.count - before.count)
    // An import that deletes keeps only the checkpoints of its own inputs.
    if seen != nil { return }
    let (noted, forgotten) = try InputMemory(theirs, in: beside.theirs).changes(
      since: InputMemory(before, in: beside.before), leavingOut: inputs)
    if noted.isEmpty, forgotten.isEmpty { return }
    let companion = try open.companion(
      InputMemory.purpose, of: table, columns: noted.isEmpty ? nil : InputMemory.columns)
    let memory = InputMemoryEditor(table) { _ in companion }
    try memory.forget(forgotten)
    for checkpoint in noted {
      try memory.store(checkpoint, replacing: nil, isFirst: true, keepsContents: false)
    }
  }

  /// The visible table as it was when the pending one was begun; nil when there is no pending table, or there
  /// was no visible one.
  func begunTable() throws -> Table? {
    guard publishesAtEnd, hasPending else { return nil }
    return try database.pendingSnapshot(of: tableName, asBegun: true)?.table(tableName)
  }

  /// Replaces the visible table by the pending one, without the objects to be deleted. Keeps the version
  /// before if the options say so.
  ///
  /// - Parameters:
  ///   - inputs: the inputs of the import.
  ///   - refusesEmpty: whether to refuse that no object is left, if the visible table has some.
  /// - Returns: false when there is no pending table.
  /// - Throws: `EngineError.busy` when the changes of others cannot be merged;
  ///   `ImportError.emptyReplacement`; `.interrupted`, with the table still pending.
  func publish(inputs: Set<UInt64>, refusesEmpty: Bool) throws -> Bool {
    guard publishesAtEnd, hasPending else { return false }
    let open: WriteTransaction
    do {
      open = try database.beginWrite()
    } catch EngineError.cancelled {
      throw ImportError.interrupted
    }
    var deleting = 0
    do {
      let change = try open.changeBesidePending(tableName)
      let beside = try change.map { try besidePending($0) }
      var before = 0
      if open.tableNames.contains(tableName) { before = try open.table(tableName).count }
      journal.rebase(on: try keepUnpublished(open))
      try open.publishPending(tableName, overChanges: beside != nil)
      let table = try open.table(tableName)
      if let beside {
        do {
          try merge(beside, table, open, inputs: inputs)
        } catch let refusal as TableMerge.Refusal {
          throw changed(change ?? "", refusal.reason)
        }
      }
      if let complete { deleting = try deleteMissing(of: complete, in: table) }
      if refusesEmpty, !allowsEmpty, before > 0, try table.count == 0 {
        throw ImportError.emptyReplacement(table: tableName, database: database.path)
      }
      journal.deleted = deleted + deleting
      if let merged { journal.count(merged.outcome.moves) }
      try journal.complete(open)
    } catch {
      open.rollBack()
      throw error
    }
    version = try open.commit(durability: durability)
    journal.commit()
    count(deleted: deleting)
    complete = nil
    hasPending = false
    return true
  }
}
