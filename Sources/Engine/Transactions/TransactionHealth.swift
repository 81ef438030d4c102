/// Whether a transaction has failed; shared by all its parts.
///
/// A refusal before any change (of a value, a name, a key) leaves a transaction unchanged. After any other
/// error it is unknown how far the operation came: the transaction has failed, every later use throws, and it
/// can only be rolled back.
///
/// Thread rule: confined to the transaction's thread.
package final class TransactionHealth {
  /// The first failure; nil when there was none.
  // Unchecked: every operation reads it, and no function called during a change accesses it again.
  @exclusivity(unchecked) private(set) package var failure: String?

  package init() {}

  /// - Throws: `EngineError.transactionFailed`.
  package func check() throws(EngineError) {
    if let failure { throw .transactionFailed(cause: failure) }
  }

  /// Records an error that an operation has thrown.
  ///
  /// - Parameter afterChange: true when something had changed before the error; no error is then a refusal.
  package func note(_ error: any Error, afterChange: Bool) {
    if failure == nil, afterChange || !Self.isRefusal(error) { failure = "\(error)" }
  }

  private static func isRefusal(_ error: any Error) -> Bool {
    guard let error = error as? EngineError else { return false }
    return switch error {
    case .noSuchTable, .noSuchVersion, .otherChanges, .unchanged, .tableExists, .noSuchColumn,
      .noSuchObject, .invalidSchema,
      .invalidValue,
      .duplicateKey, .invalidKey, .invalidProperty, .invalidArgument, .wrongThread,
      .tooManyVersions, .transactionEnded:
      true
    case .system, .notADatabase, .newerFormat, .damaged, .missing, .busy, .poisoned, .displaced,
      .obstructed, .otherDatabase, .closed,
      .readOnly, .nestedTransaction, .cancelled, .nestedConnection, .nestedPerform,
      .transactionFailed,
      .insideTransaction, .noTransaction, .invalidated, .cannotObserve, .referenceResolved,
      .foreign, .schemaMismatch, .newerSchema, .tooLarge:
      false
    }
  }
}
