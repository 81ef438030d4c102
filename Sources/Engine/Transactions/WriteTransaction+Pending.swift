/// Builds a table beside the visible one, over several transactions. Readers see nothing of it until it is
/// published, and then all of it at once.
extension WriteTransaction {
  /// The pending tables, in the order in which they were begun, without the transaction's own changes.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package var pendingTables: [PendingTable] {
    get throws { try state.history().pending.map(PendingTable.init) }
  }

  /// Begins a pending table with the objects, columns and companions of the visible one, or an empty one if
  /// there is no visible one.
  ///
  /// - Parameters:
  ///   - columns: the columns of a table that does not exist yet; nil for an existing one.
  ///   - what: the description for lists of pending tables.
  /// - Complexity: O(tree nodes of the table); objects are not read.
  /// - Throws: `EngineError.busy` when there is a pending table of that name, `.tableExists`, `.noSuchTable`,
  ///   `.invalidSchema`, `.tooLarge`, `.transactionEnded`, `.damaged`.
  package func beginPending(
    _ name: String, creating columns: [Column]? = nil, keys: [String] = [],
    describedAs what: String = ""
  ) throws -> WritableTable {
    let pending = try state.beginPending(name, columns: columns, keys: keys, what: what)
    return WritableTable(try state.editor(of: pending))
  }

  /// The pending table of a name; nil when there is none.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func pendingTable(_ name: String) throws -> WritableTable? {
    try state.pending(name).map { WritableTable(try state.editor(of: $0)) }
  }

  /// The changes that others have made to a table since its pending table was begun, in words; nil when there
  /// are none, and when there is no pending table.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func changeBesidePending(_ name: String) throws -> String? {
    try state.pending(name).flatMap { try state.change(of: $0.root) }
  }

  /// Replaces the visible table by the pending one. The trees are adopted unchanged, so it costs a block or
  /// two; the handle's next transaction finds the free pages by a walk.
  ///
  /// - Parameter overChanges: whether to replace the table even if others have changed it since. The caller
  ///   has then merged their changes.
  /// - Throws: `EngineError.noSuchTable` when there is no pending table, `.busy` when others have changed the
  ///   table since it was begun, `.transactionEnded`, `.damaged`.
  package func publishPending(_ name: String, overChanges: Bool = false) throws {
    try state.publishPending(name, overChanges: overChanges)
  }

  /// Drops the pending table of a name.
  ///
  /// - Returns: false when there was none.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  @discardableResult
  package func abandonPending(_ name: String) throws -> Bool { try state.abandonPending(name) }
}
