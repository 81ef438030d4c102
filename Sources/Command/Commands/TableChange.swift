import Engine

/// One transaction of a command. Keeps the version before it, as imports do.
enum TableChange {
  /// Runs `body` in a transaction and commits it, durable, unless it has changed nothing.
  ///
  /// - Parameters:
  ///   - what: the description of the new version.
  ///   - changes: whether there is anything to commit, given the result of `body`.
  static func run<Result>(
    _ database: Database, _ what: String, _ body: (borrowing WriteTransaction) throws -> Result,
    changes: (Result) -> Bool
  ) throws -> Result {
    let transaction = try database.beginWrite()
    let result: Result
    do {
      try transaction.describe(shortened(what))
      try transaction.keepBase()
      result = try body(transaction)
    } catch {
      transaction.rollBack()
      throw error
    }
    if changes(result) {
      try transaction.commit(durability: .full)
    } else {
      transaction.rollBack()
    }
    return result
  }

  /// The longest beginning that fits into a version's description, in whole characters.
  private static func shortened(_ what: String) -> String {
    var text = what
    while text.utf8.count > 1000 { text = String(text.prefix(max(0, text.count - 100))) }
    return text
  }
}
