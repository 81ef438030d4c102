import Base

/// Brings the rows of a range into the table, inside an open transaction.
///
/// Thread rule: confined.
struct RowTransfer {
  private let plan: LoadPlan
  private let range: CopyRange
  private let connection: any ServerLink

  init(_ plan: LoadPlan, _ range: CopyRange, _ connection: any ServerLink) {
    self.plan = plan
    self.range = range
    self.connection = connection
  }

  /// What names of columns begin with that are none of the table's.
  private var own: String {
    var own = "sheaf_"
    while plan.columns.contains(where: { $0.utf8.starts(with: ("\"" + own).utf8) }) { own += "_" }
    return own
  }

  /// What the server calls the table that rows are copied into.
  private var copiedName: String { plan.keys == nil ? plan.tableName : "sheaf_stage" }

  /// Transfers all rows at once.
  ///
  /// - Returns: rows that are left out because of their keys.
  /// - Throws: `ServerError`, also for a single row that the server refuses.
  func transferAll(_ counts: inout RowCounts) throws -> [Reject] {
    counts.imported = 0
    if plan.keys != nil { try makeStage() }
    return try transfer(0..<range.rowCount, &counts)
  }

  /// Transfers the rows window by window, to find and leave out rows that the server refuses: by the line
  /// that its error names, or else by halving.
  ///
  /// - Parameter told: called with all rows refused so far; throws when there are too many.
  /// - Returns: the refused rows, and rows that are left out because of their keys.
  /// - Complexity: two statements for each refused row where the server names the line, else O(log(rows)).
  func transferCarefully(_ counts: inout RowCounts, _ told: ([Reject]) throws -> Void) throws
    -> [Reject]
  {
    counts.imported = 0
    if plan.keys != nil { try makeStage() }
    var refused: [Reject] = []
    var next = 0
    var width = range.rowCount
    /// The row that the server's error has named, with the server's reason.
    var known: (row: Int, reason: String)?
    while next < range.rowCount {
      if let found = known, found.row == next {
        try refuse(found.row, found.reason, &counts, &refused, told)
        known = nil
        next += 1
        // Often the next one is like it. Where the server tells lines, it costs no more to try two.
        if plan.keys == nil { width = max(2, width) }
        continue
      }
      let end = min(known?.row ?? range.rowCount, next + width)
      do {
        var tried = counts
        let conflicts = try tryTransfer(next..<end, &tried)
        counts = tried
        refused += conflicts
        if !conflicts.isEmpty { try told(refused) }
        next = end
        width = min(range.rowCount, width * 2)
      } catch let error as ServerError {
        guard let state = error.sqlState, SQLState(state).isOfRows else { throw error }
        if let row = Self.line(error.context, table: copiedName).map({ next + $0 - 1 }), row < end {
          known = (row, error.words)
          width = max(1, row - next)
        } else if end - next == 1 {
          known = (next, error.words)
        } else {
          width = (end - next) / 2
        }
      }
    }
    return refused
  }

  private func refuse(
    _ row: Int, _ reason: String, _ counts: inout RowCounts, _ refused: inout [Reject],
    _ told: ([Reject]) throws -> Void
  ) throws {
    guard let reject = range.reject(row, reason: "the server refuses the row: \(reason)") else {
      return
    }
    counts.rejected += 1
    refused.append(reject)
    try told(refused)
  }

