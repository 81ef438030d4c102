/// The statements of the tables in which a server keeps the checkpoints of imports, in the schema of the
/// loaded table:
///
/// - `sheaf_input`: each input, the process that works on it, its epoch, and its counts once it is done.
/// - `sheaf_lease`: the time until which no other process may take the input. It has a row of its own, so
///   that renewals do not wait for batches.
/// - `sheaf_range`: each range of records that is in the table, committed with its rows. The ranges are
///   removed once the input is done.
/// - `sheaf_reject`: the records that are not in the table.
struct CheckpointTables: Sendable {
  let schema: String

  private func name(_ table: String) -> String { SQLText.name(schema) + "." + table }

  var input: String { name("sheaf_input") }
  var lease: String { name("sheaf_lease") }
  var range: String { name("sheaf_range") }
  var reject: String { name("sheaf_reject") }

  /// Names that a loaded table cannot have.
  static let names: Set<String> = ["sheaf_input", "sheaf_lease", "sheaf_range", "sheaf_reject"]

  /// Makes the missing tables. Each is a statement of its own, outside any batch.
  var creation: [String] {
    [
      "CREATE TABLE IF NOT EXISTS \(input) (input text PRIMARY KEY, target text NOT NULL, name text NOT "
        + "NULL, options text, batch_size bigint NOT NULL, size bigint, checksum text, owner text, epoch "
        + "bigint NOT NULL, done boolean NOT NULL DEFAULT false, records bigint NOT NULL DEFAULT 0, "
        + "imported bigint NOT NULL DEFAULT 0, updated bigint NOT NULL DEFAULT 0, skipped bigint NOT NULL "
        + "DEFAULT 0, unchanged bigint NOT NULL DEFAULT 0, rejected bigint NOT NULL DEFAULT 0, byte_end "
        + "bigint NOT NULL DEFAULT 0, digest text, begun timestamptz NOT NULL DEFAULT now(), ended "
        + "timestamptz)",
      "CREATE TABLE IF NOT EXISTS \(lease) (input text PRIMARY KEY, owner text NOT NULL, until timestamptz "
        + "NOT NULL)",
      "CREATE TABLE IF NOT EXISTS \(range) (input text NOT NULL, first_record bigint NOT NULL, records "
        + "bigint NOT NULL, byte_start bigint NOT NULL, byte_end bigint NOT NULL, line_end bigint NOT NULL, "
        + "checksum text NOT NULL, imported bigint NOT NULL, updated bigint NOT NULL, skipped bigint NOT "
        + "NULL, unchanged bigint NOT NULL, rejected bigint NOT NULL, epoch bigint NOT NULL, PRIMARY KEY "
        + "(input, first_record))",
      "CREATE TABLE IF NOT EXISTS \(reject) (input text NOT NULL, record bigint NOT NULL, line bigint NOT "
        + "NULL, position bigint NOT NULL, byte_offset bigint NOT NULL, \"column\" text, value text, reason "
        + "text NOT NULL, original bytea NOT NULL, PRIMARY KEY (input, record))",
    ]
  }

  /// Fails when a table is missing or has other columns.
  var probe: String {
    "SELECT digest, byte_end FROM \(input) WHERE false; SELECT until FROM \(lease) WHERE false; SELECT "
      + "line_end, checksum, epoch FROM \(range) WHERE false; SELECT byte_offset, original FROM \(reject) "
      + "WHERE false"
  }
}

/// The counts of a range's records, or of an input's.
struct RowCounts: Sendable, Equatable {
  var records = 0
  var imported = 0
  var updated = 0
  var skipped = 0
  var unchanged = 0
  var rejected = 0

  /// The columns, in the order of `values`.
  static let columns = "records, imported, updated, skipped, unchanged, rejected"

  var values: String {
    "\(records), \(imported), \(updated), \(skipped), \(unchanged), \(rejected)"
  }

  /// The sums of the columns.
  static let sums =
    "coalesce(sum(records), 0)::bigint, coalesce(sum(imported), 0)::bigint, coalesce(sum(updated), "
    + "0)::bigint, coalesce(sum(skipped), 0)::bigint, coalesce(sum(unchanged), 0)::bigint, "
    + "coalesce(sum(rejected), 0)::bigint"

  init() {}

  /// Reads the counts from a server's row; nil when a column is not a number.
  ///
  /// - Parameter first: the first of the columns.
  init?(_ row: ServerRow, from first: Int) {
    let numbers = (first..<first + 6).compactMap { row.int($0) }
    guard numbers.count == 6, numbers.allSatisfy({ (0...1 << 56).contains($0) }) else { return nil }
    (records, imported, updated) = (numbers[0], numbers[1], numbers[2])
    (skipped, unchanged, rejected) = (numbers[3], numbers[4], numbers[5])
  }

  static func += (left: inout RowCounts, right: RowCounts) {
    left.records &+= right.records
    left.imported &+= right.imported
    left.updated &+= right.updated
    left.skipped &+= right.skipped
    left.unchanged &+= right.unchanged
    left.rejected &+= right.rejected
  }

  /// True when the counts of the results add up to the number of records.
  var isWhole: Bool { records == imported &+ updated &+ skipped &+ unchanged &+ rejected }
}

/// A range that a server has committed.
struct StoredRange: Sendable, Equatable {
  let firstRecord: Int
  let byteStart: Int
  let byteEnd: Int
  let lineEnd: Int
  let checksum: String
  let counts: RowCounts

  /// The columns that `init` takes, in their order.
  static let columns =
    "first_record, byte_start, byte_end, line_end, checksum, \(RowCounts.columns)"

  init?(_ row: ServerRow) {
    guard let first = row.int(0), let start = row.int(1), let end = row.int(2),
      let line = row.int(3),
      let checksum = row[4], let counts = RowCounts(row, from: 5), counts.isWhole, first > 0,
      start >= 0,
      end >= start, line > 0, first < 1 << 56, end < 1 << 56, line < 1 << 56
    else { return nil }
    (firstRecord, byteStart, byteEnd, lineEnd) = (first, start, end, line)
    self.checksum = checksum
    self.counts = counts
  }

  /// True when the stored range has the range's records, with the same bytes.
  func isOf(_ range: CopyRange) -> Bool {
    firstRecord == range.firstRecord && counts.records == range.recordCount
      && byteStart == range.byteStart && byteEnd == range.byteEnd
      && checksum == RangeChecksum.text(range.checksum)
  }
}

/// Checksums as text, as the tables hold them.
enum RangeChecksum {
  static func text(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  static func value(_ text: String) -> UInt64? { UInt64(text, radix: 16) }
}
