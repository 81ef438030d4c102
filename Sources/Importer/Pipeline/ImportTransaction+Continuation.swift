import Engine

/// Whether an import goes on with an interrupted one.
extension ImportTransaction {
  /// Returns whether the import continues an interrupted one, whose version before it is kept.
  func continues(_ transaction: borrowing WriteTransaction) throws -> Bool {
    let kept = try transaction.keptVersions.map(\.number)
    return try journal.goesOn(transaction) { run in
      // What becomes visible at once is undone at once.
      if publishesAtEnd { return true }
      let now = try database.snapshot()
      return try !kept.contains { version in
        try version > run.base && isDisturbed(since: database.snapshot(at: .number(version)), now)
      }
    }
  }

  /// Returns whether something else than the interrupted import has changed the table since a version that
  /// was kept after its beginning. Whatever takes back or changes tables keeps the version before, where
  /// versions are kept.
  private func isDisturbed(since kept: Snapshot, _ now: Snapshot) throws -> Bool {
    let changes = try now.changes(since: kept)
    guard changes.changed.contains(tableName) else {
      return (changes.created + changes.deleted).contains(tableName)
    }
    // Batches of the interrupted import have moved its checkpoints.
    let (before, after) = (try memory(in: kept), try memory(in: now))
    for key in inputKeys where try before?.checkpoint(of: key) != after?.checkpoint(of: key) {
      return false
    }
    return true
  }

  private func memory(in snapshot: Snapshot) throws -> InputMemory? {
    guard snapshot.tableNames.contains(tableName) else { return nil }
    return try InputMemory(snapshot.table(tableName), in: snapshot)
  }
}
