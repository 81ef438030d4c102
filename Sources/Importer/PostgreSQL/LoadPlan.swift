import Base

/// Everything that the lanes of one input share.
///
/// Thread rule: a plain value, `Sendable`.
struct LoadPlan: Sendable {
  let target: any ServerAccess
  let engine: ServerEngine
  let tables: CheckpointTables
  /// The table, qualified and quoted.
  let table: String
  /// Its name alone, without quotes.
  let tableName: String
  /// The columns, quoted, in the order of the fields.
  let columns: [String]
  /// The input's key in the tables.
  let input: String
  /// The claim's epoch; a claim with a later one fences all transactions of this one.
  let epoch: Int
  /// Whether each batch is on the server's disk before it counts as committed.
  let isSynchronous: Bool
  /// The time during which transient failures are retried, in seconds.
  let retrySeconds: Double
  /// The policy for rows whose key exists already; nil when rows go straight into the table.
  let keys: KeyedTable?
  /// Whether a row may refer to another row of the table.
  var refersToItself = false

  /// The time that the server waits for a silent client inside a transaction, in milliseconds.
  static let idleMilliseconds = 60_000
  /// Seconds without an answer after which a connection is closed. A batch may take long when the table has
  /// many triggers and indexes; a peer that is gone is detected by the system within a minute.
  static let silence = 900.0

  /// Begins a transaction.
  var begin: [String] { engine.begin(isSynchronous: isSynchronous) }

  /// The name of an open transaction in the server's list of activities, by which `ending` finds the
  /// transactions of processes that are gone.
  private static func activity(input: String, record: Int?) -> String {
    "sheaf \(RangeChecksum.text(Checksum.of(Array(input.utf8)))) \(record.map(String.init) ?? "%")"
  }

  /// Names the transaction of a range.
  func naming(_ range: CopyRange) -> String {
    "SET LOCAL application_name = "
      + SQLText.literal(Self.activity(input: input, record: range.firstRecord))
  }

  /// Ends the transactions of an input, or of one of its ranges, that other connections have open. Their
  /// clients are gone or stopped, and the server would wait for them. A transaction that is already
  /// committing is committed.
  ///
  /// The list has the connections to all databases of the server, and an input may be loaded into several.
  static func ending(input: String, record: Int?) -> String {
    "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE application_name "
      + "LIKE \(SQLText.literal(activity(input: input, record: record))) AND usename = current_user AND "
      + "datname = pg_catalog.current_database() AND pid <> pg_catalog.pg_backend_pid()"
  }

  /// Inserts the range's row, the only record that the range is committed: it becomes visible together with
  /// the range's rows or not at all. Nothing is inserted when another process has claimed the input; a second
  /// row for a range is an error.
  func insertion(_ range: CopyRange, _ counts: RowCounts) -> String {
    "INSERT INTO \(tables.range) (input, \(StoredRange.columns), epoch) SELECT input, "
      + "\(range.firstRecord), \(range.byteStart), \(range.byteEnd), \(range.lineEnd), "
      + "'\(RangeChecksum.text(range.checksum))', \(counts.values), epoch FROM \(tables.input) WHERE input = "
      + "\(SQLText.literal(input)) AND epoch = \(epoch) AND NOT done FOR SHARE"
  }

  /// Replaces the counts in the range's row, in the transaction that made it.
  func correction(_ range: CopyRange, _ counts: RowCounts) -> String {
    "UPDATE \(tables.range) SET (\(RowCounts.columns)) = (\(counts.values)) WHERE input = "
      + "\(SQLText.literal(input)) AND first_record = \(range.firstRecord)"
  }

  func stored(_ range: CopyRange) -> String {
    "SELECT \(StoredRange.columns) FROM \(tables.range) WHERE input = \(SQLText.literal(input)) AND "
      + "first_record = \(range.firstRecord)"
  }

  func insertion(_ rejects: ArraySlice<Reject>) -> String {
    let rows = rejects.map { reject in
      "(\(SQLText.literal(input)), \(reject.record), \(reject.position.line), \(reject.position.column), "
        + "\(reject.position.byteOffset), \(SQLText.literal(reject.column)), "
        + "\(SQLText.literal(reject.value)), \(SQLText.literal(reject.reason)), "
        + "\(SQLText.literal(reject.original)))"
    }
    return
      "INSERT INTO \(tables.reject) (input, record, line, position, byte_offset, \"column\", value, "
      + "reason, original) VALUES " + rows.joined(separator: ", ")
  }

  /// The error for rows that are missing although none was refused.
  func leftOut(_ count: Int, of all: Int) -> ServerError {
    ServerError(
      .data,
      "\(target.shown): the server took \(all &- count) of \(all) rows into \(table) without a "
        + "word: a trigger there leaves rows out, and what is not imported cannot be told; drop it for the "
        + "import")
  }

  var copy: String {
    "COPY \(table) (\(columns.joined(separator: ", "))) FROM STDIN"
  }
}

/// A table whose rows are identified by a key.
struct KeyedTable: Sendable {
  /// The columns of the key, quoted.
  let keys: [String]
  let policy: ConflictPolicy
  /// The columns of the key as a list.
  var list: String { keys.joined(separator: ", ") }
  /// The columns, quoted, that an existing row takes from the new one; they are compared, too.
  let changed: [String]
  /// Whether a value is given for a column that is always an identity.
  let overridesIdentity: Bool
  /// Whether a trigger may change rows before they are inserted.
  let hasRowTriggers: Bool
}

extension KeyedTable {
  /// - Parameters:
  ///   - keys: the columns of the key.
  ///   - columns: the columns of which rows have values.
  init(keys: [String], policy: ConflictPolicy, of table: ServerTable, columns: [String]) {
    let given = Set(columns)
    func isChanged(_ column: ServerTable.ServerColumn) -> Bool {
      // The server does not change this number. In a key column it is the same anyway.
      if column.isGenerated || column.isAlwaysIdentity { return false }
      // A replaced row gets defaults in columns without a given value, except in identities.
      return given.contains(column.name) || policy == .replace && !column.isIdentity
    }
    let always = table.columns.filter(\.isAlwaysIdentity)
    self.init(
      keys: keys.map { SQLText.name($0) }, policy: policy,
      changed: table.columns.filter(isChanged).map { SQLText.name($0.name) },
      overridesIdentity: always.contains { given.contains($0.name) },
      hasRowTriggers: table.hasRowTriggers)
  }
}
