extension Session {
  /// True between `beginWrite` and its end, and inside `write`.
  ///
  /// - Throws: `EngineError.wrongThread`.
  public var isInWriteTransaction: Bool {
    get throws {
      try check()
      return transaction != nil
    }
  }

  // MARK: Transactions

  /// Runs `body` in a write transaction and commits it.
  ///
  /// The session first moves to the newest version, so `body` never works on outdated values. `body` may
  /// itself end the transaction by `commitWrite` or `cancelWrite`. If `body` throws, everything is rolled
  /// back and the error is rethrown.
  ///
  /// - Parameters:
  ///   - durability: when the commit survives a power cut; nil: as in the database's options.
  ///   - tokens: observers of this session that do not receive this commit.
  ///   - body: receives the transaction, for changes of the schema and of many rows; the session's objects
  ///     and results have methods of their own for changes.
  /// - Throws: the errors of `beginWrite`, `commitWrite` and `body`.
  @discardableResult
  public func write<Result>(
    durability: Durability? = nil, withoutNotifying tokens: [NotificationToken] = [],
    _ body: (borrowing WriteTransaction) throws -> Result
  ) throws -> Result {
    for token in tokens { try checkOwn(token) }
    // Only silenced observers must be up to date. Without any, nothing is delivered while others wait for the
    // turn.
    let state = try begin(isDelivering: !tokens.isEmpty)
    let result: Result
    do {
      let transaction = WriteTransaction(state: state, isOwner: false)
      result = try body(transaction)
      // This also ends another transaction that `body` has begun, as nothing else would end it.
      if self.transaction != nil {
        try commitWrite(durability: durability, withoutNotifying: tokens)
      }
    } catch {
      if self.transaction != nil { try cancelWrite() }
      throw error
    }
    return result
  }

  /// Begins a write transaction, after all earlier ones in any thread or process.
  ///
  /// The session first moves to the newest version and delivers its notifications.
  ///
  /// - Throws: `EngineError.nestedTransaction` when this thread or queue is already inside a transaction on
  ///   this file; `.wrongThread`, `.readOnly`, `.closed`, `.poisoned`, `.system`, `.damaged`.
  public func beginWrite() throws { _ = try begin(isDelivering: true) }

  /// - Parameter isDelivering: true: observers receive commits made during the wait inside the transaction;
  ///   false: after it, together with its own changes.
  private func begin(isDelivering isTelling: Bool) throws -> TransactionState {
    try check()
    if transaction != nil { throw EngineError.nestedTransaction(path: database.path) }
    // Most notifications are delivered before others have to wait.
    if !isDelivering { try refresh() }
    let state = try TransactionState(database)
    if state.base.version != snapshot.version {
      do {
        snapshot = try translatingErrors(database.path) {
          try database.hold(state.base, state.parts)
        }
      } catch {
        state.abandon()
        throw error
      }
    }
    transaction = state
    mark = TransactionMark()
    forgetViews()
    if isTelling { deliver() }
    return state
  }

  /// Commits the transaction that `beginWrite` began.
  ///
  /// The session then moves to the new version. When all 2,048 places for snapshots are taken, it moves at a
  /// later refresh, and the observers of `tokens` then do receive the commit. The session's observers are
  /// called a little later, as after commits of others.
  ///
  /// - Returns: the number of the new version, or of the old one when nothing has changed.
  /// - Throws: `EngineError.noTransaction`; `.foreign` for a token of another session, and the transaction
  ///   continues; `.wrongThread`; `.poisoned`, `.system`, after the transaction was rolled back.
  @discardableResult
  public func commitWrite(
    durability: Durability? = nil, withoutNotifying tokens: [NotificationToken] = []
  ) throws -> UInt64 {
    try check()
    guard let state = transaction else {
      throw EngineError.noTransaction(operation: "a commit")
    }
    for token in tokens { try checkOwn(token) }
    for token in tokens { token.observer.beginSilence() }
    let base = snapshot
    do {
      var newest: Snapshot?
      let version = try state.commit(durability, newest: { newest = $0 }, nil)
      leaveTransaction(newest ?? base)
      for token in tokens { token.observer.endSilence(from: base, to: snapshot) }
      wake.request()
      return version
    } catch {
      mark?.cancel(base: base.catalogue)
      leaveTransaction(base)
      for token in tokens { token.observer.endSilence(from: base, to: base) }
      wake.request()
      throw error
    }
  }

  /// Rolls back the transaction that `beginWrite` began. Objects that it has added are invalidated.
  ///
  /// - Throws: `EngineError.noTransaction`, `.wrongThread`.
  public func cancelWrite() throws {
    try check()
    guard let state = transaction else {
      throw EngineError.noTransaction(operation: "a cancellation")
    }
    mark?.cancel(base: snapshot.catalogue)
    state.abandon()
    leaveTransaction(snapshot)
    wake.request()
  }

  private func leaveTransaction(_ snapshot: Snapshot) {
    transaction = nil
    mark = nil
    look(at: snapshot)
  }

  // MARK: Changes

  /// The table for changes.
  ///
  /// - Throws: `EngineError.noTransaction`.
  func editor(_ view: TableView, _ operation: String) throws(EngineError) -> TableEditor {
    guard case .transaction(let editor) = view.source else {
      throw .noTransaction(operation: operation)
    }
    return editor
  }

  func writable(_ identity: TableIdentity, _ operation: String) throws -> WritableTable {
    WritableTable(try editor(try view(identity), operation))
  }

  /// Adds an object. Omitted columns get their default, or null if they have none.
  ///
  /// - Throws: `EngineError.noTransaction`, `.noSuchTable`, `.noSuchColumn`, `.invalidValue`,
  ///   `.duplicateKey`, `.wrongThread`.
  @discardableResult
  public func insert(_ values: [String: Value], into table: String) throws -> Object {
    let identity = try identity(of: table)
    return object(identity, try writable(identity, "an insertion").insert(values))
  }

  /// Adds an object, or changes the object with the same primary key.
  ///
  /// - Throws: the errors of `insert`; `EngineError.invalidArgument` when the table has no primary key, or
  ///   the values lack it.
  @discardableResult
  public func upsert(_ values: [String: Value], into table: String) throws -> Object {
    let identity = try identity(of: table)
    return object(identity, try writable(identity, "an insertion").upsert(values).key)
  }

  /// Deletes all objects of results.
  ///
  /// - Complexity: O(log n) for each; for a whole table O(tree nodes).
  /// - Throws: `EngineError.noTransaction`, `.foreign`, `.wrongThread`, `.damaged`.
  public func delete(_ results: Results) throws {
    guard results.session === self else {
      throw EngineError.foreign(what: "results", expected: "session")
    }
    let table = try writable(results.table, "a deletion")
    if results.isWhole { return try table.deleteAll() }
    for key in try results.keys() { try table.delete(key) }
  }

  /// Deletes all objects of all tables; the tables stay. `Database.compact` frees their space.
  ///
  /// - Complexity: O(tree nodes); objects are not read.
  /// - Throws: `EngineError.noTransaction`, `.wrongThread`.
  public func deleteAll() throws {
    if try !isInWriteTransaction { throw EngineError.noTransaction(operation: "a deletion") }
    for name in try tableNames { try writable(try identity(of: name), "a deletion").deleteAll() }
  }
}
