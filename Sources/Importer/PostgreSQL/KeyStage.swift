/// The temporary table that holds rows while their keys are compared. It has the same types and no
/// constraints, and is dropped with the transaction.
///
/// Thread rule: confined.
struct KeyStage {
  /// Its name; it is qualified wherever it is used.
  static let name = "sheaf_stage"
  private static let stage = "pg_temp.\(name)"
  /// The same rows, each with its number among the rows with its key.
  private static let rounds = "pg_temp.sheaf_rounds"

  /// The result of merging rows.
  struct Merged {
    var imported = 0
    var updated = 0
    var skipped = 0
    var unchanged = 0
    /// The places, from 0, of the rows rejected because their keys exist in the table or occurred before.
    var conflicts: [Int] = []
  }

  /// A row that waits in the table.
  struct Waiting {
    /// Its number; of two rows, the later one in the input has the higher number.
    let number: Int
    /// The row's number among the rows with its key, from 1; always 1 when the policy does not need it.
    let round: Int
  }

  private let plan: LoadPlan
  private let keys: KeyedTable
  private let connection: any ServerLink
  /// A prefix that no column of the table has.
  private let own: String
  /// The table's columns as a list.
  private let list: String

  init(_ plan: LoadPlan, _ keys: KeyedTable, _ connection: any ServerLink) {
    (self.plan, self.keys, self.connection) = (plan, keys, connection)
    list = plan.columns.joined(separator: ", ")
    var own = "sheaf_"
    while plan.columns.contains(where: { $0.utf8.starts(with: ("\"" + own).utf8) }) { own += "_" }
    self.own = own
  }

  func make() throws {
    try connection.run(
      "CREATE TEMPORARY TABLE \(Self.name) ON COMMIT DROP AS SELECT \(list) FROM \(plan.table) WITH NO DATA; "
        + "ALTER TABLE \(Self.stage) ADD COLUMN \(own)row bigint GENERATED ALWAYS AS IDENTITY")
  }

  /// The statement that copies rows into the table.
  var copy: String { "COPY \(Self.stage) (\(list)) FROM STDIN" }

  /// Allows values in a column that the server always numbers itself.
  private var overriding: String { keys.overridesIdentity ? "OVERRIDING SYSTEM VALUE " : "" }

  /// True when rows with the same key are merged one after the other, in the order of the input: one
  /// statement for the first row of each key, one for the second, and so on.
  private var needsRounds: Bool { keys.policy == .update || keys.policy == .replace }

  /// True when the keys of inserted rows do not tell which rows they were, since a trigger may have changed
  /// the keys.
  private var needsSplitting: Bool { keys.policy == .error && keys.hasRowTriggers }

  // MARK: Merging

  /// Merges all rows into the table.
  ///
  /// - Throws: `ServerError`, also for a single row that the server refuses.
  func mergeAll(count: Int) throws -> Merged {
    if needsSplitting {
      return try insertSplitting(number()[...])
    }
    guard needsRounds else { return try insert(count, nil, []) }
    let most = try connection.run(
      "SELECT max(\(own)round) FROM (SELECT count(*) AS \(own)round FROM \(Self.stage) GROUP BY "
        + "\(keys.list)) AS \(own)repeats"
    ).last?.rows.first?.int(0)
    guard let most = most.map({ min($0, count) }), most > 1 else {
      return try upsert(count, ["FROM \(Self.stage)"], [])
    }
    try makeRounds()
    let parts = (1...most).map { "FROM \(Self.rounds) WHERE \(own)round = \($0)" }
    return try upsert(count, parts, [])
  }

  /// Numbers the rows, so that `merge` finds a range of them fast.
  ///
  /// - Returns: all of them, in the order of the input.
  func number() throws -> [Waiting] {
    if needsRounds {
      try makeRounds()
    } else {
      try connection.run("CREATE INDEX ON \(Self.stage) (\(own)row)")
    }
    let rows = try connection.run(
      needsRounds
        ? "SELECT \(own)row, \(own)round FROM \(Self.rounds) ORDER BY \(own)row"
        : "SELECT \(own)row FROM \(Self.stage) ORDER BY \(own)row"
    ).last?.rows
    return (rows ?? []).compactMap { row in
      row.int(0).map { Waiting(number: $0, round: needsRounds ? row.int(1) ?? 1 : 1) }
    }
  }

