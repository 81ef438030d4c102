/// A connection to a server, as far as claims, lanes and leases know it: `ServerConnection` is the real one,
/// and tests have one to a model of a server.
///
/// Thread rule: one thread at a time.
protocol ServerLink: AnyObject {
  /// How the server is named in errors: without a password.
  var name: String { get }
  /// Whether it may still be used.
  var isOpen: Bool { get }
  /// As `150018` for 15.18.
  var serverVersion: Int { get }

  /// What the server has said of itself.
  func parameter(_ name: String) -> String?

  /// Runs statements that are sent together, and gives what the server answers to each.
  ///
  /// - Throws: `ServerError` for the first that failed; those behind it were not run.
  @discardableResult
  func run(_ statements: String) throws(ServerError) -> [ServerResult]

  /// Runs a `COPY ... FROM STDIN` with what `write` puts.
  ///
  /// - Returns: how many rows the server says that it has taken.
  func copy(
    _ statement: String,
    _ write: (_ put: (UnsafeRawBufferPointer) throws(ServerError) -> Void) throws(ServerError) ->
      Void
  ) throws(ServerError) -> Int

  /// Ends a transaction that failed; the connection is closed where that fails too.
  func rollBack()

  /// Ends it; what was not committed is rolled back by the server.
  func close()
}

/// What connects to a server, any number of times.
///
/// Thread rule: a plain value, `Sendable`.
protocol ServerAccess: Sendable {
  /// How the server is shown: without a password.
  var shown: String { get }

  /// Connects.
  ///
  /// - Parameters:
  ///   - silence: seconds without an answer after which the connection is given up; nil: as long as it takes.
  ///   - isStopping: asked while connecting: true gives up.
  ///   - isCancelled: asked while the server is silent: true gives the connection up.
  /// - Throws: `ServerError`.
  func connect(
    silence: Double?, isStopping: () -> Bool, isCancelled: @escaping () -> Bool
  ) throws(ServerError) -> any ServerLink
}
