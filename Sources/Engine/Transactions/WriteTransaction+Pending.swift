/// Making a table beside the visible one, over several transactions. Readers see nothing of it before it is
/// put in place, all of it at once.
extension WriteTransaction {
  /// What is pending, in the order in which it was begun, without the transaction's own changes.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package var pendingTables: [PendingTable] {
    get throws { try state.history().pending.map(PendingTable.init) }
  }

  /// Begins a table beside the visible one, whose objects, columns and companions it has at first; or one
  /// that is to come.
  ///
  /// - Parameters:
  ///   - columns: what to make a table of that is not there; nil: it is.
  ///   - what: what is said of it to those who list what is pending.
  /// - Complexity: O(tree nodes of the table): objects are not read.
  /// - Throws: `EngineError.busy` when something is pending under that name, `.tableExists`, `.noSuchTable`,
  ///   `.invalidSchema`, `.tooLarge`, `.transactionEnded`, `.damaged`.
  package func beginPending(
    _ name: String, creating columns: [Column]? = nil, keys: [String] = [],
    describedAs what: String = ""
  ) throws -> WritableTable {
    let pending = try state.beginPending(name, columns: columns, keys: keys, what: what)
    return WritableTable(try state.editor(of: pending))
  }

  /// The table that is pending under a name; nil when nothing is.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func pendingTable(_ name: String) throws -> WritableTable? {
    try state.pending(name).map { WritableTable(try state.editor(of: $0)) }
  }

  /// What others have done to a table since something became pending beside it; nil when it is as it was, and
  /// when nothing is pending.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func changeBesidePending(_ name: String) throws -> String? {
    try state.pending(name).flatMap { try state.change(of: $0.root) }
  }

  /// Puts the pending table in the place of the visible one. The trees are taken as they are, so that this
  /// costs a block or two, whatever was changed; the next transaction of the handle finds the free pages
  /// anew.
  ///
  /// - Parameter overChanges: also when somebody has changed the table since, which the caller then brings
  ///   into what is visible now.
  /// - Throws: `EngineError.noSuchTable` when nothing is pending, `.busy` when somebody has changed the
  ///   table since that was begun, `.transactionEnded`, `.damaged`.
  package func publishPending(_ name: String, overChanges: Bool = false) throws {
    try state.publishPending(name, overChanges: overChanges)
  }

  /// Drops what is pending under a name.
  ///
  /// - Returns: false when nothing was.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  @discardableResult
  package func abandonPending(_ name: String) throws -> Bool { try state.abandonPending(name) }
}
