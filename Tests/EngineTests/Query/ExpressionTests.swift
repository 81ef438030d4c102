import Testing
import TestSupport

@testable import Engine

@Suite("Expressions")
struct ExpressionTests {
  static let schema = try? TableSchema(
    [
      Column("Rating", .double), Column("Reviews", .int), Column("Category", .text),
      Column("Content Rating", .text), Column("Paid", .bool), Column("Day", .date),
      Column("Moment", .dateTime), Column("Größe", .int),
    ], table: "apps")

  private static func same(_ text: String, _ predicate: Predicate) -> (String, Predicate) {
    (text, predicate)
  }

  static let readings: [(String, Predicate)] = [
    same("Rating >= 4.5", column("Rating") >= 4.5),
    same("Rating=4 ", column("Rating") == 4),
    same("Rating <> -1e3", column("Rating") != -1000.0),
    same("4.5 <= Rating", column("Rating") >= 4.5),
    same("'GAME' == Category", column("Category") == "GAME"),
    same("Reviews > +7", column("Reviews") > 7),
    same(
      "Reviews > 99999999999999999999",
      column("Reviews") > (ExactDecimal("99999999999999999999") ?? .zero)),
    same("Reviews > 1e300", column("Reviews") > 1e300),
    same("Rating > 0.1", column("Rating") > 0.1),
    same("Größe == .5", column("Größe") == 0.5),
    same(
      "Rating >= 4.5 and Category == \"GAME\"",
      column("Rating") >= 4.5 && column("Category") == "GAME"),
    same(
      "Paid or Rating > 1 AND NOT Reviews < 2",
      column("Paid").isTrue || (column("Rating") > 1 && !(column("Reviews") < 2))),
    same(
      "(Paid || Rating > 1) && !(Reviews < 2)",
      (column("Paid").isTrue || column("Rating") > 1) && !(column("Reviews") < 2)),
    same("`Content Rating` in ('a', \"b\")", column("Content Rating").isIn(["a", "b"])),
    same("Reviews not in (1,null)", !column("Reviews").isIn([.int(1), Value.null])),
    same("Reviews in ()", column("Reviews").isIn([Int]())),
    same(
      "Reviews between 1 and 2 and Paid",
      column("Reviews").isBetween(1...2) && column("Paid").isTrue),
    same("Category contains 'x'", column("Category").contains("x")),
    // U+1FEF, which is equal to a backquote as a character.
    same(
      "`\u{1FEF}x` is null or `a\u{1FEF}\u{1FEF}` is null",
      column("\u{1FEF}x").isNull || column("a\u{1FEF}\u{1FEF}").isNull),
    same("Category contains[c] 'x'", column("Category").contains("x", ignoringCase: true)),
    same("Category BEGINSWITH 'x'", column("Category").beginsWith("x")),
    same("Category begins with 'x'", column("Category").beginsWith("x")),
    same("Category not endsWith [C] 'x'", !column("Category").endsWith("x", ignoringCase: true)),
    same("Category like '%a_'", column("Category").isLike("%a_")),
    same("Category ilike 'a'", column("Category").isLike("a", ignoringCase: true)),
    same("Category like '10!%' escape '!'", column("Category").isLike("10!%", escape: "!")),
    same("Category ==[c] 'x'", column("Category").isEqual(to: "x", ignoringCase: true)),
    same("Category is null", column("Category").isNull),
    same("Category IS NOT NULL", !column("Category").isNull),
    same("Rating is nan", column("Rating").isNaN),
    same(
      "Paid == true and Paid is not false", column("Paid") == true && !(column("Paid") == false)),
    same("Day >= '2018-08-03'", column("Day") >= "2018-08-03"),
    same(#"Category == 'it''s "q"\n\t\\\u{1F600}'"#, column("Category") == "it's \"q\"\n\t\\😀"),
    same(#"Category == "a""b\"""#, column("Category") == "a\"b\""),
    same("`odd``name` == 1", column("odd`name") == 1),
    // A mark makes one character with the quote before it.
    same("Category == '\u{301}a'", column("Category") == "\u{301}a"),
    same("`\u{369}` == 1 and Paid", column("\u{369}") == 1 && column("Paid").isTrue),
    same("Category contains '\\'\u{301}'", column("Category").contains("'\u{301}")),
    // A sign that is written over what follows makes one with the quote behind it.
    same("`\u{600}` == 1 and Paid", column("\u{600}") == 1 && column("Paid").isTrue),
    same("`\u{600}``\u{301}` == 1", column("\u{600}`\u{301}") == 1),
    same("Category == '\u{600}\u{110BD}'", column("Category") == "\u{600}\u{110BD}"),
    same(
      "Category == '\u{600}\\\\\u{301}\u{600}'", column("Category") == "\u{600}\\\u{301}\u{600}"),
    same("", .everything),
    same(" \n\t", .everything),
  ]

  @Test("Texts mean what the builder says", arguments: readings)
  func meaning(text: String, expected: Predicate) throws {
    #expect(try Predicate(text) == expected)
  }

  static let mistakes: [(String, Int, String)] = [
    ("Rating >", 9, "expected a value to compare `Rating` with, found the end"),
    ("Rating > > 4", 10, "expected a value to compare `Rating` with, found '>'"),
    ("Rating >= 4.5 and", 18, "expected a column's name, found the end"),
    ("Rating 4", 8, "expected a comparison such as == behind 'Rating', found 4"),
    ("Content Rating == 'x'", 9, "in backquotes: `Content Rating`"),
    ("Category == GAME", 13, "texts stand in quotes: \"GAME\""),
    ("Category == `Rating`", 13, "columns are compared with values only"),
    ("\"Content Rating\" == 'x'", 1, "write it in backquotes"),
    ("(Rating > 4", 12, "expected ')', found the end"),
    ("Rating > 4)", 11, "expected 'and', 'or' or the end, found ')'"),
    ("Rating > 4 Paid", 12, "expected 'and', 'or' or the end, found 'Paid'"),
    ("Category == 'x", 13, "the closing ' is missing"),
    ("Category == '\u{301}x' und", 17, "expected 'and', 'or' or the end, found 'und'"),
    ("Category == '\u{301}\\q'", 14, "an unknown escape"),
    ("`Rating > 4", 1, "the closing ` is missing"),
    (#"Category == 'a\q'"#, 15, "an unknown escape"),
    ("Rating > 4.5.6", 10, "'4.5.6' is not a number"),
    ("Rating > 007", 10, "'007' is not a number"),
    ("Rating > 4 ; 5", 12, "';' has no meaning here"),
    ("Rating == null", 11, "write 'is null'"),
    ("Rating is 4", 11, "expected 'null', 'not null' or 'nan' behind 'is'"),
    ("Rating not > 4", 12, "expected 'in', 'between', 'contains'"),
    ("Reviews in 1, 2", 12, "expected '('"),
    ("Reviews in (1, 2", 17, "expected ',' or ')' in the list"),
    ("Reviews between 1 or 2", 19, "expected 'and' between the two bounds"),
    ("Category contains 4", 19, "expected a text in quotes behind 'contains'"),
    ("Category begins 'x'", 17, "expected 'with' behind 'begins'"),
    ("Category ==[x] 'x'", 13, "expected 'c' between the brackets"),
    ("Category like 'x' escape 'ab'", 26, "an escape is one character"),
    ("Größe > 4 und Paid", 11, "expected 'and', 'or' or the end, found 'und'"),
    (String(repeating: "(", count: 300) + "Paid", 201, "nested more than 200 deep"),
    (String(repeating: "not ", count: 300) + "Paid", 801, "nested more than 200 deep"),
    ("👩‍👩‍👧 > 4", 1, "has no meaning here"),
    // Expressions that do not fit the table.
    ("Paid and Ratin > 4", 10, "there is no column 'Ratin'; did you mean Rating?"),
    ("content_rating == 'x'", 1, "did you mean `Content Rating`?"),
    ("Foo == 1", 1, "the columns are Rating, Reviews, Category, `Content Rating`"),
    ("Rating == '4'", 11, "column 'Rating' is a double and cannot be compared with the text \"4\""),
    ("Category > 4", 12, "write \"4\" in quotes to compare texts"),
    ("Reviews == true", 12, "column 'Reviews' is an int and cannot be compared with true or false"),
    ("Day > 'soon'", 7, "\"soon\" is not a date like \"2018-08-03\""),
    ("Moment > '2018-13-01'", 10, "is not a date-time like"),
    ("Category", 1, "column 'Category' is a text, not a bool"),
    ("Rating contains '4'", 1, "'contains' looks into texts; column 'Rating' is a double"),
    ("Reviews is nan", 1, "only double columns hold NaN"),
    ("Reviews ==[c] 4", 1, "case can be ignored in texts only"),
    ("Reviews between 1 and null", 9 + 8, "a comparison with null is never true"),
    ("Category == '\\u{+72}ed'", 14, "an unknown escape"),
    ("Category like 'a!b' escape '!'", 15, "the escape must stand before"),
  ]

  @Test("Mistakes are told with their place", arguments: mistakes)
  func place(text: String, position: Int, reason: String) throws {
    let schema = try #require(Self.schema)
    let error = try #require(throws: QueryError.self) {
      _ = try CompiledPredicate(try Predicate(text), schema)
    }
    #expect(error.position == position, "\(error)")
    #expect(error.reason.contains(reason), "\(error)")
    #expect(error.description.hasPrefix("expression, column \(position): "))
  }

  @Test("A predicate that was built has no position, and may be long but not deep")
  func built() throws {
    let schema = try #require(Self.schema)
    let error = try #require(throws: QueryError.self) {
      _ = try CompiledPredicate(column("Nothing") == 1, schema)
    }
    #expect(error.position == nil && error.description.hasPrefix("there is no column"))
    var long = column("Reviews") == 0
    for number in 1...2_000 { long = long || column("Reviews") == number }
    _ = try CompiledPredicate(long, schema)
    var deep = column("Reviews") == 0
    for number in 0..<2000 { deep = !(deep && column("Reviews") == number) }
    #expect(throws: QueryError.self) { _ = try CompiledPredicate(deep, schema) }
    let null = column("a") == Int?.none
    #expect(null == column("a").isNull)
    #expect(throws: QueryError.self) {
      _ = try CompiledPredicate(column("Rating") > Double.nan, schema)
    }
  }

