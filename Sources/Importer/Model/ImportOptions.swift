import Base
import Engine

/// The inputs, destination and options of an import: the options of the command line, as values.
///
/// Thread rule: a plain value, `Sendable`. Its closures are called on threads of the import.
public struct ImportOptions: Sendable {
  /// The maximum number of records in a cluster of an import.
  static let clusterRecords = 1024
  /// Fewer new records of a chunk fill shared clusters instead of making one.
  static let smallBatch = 256
  /// Batches with at least so many records are clusters that parsers encode; the writer only joins those of
  /// small batches, once for each transaction.
  static let leastEncoded = 32

  /// The number of records in a transaction.
  public enum BatchSize: Sendable, Equatable {
    /// Each transaction has this many records.
    case records(Int)
    /// The whole input is one transaction.
    case all
  }

  /// Where the names of columns come from.
  public enum HeaderRule: Sendable, Equatable {
    /// Decided by the first records.
    case sniffed
    /// The first record has the names.
    case firstRecord
    /// Every record is data, and the columns are numbered.
    case absent
    /// These names, in the order of the fields; every record is data.
    case names([String])
  }

  /// Where the types of columns come from.
  public enum TypeRule: Sendable, Equatable {
    /// The narrowest type without loss, widened when a later value does not fit.
    case infer
    /// Every column is text.
    case text
    /// These types for these columns, strictly; types are inferred for all others.
    case named([String: ColumnType])
  }

  /// What happens to an input whose columns are not those of the table.
  public enum SchemaPolicy: String, Sendable, CaseIterable {
    /// New columns are added, and all types widen where a value does not fit, including those in `types`.
    case evolve
    /// New columns are added, with a note, and inferred types widen where a value does not fit; types in
    /// `types` are strict.
    case add
    /// An existing table keeps its columns and types. An input with other or fewer columns is refused with a
    /// list of all differences; a value that does not have its column's type is rejected.
    case freeze
  }

  /// The sign between a number's whole part and its fraction.
  public enum DecimalMark: String, Sendable, CaseIterable {
    /// `4.5`
    case point
    /// `4,5`
    case comma
  }

  /// A format of dates or date-times in the notation of `strptime`, such as `%d/%m/%Y`; see `Notation`.
  public struct DateFormat: Sendable, Equatable {
    /// The column, by its name in the table, which then has the format's type strictly. Nil: every column
    /// whose values have this format.
    public var column: String?
    /// The format.
    public var format: String

    /// - Parameters:
    ///   - format: the format, in the notation of `strptime`.
    ///   - column: the column; nil: all.
    public init(_ format: String, column: String? = nil) {
      self.format = format
      self.column = column
    }
  }

  /// What happens to text after a closing quote.
  public enum Quotes: String, Sendable, CaseIterable {
    /// The record is rejected.
    case strict
    /// The text belongs to the field; the quotes around the part before it are removed.
    case lenient
  }

  /// What happens to records with fewer or more fields than there are columns.
  public enum Ragged: String, Sendable, CaseIterable {
    /// Both are rejected.
    case reject
    /// Short records are filled with nulls; long ones are rejected.
    case pad
    /// Short records are filled with nulls; surplus fields of long ones go into added columns `extra1`,
    /// `extra2` and so on.
    case extend
  }

  /// The number of rejected records at which the import ends.
  public enum RejectLimit: Sendable, Equatable {
    /// At most this many; the import ends at the next one.
    case count(Int)
    /// At most this share of the records read, from 0 to 1; checked from the 1,000th record on and at the
    /// end.
    case share(Double)
    /// Any number.
    case unlimited
  }

  /// A number of objects, or a share of the table's objects.
  public enum Portion: Sendable, Equatable {
    /// This many.
    case count(Int)
    /// A share from 0 to 1.
    case share(Double)

    var isPossible: Bool {
      switch self {
      case .count(let count): count >= 0
      case .share(let share): share >= 0 && share <= 1
      }
    }

    /// The number of objects, rounded down; a tiny amount is added, so that 10% of 30 are 3.
    package func atMost(of total: Int) -> Int {
      switch self {
      case .count(let count): count
      case .share(let share): Int(min(share * Double(total) + 1e-6, Double(total)))
      }
    }

