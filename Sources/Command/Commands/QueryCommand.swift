import Base
import Engine
import Importer

/// `sheaf query`: the objects that match an expression, or their sums and groups.
enum QueryCommand {
  enum Format: String, Sendable, CaseIterable {
    case table, csv, jsonl
  }

  static let columns = Option<[String]>(
    "columns", .nameList, defaultNote: "all", help: "The columns to print, in this order")
  static let sort = Option<[SortOrder]>(
    "sort", .sortOrders,
    help: "Sort by these columns, the first counts most; :desc turns the order round. Nulls and "
      + "NaN come last")
  static let limit = Option<Int>("limit", .count, help: "Print at most N objects")
  static let offset = Option<Int>(
    "offset", .count, default: "0", help: "Leave out the first N objects")
  static let distinct = Flag("distinct", help: "Print rows that are equal only once")
  static let count = Flag("count", help: "Print only how many objects there are")
  static let format = Option<Format>("format", .choice, default: "table", help: "What to print")

  private static let summary = "Groups and sums"
  static let groupBy = Option<[String]>(
    "group-by", .nameList, group: summary,
    help: "Print a row for each combination of values in these columns, and how many objects have "
      + "it; the largest group first. A computed column is called count_2 where a grouping column "
      + "is called count, and so on")
  static let sum = Option<[String]>(
    "sum", .nameList, group: summary, help: "Print the sum of these columns")
  static let average = Option<[String]>(
    "avg", .nameList, group: summary, help: "Print the average of these columns")
  static let minimum = Option<[String]>(
    "min", .nameList, group: summary, help: "Print the least value of these columns")
  static let maximum = Option<[String]>(
    "max", .nameList, group: summary, help: "Print the largest value of these columns")

  static let definition = CommandDefinition(
    name: "query",
    summary: "Print the objects that match an expression",
    usage: "FILE [EXPRESSION] [OPTIONS]",
    positionals: [
      CommonOptions.database,
      .init(
        name: "EXPRESSION",
        help: "Which objects; all when left out. Compare columns with == != < <= > >=, in (…), "
          + "between … and …, contains, begins with, ends with, like, is null, is nan; combine with "
          + "and, or, not and parentheses. Texts stand in quotes, names that are no plain words in "
          + "backquotes; [c] behind an operator ignores case",
        isRequired: false),
    ],
    options: [
      CommonOptions.table, columns, sort, limit, offset, distinct, count, format, groupBy, sum,
      average, minimum, maximum, CommonOptions.at, CommonOptions.wait,
    ],
    examples: [
      .init(
        command: "sheaf query apps.sheaf 'Rating >= 4.5 and Category == \"GAME\"' --count",
        meaning: "How many games are rated 4.5 or better."),
      .init(
        command: "sheaf query apps.sheaf 'App contains[c] \"photo\"' --sort Reviews:desc",
        meaning: "Apps with photo, Photo or PHOTO in their name, the most reviewed first."),
      .init(
        command: "sheaf query apps.sheaf 'Reviews > 100' --group-by Genres --avg Rating",
        meaning: "How many there are of each genre, and their average rating."),
      .init(
        command: "sheaf query apps.sheaf 'Rating < 2' --count --at 2026-11-21",
        meaning: "As it was at the beginning of that day (UTC), if that version is kept."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    let query = try query(arguments)
    let groups = try arguments.value(groupBy)
    let aggregates = try aggregates(arguments)
    try checkCombination(arguments, isSummary: groups != nil || !aggregates.isEmpty)
    return try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("query", path, arguments)
    ) { database in
      if let note = database.recoveryNote {
        StandardError.line(
          "sheaf query: \(path): opened in spite of damage: \(note)")
      }
      let snapshot = try CommonOptions.snapshot(arguments, database)
      let table = try snapshot.table(try CommonOptions.tableName(arguments, snapshot))
      let printer = QueryPrinter(try arguments.required(format), output)
      if arguments.isSet(count) {
        try printer.print(count: try query.count(in: table))
      } else if groups != nil || !aggregates.isEmpty {
        try printer.print(try GroupedRows(query, by: groups ?? [], aggregates, in: table))
      } else {
        try printer.print(query, table)
      }
      return .done
    }
  }

  private static func query(_ arguments: ParsedArguments) throws -> Query {
    var query = Query()
    if arguments.positionals.count > 1 { query.filter = try Predicate(arguments.positionals[1]) }
    query.columns = try arguments.value(columns)
    query.sort = try arguments.value(sort) ?? []
    query.limit = try arguments.value(limit)
    query.offset = try arguments.required(offset)
    query.isDistinct = arguments.isSet(distinct)
    return query
  }

  private static func aggregates(_ arguments: ParsedArguments) throws -> [Aggregate] {
    var aggregates: [Aggregate] = []
    let options: [(Option<[String]>, Aggregate.Function)] = [
      (sum, .sum), (average, .average), (minimum, .minimum), (maximum, .maximum),
    ]
    for (option, function) in options {
      for column in try arguments.value(option) ?? [] {
        aggregates.append(Aggregate(function, column))
      }
    }
    return aggregates
  }

  private static func checkCombination(
    _ arguments: ParsedArguments, isSummary: Bool
  ) throws(CommandError) {
    guard isSummary else { return }
    if arguments.isSet(count) {
      throw .usage("--count goes with objects; the rows of --group-by have their own count")
    }
    if arguments.isGiven(columns) || arguments.isSet(distinct) {
      throw .usage("--columns and --distinct go with objects; groups have columns of their own")
    }
  }
}

/// Prints results in one of the formats.
private struct QueryPrinter {
  private let format: QueryCommand.Format
  private let output: BufferedOutput

