/// Parses the statements that imports send, and no more of SQL. It throws for any other statement, so that a
/// new one is not passed over.
struct ModelSQL {
  struct Unknown: Error, CustomStringConvertible {
    let description: String
  }

  private enum Token: Equatable {
    case word(String)
    case name(String)
    case text(String)
    case number(Int)
    case sign(String)
  }

  private var tokens: [Token]
  private var place = 0
  private let source: String

  /// The statements of a query, parsed once for all runs of a scenario.
  static func statements(_ query: String) throws -> [ModelStatement] {
    if let known = cache.get(query) { return known }
    var parser = ModelSQL(source: query, tokens: try tokens(query))
    var statements: [ModelStatement] = []
    while parser.place < parser.tokens.count {
      statements.append(try parser.statement())
      if parser.place < parser.tokens.count { try parser.expect(";") }
    }
    cache.set(query, statements)
    return statements
  }

  private final class Cache: @unchecked Sendable {
    // @unchecked: only the thread whose turn it is in a schedule uses it, and the test after the schedule.
    private var known: [String: [ModelStatement]] = [:]
    func get(_ query: String) -> [ModelStatement]? { known[query] }
    func set(_ query: String, _ statements: [ModelStatement]) { known[query] = statements }
  }

  private static let cache = Cache()

  private init(source: String, tokens: [Token]) { (self.source, self.tokens) = (source, tokens) }

  private static func tokens(_ query: String) throws -> [Token] {
    var rest = Array(query.unicodeScalars)[...]
    var tokens: [Token] = []
    func isWord(_ scalar: UnicodeScalar) -> Bool {
      scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
    }
    while let first = rest.first {
      if first == " " || (first == "E" && rest.dropFirst().first == "'") {
        rest.removeFirst()
      } else if first == "'" || first == "\"" {
        rest.removeFirst()
        var text = String.UnicodeScalarView()
        while let next = rest.popFirst() {
          if next == first {
            guard rest.first == first else { break }
            rest.removeFirst()
          }
          text.append(next)
        }
        tokens.append(first == "'" ? .text(String(text)) : .name(String(text)))
      } else if isWord(first) {
        let word = String(String.UnicodeScalarView(rest.prefix(while: isWord)))
        rest = rest.drop(while: isWord)
        tokens.append(Int(word).map { .number($0) } ?? .word(word.uppercased()))
      } else {
        let two = String(String.UnicodeScalarView(rest.prefix(2)))
        let sign = ["::", "<>", ">=", "<="].contains(two) ? two : String(first)
        rest = rest.dropFirst(sign.unicodeScalars.count)
        tokens.append(.sign(sign))
      }
    }
    return tokens
  }

  // MARK: Tokens

  private var next: Token? { place < tokens.count ? tokens[place] : nil }

  private func unknown(_ what: String) -> Unknown {
    Unknown(description: "the model does not know \(what) at token \(place) of: \(source)")
  }

  private mutating func take(_ sign: String) -> Bool {
    guard next == .sign(sign) else { return false }
    place += 1
    return true
  }

  private mutating func takeWord(_ words: String...) -> Bool {
    guard place + words.count <= tokens.count,
      words.indices.allSatisfy({ tokens[place + $0] == .word(words[$0]) })
    else { return false }
    place += words.count
    return true
  }

  private mutating func expect(_ sign: String) throws {
    if !take(sign) { throw unknown("what stands for \(sign)") }
  }

  private mutating func expectWord(_ word: String) throws {
    if !takeWord(word) { throw unknown("what stands for \(word)") }
  }

  /// A name; the last part of a qualified one.
  private mutating func name() throws -> String {
    while true {
      let part: String
      switch next {
      case .word(let word): part = word.lowercased()
      case .name(let name): part = name
      default: throw unknown("a name")
      }
      place += 1
      if !take(".") { return part }
    }
  }

  private mutating func list<Element>(
    _ element: (inout ModelSQL) throws -> Element
  ) throws -> [Element] {
    var elements = [try element(&self)]
    while take(",") { elements.append(try element(&self)) }
    return elements
  }

  private mutating func inParentheses<Result>(
    _ body: (inout ModelSQL) throws -> Result
  ) throws -> Result {
    try expect("(")
    let result = try body(&self)
    try expect(")")
    return result
  }

  // MARK: Statements