  /// Merges some rows into the table.
  ///
  /// - Parameters:
  ///   - rows: next to each other in the order of the input.
  ///   - opening: a statement that runs first.
  /// - Throws: as `mergeAll`.
  func merge(_ rows: ArraySlice<Waiting>, _ opening: String) throws -> Merged {
    guard let first = rows.first?.number, let last = rows.last?.number else { return Merged() }
    let isOne = "\(own)row >= \(first) AND \(own)row <= \(last)"
    if needsSplitting {
      try connection.run(opening)
      return try insertSplitting(rows)
    }
    guard needsRounds else { return try insert(rows.count, isOne, [opening]) }
    let parts = Set(rows.map(\.round)).sorted().map {
      "FROM \(Self.rounds) WHERE \(own)round = \($0) AND \(isOne)"
    }
    return try upsert(rows.count, parts, [opening])
  }

  private func makeRounds() throws {
    try connection.run(
      "CREATE TEMPORARY TABLE sheaf_rounds ON COMMIT DROP AS SELECT *, row_number() OVER (PARTITION BY "
        + "\(keys.list) ORDER BY \(own)row) AS \(own)round FROM \(Self.stage); CREATE INDEX ON "
        + "\(Self.rounds) (\(own)round, \(own)row)")
  }

  /// Inserts the first row of each key, unless the table has the key.
  private func insert(_ count: Int, _ condition: String?, _ opening: [String]) throws -> Merged {
    let condition = condition.map { " WHERE \($0)" } ?? ""
    let insertion =
      "INSERT INTO \(plan.table) (\(list)) \(overriding)SELECT \(list) FROM "
      + "\(Self.stage)\(condition) ORDER BY \(own)row ON CONFLICT (\(keys.list)) DO NOTHING RETURNING"
    if keys.policy == .skip {
      let results = try connection.run((opening + ["\(insertion) 1"]).joined(separator: "; "))
      // Rows are counted, not read from the tag: with Citus, the tag counts shards too.
      let imported = results.last?.rows.count ?? 0
      return Merged(imported: imported, skipped: count &- imported)
    }
    // Names that no column has, whatever the key's columns are called.
    let names = keys.keys.indices.map { "\(own)key\($0 + 1)" }
    let told = zip(keys.keys, names).map { "\($0) AS \($1)" }.joined(separator: ", ")
    let same = zip(keys.keys, names).map { "added.\($1) = numbered.\($0)" }.joined(
      separator: " AND ")
    let group = names.map { "added.\($0)" }.joined(separator: ", ")
    let results = try connection.run(
      (opening + [
        "WITH numbered AS (SELECT *, row_number() OVER (ORDER BY \(own)row) AS \(own)place FROM "
          + "\(Self.stage)\(condition)), added AS (\(insertion) \(told)), "
          + "firsts AS (SELECT min(\(own)place) AS place FROM numbered JOIN added ON \(same) "
          + "GROUP BY \(group)) SELECT \(own)place FROM numbered WHERE \(own)place "
          + "NOT IN (SELECT place FROM firsts) ORDER BY \(own)place"
      ]).joined(separator: "; "))
    let places = (results.last?.rows ?? []).compactMap { $0.int(0) }.filter {
      (1...max(1, count)).contains($0)
    }
    return Merged(imported: count &- places.count, conflicts: places.map { $0 - 1 })
  }