  /// The same as `transfer`, undone when it fails.
  private func tryTransfer(_ rows: Range<Int>, _ counts: inout RowCounts) throws -> [Reject] {
    try connection.run("SAVEPOINT sheaf_rows")
    do {
      let conflicts = try transfer(rows, &counts)
      // Constraints that the server checks only at the end of a transaction must be checked while the row can
      // still be identified.
      if plan.engine.defersConstraints {
        try connection.run("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
      }
      try connection.run("RELEASE SAVEPOINT sheaf_rows")
      return conflicts
    } catch let error as ServerError where !error.isDisconnected {
      try connection.run("ROLLBACK TO SAVEPOINT sheaf_rows; RELEASE SAVEPOINT sheaf_rows")
      throw error
    }
  }

  private func transfer(_ rows: Range<Int>, _ counts: inout RowCounts) throws -> [Reject] {
    if let keys = plan.keys { return try merge(rows, keys, &counts) }
    try copy(rows, plan.copy)
    counts.imported += rows.count
    return []
  }

  private func copy(_ rows: Range<Int>, _ statement: String) throws {
    let taken = try connection.copy(statement) { (put) throws(ServerError) in
      try range.forText(ofRows: rows) { (bytes) throws(ServerError) in try put(bytes) }
    }
    guard taken == rows.count else { throw leftOut(rows.count - taken, of: rows.count) }
  }

  /// What is said of rows that are gone though nothing was refused.
  private func leftOut(_ count: Int, of all: Int) -> ServerError {
    ServerError(
      .data,
      "\(plan.target.shown): the server took \(all &- count) of \(all) rows into \(plan.table) without a "
        + "word: a trigger there leaves rows out, and what is not imported cannot be told; drop it for the "
        + "import")
  }

  /// The row that a server's error names, from 1: `COPY apps, line 3, column size: "x"`, in any language.
  ///
  /// - Parameter table: its name in the error, without quotes and without its schema.
  static func line(_ context: String?, table: String) -> Int? {
    guard let context else { return nil }
    let mark = Array("COPY \(table), ".utf8)
    let bytes = Array(context.utf8)
    guard bytes.count > mark.count,
      let start = (0...bytes.count - mark.count).first(where: { bytes[$0...].starts(with: mark) })
    else { return nil }
    let rest = bytes[(start + mark.count)...]
    // The place ends with a comma or a colon; anything may follow.
    let digits = rest.prefix { $0 != 0x2C && $0 != 0x3A && $0 != 0x3B }.split(separator: 0x20)
      .first { $0.allSatisfy { (0x30...0x39).contains($0) } }
    guard let digits, let number = Int(String(decoding: digits, as: UTF8.self)),
      (1...1 << 40).contains(number)
    else {
      return nil
    }
    return number
  }
}

// MARK: Keys

extension KeyedTable {
  /// The columns of the key as a list.
  fileprivate var key: String { keys.joined(separator: ", ") }
}

extension RowTransfer {
  private static let stage = "pg_temp.sheaf_stage"

  private var list: String { plan.columns.joined(separator: ", ") }

  /// Makes the temporary table that rows wait in while their keys are compared: of the same types, without
  /// constraints, dropped with the transaction.
  private func makeStage() throws {
    try connection.run(
      "CREATE TEMPORARY TABLE sheaf_stage ON COMMIT DROP AS SELECT \(list) FROM \(plan.table) WITH NO DATA; "
        + "ALTER TABLE \(Self.stage) ADD COLUMN \(own)row bigint GENERATED ALWAYS AS IDENTITY")
  }

  private func merge(_ rows: Range<Int>, _ keys: KeyedTable, _ counts: inout RowCounts) throws
    -> [Reject]
  {
    try copy(rows, "COPY \(Self.stage) (\(list)) FROM STDIN")
    let conflicts: [Reject]
    switch keys.policy {
    case .error: conflicts = try insertNew(rows, keys, &counts)
    case .skip:
      let results = try connection.run(
        "INSERT INTO \(plan.table) (\(list)) SELECT \(list) FROM \(Self.stage) ORDER BY \(own)row ON "
          + "CONFLICT (\(keys.key)) DO NOTHING RETURNING 1")
      // Not from the tag: with Citus it counts shards too.
      let imported = results.last?.rows.count ?? 0
      counts.imported += imported
      counts.skipped += rows.count - imported
      conflicts = []
    case .replace, .update:
      try upsert(rows, keys, &counts)
      conflicts = []
    }
    try connection.run("DELETE FROM \(Self.stage)")
    return conflicts
  }

