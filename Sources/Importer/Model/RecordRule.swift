import Engine

/// A condition for every record of an import: an expression as in queries, on typed values.
///
/// As with SQL's `CHECK`, a record is rejected when the expression is false; a record for which a null makes
/// it unknown passes.
///
/// Thread rule: a plain value, `Sendable`.
public struct RecordRule: Sendable, Equatable {
  /// The expression as given.
  public let expression: String
  let predicate: Predicate

  /// - Throws: `QueryError` when the expression cannot be read.
  public init(_ expression: String) throws(QueryError) {
    self.expression = expression
    predicate = try Predicate(expression)
  }
}