    /// The number of objects, rounded up.
    func atLeast(of total: Int) -> Int {
      switch self {
      case .count(let count): count
      case .share(let share): Int(min(max(share * Double(total) - 1e-6, 0), 1e18).rounded(.up))
      }
    }
  }

  /// How an input that was imported before is recognized.
  public enum SameInput: String, Sendable, CaseIterable {
    /// By its path, with all links resolved: another path is another input, even with the same bytes.
    case path
    /// By its path or its bytes: a renamed file is recognized, unless it has also grown. Each input with a
    /// new path is read twice.
    case contents
  }

  /// The paths of the inputs, in order; `-` is standard input. A path that names no file but contains `*`,
  /// `?` or `[...]` stands for the matching files, where `**` matches any number of folders. Files that end
  /// with .gz, .zst, .bz2 or .xz, or begin like such files, are decompressed by the system's program.
  /// `postgresql://user@host/database?query=SELECT ...` is a query of a PostgreSQL server; its columns keep
  /// their types. A query cannot be used with `resume`.
  public var inputs: [String]
  /// The database file.
  public var database: String
  /// The table; nil: the first input's file name without its extensions. Columns are matched by name. A
  /// column that only the input has is added. In a column that only the table has, new objects get its
  /// default, or null if it has none. A null in the input remains null.
  public var table: String?
  /// The size of a transaction. Nil: 1,000 records, or with `truncate` all records of all inputs, so that
  /// readers see either the old table or the new one.
  public var batchSize: BatchSize?
  /// The columns of the table's primary key. A new table gets this key, in this order, and so does an
  /// existing table without a key, if no two of its objects have the same values there. Empty: the table's
  /// existing key.
  public var keys: [String] = []
  /// The primary key's only column; nil: the table's existing key, or a key of several columns: see `keys`.
  public var key: String? {
    get { keys.count == 1 ? keys[0] : nil }
    set { keys = newValue.map { [$0] } ?? [] }
  }
  /// What happens to records whose key an object has. Requires a table with a key.
  public var conflictPolicy = ConflictPolicy.error
  /// Whether an empty field, or a spelling of null, keeps the value of the object with the record's key.
  /// Requires `replace` or `update`.
  public var ignoresBlanks = false
  /// A column that orders records by age. The object with the record's key changes only if its own value in
  /// this column is less than the record's; otherwise the record is skipped, or unchanged if it changes
  /// nothing. A record without a value there is the oldest. The column keeps its type. Nil: the last record
  /// wins. Requires `replace` or `update`.
  public var newerThan: String?
  /// Whether to delete objects whose keys no input has, so that the table equals the inputs.
  ///
  /// All inputs are then one transaction, with the deletions at its end. With `Publication.end` there is a
  /// transaction for each batch, and the last one deletes. In both cases readers see the old table or the new
  /// one, and a failure leaves the old one. With `resume` all inputs are read again, unless the table's last
  /// import was of exactly these inputs and none of them has changed.
  ///
  /// Requires a key and `skip`, `replace` or `update`; not with `limit`, and with `batchSize` only for
  /// `Publication.end`. An import fails if it rejects a record and objects are missing, since the rejected
  /// record may have the key of one of these.
  public var deletesMissing = false
  /// The number of objects that `deletesMissing` may delete; more end the import before any change. Nil: a
  /// tenth of a table with 100 objects or more, otherwise no limit.
  public var maxDeletes: Portion?
  /// The number of records that `deletesMissing` requires of all inputs together, absolutely or as a share of
  /// the objects before; fewer end the import before any change.
  public var minRecords = Portion.count(0)
  /// The maximum of parsers and of waiting chunks.
  package static let mostThreads = 1024

  /// The maximum number of records in a header.
  package static let mostHeaderLines = 16

  /// The number of parser threads, from 1 to 1,024.
  public var parsers = max(1, System.processorCount - 1)
  /// The number of chunks that may wait between the parsers and the writer, from 1 to 1,024; up to eight
  /// times as many may wait if they average less than 32 KB.
  public var queue = 8
  /// When batches survive a power cut. All are durable when the import returns.
  public var durability = Durability.group
  /// The delimiter for runs of spaces and tabs, as in tables with aligned columns. Those at the beginning and
  /// end of a line are ignored.
  public static let whitespace = "whitespace"

