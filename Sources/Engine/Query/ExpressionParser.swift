/// Reads the text form of a predicate: recursive descent, one token ahead. See `Predicate.init(_:)`.
///
///     or         and { ("or" | "||") and }
///     and        not { ("and" | "&&") not }
///     not        ("not" | "!") not | "(" or ")" | test
///     test       column question | literal comparison column
struct ExpressionParser {
  /// The limit for nested parentheses and `not`; bounds the recursion.
  static let maximumDepth = 200

  private var lexer: ExpressionLexer
  private var token: ExpressionLexer.Placed
  private var depth = 0

  init(_ text: String) throws(QueryError) {
    lexer = ExpressionLexer(text)
    token = try lexer.next()
  }

  /// Parses the whole text; the empty text is true for every object.
  mutating func predicate() throws(QueryError) -> Predicate {
    if token.token == .end { return .everything }
    let predicate = try or()
    guard token.token == .end else { throw expected("'and', 'or' or the end") }
    return predicate
  }

  // MARK: Tokens

  private mutating func advance() throws(QueryError) { token = try lexer.next() }

  private func isWord(_ word: String) -> Bool {
    if case .word(let found) = token.token { return found.lowercased() == word }
    return false
  }

  /// Takes the word, or one of the signs, if it is next; returns whether it did.
  private mutating func take(_ word: String, signs: String...) throws(QueryError) -> Bool {
    var isNext = isWord(word)
    if case .sign(let sign) = token.token { isNext = signs.contains(sign) }
    if isNext { try advance() }
    return isNext
  }

  private mutating func takeSign(_ sign: String) throws(QueryError) -> Bool {
    guard token.token == .sign(sign) else { return false }
    try advance()
    return true
  }

  private mutating func require(sign: String) throws(QueryError) {
    guard try takeSign(sign) else { throw expected("'\(sign)'") }
  }

  private func expected(_ what: String) -> QueryError {
    QueryError(position: token.position, reason: "expected \(what), found \(found)")
  }

  private var found: String {
    switch token.token {
    case .word(let word): "'\(word)'"
    case .name(let name): "`\(name)`"
    case .number(let value): String(decoding: value.spelling, as: UTF8.self)
    case .text(let text): "the text \"\(text.prefix(40))\""
    case .sign(let sign): "'\(sign)'"
    case .end: "the end"
    }
  }

  // MARK: Logic

