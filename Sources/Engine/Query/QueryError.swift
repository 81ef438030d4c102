/// Why an expression cannot be parsed, or does not fit the table.
///
/// Thread rule: a plain value, `Sendable`.
public struct QueryError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The position in the expression, in characters from 1; nil for a predicate without text.
  public let position: Int?
  /// The error, the expected text, and what to write instead.
  public let reason: String

  /// - Parameters:
  ///   - position: in characters from 1; nil when there is no text.
  ///   - reason: the error, and what to write instead.
  public init(position: Int?, reason: String) {
    self.position = position
    self.reason = reason
  }

  /// The reason, after the position if there is one.
  public var description: String {
    guard let position else { return reason }
    return "expression, column \(position): \(reason)"
  }
}