  /// Inserts rows whose key is new: of each key in the batch the first.
  private func insertNew(
    _ rows: Range<Int>, _ keys: KeyedTable, _ counts: inout RowCounts
  ) throws -> [Reject] {
    // Names that no column has, whatever the key's are called.
    let own = self.own
    let names = keys.keys.indices.map { "\(own)key\($0 + 1)" }
    let told = zip(keys.keys, names).map { "\($0) AS \($1)" }.joined(separator: ", ")
    let same = zip(keys.keys, names).map { "added.\($1) = numbered.\($0)" }.joined(
      separator: " AND ")
    let group = names.map { "added.\($0)" }.joined(separator: ", ")
    let results = try connection.run(
      "WITH numbered AS (SELECT *, row_number() OVER (ORDER BY \(own)row) AS \(own)place FROM "
        + "\(Self.stage)), added AS (INSERT INTO \(plan.table) (\(list)) SELECT \(list) FROM \(Self.stage) "
        + "ORDER BY \(own)row ON CONFLICT (\(keys.key)) DO NOTHING RETURNING \(told)), "
        + "firsts AS (SELECT min(\(own)place) AS place FROM numbered JOIN added ON \(same) "
        + "GROUP BY \(group)) SELECT \(own)place FROM numbered WHERE \(own)place "
        + "NOT IN (SELECT place FROM firsts) ORDER BY \(own)place")
    let places = (results.last?.rows ?? []).compactMap { $0.int(0) }.filter {
      (1...max(1, rows.count)).contains($0)
    }
    counts.imported += rows.count - places.count
    counts.rejected += places.count
    return places.compactMap { place in
      range.reject(
        rows.lowerBound + place - 1,
        reason:
          "its key, in \(keys.keys.count == 1 ? "column" : "the columns") \(keys.key), is there already, in "
          + "the table or earlier in the input")
    }
  }

  /// Rows of one key come one after the other, in the order of the input: a statement for the first of each,
  /// one for the second, and so on.
  private func upsert(_ rows: Range<Int>, _ keys: KeyedTable, _ counts: inout RowCounts) throws {
    let own = self.own
    let rounds =
      "(SELECT *, row_number() OVER (PARTITION BY \(keys.key) ORDER BY \(own)row) AS \(own)round FROM "
      + "\(Self.stage)) AS numbered"
    let most = try connection.run("SELECT max(\(own)round) FROM \(rounds)").last?.rows.first?.int(0)
    let changed = keys.policy == .replace ? keys.tableColumns : plan.columns
    let assignments = changed.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    let old = changed.map { "sheaf_target.\($0)" }.joined(separator: ", ")
    let new = changed.map { "excluded.\($0)" }.joined(separator: ", ")
    // What becomes of a row that is there is counted as it is compared, under its lock: whatever others
    // commit meanwhile, and into partitions, too, which do not tell by `xmax` what was inserted.
    let comparison =
      "CASE WHEN ROW(\(old)) IS DISTINCT FROM ROW(\(new)) THEN \(Self.counting("updated")) <> '' ELSE "
      + "\(Self.counting("unchanged")) = '' END"
    var left = rows.count
    for round in 1...max(1, min(most ?? 1, rows.count)) {
      let results = try connection.run(
        "SET LOCAL sheaf.updated = 0; SET LOCAL sheaf.unchanged = 0; INSERT INTO \(plan.table) AS "
          + "sheaf_target (\(list)) SELECT \(list) FROM \(rounds) WHERE \(own)round = \(round) ORDER BY "
          + "\(own)row ON CONFLICT (\(keys.key)) DO UPDATE SET \(assignments) WHERE \(comparison); "
          + "SELECT current_setting('sheaf.updated'), current_setting('sheaf.unchanged')")
      let written = results.dropLast().last?.count ?? 0
      let updated = results.last?.rows.first?.int(0) ?? 0
      let unchanged = results.last?.rows.first?.int(1) ?? 0
      // A server may say anything.
      counts.imported &+= written &- updated
      counts.updated &+= updated
      counts.unchanged &+= unchanged
      left &-= written &+ unchanged
    }
    guard left == 0 else { throw leftOut(left, of: rows.count) }
  }

  /// Adds one to a number that is kept in a setting of the transaction: a text, and never an empty one.
  private static func counting(_ name: String) -> String {
    "pg_catalog.set_config('sheaf.\(name)', (pg_catalog.current_setting('sheaf.\(name)')::bigint + 1)::text, "
      + "true)"
  }
}