  private mutating func or() throws(QueryError) -> Predicate {
    var parts = [try and()]
    while try take("or", signs: "||") { parts.append(try and()) }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func and() throws(QueryError) -> Predicate {
    var parts = [try not()]
    while try take("and", signs: "&&") { parts.append(try not()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func not() throws(QueryError) -> Predicate {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.maximumDepth else {
      throw QueryError(
        position: token.position,
        reason: "parentheses and 'not' are nested more than \(Self.maximumDepth) deep")
    }
    if try take("not", signs: "!") { return .not(try not()) }
    if try takeSign("(") {
      let predicate = try or()
      try require(sign: ")")
      return predicate
    }
    return try test()
  }

  // MARK: Tests

  private static let reserved: Set<String> = [
    "and", "or", "not", "is", "in", "between", "like", "ilike", "null", "true", "false",
  ]

  private mutating func column() throws(QueryError) -> (name: String, position: Int)? {
    let position = token.position
    let name: String
    switch token.token {
    case .name(let found): name = found
    case .word(let found) where !Self.reserved.contains(found.lowercased()): name = found
    default: return nil
    }
    try advance()
    return (name, position)
  }

  private mutating func test() throws(QueryError) -> Predicate {
    if let (name, position) = try column() { return try question(of: name, position) }
    let valuePosition = token.position
    guard let value = try literalIfAny() else {
      throw expected("a column's name")
    }
    // In `4.5 <= Rating` the sides are exchanged.
    guard let (comparison, ignoresCase) = try comparisonIfAny() else {
      if case .text(let text) = value {
        throw QueryError(
          position: valuePosition,
          reason: "expected a column's name, found the text \"\(text.prefix(40))\"; names stand in "
            + "backquotes, or bare when they are plain words")
      }
      throw expected("a comparison such as ==")
    }
    guard let (name, position) = try column() else {
      if case .text(let text) = value {
        throw QueryError(
          position: valuePosition,
          reason: "one side must be a column; if \"\(text.prefix(40))\" is its name, write it in "
            + "backquotes")
      }
      throw expected("a column's name")
    }
    return try make(
      name, .compare(comparison.exchanged, value), ignoresCase, position, valuePosition)
  }

  private func make(
    _ column: String, _ question: ColumnTest.Question, _ ignoresCase: Bool, _ position: Int,
    _ valuePosition: Int
  ) throws(QueryError) -> Predicate {
    if case .compare(_, .null) = question {
      throw QueryError(
        position: valuePosition,
        reason: "a comparison with null is never true; write 'is null' or 'is not null'")
    }
    var test = ColumnTest(column, question, ignoringCase: ignoresCase)
    test.columnPosition = position
    test.valuePosition = valuePosition
    return .test(test)
  }

  /// The test after a column's name.
  private mutating func question(
    of name: String, _ position: Int
  ) throws(QueryError) -> Predicate {
    if let (comparison, ignoresCase) = try comparisonIfAny() {
      let valuePosition = token.position
      let value = try literal("to compare `\(name)` with")
      return try make(name, .compare(comparison, value), ignoresCase, position, valuePosition)
    }
    if try take("is") { return try isQuestion(name, position) }
    let operatorPosition = token.position
    let isNegated = try take("not")
    guard let word = try textOperator() else {
      if isNegated { throw expected("'in', 'between', 'contains', 'like' or the like") }
      return try alone(name, position, operatorPosition)
    }
    let ignoresCase = try caseOption() || word == "ilike"
    let valuePosition = token.position
    let question: ColumnTest.Question
    switch word {
    case "in": question = .isIn(try list())
    case "between":
      let low = try literal("behind 'between'")
      guard try take("and") else { throw expected("'and' between the two bounds") }
      question = .isBetween(low, try literal("behind 'and'"))
    case "contains": question = .contains(try textLiteral(behind: word))
    case "beginswith": question = .beginsWith(try textLiteral(behind: "begins with"))
    case "endswith": question = .endsWith(try textLiteral(behind: "ends with"))
    default: question = try like()
    }
    let test = try make(name, question, ignoresCase, position, valuePosition)
    return isNegated ? .not(test) : test
  }

  /// A column without a test: a boolean column, or the first word of a name that requires backquotes.
  private func alone(
    _ name: String, _ position: Int, _ next: Int
  ) throws(QueryError) -> Predicate {
    switch token.token {
    case .end, .sign(")"), .sign("&&"), .sign("||"): break
    case .word(let word) where ["and", "or"].contains(word.lowercased()): break
    case .word(let word) where !Self.reserved.contains(word.lowercased()):
      throw QueryError(
        position: next,
        reason:
          "expected a comparison such as == behind '\(name)', found '\(word)'; a column whose "
          + "name has a space stands in backquotes: `\(name) \(word)`")
    default: throw expected("a comparison such as == behind '\(name)'")
    }
    return try make(name, .isTrue, false, position, position)
  }

  private mutating func isQuestion(
    _ name: String, _ position: Int
  ) throws(QueryError) -> Predicate {
    let isNegated = try take("not")
    let valuePosition = token.position
    let question: ColumnTest.Question
    if try take("null") {
      question = .isNull
    } else if try take("nan") {
      question = .isNaN
    } else if try take("true") {
      question = .compare(.equal, .bool(true))
    } else if try take("false") {
      question = .compare(.equal, .bool(false))
    } else {
      throw expected("'null', 'not null' or 'nan' behind 'is'")
    }
    let test = try make(name, question, false, position, valuePosition)
    return isNegated ? .not(test) : test
  }

  private mutating func comparisonIfAny() throws(QueryError) -> (ColumnTest.Comparison, Bool)? {
    guard case .sign(let sign) = token.token else { return nil }
    let comparison: ColumnTest.Comparison
    switch sign {
    case "=", "==": comparison = .equal
    case "<>", "!=": comparison = .notEqual
    default:
      guard let found = ColumnTest.Comparison(rawValue: sign) else { return nil }
      comparison = found
    }
    try advance()
    return (comparison, try caseOption())
  }

  /// `in`, `between`, `contains`, `beginswith`, `endswith`, `like` or `ilike`, if one of them is next.
  private mutating func textOperator() throws(QueryError) -> String? {
    guard case .word(let found) = token.token else { return nil }
    let word = found.lowercased()
    switch word {
    case "in", "between", "contains", "beginswith", "endswith", "like", "ilike":
      try advance()
      return word
    case "begins", "ends":
      try advance()
      guard try take("with") else { throw expected("'with' behind '\(found)'") }
      return word + "with"
    default: return nil
    }
  }

  /// `[c]`: case is ignored.
  private mutating func caseOption() throws(QueryError) -> Bool {
    guard try takeSign("[") else { return false }
    guard isWord("c") else { throw expected("'c' between the brackets, which ignores case") }
    try advance()
    try require(sign: "]")
    return true
  }

  private mutating func like() throws(QueryError) -> ColumnTest.Question {
    let pattern = try textLiteral(behind: "like")
    guard try take("escape") else { return .isLike(pattern) }
    let position = token.position
    let escape = try textLiteral(behind: "escape").unicodeScalars
    guard let scalar = escape.first, escape.count == 1 else {
      throw QueryError(position: position, reason: "an escape is one character")
    }
    return .isLike(pattern, escape: scalar)
  }

  // MARK: Literals

  private mutating func list() throws(QueryError) -> [Value] {
    try require(sign: "(")
    var values: [Value] = []
    if try takeSign(")") { return values }
    repeat { values.append(try literal("in the list")) } while try takeSign(",")
    guard try takeSign(")") else { throw expected("',' or ')' in the list") }
    return values
  }

  private mutating func textLiteral(behind word: String) throws(QueryError) -> String {
    guard case .text(let text) = token.token else {
      throw expected("a text in quotes behind '\(word)'")
    }
    try advance()
    return text
  }

  private mutating func literal(_ purpose: String) throws(QueryError) -> Value {
    if let value = try literalIfAny() { return value }
    switch token.token {
    case .word(let word):
      throw QueryError(
        position: token.position,
        reason: "expected a value \(purpose), found '\(word)'; texts stand in quotes: \"\(word)\"")
    case .name:
      throw QueryError(
        position: token.position,
        reason: "expected a value \(purpose), found the column \(found); columns are compared with "
          + "values only")
    default: throw expected("a value \(purpose)")
    }
  }

  private mutating func literalIfAny() throws(QueryError) -> Value? {
    let value: Value
    switch token.token {
    case .number(let number): value = number
    case .text(let text): value = .text(text)
    case .word where isWord("true"): value = .bool(true)
    case .word where isWord("false"): value = .bool(false)
    case .word where isWord("null"): value = .null
    default: return nil
    }
    try advance()
    return value
  }
}

extension ColumnTest.Comparison {
  /// The comparison with its sides exchanged.
  var exchanged: Self {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    }
  }
}
