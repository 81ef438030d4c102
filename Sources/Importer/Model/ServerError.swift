/// Why an import into a server could not go on. `description` is one line: what, where, and what to do.
///
/// Thread rule: a plain value, `Sendable`.
public struct ServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure, for programs.
  public enum Kind: Sendable {
    /// The command asks for something impossible.
    case usage
    /// The server refuses the data, or the input has changed.
    case data
    /// There is no such server, database, library or right.
    case missing
    /// The connection or the server broke down.
    case inputOutput
    /// A later try may succeed: the server does not listen yet, has no room, or another process has the
    /// input.
    case busy
    /// `shouldStop` returned true.
    case interrupted
  }

  /// The kind of failure, for programs.
  public let kind: Kind
  /// The server's five-character code; nil for an error that the server has not reported.
  public let sqlState: String?
  /// For people.
  public let description: String
  /// The server's own message; empty for an error that the server has not reported.
  let words: String
  /// The server's own description of the place.
  let context: String?
  /// The number of the statement that failed, from 0, among those sent together.
  let statement: Int
  /// Whether the connection is lost, so that the fate of the running statement is unknown.
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

  /// The same error with another text.
  func saying(_ text: String) -> ServerError {
    ServerError(
      kind, text, sqlState: sqlState, words: words, context: context, statement: statement,
      isDisconnected: isDisconnected)
  }
}
