import Testing
import TestSupport

@testable import Engine

/// A table of all types in a file of its own: random spellings in every encoding, nulls, unusual
/// spellings, clusters of many sizes and both efforts, changed and deleted rows.
struct RandomTable {
  static let columns = [
    Column("int", .int), Column("double", .double), Column("bool", .bool), Column("date", .date),
    Column("date time", .dateTime), Column("text", .text), Column("word", .text),
    Column("number text", .text), Column("clock", .time), Column("amount", .decimal),
    Column("id", .uuid), Column("late", .int),
  ]

  let table: Table
  let folder: TemporaryFolder
  let database: Database

  init(_ random: inout SplitMix64, _ options: Database.Options = .init()) throws {
    folder = TemporaryFolder()
    var options = options
    // Clusters stay as they were appended: joined ones would be encoded again.
    options.limits.tailRows = 1
    options.limits.smallRows = 1
    database = try Database.open(folder.path("t.sheaf"), options: options)
    // The last column is added later: earlier clusters lack it.
    try database.write { try $0.createTable("t", columns: Array(Self.columns.dropLast())) }
    var generator = ColumnGenerator(random: random)
    try Self.append(to: database, columns: Self.columns.count - 1, &generator)
    try database.write { try $0.table("t").editor.addColumn(Column("late", .int)) }
    try Self.append(to: database, columns: Self.columns.count, &generator)
    random = generator.random
    try Self.change(database, &random)
    table = try database.snapshot().table("t")
  }

  private static func append(
    to database: Database, columns count: Int, _ generator: inout ColumnGenerator
  ) throws {
    for _ in 0..<Int.random(in: 1...3, using: &generator.random) {
      let sizes = [1...3, 4...70, 60...70, 100...300, 300...700]
      let size = sizes.randomElement(using: &generator.random) ?? 1...1
      let rows = Int.random(in: size, using: &generator.random)
      let columns = columns.prefix(count).map { Self.spellings($0, rows: rows, &generator) }
      let builder = ClusterBuilder(
        effort: Bool.random(using: &generator.random) ? .fast : .thorough)
      let cluster = try encode(columns, with: builder)
      try database.write { try $0.table("t").editor.append(cluster) }
    }
  }

  static func spellings(
    _ column: Column, rows: Int, _ generator: inout ColumnGenerator
  ) -> [Spelling] {
    let kinds: [Int] =
      switch column.type {
      case .int: [0, 1, 2, 3, 10, 21, 24, 26]
      case .double: [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 22, 23, 29]
      case .bool: [16, 20]
      case .date: [11, 15]
      case .dateTime: [11, 12, 13, 14, 15]
      case .time: [39, 15]
      case .decimal: [40, 40, 4, 5, 6, 0, 29]
      case .uuid: [41, 41, 32]
      default:
        switch column.name {
        case "word": [16, 17, 20, 31]
        case "text": [17, 19, 30, 30, 32]
        default: [1, 4, 10, 11, 15, 27, 28]
        }
      }
    guard let kind = kinds.randomElement(using: &generator.random) else { return [] }
    return generator.column(kind: kind, rows: rows).enumerated().map { row, spelling in
      guard let spelling else { return nil }
      if Value(spelling: spelling, type: column.type) != nil { return spelling }
      // A spelling that is not of the type is replaced by one that certainly is.
      switch column.type {
      case .int: return Array(["+5", "7", "-3"][row % 3].utf8)
      case .double: return Array(["4.10", "NaN", "1e3", "-0", "inf"][row % 5].utf8)
      case .bool: return Array("TRUE".utf8)
      case .date: return Array("2018-08-03".utf8)
      case .dateTime: return Array("2018-08-03T00:00:00+02:00".utf8)
      case .time: return Array("12:34:56".utf8)
      case .decimal: return Array("1.50".utf8)
      case .uuid: return Array("F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6".utf8)
      default: return Array("Straße \(row % 7)".utf8)
      }
    }
  }

  private static func change(_ database: Database, _ random: inout SplitMix64) throws {
    let count = try database.snapshot().table("t").count
    try database.write { transaction in
      let table = try transaction.table("t")
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        let key = Int64.random(in: 1...Int64(count), using: &random)
        if Bool.random(using: &random) {
          try table.delete(key)
        } else if try table.row(forKey: key) != nil {
          try table.update(key, ["int": .int(key), "word": .text("changed"), "double": .null])
        }
      }
    }
  }
}

/// Makes predicates about such a table, with literals near its values.
struct PredicateGenerator {
  var random: SplitMix64
  let rows: [Row]

