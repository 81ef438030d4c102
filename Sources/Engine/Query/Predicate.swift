/// A condition on the objects of a table: the filter of a `Query`.
///
/// Operators on `column(_:)` make predicates, and so does text:
///
///     let good: Predicate = column("Rating") >= 4.5 && column("Category") == "GAME"
///     let same = try Predicate("Rating >= 4.5 and Category == 'GAME'")
///
/// **Logic.** SQL's three-valued logic: a test of a null is unknown, neither true nor false; `not` of unknown
/// is unknown; `and` is false when one side is false, `or` is true when one side is true. An object matches
/// when the whole condition is true. Only `isNull` finds nulls.
///
/// **NaN** is a missing number, like null: every comparison with it is unknown. `isNaN` finds it; `isNull`
/// does not.
///
/// **Numbers** are compared exactly, including an integer with a double or a decimal. In a double column, a
/// literal with a fraction is the nearest double, like the column's values.
///
/// **Text** is ordered by its UTF-8 bytes, which is the order of Unicode scalars. Ignoring case maps every
/// scalar to upper case, then to lower case, by Unicode's rules, independent of the locale: `STRASSE` equals
/// `straße`.
///
/// **Dates** may be given as text (`"2018-08-03"`); a date compared with a date-time column is midnight in
/// UTC. False is less than true.
///
/// Thread rule: a plain value, `Sendable`.
public indirect enum Predicate: Sendable, Equatable {
  /// A test of one column.
  case test(ColumnTest)
  /// True when all parts are true; true without parts.
  case all([Predicate])
  /// True when at least one part is true; false without parts.
  case any([Predicate])
  /// True when the other predicate is false; unknown stays unknown.
  case not(Predicate)
}

/// A test of one column's values.
///
/// Thread rule: a plain value, `Sendable`.
public struct ColumnTest: Sendable, Equatable {
  /// How a value is compared.
  public enum Comparison: String, Sendable, CaseIterable {
    /// The same value.
    case equal = "=="
    /// A different value; a null is neither equal nor different.
    case notEqual = "!="
    /// Less than the literal.
    case less = "<"
    /// Less than the literal, or equal to it.
    case lessOrEqual = "<="
    /// Greater than the literal.
    case greater = ">"
    /// Greater than the literal, or equal to it.
    case greaterOrEqual = ">="
  }

  /// The test of a value. Tests of texts are for text columns only.
  public enum Question: Sendable, Equatable {
    /// How it compares with a literal.
    case compare(Comparison, Value)
    /// Equal to one of the values. If these include null, the result for all other values is unknown, as in
    /// SQL.
    case isIn([Value])
    /// Not less than the first and not greater than the second.
    case isBetween(Value, Value)
    /// The value contains the text.
    case contains(String)
    /// The value begins with the text.
    case beginsWith(String)
    /// The value ends with the text.
    case endsWith(String)
    /// The value matches a pattern in which `%` matches any text and `_` one scalar, except after the escape.
    case isLike(String, escape: Unicode.Scalar? = nil)
    /// The value is null.
    case isNull
    /// The value is a NaN, which no comparison matches.
    case isNaN
    /// The value of a boolean column is true.
    case isTrue
  }

  /// The name of the column.
  public var column: String
  /// The test of its value.
  public var question: Question
  /// Whether texts are compared ignoring upper and lower case.
  public var ignoresCase: Bool
  /// The positions of the column and the literal in the text, from 1.
  var columnPosition: Int?
  var valuePosition: Int?

  /// - Parameters:
  ///   - column: the name of the column; whether it exists is checked when the query runs.
  ///   - question: the test of its value.
  ///   - ignoringCase: whether to compare texts ignoring upper and lower case.
  public init(_ column: String, _ question: Question, ignoringCase: Bool = false) {
    self.column = column
    self.question = question
    self.ignoresCase = ignoringCase
  }

  /// True for the same test, without regard to positions in the text. Texts are compared byte by byte.
  public static func == (left: ColumnTest, right: ColumnTest) -> Bool {
    left.column == right.column && left.question == right.question
      && left.ignoresCase == right.ignoresCase
  }
}

