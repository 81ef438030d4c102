/// Why an import into a server failed. `description` is one line: what, where, and what to do.
///
/// Thread rule: a plain value, `Sendable`.
public struct ServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure, for programs.
  public enum Kind: Sendable {
    /// The command requests something impossible.
    case usage
    /// The server rejects the data, or the input has changed.
    case data
    /// A server, database, library or permission is missing.
    case missing
    /// The connection or the server failed.
    case inputOutput
    /// A later attempt may succeed: the server is not ready, has no space, or another process has the input.
    case busy
    /// `shouldStop` returned true.
    case interrupted
  }

  /// The kind of failure, for programs.
  public let kind: Kind
  /// The server's five-character code; nil when the server did not report the error.
  public let sqlState: String?
  /// For people.
  public let description: String
  /// The server's message; empty when the server did not report the error.
  let words: String
  /// The server's description of the place.
  let context: String?
  /// The number of the failed statement, from 0, among those sent together.
  let statement: Int
  /// True when the connection is lost, so the outcome of the running statement is unknown.
  let isDisconnected: Bool

  init(
    _ kind: Kind, _ description: String, sqlState: String? = nil, words: String = "",
    context: String? = nil, statement: Int = 0, isDisconnected: Bool = false
  ) {
    self.kind = kind
    self.description = description
    self.sqlState = sqlState
    self.words = words
    self.context = context
    self.statement = statement
    self.isDisconnected = isDisconnected
  }

  /// The same error with another description.
  func saying(_ text: String) -> ServerError {
    ServerError(
      kind, text, sqlState: sqlState, words: words, context: context, statement: statement,
      isDisconnected: isDisconnected)
  }
}