  /// Inserts the rows whose keys are new, and finds the others by halving.
  ///
  /// - Complexity: one statement when all are new, and O(log(rows)) for each that is not.
  private func insertSplitting(_ rows: ArraySlice<Waiting>) throws -> Merged {
    guard let first = rows.first?.number, let last = rows.last?.number else { return Merged() }
    let results = try connection.run(
      "SAVEPOINT sheaf_part; INSERT INTO \(plan.table) (\(list)) \(overriding)SELECT \(list) FROM "
        + "\(Self.stage) WHERE \(own)row >= \(first) AND \(own)row <= \(last) ORDER BY \(own)row ON CONFLICT "
        + "(\(keys.list)) DO NOTHING RETURNING 1")
    let isAll = results.last?.rows.count == rows.count
    if isAll || rows.count == 1 {
      try connection.run("RELEASE SAVEPOINT sheaf_part")
      return isAll ? Merged(imported: rows.count) : Merged(conflicts: [0])
    }
    try connection.run("ROLLBACK TO SAVEPOINT sheaf_part; RELEASE SAVEPOINT sheaf_part")
    let half = rows.count / 2
    let low = try insertSplitting(rows.prefix(half))
    let high = try insertSplitting(rows.dropFirst(half))
    return Merged(
      imported: low.imported + high.imported,
      conflicts: low.conflicts + high.conflicts.map { $0 + half })
  }

  /// Statements of up to this many bytes are sent together.
  private static let mostBytes = 64 << 10

  /// Inserts rows; where the table has the key, changes the row that has it.
  ///
  /// - Parameter parts: which rows, a statement for each, in this order.
  private func upsert(_ count: Int, _ parts: [String], _ opening: [String]) throws -> Merged {
    // If the table has only key columns, the key is set to itself.
    let changed = keys.changed.isEmpty ? keys.keys : keys.changed
    let assignments = changed.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    let old = changed.map { "sheaf_target.\($0)" }.joined(separator: ", ")
    let new = changed.map { "excluded.\($0)" }.joined(separator: ", ")
    // An existing row is counted when it is compared, under its lock. The count is then right whatever others
    // commit meanwhile, and also for partitions, where `xmax` does not show which rows were inserted. Bytes
    // are compared: `json` and `point` have no equality, and values of other types that compare equal can
    // differ, such as boxes of the same area and texts that differ in case.
    let comparison =
      "CASE WHEN pg_catalog.record_image_ne(ROW(\(old)), ROW(\(new))) THEN "
      + "\(Self.counting("updated")) <> '' ELSE \(Self.counting("unchanged")) = '' END"
    var written = 0
    var statements =
      opening + ["SET LOCAL sheaf.updated = 0", "SET LOCAL sheaf.unchanged = 0"]
    var bytes = 0
    for part in parts {
      let statement =
        "INSERT INTO \(plan.table) AS sheaf_target (\(list)) \(overriding)SELECT \(list) \(part) ORDER BY "
        + "\(own)row ON CONFLICT (\(keys.list)) DO UPDATE SET \(assignments) WHERE \(comparison)"
      if bytes > 0, bytes + statement.utf8.count > Self.mostBytes {
        written &+= try Self.inserted(connection.run(statements.joined(separator: "; ")))
        (statements, bytes) = ([], 0)
      }
      statements.append(statement)
      bytes += statement.utf8.count
    }
    statements.append("SELECT current_setting('sheaf.updated'), current_setting('sheaf.unchanged')")
    let results = try connection.run(statements.joined(separator: "; "))
    written &+= Self.inserted(results)
    let updated = results.last?.rows.first?.int(0) ?? 0
    let unchanged = results.last?.rows.first?.int(1) ?? 0
    let left = count &- written &- unchanged
    guard left == 0 else { throw plan.leftOut(left, of: count) }
    return Merged(imported: written &- updated, updated: updated, unchanged: unchanged)
  }

  /// The number of rows that insertions have written.
  private static func inserted(_ results: [ServerResult]) -> Int {
    results.reduce(0) { $1.tag.hasPrefix("INSERT") ? $0 &+ $1.count : $0 }
  }

  /// Adds one to a number that a setting of the transaction holds as a text; the text is never empty.
  private static func counting(_ name: String) -> String {
    "pg_catalog.set_config('sheaf.\(name)', (pg_catalog.current_setting('sheaf.\(name)')::bigint + 1)::text, "
      + "true)"
  }
}