  init(_ format: QueryCommand.Format, _ output: BufferedOutput) {
    self.format = format
    self.output = output
  }

  private var exporter: TableExporter? {
    guard let format = TableExporter.Format(rawValue: format.rawValue) else { return nil }
    var exporter = TableExporter()
    exporter.format = format
    return exporter
  }

  private func textTable(_ columns: [Column]) -> TextTable {
    TextTable(
      columns, output, terminalWidth: System.terminalColumns(1),
      isRich: TerminalPolicy.standardOutput.isRich)
  }

  func print(count: Int) throws {
    guard let exporter else { return try output.write("\(count)\n") }
    try exporter.run([[.int(Int64(count))]], columns: [Column("count", .int)]) {
      try output.write($0)
    }
  }

  func print(_ groups: GroupedRows) throws {
    if let exporter {
      return try exporter.run(groups.rows, columns: groups.columns) { try output.write($0) }
    }
    let text = textTable(groups.columns)
    for row in groups.rows {
      try text.add(
        row.enumerated().map { column, value in
          if value == .null { return nil }
          return value.spelling.withUnsafeBytes {
            TextTable.cell($0, groups.columns[column].type)
          }
        })
    }
    try text.end()
    if groups.rows.count < groups.total {
      try output.write("\n\(HumanFormat.count(groups.rows.count)) of ")
      try output.write("\(HumanFormat.count(groups.total, "group", "groups"))\n")
    }
  }

  func print(_ query: Query, _ table: Table) throws {
    if var exporter {
      exporter.query = query
      try exporter.run(table) { try output.write($0) }
      return
    }
    let reader = try ResultReader(query, table)
    let columns = reader.columnIndices.map { table.columns[$0] }
    let text = textTable(columns)
    var printed = 0
    try reader.forEachWindow { window in
      for row in 0..<window.count {
        try text.add(
          columns.indices.map { TextTable.cell(window.field(row, $0), columns[$0].type) })
      }
      printed += window.count
    }
    try text.end()
    // The last line tells whether the rows above are only a part.
    var all = query
    all.limit = nil
    all.offset = 0
    let total = printed == query.limit || query.offset > 0 ? try all.count(in: table) : printed
    let part = printed < total ? "\(HumanFormat.count(printed)) of " : ""
    let noun = query.isDistinct ? ("row", "rows") : ("object", "objects")
    try output.write("\n\(part)\(HumanFormat.count(total, noun.0, noun.1))\n")
  }
}
