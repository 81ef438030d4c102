/// A condition on the objects of a table: the filter of a `Query`.
///
/// Made with operators on `column(_:)`, or from text:
///
///     let good: Predicate = column("Rating") >= 4.5 && column("Category") == "GAME"
///     let same = try Predicate("Rating >= 4.5 and Category == 'GAME'")
///
/// **Logic.** That of SQL, with three values: a test of a null is neither true nor false but unknown,
/// `not` of unknown is unknown, `and` is false as soon as one side is, `or` true as soon as one side
/// is. An object matches when the whole is true. `isNull` alone tells about nulls.
///
/// **NaN** stands for a missing number, as null does: every comparison with it is unknown. `isNaN`
/// finds it; `isNull` does not.
///
/// **Numbers** are compared exactly: an integer with a double without rounding either. A literal with
/// a fraction is the nearest double, as the values of a double column are.
///
/// **Text** is ordered by its UTF-8 bytes, which is the order of Unicode scalars. Ignoring case means
/// every scalar's upper case, then lower case, as Unicode maps them, in no locale: `STRASSE` is
/// `straße`.
///
/// **Dates** may be given as text (`"2018-08-03"`); a date compared with a date-time column is its
/// midnight in UTC. Booleans order false before true.
///
/// Thread rule: a plain value, `Sendable`.
public indirect enum Predicate: Sendable, Equatable {
  /// A test of one column.
  case test(ColumnTest)
  /// True when all are; true for none.
  case all([Predicate])
  /// True when one is; false for none.
  case any([Predicate])
  /// True when the other is false; unknown stays unknown.
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
    /// Another value; a null is neither equal nor another.
    case notEqual = "!="
    /// Before the literal.
    case less = "<"
    /// Before the literal, or equal to it.
    case lessOrEqual = "<="
    /// Behind the literal.
    case greater = ">"
    /// Behind the literal, or equal to it.
    case greaterOrEqual = ">="
  }

  /// What is asked of the value. Texts are for text columns only.
  public enum Question: Sendable, Equatable {
    /// How it compares with a literal.
    case compare(Comparison, Value)
    /// Equal to one of the values. A null among them makes what is not found unknown, as in SQL.
    case isIn([Value])
    /// Not below the first and not above the second.
    case isBetween(Value, Value)
    /// It has that text in it.
    case contains(String)
    /// It begins with that text.
    case beginsWith(String)
    /// It ends with that text.
    case endsWith(String)
    /// Like a pattern in which `%` stands for any text and `_` for one scalar, but not behind the
    /// escape.
    case isLike(String, escape: Unicode.Scalar? = nil)
    /// It is not there.
    case isNull
    /// It is a NaN, which no comparison finds.
    case isNaN
    /// The value of a boolean column itself.
    case isTrue
  }

  /// The name of the column.
  public var column: String
  /// What is asked of its value.
  public var question: Question
  /// Texts are compared without regard to upper and lower case.
  public var ignoresCase: Bool
  /// Where the column and the literal stand in the text that this came from, from 1.
  var columnPosition: Int?
  var valuePosition: Int?

  /// - Parameters:
  ///   - column: its name; whether there is one is found out when the query runs.
  ///   - question: what is asked of its value.
  ///   - ignoringCase: compares texts without regard to upper and lower case.
  public init(_ column: String, _ question: Question, ignoringCase: Bool = false) {
    self.column = column
    self.question = question
    self.ignoresCase = ignoringCase
  }

  /// Where a test came from does not matter. Texts are the same byte for byte.
  public static func == (left: ColumnTest, right: ColumnTest) -> Bool {
    left.column == right.column && left.question == right.question
      && left.ignoresCase == right.ignoresCase
  }
}

extension ColumnTest.Question {
  /// True for the same question; texts are the same byte for byte, as they are compared.
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
  /// Reads an expression.
  ///
  ///     Rating >= 4.5 and Category == "GAME"
  ///     `Content Rating` in ("Teen", "Everyone") and not (Reviews between 10 and 100)
  ///     App contains[c] "photo" or App like "%cam_ra%" or `Last Updated` is null
  ///
  /// - comparisons `==` `=` `!=` `<>` `<` `<=` `>` `>=`, `in (…)`, `between … and …`, `contains`,
  ///   `begins with`, `ends with`, `like … escape …`, `is null`, `is nan`, each of these with `not`;
  ///   a boolean column by itself; `[c]` behind an operator ignores case
  /// - `and` `&&`, `or` `||`, `not` `!`, parentheses; `not` binds most, `or` least
  /// - columns by their names, in backquotes where a name is no plain word
  /// - numbers, texts in `"` or `'` (doubled inside, or `\"`, `\n`, `\t`, `\\`, `\u{…}`), `true`, `false`
  ///
  /// Words are the same in upper and lower case, but for columns.
  ///
  /// - Throws: `QueryError` with the position of the first mistake.
  /// - Complexity: O(length); parentheses and `not` may be nested 200 deep.
  public init(_ text: String) throws(QueryError) {
    var parser = try ExpressionParser(text)
    self = try parser.predicate()
  }

  /// True for every object.
  public static let everything = Predicate.all([])

  /// True when both are.
  ///
  /// - Complexity: O(1) for one more behind a long chain, so that a chain may be made in a loop.
  public static func && (left: Predicate, right: Predicate) -> Predicate {
    .all(joined(left.conjuncts + right.conjuncts) { .all($0) })
  }

  /// True when one of them is.
  ///
  /// - Complexity: as `&&`.
  public static func || (left: Predicate, right: Predicate) -> Predicate {
    .any(joined(left.disjuncts + right.disjuncts) { .any($0) })
  }

  /// True when the predicate is false; unknown stays unknown.
  public static prefix func ! (predicate: Predicate) -> Predicate {
    // What is unknown is unknown also when it is negated twice.
    if case .not(let part) = predicate { return part }
    return .not(predicate)
  }

  // Kept flat, so that a long chain is no deep tree.
  private var conjuncts: [Predicate] {
    if case .all(let parts) = self { return parts }
    return [self]
  }

  private var disjuncts: [Predicate] {
    if case .any(let parts) = self { return parts }
    return [self]
  }

  /// A flat list is copied with every term that joins it.
  private static let longestChain = 256

  /// The parts of a chain, with equally high ones put together where they have become many: a tree that is
  /// logarithmically deep, as a number's digits are.
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
    // Heights that alternate.
    return stride(from: 0, to: joined.count, by: longestChain).map {
      group(Array(joined[$0..<min($0 + longestChain, joined.count)]))
    }
  }

  /// How often chains are nested in its first part.
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