  @Test("Random texts are read or refused, never more", arguments: 1...4)
  func fuzz(seed: UInt64) throws {
    let schema = try #require(Self.schema)
    var random = SplitMix64(seed: seed)
    let pieces =
      Self.readings.flatMap { $0.0.split(separator: " ").map(String.init) }
      + ["(", ")", "not", "and", "or", "'", "\"", "`", "\\", "[c]", "\u{0}", "é", "👩‍👩‍👧", "\u{301}"]
    var read = 0
    for round in 0..<1500 {
      var text = ""
      if round.isMultiple(of: 2) {
        for _ in 0..<Int.random(in: 1...12, using: &random) {
          text += pieces.pick(&random) + [" ", " ", ""].pick(&random)
        }
      } else {
        let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
          Bool.random(using: &random)
            ? UInt8.random(in: 0x20...0x7E, using: &random)
            : UInt8.random(in: 0...255, using: &random)
        }
        text = String(decoding: bytes, as: UTF8.self)
      }
      do throws(QueryError) {
        _ = try CompiledPredicate(try Predicate(text), schema)
        read += 1
      } catch {
        let count = text.count
        #expect((1...count + 1).contains(error.position ?? 0), "seed \(seed): \(text) \(error)")
      }
    }
    #expect(read > 0, "seed \(seed)")
  }

  @Test("Comparisons of numbers round nothing")
  func exactness() {
    let large = NumberLiteral.int(9_007_199_254_740_993)
    #expect(large.doubles(.equal) == nil)
    #expect(large.doubles(.less)?.upperBound == 9_007_199_254_740_992)
    #expect(large.doubles(.greater)?.lowerBound == 9_007_199_254_740_994)
    #expect(NumberLiteral.int(.max).doubles(.lessOrEqual)?.upperBound == 0x1p63.nextDown)
    #expect(NumberLiteral.int(.max).doubles(.greater)?.lowerBound == 0x1p63)
    #expect(NumberLiteral.int(.min).doubles(.equal) == -0x1p63 ... -0x1p63)
    #expect(NumberLiteral.int(.max).integers(.greater) == nil)
    #expect(NumberLiteral.int(.min).integers(.less) == nil)
    #expect(NumberLiteral.double(4.5).integers(.less) == .min...4)
    #expect(NumberLiteral.double(4.5).integers(.greaterOrEqual) == 5 ... .max)
    #expect(NumberLiteral.double(4.5).integers(.equal) == nil)
    #expect(NumberLiteral.double(-0x1p63).integers(.less) == nil)
    #expect(NumberLiteral.double(-0x1p63).integers(.greaterOrEqual) == .min ... .max)
    #expect(NumberLiteral.double(0x1p63).integers(.less) == .min ... .max)
    #expect(NumberLiteral.double(.infinity).integers(.greater) == nil)
    #expect(NumberLiteral.double(.infinity).doubles(.greater) == nil)
    #expect(NumberLiteral.double(-.infinity).doubles(.less) == nil)
    #expect(DecimalRange.mantissas(4.1...4.1, scale: 2) == 410...410)
    #expect(DecimalRange.mantissas(4.1...4.1, scale: 0) == nil)
    #expect(DecimalRange.mantissas(4.5...Double.infinity, scale: 1) == 45 ... .max)
    #expect(DecimalRange.mantissas(-Double.infinity...(-0.25), scale: 2) == .min ... -25)
    // Several mantissas are the same double if it has fewer digits.
    #expect(
      DecimalRange.mantissas(9_007_199_254_740_992...9_007_199_254_740_992, scale: 0)
        == 9_007_199_254_740_992...9_007_199_254_740_993)
  }

  @Test(
    "Patterns of like",
    arguments: [
      ("%", "", true), ("", "", true), ("", "a", false), ("_", "é", true), ("_", "👍", true),
      ("__", "👍", false), ("a%c", "abbc", true), ("a%c", "abcd", false), ("%b%", "abc", true),
      ("%%%", "x", true), ("a_c", "ac", false), ("%ab%ab%", "xabab", true),
      ("%aab", "aaab", true), ("100!%", "100%", true), ("100!%", "1000", false),
      ("!!_", "!x", true),
    ])
  func like(pattern: String, text: String, matches: Bool) throws {
    let like = try #require(LikePattern(pattern, escape: "!", ignoringCase: false))
    #expect(Array(text.utf8).withUnsafeBytes { like.matches($0) } == matches)
  }

  @Test(
    "Case is ignored in every language",
    arguments: [
      ("ÜBER", "über"), ("STRASSE", "straße"), ("Σίσυφος", "σίσυφοσ"), ("ТЕСТ", "тест"),
      ("K", "k"), ("ASCII only", "ascii ONLY"),
    ])
  func folding(one: String, other: String) {
    #expect(CaseFolding.fold(one) == CaseFolding.fold(other))
  }
}
