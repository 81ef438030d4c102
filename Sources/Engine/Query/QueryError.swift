/// Why an expression cannot be read, or does not fit the table.
public struct QueryError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Where in the expression, in characters from 1; nil when it was not given as text.
  public let position: Int?
  /// What is wrong, what was expected, and what to write instead.
  public let reason: String

  public init(position: Int?, reason: String) {
    self.position = position
    self.reason = reason
  }

  public var description: String {
    guard let position else { return reason }
    return "expression, column \(position): \(reason)"
  }
}