  /// The text between fields: one to four bytes of UTF-8, or `whitespace`. Nil: found in the input.
  public var delimiter: String?
  /// The quote, an ASCII character. Nil: found in the input; `.some(nil)`: none.
  public var quote: UInt8??
  /// The character that makes a quote inside quotes, a delimiter, a record end or itself literal: an ASCII
  /// character, equal to the quote when quotes are doubled. Nil: found in the input; `.some(nil)`: none.
  public var escape: UInt8??
  /// What happens to text after a closing quote.
  public var quotes = Quotes.strict
  /// The beginning of lines that are not records: one to four bytes of UTF-8. Nil: found in the input; empty:
  /// none.
  public var comment: String?
  /// The number of lines to skip before the header or the first record. Nil: those that are certainly not
  /// part of the table.
  public var skipLines: Int?
  /// The number of lines to skip at the end of each input, such as totals and notes.
  public var skipFooter = 0
  /// The number of records with names, from 1 to 16, one above the other; the names of a column are joined by
  /// a blank.
  public var headerLines = 1
  /// The input's encoding; a byte-order mark overrides it. Nil: UTF-8, or that of the mark.
  public var encoding: TextEncoding?
  /// Where the names of columns come from.
  public var header = HeaderRule.sniffed
  /// Where the types of columns come from.
  public var types = TypeRule.infer
  /// Formats of dates and date-times, in addition to ISO 8601 and the written forms with only one meaning.
  /// Formats for the same column are tried in order.
  public var dateFormats: [DateFormat] = []
  /// The sign before fractions. Nil: a point, or a comma in a column that otherwise makes no sense.
  public var decimalMark: DecimalMark?
  /// The sign between thousands: one of `,`, `.`, `'`, `_` and space. Nil: none, or commas or points in a
  /// column that otherwise makes no sense.
  public var thousandsSeparator: UInt8?
  /// True when nothing stands between thousands: `1,234` may have a decimal comma, and `1,234.5` is text.
  public var hasNoThousands = false
  /// Spellings of null, in addition to the empty unquoted field.
  public var nulls: [String] = []
  /// Whether to remove blanks and tabs around fields, also inside quotes. An unquoted field of blanks is then
  /// null.
  public var trimsFields = false
  /// The columns to import, by the input's names, in the order for a new table; nil: all.
  public var columns: [String]?
  /// The table's names of columns, by the input's names. All other options use the table's names.
  public var renames: [String: String] = [:]
  /// Columns that every record gets after its fields.
  public var addedColumns: [AddedColumn] = []
  /// Whether folders such as `region=eu/` in the paths of inputs are columns with their values, as Hive
  /// writes them.
  public var takesFolderColumns = false
  /// Columns in which null is rejected, by their names in the table.
  public var requiredColumns: [String] = []
  /// Conditions for every record; records that do not meet them are rejected.
  ///
  /// A column in a condition keeps the type of its first values, or that of the table: a later value of
  /// another type cannot be compared and is rejected.
  public var rules: [RecordRule] = []
  /// The condition for records to be imported. Other records are counted as filtered and not examined
  /// further, so errors in their other fields do not matter. A record is rejected if a field that the filter
  /// compares does not have its column's type. The filter's columns keep their types, as those of `rules` do.
  /// Nil: all records are imported.
  public var filter: RecordRule?
  /// What happens when an input's columns differ from the table's.
  public var schemaPolicy = SchemaPolicy.add
  /// What happens to records with fewer or more fields than there are columns.
  public var ragged = Ragged.reject
  /// The file for rejected records. Nil: a file beside the database, named after the input.
  public var rejects: String?
  /// The number of rejected records at which the import ends.
  public var maxRejects = RejectLimit.count(0)
  /// Whether to accept an input that has no column of the table, or no names and another width, and to add
  /// its columns; otherwise it is refused.
  public var newColumns = false
  /// Whether to refuse an input whose last record has no line end, before that record is committed. Otherwise
  /// it is noted, if other records have a line end.
  public var requiresFinalNewline = false
  /// The maximum number of records read from each input.
  public var limit: Int?
  /// The number of versions kept from before imports, 0 to 1,000: the current one and the newest of the
  /// earlier ones. 0: the current one is not kept, and none is dropped. Nil: the file's own number; see
  /// `WriteTransaction.keepVersions`.
  public var keepVersions: Int?
  /// The file for the import's changes to the table: a line of JSON for each object that was added, changed
  /// or deleted, in the order of keys. It gets its name, replacing a file of that name, when the import is
  /// durable and the file complete. After an interrupted import, the import that resumes it writes the
  /// changes of both. The version before the import is kept for this, whatever `keepVersions` says. A dry run
  /// writes the changes that the import would make. Nil: none.
  public var changes: String?
  /// The seconds to wait while another import or compaction has the database, or another process is in a
  /// write transaction when this one begins; 0: no wait. After the first commit, the import waits for other
  /// writers without a limit.
  public var wait = 60.0
  /// Whether to resume after the last committed batch of each input. An input is recognized by the checksum
  /// of its committed bytes; standard input and pipes must send the same bytes again. With `truncate`, the
  /// table is emptied only when there is no such batch, so that the same command can be repeated until it
  /// succeeds.
  public var resume = false
  /// How `resume` recognizes an input that was imported before.
  public var sameInput = SameInput.path
  /// Whether to empty the table, in the transaction of the first batch that has a record for it. Unless
  /// `batchSize` or `Publication.end` is given, that is the only transaction, and a failure leaves the table
  /// unchanged. Until then the file has both the old and the new objects.
  public var truncate = false
  /// When readers see the imported records.
  public enum Publication: String, Sendable, CaseIterable {
    /// Each batch, when it is committed.
    case batches
    /// All batches together, when the import ends.
    case end
  }
  /// When readers see the imported records. With `end`, batches are committed to a pending table beside the
  /// visible one, and the last commit replaces the visible one by it: an earlier failure leaves the visible
  /// table unchanged. `resume` continues an interrupted import. Without it, the next import with `end` drops
  /// the pending table, and so does `Database.abandonPending`. If another program changes the table meanwhile
  /// and the changes cannot be merged, `EngineError.busy` is thrown.
  public var publication = Publication.batches
  /// Whether `truncate` or `deletesMissing` may empty a table that had objects.
  public var allowsEmpty = false
  /// Whether to read everything and change nothing. The import runs in a copy whose changes go to a file in
  /// `TMPDIR` that ends with the process; the report has the results that the import would have.
  public var dryRun = false
  /// When the file is compacted afterwards.
  public var compaction = CompactionPolicy()
  /// When the import began, spelled as a date-time.
  package var begun = ""
  /// Compares records with a table instead of importing them.
  package var verifier: VerifierBox?
  /// True when only the beginning is read, to describe how the input would be read.
  package var isSniffing = false
  /// Chunks that begin after this many bytes of an input are not read.
  package var byteLimit: Int?
  /// The number of threads that read files ahead of the one that cuts them into chunks; nil: as many as the
  /// parsers need.
  package var readers: Int?
  /// Limits that bound memory; tests set small ones.
  package var limits = ChunkLimits()
  /// How the database is opened; tests set small sizes.
  package var engine = Database.Options()
  /// Whether parsers look their rows up in the table; tests compare the results with those of the writer
  /// alone.
  package var looksAhead = true
  /// For how many nanoseconds batches may share a version, with `group` or `none`; other processes see them
  /// together in any case. Only for a program that does not read the table meanwhile and does not write in
  /// `progress`. 0: each batch is a version.
  package var joinsBatchesFor: UInt64 = 0
  /// Called after every batch, between inputs, and while a pipe has nothing to read; true ends the import,
  /// with all batches until then committed.
  ///
  /// It is called on threads of the importer, where `Task.isCancelled` is false: to end an import with its
  /// task, let `withTaskCancellationHandler` set an atomic flag that this reads.
  public var shouldStop: @Sendable () -> Bool = { false }
  /// Called on the writer's thread when it has waited for a second, with the reason for the wait.
  public var onWaiting: @Sendable (String) -> Void = { _ in }
  /// Called on the writer's thread after every batch, and now and then during a long one, whose transaction
  /// is open: it must not write to the database, which would be refused then.
  public var progress: @Sendable (ImportProgress) -> Void = { _ in }
  /// Called on the writer's thread for every rejected record, in the order of the input.
  public var onReject: @Sendable (Reject) -> Void = { _ in }