  private mutating func statement() throws -> ModelStatement {
    if takeWord("BEGIN") {
      skip { $0 == .sign(";") }
      return .begin
    }
    if takeWord("COMMIT") { return .commit }
    if takeWord("SAVEPOINT") { return try named(.savepoint) }
    if takeWord("RELEASE", "SAVEPOINT") { return try named(.releaseSavepoint) }
    if takeWord("ROLLBACK", "TO", "SAVEPOINT") { return try named(.rollBackToSavepoint) }
    if takeWord("ROLLBACK") { return .rollBack }
    if takeWord("SET", "LOCAL") { return try setting() }
    if takeWord("SET", "CONSTRAINTS") {
      skip { $0 == .sign(";") }
      return .set("constraints", .null)
    }
    if takeWord("CREATE", "TEMPORARY", "TABLE") || takeWord("ALTER", "TABLE") {
      let made = try lastOfName()
      guard [.word("SHEAF_STAGE"), .word("SHEAF_ROUNDS")].contains(made) else {
        throw unknown("that table")
      }
      skip { $0 == .sign(";") }
      return .makeStage
    }
    if takeWord("CREATE", "INDEX") {
      skip { $0 == .sign(";") }
      return .makeStage
    }
    if takeWord("INSERT", "INTO") { return try insertion() }
    if takeWord("WITH") { return try insertionOfNew() }
    if takeWord("UPDATE") { return try update() }
    if takeWord("DELETE", "FROM") { return .delete(table: try name(), try condition()) }
    if takeWord("SELECT") { return .select(try select()) }
    throw unknown("the statement")
  }

  private mutating func skip(to isEnd: (Token) -> Bool) {
    while let token = next, !isEnd(token) { place += 1 }
  }

  /// The last word of a name.
  private mutating func lastOfName() throws -> Token? {
    _ = try name()
    return tokens[place - 1]
  }

  /// There is only one savepoint at a time.
  private mutating func named(_ statement: ModelStatement) throws -> ModelStatement {
    _ = try name()
    return statement
  }

  private mutating func setting() throws -> ModelStatement {
    let setting = try name()
    try expect("=")
    defer { place += 1 }
    switch next {
    case .word(let word): return .set(setting, .text(word.lowercased()))
    case .text(let text): return .set(setting, .text(text))
    case .number(let number): return .set(setting, .int(number))
    default: throw unknown("the value")
    }
  }

  private mutating func insertion() throws -> ModelStatement {
    let table = try name()
    if takeWord("AS") { _ = try name() }
    let columns = try inParentheses { try $0.list { try $0.name() } }
    let source: ModelStatement.Source
    if takeWord("VALUES") {
      source = .values(try list { try $0.inParentheses { try $0.list { try $0.expression() } } })
    } else {
      try expectWord("SELECT")
      source = .select(try select())
    }
    var conflict = ModelStatement.Conflict.fails
    if takeWord("ON", "CONFLICT") {
      _ = try inParentheses { try $0.name() }
      if takeWord("DO", "NOTHING") {
        conflict = .skips
      } else if takeWord("DO", "UPDATE", "SET") {
        conflict = try updates()
      } else {
        throw unknown("the conflict's action")
      }
    }
    let returns = takeWord("RETURNING")
    if returns { skip { $0 == .sign(";") } }
    return .insert(table: table, columns: columns, source, conflict, returns: returns)
  }

  /// What stands behind DO UPDATE SET, with its condition.
  private mutating func updates() throws -> ModelStatement.Conflict {
    let set = try list { parser in
      let column = try parser.name()
      try parser.expect("=")
      guard parser.next == .word("EXCLUDED"), try parser.name() == column else {
        throw parser.unknown("that value")
      }
      return column
    }
    guard takeWord("WHERE", "CASE", "WHEN"), try name() == "record_image_ne" else {
      throw unknown("the condition")
    }
    let rows = try inParentheses { parser in
      try parser.list { parser in
        try parser.expectWord("ROW")
        return try parser.inParentheses { try $0.list { try $0.name() } }
      }
    }
    guard let compared = rows.first, rows == [compared, compared] else {
      throw unknown("the comparison")
    }
    try expectWord("THEN")
    let updated = try counter()
    guard take("<>"), next == .text("") else { throw unknown("what is never empty") }
    place += 1
    try expectWord("ELSE")
    let equal = try counter()
    guard take("="), next == .text("") else { throw unknown("what is never empty") }
    place += 1
    try expectWord("END")
    return .updates(set: set, compared: compared, counting: (updated, equal: equal))
  }

  /// The name of the setting to which the expression adds one.
  private mutating func counter() throws -> String {
    guard case .call("set_config", let arguments) = try bare(), arguments.count == 3,
      case .value(.text(let name)) = arguments[0], case .value(.bool(true)) = arguments[2],
      case .call("cast text", let sums) = arguments[1],
      let sum = sums.first, case .binary("+", let old, .value(.int(1))) = sum,
      case .call("cast bigint", let numbers) = old, let number = numbers.first,
      case .call("current_setting", let names) = number, let read = names.first,
      case .value(.text(let other)) = read, other == name
    else { throw unknown("a counter") }
    return name.split(separator: ".").last.map(String.init) ?? name
  }

  /// The insertion within a statement whose rest selects the rows that it left out.
  private mutating func insertionOfNew() throws -> ModelStatement {
    skip { $0 == .word("INSERT") || $0 == .sign(";") }
    guard takeWord("INSERT", "INTO"),
      case .insert(let table, let columns, .select(let select), .skips, returns: true) =
        try insertion()
    else { throw unknown("what stands for an insertion") }
    return .insertNew(table: table, columns: columns, select)
  }