extension ColumnTest.Question {
  /// True for the same test; texts are compared byte by byte, as in queries.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.compare(let one, let value), .compare(let other, let second)):
      one == other && value == second
    case (.isIn(let values), .isIn(let others)): values == others
    case (.isBetween(let low, let high), .isBetween(let otherLow, let otherHigh)):
      low == otherLow && high == otherHigh
    case (.contains(let text), .contains(let other)),
      (.beginsWith(let text), .beginsWith(let other)), (.endsWith(let text), .endsWith(let other)):
      text.hasSameBytes(as: other)
    case (.isLike(let pattern, let escape), .isLike(let other, let otherEscape)):
      pattern.hasSameBytes(as: other) && escape == otherEscape
    case (.isNull, .isNull), (.isNaN, .isNaN), (.isTrue, .isTrue): true
    default: false
    }
  }
}

extension Predicate {
  /// Parses an expression.
  ///
  ///     Rating >= 4.5 and Category == "GAME"
  ///     `Content Rating` in ("Teen", "Everyone") and not (Reviews between 10 and 100)
  ///     App contains[c] "photo" or App like "%cam_ra%" or `Last Updated` is null
  ///
  /// - comparisons `==` `=` `!=` `<>` `<` `<=` `>` `>=`, `in (…)`, `between … and …`, `contains`,
  ///   `begins with`, `ends with`, `like … escape …`, `is null`, `is nan`, each of these with `not`;
  ///   a boolean column by itself; `[c]` behind an operator ignores case
  /// - `and` `&&`, `or` `||`, `not` `!`, parentheses; `not` binds most tightly, `or` least
  /// - columns by their names, in backquotes unless a name is a plain word
  /// - numbers, texts in `"` or `'` (doubled inside, or `\"`, `\n`, `\t`, `\\`, `\u{…}`), `true`, `false`
  ///
  /// Words other than columns' names are case-insensitive.
  ///
  /// - Throws: `QueryError` with the position of the first error.
  /// - Complexity: O(length); parentheses and `not` may be nested 200 deep.
  public init(_ text: String) throws(QueryError) {
    var parser = try ExpressionParser(text)
    self = try parser.predicate()
  }

  /// True for every object.
  public static let everything = Predicate.all([])

  /// True when both sides are true.
  ///
  /// - Complexity: O(1) for each part appended to a long chain, so a loop may build a chain.
  public static func && (left: Predicate, right: Predicate) -> Predicate {
    .all(joined(left.conjuncts + right.conjuncts) { .all($0) })
  }

  /// True when at least one side is true.
  ///
  /// - Complexity: that of `&&`.
  public static func || (left: Predicate, right: Predicate) -> Predicate {
    .any(joined(left.disjuncts + right.disjuncts) { .any($0) })
  }

  /// True when the predicate is false; unknown stays unknown.
  public static prefix func ! (predicate: Predicate) -> Predicate {
    // Unknown stays unknown when it is negated twice.
    if case .not(let part) = predicate { return part }
    return .not(predicate)
  }

  // Kept flat, so that a long chain is not a deep tree.
  private var conjuncts: [Predicate] {
    if case .all(let parts) = self { return parts }
    return [self]
  }

  private var disjuncts: [Predicate] {
    if case .any(let parts) = self { return parts }
    return [self]
  }

  /// Each additional part copies the flat list.
  private static let longestChain = 256

  /// The parts of a chain. When there are many parts of equal height, they are combined, so that the depth of
  /// the tree is logarithmic, like the number of digits of a number.
  private static func joined(
    _ parts: [Predicate], _ group: ([Predicate]) -> Predicate
  ) -> [Predicate] {
    if parts.count <= longestChain { return parts }
    var joined: [Predicate] = []
    var run: [Predicate] = []
    var height = 0
    for part in parts {
      let next = part.height
      if next != height || run.count == longestChain {
        joined += run.count == longestChain ? [group(run)] : run
        run = []
      }
      height = next
      run.append(part)
    }
    joined += run.count == longestChain ? [group(run)] : run
    if joined.count <= 4 * longestChain { return joined }
    // The heights alternate.
    return stride(from: 0, to: joined.count, by: longestChain).map {
      group(Array(joined[$0..<min($0 + longestChain, joined.count)]))
    }
  }

  /// The depth of chains in its first part.
  private var height: Int {
    var height = 0
    var part = self
    while true {
      switch part {
      case .all(let parts), .any(let parts):
        guard let first = parts.first else { return height }
        height += 1
        part = first
      case .test, .not: return height
      }
    }
  }
}