  mutating func predicate(depth: Int = 0) -> Predicate {
    switch Int.random(in: depth >= 3 ? 3...9 : 0...9, using: &random) {
    case 0: return .not(predicate(depth: depth + 1))
    case 1: return .all(parts(depth))
    case 2: return .any(parts(depth))
    default: return .test(test())
    }
  }

  private mutating func parts(_ depth: Int) -> [Predicate] {
    (0..<Int.random(in: 0...3, using: &random)).map { _ in predicate(depth: depth + 1) }
  }

  mutating func test() -> ColumnTest {
    let column = RandomTable.columns.randomElement(using: &random) ?? RandomTable.columns[0]
    let isText = column.type == .text
    var test = ColumnTest(column.name, .isNull)
    switch Int.random(in: 0...(isText ? 9 : 5), using: &random) {
    case 0: if column.type == .double { test.question = .isNaN }
    case 1:
      test.question = .isIn(
        (0..<Int.random(in: 0...5, using: &random)).map { _ in
          Int.random(in: 0..<12, using: &random) == 0 ? .null : literal(column)
        })
    case 2: test.question = .isBetween(literal(column), literal(column))
    case 3...5:
      let comparison = ColumnTest.Comparison.allCases.randomElement(using: &random) ?? .equal
      test.question = .compare(comparison, literal(column))
      if column.type == .bool, Bool.random(using: &random) { test.question = .isTrue }
    case 6: test.question = .contains(part(column))
    case 7: test.question = .beginsWith(part(column))
    case 8: test.question = .endsWith(part(column))
    default:
      let pattern = part(column).map { character in
        ["%", "_", String(character)].randomElement(using: &random) ?? ""
      }.joined()
      test.question = .isLike(["%", ""].pick(&random) + pattern + ["%", ""].pick(&random))
    }
    if isText, test.question != .isNull { test.ignoresCase = Bool.random(using: &random) }
    return test
  }

  private mutating func text(_ column: Column) -> String {
    if case .text(let text) = rows.randomElement(using: &random)?[column.name] { return text }
    return ""
  }

  private mutating func part(_ column: Column) -> String {
    let text = Array(text(column))
    let start = Int.random(in: 0...text.count, using: &random)
    let end = Int.random(in: start...min(text.count, start + 6), using: &random)
    let part = String(text[(Bool.random(using: &random) ? 0 : start)..<end])
    return Int.random(in: 0..<4, using: &random) == 0 ? part.uppercased() : part
  }

  private mutating func literal(_ column: Column) -> Value {
    let value = rows.randomElement(using: &random)?[column.name] ?? .null
    let isNear = Bool.random(using: &random)
    switch (column.type, value) {
    case (.int, .int(let int)):
      if isNear { return .int(int) }
      let double = Double(int)
      return [
        .int(int &+ 1), .double(double), .double(double + 0.5), .double(double.nextDown),
        .double(-double * 1e9), .double(.infinity),
      ].randomElement(using: &random) ?? .null
    case (.double, .double(let double)) where !double.isNaN:
      if isNear { return .double(double) }
      return [
        .double(double.nextUp), .double(double.nextDown), .double(-double),
        .int(Int64(exactly: double.rounded()) ?? .max), .int(9_007_199_254_740_993),
      ].randomElement(using: &random) ?? .null
    case (.date, .date(let date)):
      return isNear ? .text(date.description) : .date(date)
    case (.dateTime, .dateTime(let moment)):
      if isNear { return .dateTime(moment) }
      return moment.microsecondsSince1970.isMultiple(of: 2)
        ? .text(moment.description) : .text(String(moment.description.prefix(10)))
    case (.time, .time(let time)): return isNear ? .text(time.description) : .time(time)
    case (.time, _): return .text("12:34")
    case (.decimal, .decimal(let decimal)):
      if isNear { return .decimal(decimal) }
      return [
        .double(decimal.double), .double(decimal.double.nextUp), .double(-decimal.double * 1e9),
        .double(.infinity), .double(1e-40), .double(-1.25e-39), .text(decimal.description + ""),
        .int(Int64(exactly: decimal.double.rounded()) ?? .max),
        .decimal(ExactDecimal(coefficient: decimal.coefficient + 1, scale: decimal.scale) ?? .zero),
      ].randomElement(using: &random) ?? .null
    case (.uuid, .uuid(let id)):
      return isNear
        ? .text(id.description.uppercased()) : .uuid(UniqueIdentifier(bits: id.bits &+ 1))
    case (.uuid, _): return .text("ffffffff-ffff-ffff-ffff-ffffffffffff")
    case (.bool, _): return .bool(isNear)
    case (.text, _): return .text(isNear ? text(column) : part(column))
    case (.date, _): return .text("2018-08-03")
    case (.dateTime, _): return .text("2018-08-03T00:00:00Z")
    default: return .int(5)
    }
  }
}
