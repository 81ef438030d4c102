/// Why an import into a server could not go on. `description` is one line: what, where, and what to do.
///
/// Thread rule: a plain value, `Sendable`.
public struct ServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What a program can do about it.
  public enum Kind: Sendable {
    /// The command asks for something that cannot be.
    case usage
    /// The server refuses the data, or the input is not what it was.
    case data
    /// There is no such server, database, library or right.
    case missing
    /// The connection or the server broke down.
    case inputOutput
    /// It may go well later: the server does not listen yet, has no room, or somebody else has the input.
    case busy
    /// `shouldStop` said so.
    case interrupted
  }

  /// What a program can do about it.
  public let kind: Kind
  /// The server's five-character code; nil where the server has not said anything.
  public let sqlState: String?
  /// For people.
  public let description: String
  /// The server's own words; empty where it has not said anything.
  let words: String
  /// What the server says of where it happened.
  let context: String?
  /// Which statement of those that were sent together has failed, from 0.
  let statement: Int
  /// Whether the connection is gone, so that what was under way there is not known.
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

  /// The same with other words.
  func saying(_ text: String) -> ServerError {
    ServerError(
      kind, text, sqlState: sqlState, words: words, context: context, statement: statement,
      isDisconnected: isDisconnected)
  }
}
