import Engine

/// A condition for every record of an import: an expression as in queries, on the typed values.
///
/// As with SQL's `CHECK`, a record is refused when the expression is false: a record for which a null makes
/// it unknown passes.
///
/// Thread rule: a plain value, `Sendable`.
public struct RecordRule: Sendable, Equatable {
  /// The expression as it was given.
  public let expression: String
  let predicate: Predicate

  /// - Throws: `QueryError` when the expression cannot be read.
  public init(_ expression: String) throws(QueryError) {
    self.expression = expression
    predicate = try Predicate(expression)
  }
}