  /// - Parameters:
  ///   - inputs: the paths in order; `-` is standard input.
  ///   - database: the database file, which is created if it is missing.
  public init(inputs: [String], database: String) {
    self.inputs = inputs
    self.database = database
  }

  /// The current moment, spelled as a date-time.
  static var now: String {
    DateTime(microsecondsSince1970: Int64(System.secondsSince1970) * 1_000_000)?.description ?? ""
  }

  var conflictRule: ConflictRule {
    ConflictRule(policy: conflictPolicy, ignoresBlanks: ignoresBlanks, newerThan: newerThan)
  }

  /// True when all inputs are one transaction.
  var isOneTransaction: Bool {
    (deletesMissing || (truncate && batchSize == nil)) && !publishesAtEnd
  }

  /// True when batches go to a pending table.
  var publishesAtEnd: Bool { publication == .end && !dryRun }

  /// `batchSize`, or the default that the other options imply.
  public var effectiveBatchSize: BatchSize {
    if isOneTransaction { return .all }
    // Readers do not see the single batches of a new table; larger ones cost less.
    return batchSize ?? .records(truncate || deletesMissing ? 10_000 : 1000)
  }

  /// The total time to wait for other users of the database.
  var waiting: Waiting {
    Waiting(seconds: wait, notice: onWaiting, shouldStop: shouldStop)
  }
}

