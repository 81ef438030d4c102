/// Making a table beside the visible one, over several transactions. Readers see nothing of it until it is
/// published, and then all of it at once.
extension WriteTransaction {
  /// The pending tables, in the order in which they were begun, without the transaction's own changes.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package var pendingTables: [PendingTable] {
    get throws { try state.history().pending.map(PendingTable.init) }
  }

  /// Begins a pending table with the objects, columns and companions of the visible one; or an empty one for
  /// a table that does not exist yet.
  ///
  /// - Parameters:
  ///   - columns: of a table that does not exist yet; nil for an existing one.
  ///   - what: the description for lists of pending tables.
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

  /// The pending table of a name; nil when there is none.
  ///
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func pendingTable(_ name: String) throws -> WritableTable? {
    try state.pending(name).map { WritableTable(try state.editor(of: $0)) }
  }

  /// The changes that others have made to a table since its pending one was begun; nil when there are none,
  /// and when nothing is pending.
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

  /// Drops the pending table of a name.
  ///
  /// - Returns: false when there was none.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  @discardableResult
  package func abandonPending(_ name: String) throws -> Bool { try state.abandonPending(name) }
}
