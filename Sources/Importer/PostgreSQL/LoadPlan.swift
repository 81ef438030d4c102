import Base

/// All that the lanes of one input have in common.
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
  /// Under what the tables know the input.
  let input: String
  /// Of the claim: a later one fences all transactions of this.
  let epoch: Int
  /// Whether each batch is on the server's disk before it counts as committed.
  let isSynchronous: Bool
  /// For how long failures that may pass are retried, in seconds.
  let retrySeconds: Double
  /// What becomes of rows whose key is there; nil: rows go straight into the table.
  let keys: KeyedTable?

  /// For how long a statement may wait for what others have locked, in milliseconds.
  static let lockMilliseconds = 30_000
  /// After how long the server gives up on a client that says nothing inside a transaction.
  static let idleMilliseconds = 60_000
  /// Without an answer for so many seconds a connection is given up. A batch may take long where triggers and
  /// indexes have much to do; a peer that is gone is found out by the system, in a minute.
  static let silence = 900.0

  /// Begins a transaction.
  var begin: [String] { engine.begin(isSynchronous: isSynchronous) }

  /// The name of a transaction, while it is open, among the server's activities: by it those are found that
  /// nobody goes on with.
  private static func activity(input: String, record: Int?) -> String {
    "sheaf \(RangeChecksum.text(Checksum.of(Array(input.utf8)))) \(record.map(String.init) ?? "%")"
  }

  /// Gives the transaction of a range its name.
  func naming(_ range: CopyRange) -> String {
    "SET LOCAL application_name = "
      + SQLText.literal(Self.activity(input: input, record: range.firstRecord))
  }

  /// Ends transactions of an input, or of one of its ranges, that other connections have open: whose client
  /// is gone, or was stopped, and which the server would wait for. One that is being committed is committed.
  static func ending(input: String, record: Int?) -> String {
    "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE application_name "
      + "LIKE \(SQLText.literal(activity(input: input, record: record))) AND usename = current_user AND "
      + "pid <> pg_catalog.pg_backend_pid()"
  }

  /// The range's row. It is there or it is not, and with it the rows: nothing else says what is committed. No
  /// row is inserted once another owner has the input; two of one range cannot be.
  func insertion(_ range: CopyRange, _ counts: RowCounts) -> String {
    "INSERT INTO \(tables.range) (input, \(StoredRange.columns), epoch) SELECT input, "
      + "\(range.firstRecord), \(range.byteStart), \(range.byteEnd), \(range.lineEnd), "
      + "'\(RangeChecksum.text(range.checksum))', \(counts.values), epoch FROM \(tables.input) WHERE input = "
      + "\(SQLText.literal(input)) AND epoch = \(epoch) AND NOT done FOR SHARE"
  }

  /// Puts other counts into the range's row, in the transaction that made it.
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

  var copy: String {
    "COPY \(table) (\(columns.joined(separator: ", "))) FROM STDIN"
  }
}

/// A table whose rows are told apart by a key.
struct KeyedTable: Sendable {
  /// The columns of the key, quoted.
  let keys: [String]
  let policy: ConflictPolicy
  /// All columns of the table that can be written, quoted.
  let tableColumns: [String]
}
