/// A column in a condition: `column("Rating") >= 4.5`.
public func column(_ name: String) -> ColumnExpression { ColumnExpression(name) }

/// A column from which operators and methods make conditions; see `Predicate`.
///
/// Whether the column exists and allows the comparison is checked when the query runs.
///
/// Thread rule: a plain value, `Sendable`.
public struct ColumnExpression: Sendable {
  /// The column's name, as the table spells it.
  public let name: String

  /// The column of that name; `column(_:)` is shorter.
  public init(_ name: String) { self.name = name }

  private func test(_ question: ColumnTest.Question, ignoringCase: Bool = false) -> Predicate {
    .test(ColumnTest(name, question, ignoringCase: ignoringCase))
  }

  private static func compare(
    _ column: Self, _ comparison: ColumnTest.Comparison, _ value: some ValueConvertible
  ) -> Predicate {
    // The test for null is meant: SQL's comparison with null would never be true.
    if case .null = value.databaseValue {
      switch comparison {
      case .equal: return column.isNull
      case .notEqual: return !column.isNull
      default: break
      }
    }
    return column.test(.compare(comparison, value.databaseValue))
  }

  /// Equal to the value; for nil or `Value.null`, the test for null.
  public static func == (column: Self, value: some ValueConvertible) -> Predicate {
    compare(column, .equal, value)
  }
  /// Not equal to the value, and not null; for nil or `Value.null`, the test for not null.
  public static func != (column: Self, value: some ValueConvertible) -> Predicate {
    compare(column, .notEqual, value)
  }
  /// Less than the value.
  public static func < (column: Self, value: some ValueConvertible) -> Predicate {
    compare(column, .less, value)
  }
  /// Less than the value, or equal to it.
  public static func <= (column: Self, value: some ValueConvertible) -> Predicate {
    compare(column, .lessOrEqual, value)
  }
  /// Greater than the value.
  public static func > (column: Self, value: some ValueConvertible) -> Predicate {
    compare(column, .greater, value)
  }
  /// Greater than the value, or equal to it.
  public static func >= (column: Self, value: some ValueConvertible) -> Predicate {
    compare(column, .greaterOrEqual, value)
  }

  /// Equal to the text, optionally ignoring case.
  public func isEqual(to text: String, ignoringCase: Bool) -> Predicate {
    test(.compare(.equal, .text(text)), ignoringCase: ignoringCase)
  }

  /// Equal to one of the values. If these include null, the result for all other values is unknown, as in
  /// SQL.
  public func isIn(_ values: [some ValueConvertible], ignoringCase: Bool = false) -> Predicate {
    test(.isIn(values.map(\.databaseValue)), ignoringCase: ignoringCase)
  }

  /// Within the range, including its bounds.
  public func isBetween(_ range: ClosedRange<some ValueConvertible>) -> Predicate {
    test(.isBetween(range.lowerBound.databaseValue, range.upperBound.databaseValue))
  }

  /// The text contains the given text.
  public func contains(_ text: String, ignoringCase: Bool = false) -> Predicate {
    test(.contains(text), ignoringCase: ignoringCase)
  }

  /// The text begins with the given text.
  public func beginsWith(_ text: String, ignoringCase: Bool = false) -> Predicate {
    test(.beginsWith(text), ignoringCase: ignoringCase)
  }

  /// The text ends with the given text.
  public func endsWith(_ text: String, ignoringCase: Bool = false) -> Predicate {
    test(.endsWith(text), ignoringCase: ignoringCase)
  }

  /// The text matches a pattern, in which `%` matches any text and `_` any scalar.
  ///
  /// - Parameters:
  ///   - pattern: must match the whole text.
  ///   - escape: the scalar after which `%`, `_` and the scalar itself are literal.
  ///   - ignoringCase: whether to ignore upper and lower case.
  public func isLike(
    _ pattern: String, escape: Unicode.Scalar? = nil, ignoringCase: Bool = false
  ) -> Predicate {
    test(.isLike(pattern, escape: escape), ignoringCase: ignoringCase)
  }

  /// The value is null.
  public var isNull: Predicate { test(.isNull) }
  /// The value is a NaN, which no comparison matches.
  public var isNaN: Predicate { test(.isNaN) }
  /// The value of a boolean column.
  public var isTrue: Predicate { test(.isTrue) }
}

/// A value that a column can be compared with.
///
/// Thread rule: plain values, `Sendable`.
public protocol ValueConvertible: Sendable {
  /// The value for the comparison.
  var databaseValue: Value { get }
}

extension Value: ValueConvertible {
  /// The value itself.
  public var databaseValue: Value { self }
}

extension Int: ValueConvertible {
  /// An `int`.
  public var databaseValue: Value { .int(Int64(self)) }
}

extension Int64: ValueConvertible {
  /// An `int`.
  public var databaseValue: Value { .int(self) }
}

extension Double: ValueConvertible {
  /// A `double`.
  public var databaseValue: Value { .double(self) }
}

extension Bool: ValueConvertible {
  /// A `bool`.
  public var databaseValue: Value { .bool(self) }
}

extension String: ValueConvertible {
  /// A `text`.
  public var databaseValue: Value { .text(self) }
}

extension CalendarDate: ValueConvertible {
  /// A `date`.
  public var databaseValue: Value { .date(self) }
}

extension DateTime: ValueConvertible {
  /// A `datetime`.
  public var databaseValue: Value { .dateTime(self) }
}

extension TimeOfDay: ValueConvertible {
  /// A `time`.
  public var databaseValue: Value { .time(self) }
}

extension ExactDecimal: ValueConvertible {
  /// A `decimal`.
  public var databaseValue: Value { .decimal(self) }
}

extension UniqueIdentifier: ValueConvertible {
  /// A `uuid`.
  public var databaseValue: Value { .uuid(self) }
}

extension Optional: ValueConvertible where Wrapped: ValueConvertible {
  /// Null for nil.
  public var databaseValue: Value { map(\.databaseValue) ?? .null }
}
