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
      if let change = try transaction?.changeBesidePending(tableName) { throw changed(change) }
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

  private func changed(_ change: String) -> EngineError {
    .busy(
      path: database.path,
      reason:
        "\(change) by somebody else since this import was begun, so that what is pending cannot take its "
        + "place: the table is as they left it; import it anew, without --resume, or drop what is pending "
        + "with sheaf import --abandon")
  }

  /// Replaces the visible table by the pending one, without the objects that are to be deleted; keeps the
  /// version before if the options say so.
  ///
  /// - Parameter refusesEmpty: when no object would be left, and the visible table has some.
  /// - Returns: false when nothing is pending.
  /// - Throws: `EngineError.busy` when somebody else has changed the table; `ImportError.emptyReplacement`.
  func publish(refusesEmpty: Bool) throws -> Bool {
    guard publishesAtEnd, hasPending else { return false }
    let open: WriteTransaction
    do {
      open = try database.beginWrite()
    } catch EngineError.cancelled {
      throw ImportError.interrupted
    }
    var deleting = 0
    do {
      if let change = try open.changeBesidePending(tableName) { throw changed(change) }
      var before = 0
      if open.tableNames.contains(tableName) { before = try open.table(tableName).count }
      try keepBase(open, publishes: true)
      journal.rebase(on: open.baseVersion)
      try open.publishPending(tableName)
      let table = try open.table(tableName)
      if let complete { deleting = try deleteMissing(of: complete, in: table) }
      if refusesEmpty, !allowsEmpty, before > 0, try table.count == 0 {
        throw ImportError.emptyReplacement(table: tableName, database: database.path)
      }
      journal.deleted = deleted + deleting
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
