import Engine

/// Batches for a pending table, and its publication.
extension ImportTransaction {
  /// Opens the pending table, or begins it.
  ///
  /// - Parameter columns: of a new table; nil: it exists, or is pending.
  /// - Returns: false when it does not exist, or when one should be created and exists already.
  /// - Throws: `EngineError.busy` when somebody else has changed the table since.
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
    // Objects of other imports may be deleted: none of these imports is complete any more.
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

  /// The visible table as it was when the pending one was begun, and as somebody else has left it, when what
  /// they have done may be merged.
  ///
  /// - Throws: `EngineError.busy` when it cannot.
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

  /// Brings what somebody else has done into the table that has just taken the visible one's place.
  ///
  /// - Parameters:
  ///   - beside: what the pending one was made from, and what they have made of it.
  ///   - inputs: the import's own.
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
    // An import that deletes remembers nothing but its own inputs.
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

  /// The visible table as it was when the pending one was begun; nil when nothing is pending, or there was
  /// none.
  func begunTable() throws -> Table? {
    guard publishesAtEnd, hasPending else { return nil }
    return try database.pendingSnapshot(of: tableName, asBegun: true)?.table(tableName)
  }

  /// Replaces the visible table by the pending one, without the objects that are to be deleted; keeps the
  /// version before if the options say so.
  ///
  /// - Parameters:
  ///   - inputs: the import's own.
  ///   - refusesEmpty: when no object would be left, and the visible table has some.
  /// - Returns: false when nothing is pending.
  /// - Throws: `EngineError.busy` when somebody else has changed the table in a way that cannot be merged;
  ///   `ImportError.emptyReplacement`; `.interrupted`, with all still pending.
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
      try keepBase(open, publishes: true)
      journal.rebase(on: open.baseVersion)
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
    count(deleted: deleting)
    complete = nil
    hasPending = false
    return true
  }
}
