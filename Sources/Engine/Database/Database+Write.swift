/// Write transactions.
extension Database {
  /// Begins a write transaction, after waiting for earlier ones.
  ///
  /// - Throws: `EngineError.nestedTransaction` when this thread has a transaction on this file, `.poisoned`,
  ///   `.readOnly`, `.closed`, `.system`, `.damaged`.
  public func beginWrite() throws -> WriteTransaction {
    WriteTransaction(state: try TransactionState(self))
  }

  /// Runs `body` in a write transaction and commits it. If `body` throws, everything is rolled back and the
  /// error is rethrown.
  ///
  /// - Throws: the errors of `beginWrite`, `commit` and `body`.
  @discardableResult
  public func write<Result>(
    durability: Durability? = nil, _ body: (borrowing WriteTransaction) throws -> Result
  ) throws -> Result {
    let transaction = try beginWrite()
    let result = try body(transaction)
    try transaction.commit(durability: durability)
    return result
  }
}

extension Database: TransactionHost {
  var settings: TransactionSettings {
    TransactionSettings(
      isReadOnly: options.access == .readOnly, durability: options.durability,
      schemaVersion: options.schema?.version, limits: options.limits,
      indexLimits: options.indexLimits, keptInPart: options.keptInPart,
      isWrongOnPurpose: options.isWrongOnPurpose)
  }

  var lockFile: FileIdentity { coordination.identity }
  var given: GivenNumbers? { lock.withLock { shared.given } }
  /// True when a writer of another handle waits for its turn.
  package var othersWait: Bool { queue.othersWait }

  func takeTurn() throws -> WriterQueue.Turn { try enterQueue() }
  func leave(_ turn: WriterQueue.Turn) { queue.leave(turn) }

  func noteWritten(bytes: Int) { lock.withLock { shared.bytesWritten += bytes } }
  func noteCommit() { lock.withLock { shared.hasWritten = true } }
  func noteBlocksInVain() { lock.withLock { shared.hasWrittenInVain = true } }
}
