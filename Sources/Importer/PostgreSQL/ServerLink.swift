/// A connection to a server, as claims, lanes and leases use it: a `ServerConnection`, or in tests a
/// connection to a model of a server.
///
/// Thread rule: one thread at a time.
protocol ServerLink: AnyObject {
  /// The server's name in errors, without a password.
  var name: String { get }
  /// True when the connection can still be used.
  var isOpen: Bool { get }
  /// The server's version: 150018 for 15.18.
  var serverVersion: Int { get }

  /// A parameter that the server has reported.
  func parameter(_ name: String) -> String?

  /// Runs statements that are sent together, and returns the answer to each.
  ///
  /// - Throws: `ServerError` for the first that failed; the statements after it were not run.
  @discardableResult
  func run(_ statements: String) throws(ServerError) -> [ServerResult]

  /// Runs a `COPY ... FROM STDIN` with the bytes that `write` passes to `put`.
  ///
  /// - Returns: the number of rows that the server reports to have taken.
  func copy(
    _ statement: String,
    _ write: (_ put: (UnsafeRawBufferPointer) throws(ServerError) -> Void) throws(ServerError) ->
      Void
  ) throws(ServerError) -> Int

  /// Rolls a failed transaction back; closes the connection when that fails, too.
  func rollBack()

  /// Closes the connection; the server rolls an open transaction back.
  func close()
}

/// Connects to a server, any number of times.
///
/// Thread rule: a plain value, `Sendable`.
protocol ServerAccess: Sendable {
  /// The server's name for the user, without a password.
  var shown: String { get }

  /// Connects.
  ///
  /// - Parameters:
  ///   - silence: seconds without an answer after which the connection is closed; nil: no limit.
  ///   - isStopping: called while connecting; true gives up.
  ///   - isCancelled: called while the server is silent; true closes the connection.
  /// - Throws: `ServerError`.
  func connect(
    silence: Double?, isStopping: () -> Bool, isCancelled: @escaping () -> Bool
  ) throws(ServerError) -> any ServerLink
}