  private mutating func update() throws -> ModelStatement {
    let table = try name()
    try expectWord("SET")
    let assignments = try list { parser -> [(column: String, ModelExpression)] in
      guard parser.next == .sign("(") else {
        let column = try parser.name()
        try parser.expect("=")
        return [(column, try parser.expression())]
      }
      let columns = try parser.inParentheses { try $0.list { try $0.name() } }
      try parser.expect("=")
      let values = try parser.inParentheses { try $0.list { try $0.expression() } }
      guard columns.count == values.count else { throw parser.unknown("so many values") }
      return zip(columns, values).map { ($0, $1) }
    }
    let condition = try condition()
    let returning = takeWord("RETURNING") ? try list { try $0.expression() } : []
    return .update(
      table: table, assignments.flatMap(\.self), condition, returning: returning)
  }

  private mutating func condition() throws -> ModelExpression? {
    takeWord("WHERE") ? try expression() : nil
  }

  /// What stands behind SELECT.
  private mutating func select() throws -> ModelSelect {
    var select = ModelSelect()
    select.items = try list { try $0.expression() }
    if takeWord("FROM") { select.table = try next == .sign("(") ? repeats() : name() }
    select.condition = try condition()
    if takeWord("ORDER", "BY") { select.order = try name() }
    if takeWord("FOR", "SHARE") { select.rowLock = .share }
    if takeWord("FOR", "UPDATE") { select.rowLock = .exclusive }
    return select
  }

  /// The subquery that numbers the waiting rows of each key.
  private mutating func repeats() throws -> String {
    var depth = 0
    repeat {
      if next == .sign("(") { depth += 1 }
      if next == .sign(")") { depth -= 1 }
      place += 1
    } while depth > 0 && place < tokens.count
    try expectWord("AS")
    _ = try name()
    return ModelServer.rounds
  }

  // MARK: Expressions

  private mutating func expression() throws -> ModelExpression {
    var left = try conjunction()
    while takeWord("OR") { left = .binary("OR", left, try conjunction()) }
    return left
  }

  private mutating func conjunction() throws -> ModelExpression {
    var left = try negation()
    while takeWord("AND") { left = .binary("AND", left, try negation()) }
    return left
  }

  private mutating func negation() throws -> ModelExpression {
    takeWord("NOT") ? .not(try negation()) : try comparison()
  }

  private mutating func comparison() throws -> ModelExpression {
    let left = try sum()
    if takeWord("LIKE") { return .binary("LIKE", left, try sum()) }
    for sign in ["=", "<>", ">=", "<=", "<", ">"] where take(sign) {
      return .binary(sign, left, try sum())
    }
    return left
  }

  private mutating func sum() throws -> ModelExpression {
    var left = try operand()
    while true {
      guard let sign = ["+", "-", "*"].first(where: { next == .sign($0) }) else { return left }
      place += 1
      left = .binary(sign, left, try operand())
    }
  }

  private mutating func operand() throws -> ModelExpression {
    var value = try bare()
    while take("::") { value = .call("cast " + (try name()), [value]) }
    return value
  }

  private mutating func bare() throws -> ModelExpression {
    if next == .sign("(") { return try inParentheses { try $0.expression() } }
    if case .number(let number)? = next {
      place += 1
      return .value(.int(number))
    }
    if case .text(let text)? = next {
      place += 1
      return .value(text.hasPrefix("1970-01-01") ? .time(0) : .text(text))
    }
    if takeWord("NULL") { return .value(.null) }
    if takeWord("TRUE") { return .value(.bool(true)) }
    if takeWord("FALSE") { return .value(.bool(false)) }
    if takeWord("EXISTS") {
      return .exists(
        try inParentheses {
          try $0.expectWord("SELECT")
          return try $0.select()
        })
    }
    if takeWord("INTERVAL"), case .text(let text)? = next,
      let seconds = Int(text.prefix { $0 != " " })
    {
      place += 1
      return .value(.int(seconds * 1_000_000))
    }
    if takeWord("EXTRACT") {
      return try inParentheses {
        if !$0.takeWord("EPOCH", "FROM") { throw $0.unknown("the part of a time") }
        return .call("epoch", [try $0.expression()])
      }
    }
    let name = try name()
    guard next == .sign("(") else { return .column(name) }
    if takeCountSign() { return .call(name, []) }
    place += 1
    if take(")") { return .call(name, []) }
    let arguments = try list { try $0.expression() }
    try expect(")")
    return .call(name, arguments)
  }

  /// `(*)`.
  private mutating func takeCountSign() -> Bool {
    guard place + 2 < tokens.count,
      tokens[place...place + 2] == [.sign("("), .sign("*"), .sign(")")]
    else { return false }
    place += 3
    return true
  }
}