/// Passes the object that looks records up to the writer's thread, which keeps it.
///
/// Thread rule: `Sendable` for the way to that thread only.
package struct VerifierBox: @unchecked Sendable {
  // @unchecked: only the import's writer thread uses the object, and `run` waits for that thread.
  let verifier: AnyObject

  init(_ verifier: AnyObject) { self.verifier = verifier }
}

/// When to compact a file after an import.
///
/// Thread rule: a plain value, `Sendable`.
public struct CompactionPolicy: Sendable, Equatable {
  /// The rule for compacting.
  public enum Mode: String, Sendable, CaseIterable {
    /// When the file is larger than `above` and less than `usedBelow` of it is used.
    case auto
    /// After every import.
    case always
    /// Never automatically.
    case never
  }
  /// The rule for compacting.
  public var mode = Mode.auto
  /// The file's length, in bytes.
  public var above = 70_000_000
  /// A share from 0 to 1.
  public var usedBelow = 0.5

  /// The policy of the command line: larger than 70 MB and less than half used.
  public init() {}

  /// Returns whether to compact a file; for `Database.Options.shouldCompact`.
  ///
  /// - Parameters:
  ///   - total: the file's length, in bytes.
  ///   - used: the bytes of it that the newest version needs: `FileUse.needed`.
  public func shouldCompact(total: Int, used: Int) -> Bool {
    switch mode {
    case .always: true
    case .never: false
    case .auto: total > above && Double(used) < usedBelow * Double(total)
    }
  }
}

/// The progress of an import.
///
/// Thread rule: a plain value, `Sendable`.
public struct ImportProgress: Sendable, Equatable {
  /// Bytes of all inputs so far.
  public var bytesRead = 0
  /// Bytes in all inputs; nil when one of them is a pipe.
  public var bytesTotal: Int?
  /// Records read so far.
  public var records = 0
  /// Records rejected so far.
  public var rejected = 0
  /// Bytes written to the database so far.
  public var bytesWritten = 0
}

/// A record that was not imported, and why.
///
/// Thread rule: a plain value, `Sendable`.
public struct Reject: Sendable, Equatable {
  /// The record's number in the input, from 1.
  public let record: Int
  /// The beginning of the field at fault, or of the record if no single field is.
  public let position: SourcePosition
  /// The column's name, if a single field is at fault.
  public let column: String?
  /// The field's text, if a single field is at fault.
  public let value: String?
  /// The reason, for people.
  public let reason: String
  /// The record's bytes in the input, without its record end.
  public let original: [UInt8]
  /// True for an error of quotes: where the record ends is not sure, and more of the input may belong to it.
  package var mayGoOn = false
}
