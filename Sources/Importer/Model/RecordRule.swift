import Engine

/// What every record of an import has to be: an expression as queries have it, on the values as they are
/// typed.
///
/// As with SQL's `CHECK`, a record is refused when the expression is false of it: where a null leaves it
/// unknown, the record passes.
///
/// Thread rule: a plain value, `Sendable`.
public struct RecordRule: Sendable, Equatable {
  /// As it was given.
  public let expression: String
  let predicate: Predicate

  /// - Throws: `QueryError` when the expression cannot be read.
  public init(_ expression: String) throws(QueryError) {
    self.expression = expression
    predicate = try Predicate(expression)
  }
}
