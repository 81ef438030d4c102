extension WriteTransaction {
  /// A view of the table before the transaction's changes, for looking up keys on other threads.
  ///
  /// - Parameter table: a table of this transaction, which has not changed it yet.
  /// - Returns: nil when the table has no primary key or did not exist, or when the version cannot be held,
  ///   because too many are or because readers see a newer one.
  /// - Throws: `EngineError.damaged`, `.system`.
  package func keyView(of table: WritableTable) throws -> KeyView? {
    guard !table.editor.keyColumns.isEmpty, !table.editor.isChanged else { return nil }
    var snapshot: Snapshot
    do {
      snapshot = try state.host.snapshot()
      guard snapshot.version == baseVersion else { return nil }
      // A pending table that was just begun still equals the visible one.
      if let pending = state.pendingTables.first(where: { $0.has(table.editor) }), !pending.isNew {
        snapshot = try state.host.hold(
          pending.root.records(in: state.base).pending, try state.host.parts)
      }
    } catch EngineError.busy {
      return nil
    }
    guard
      let found = try snapshot.table(number: table.editor.number),
      found.schema == table.editor.schema
    else { return nil }
    return KeyView(found, table.editor)
  }
}
