import Base
import Engine

/// The inputs, destination and options of an import. The command line's options, as values.
///
/// Thread rule: a plain value, `Sendable`; its closures are called on threads of the import.
public struct ImportOptions: Sendable {
  /// The most records whose values a cluster of an import holds.
  static let clusterRecords = 1024
  /// Smaller batches fill up shared clusters instead of making one each.
  static let smallBatch = 256

  /// How many records make a transaction.
  public enum BatchSize: Sendable, Equatable {
    /// Each transaction has this many records.
    case records(Int)
    /// The whole input in one transaction.
    case all
  }

  /// The source of the names of columns.
  public enum HeaderRule: Sendable, Equatable {
    /// Decided from the first records.
    case sniffed
    /// The first record has the names.
    case firstRecord
    /// Every record is data, and the columns are numbered.
    case absent
    /// These, in the order of the fields; every record is data.
    case names([String])
  }

  /// The source of the types of columns.
  public enum TypeRule: Sendable, Equatable {
    /// The narrowest type that loses nothing, widened when a later value does not fit.
    case infer
    /// Every column is text.
    case text
    /// These columns have these types, strictly; the others are inferred.
    case named([String: ColumnType])
  }

  /// The treatment of an input whose columns are not those of the table.
  public enum SchemaPolicy: String, Sendable, CaseIterable {
    /// New columns are added, and all types widen where a value does not fit, also those that `types` names.
    case evolve
    /// New columns are added, with a note, and inferred types widen where a value does not fit; types that
    /// are named are strict.
    case add
    /// An existing table keeps its columns and their types. An input with other columns, or without some, is
    /// refused with a list of all differences; a value that is not of its column's type is rejected.
    case freeze
  }

  /// The sign between the whole part of a number and its fraction.
  public enum DecimalMark: String, Sendable, CaseIterable {
    /// `4.5`
    case point
    /// `4,5`
    case comma
  }

  /// A format of dates or date-times, in the notation of `strptime`: `%d/%m/%Y`; see `Notation`.
  public struct DateFormat: Sendable, Equatable {
    /// The column that it is for, by its name in the table; the column is then strictly of the format's type.
    /// Nil: every column whose values are spelled so.
    public var column: String?
    /// The format.
    public var format: String

    /// - Parameters:
    ///   - format: in the notation of `strptime`.
    ///   - column: the column that it is for; nil: all.
    public init(_ format: String, column: String? = nil) {
      self.format = format
      self.column = column
    }
  }

  /// The treatment of text behind a closing quote.
  public enum Quotes: String, Sendable, CaseIterable {
    /// The record is rejected.
    case strict
    /// The text belongs to the field, without the quotes around the part before it.
    case lenient
  }

  /// The treatment of records with fewer or more fields than there are columns.
  public enum Ragged: String, Sendable, CaseIterable {
    /// Both are rejected.
    case reject
    /// Short ones are filled with nulls; long ones are rejected.
    case pad
    /// Short ones are filled with nulls; the surplus fields of long ones go into columns `extra1`,
    /// `extra2` and so on, which are added.
    case extend
  }

  /// How many records may be rejected before the import ends.
  public enum RejectLimit: Sendable, Equatable {
    /// This many; the import ends at the next one.
    case count(Int)
    /// A share of the records read, from 0 to 1; checked from the 1,000th record on and at the end.
    case share(Double)
    /// Any number.
    case unlimited
  }

  /// A number of objects, or a share of the table's objects.
  public enum Portion: Sendable, Equatable {
    /// This many.
    case count(Int)
    /// From 0 to 1.
    case share(Double)

    var isPossible: Bool {
      switch self {
      case .count(let count): count >= 0
      case .share(let share): share >= 0 && share <= 1
      }
    }

    /// The number of objects, rounded down; a little is added, so that 10% of 30 are 3.
    package func atMost(of total: Int) -> Int {
      switch self {
      case .count(let count): count
      case .share(let share): Int(min(share * Double(total) + 1e-6, Double(total)))
      }
    }

    /// The same, rounded up.
    func atLeast(of total: Int) -> Int {
      switch self {
      case .count(let count): count
      case .share(let share): Int(min(max(share * Double(total) - 1e-6, 0), 1e18).rounded(.up))
      }
    }
  }

  /// How an input is recognized as one that was imported before.
  public enum SameInput: String, Sendable, CaseIterable {
    /// By the path, with all links followed: another path is another input, even with the same bytes.
    case path
    /// By the path, or the bytes: a renamed file is recognized, unless it has grown too. Each input with a
    /// new path is read twice.
    case contents
  }

  /// Paths of the inputs, in order; `-` is standard input. A path that names no file but has `*`, `?` or
  /// `[...]` in it stands for the files whose names fit, `**` for any number of folders. Files that end with
  /// .gz, .zst, .bz2 or .xz, or begin as such do, are decompressed by the system's own program.
  /// `postgresql://user@host/database?query=SELECT ...` is a query of a PostgreSQL server; its columns keep
  /// their types. `resume` refuses a query.
  public var inputs: [String]
  /// The database file.
  public var database: String
  /// The table; nil: the first input's file name without its extensions. Columns are matched by name. A
  /// column that only the input has is added; in one that only the table has, new objects get its default, or
  /// null without one. A null in the input stays null.
  public var table: String?
  /// The records of a transaction; nil: 1,000, or with `truncate` all records of all inputs, so that readers
  /// see the old table or the new one.
  public var batchSize: BatchSize?
  /// The columns that together are the table's primary key. A new table gets it, in this order; so does an
  /// existing table without a key, if no two of its objects have the same values there. Empty: the key that
  /// the table has.
  public var keys: [String] = []
  /// The primary key's only column; nil: the key that the table has, or one of several columns: see `keys`.
  public var key: String? {
    get { keys.count == 1 ? keys[0] : nil }
    set { keys = newValue.map { [$0] } ?? [] }
  }
  /// The treatment of records whose key an object has already. Needs a table with a key.
  public var conflictPolicy = ConflictPolicy.error
  /// Whether an empty field, and a field spelled like null, keeps the value of an object that has the
  /// record's key. Needs `replace` or `update`.
  public var ignoresBlanks = false
  /// A column that tells how new a record is. An object that has the record's key changes only if its own
  /// value there comes before the record's; otherwise the record is skipped, unless it changes nothing. A
  /// record without a value there counts as the oldest. The column keeps its type. Nil: the last record wins.
  /// Needs `replace` or `update`.
  public var newerThan: String?
  /// Whether objects are deleted whose keys no input has, so that the table equals the inputs.
  ///
  /// All inputs are then one transaction, with the deletions at its end. With `Publication.end` there are as
  /// many transactions as batches, and the last one deletes. In both cases readers see the old table or the
  /// new one, and any failure leaves the old one. With `resume` all inputs are read again, unless the table's
  /// last import was of exactly these inputs and none of them has changed.
  ///
  /// Needs a key and `skip`, `replace` or `update`; not with `limit`, and with `batchSize` only if published
  /// at the end. An import fails if it rejects a record and misses an object: the rejected record may have
  /// that object's key.
  public var deletesMissing = false
  /// How many objects `deletesMissing` may delete: more end the import before anything has changed. Nil: a
  /// tenth, in a table with 100 objects or more.
  public var maxDeletes: Portion?
  /// How many records `deletesMissing` requires of all inputs together, as a number or as a share of the
  /// objects before: fewer end the import before anything has changed.
  public var minRecords = Portion.count(0)
  /// The most parsers, and the most waiting chunks.
  package static let mostThreads = 1024

  /// The most records of a header.
  package static let mostHeaderLines = 16

  /// Parser threads, from 1 to 1,024.
  public var parsers = max(1, System.processorCount - 1)
  /// Chunks that may wait between the parsers and the writer, from 1 to 1,024.
  public var queue = 8
  /// When batches survive a power cut. All are durable when the import returns.
  public var durability = Durability.group
  /// The delimiter that is a run of spaces and tabs, as in tables with aligned columns. Those at the
  /// beginning and end of a line do not count.
  public static let whitespace = "whitespace"

  /// The text between fields: one to four bytes of UTF-8, or `whitespace`. nil: found in the input.
  public var delimiter: String?
  /// An ASCII character. nil: found in the input; `.some(nil)`: none.
  public var quote: UInt8??
  /// The character that makes a quote inside quotes, a delimiter, a record end or itself literal: an ASCII
  /// character; the quote itself when quotes are written twice. nil: found in the input; `.some(nil)`: none.
  public var escape: UInt8??
  /// The treatment of text behind a closing quote.
  public var quotes = Quotes.strict
  /// The beginning of lines that are not records: one to four bytes of UTF-8. nil: found in the input; empty:
  /// none.
  public var comment: String?
  /// Lines to leave out before the header, or the first record. nil: those that are certainly not part of the
  /// table.
  public var skipLines: Int?
  /// Lines to leave out at the end of each input: totals and notes.
  public var skipFooter = 0
  /// How many records have the names, from 1 to 16, one above the other; the names of a column are joined by
  /// a blank.
  public var headerLines = 1
  /// The input's encoding; a byte-order mark overrules it. nil: UTF-8, or that of the mark.
  public var encoding: TextEncoding?
  /// The source of the names of columns.
  public var header = HeaderRule.sniffed
  /// The source of the types of columns.
  public var types = TypeRule.infer
  /// Formats of dates and date-times, besides ISO 8601 and the written forms of one meaning. Those of a
  /// column are tried in their order.
  public var dateFormats: [DateFormat] = []
  /// The sign before fractions; nil: a point, and a comma in a column that makes sense no other way.
  public var decimalMark: DecimalMark?
  /// The sign between thousands: one of `,`, `.`, `'`, `_` and space; nil: none, and commas or points in a
  /// column that makes sense no other way.
  public var thousandsSeparator: UInt8?
  /// Spellings of null besides the empty unquoted field.
  public var nulls: [String] = []
  /// Whether blanks and tabs around fields are left out, also inside quotes. An unquoted field of blanks only
  /// is then null.
  public var trimsFields = false
  /// The columns to import, by the input's names, in the order in which a new table gets them; nil: all.
  public var columns: [String]?
  /// The table's names for columns, by the input's names. All other options use the new ones.
  public var renames: [String: String] = [:]
  /// Columns that every record gets beside its fields, behind these.
  public var addedColumns: [AddedColumn] = []
  /// Whether folders such as `region=eu/` in the paths of inputs are columns with their values, as Hive
  /// writes them.
  public var takesFolderColumns = false
  /// Columns in which null is rejected, by their names in the table.
  public var requiredColumns: [String] = []
  /// Conditions for every record: other records are rejected.
  ///
  /// A column that a rule compares keeps the type that its first values have, or that the table has: a later
  /// value of another type is rejected, since it cannot be compared.
  public var rules: [RecordRule] = []
  /// The condition for records to be imported. The others are counted as filtered and not examined further:
  /// mistakes in their other fields do not matter. A record is rejected if a field that the filter compares
  /// is not of its column's type. The filter's columns keep their types, as those of `rules` do. Nil: all
  /// records are imported.
  public var filter: RecordRule?
  /// The treatment of differences between an input's columns and the table's.
  public var schemaPolicy = SchemaPolicy.add
  /// The treatment of records with fewer or more fields than there are columns.
  public var ragged = Ragged.reject
  /// The file for rejected records; nil: beside the database, named after the input.
  public var rejects: String?
  /// How many records may be rejected before the import ends.
  public var maxRejects = RejectLimit.count(0)
  /// Whether to accept an input that has no column of the table's, or no names and another width, and to add
  /// its columns: otherwise such an input is refused.
  public var newColumns = false
  /// Whether to refuse an input whose last record has no line end, before that record is committed; otherwise
  /// there is a note, if other records have one.
  public var requiresFinalNewline = false
  /// Read at most this many records of each input.
  public var limit: Int?
  /// How many versions from before imports are kept, 0 to 1,000: the present one and the newest of the
  /// earlier ones. 0: this one is not kept, and none is dropped. Nil: the file's own number, see
  /// `WriteTransaction.keepVersions`.
  public var keepVersions: Int?
  /// The file for the import's changes to the table: one line of JSON for each object that is new, was
  /// changed or is gone, in the order of keys. It gets its name when the import is durable and the file
  /// complete, and replaces a file of that name. After an interrupted import, the one that resumes it writes
  /// the changes of both. The version before the import is kept for this, whatever `keepVersions` says. A dry
  /// run writes the changes that the import would make. Nil: none.
  public var changes: String?
  /// How many seconds to wait while another import or compaction has the database, or another process is in a
  /// write transaction when this one begins; 0: not at all. Once a batch is committed, other writers are
  /// waited for as long as they take.
  public var wait = 60.0
  /// Resume after the last committed batch of each input. An input is recognized by the checksum of its
  /// committed bytes; standard input and pipes have to give the same bytes again. With `truncate`, the table
  /// is emptied only when there is no such batch: the same command can be repeated until it succeeds.
  public var resume = false
  /// How `resume` recognizes an input that was imported before.
  public var sameInput = SameInput.path
  /// Empty the table first, in the transaction of the first batch that has a record for it. Unless
  /// `batchSize` or `Publication.end` is given, that transaction is the only one, and any failure leaves the
  /// table as it was. Until then the file has both the old and the new objects.
  public var truncate = false
  /// When readers see the imported records.
  public enum Publication: String, Sendable, CaseIterable {
    /// Each batch as it is committed.
    case batches
    /// All batches at once, when the import ends.
    case end
  }
  /// When readers see the imported records. With `end`, batches are committed to a pending table beside the
  /// visible one, and the last commit replaces the visible one by it: any earlier failure leaves the visible
  /// table as it was. `resume` continues an interrupted import; without it, the next import with `end` drops
  /// the pending table, and so does `Database.abandonPending`. If another program changes the table
  /// meanwhile, it cannot be replaced, and `EngineError.busy` is thrown.
  public var publication = Publication.batches
  /// Let `truncate` or `deletesMissing` empty a table that had objects.
  public var allowsEmpty = false
  /// Read everything, change nothing. The import runs in a copy whose changes go to a file in `TMPDIR` that
  /// ends with the process; the report says what the import would have done.
  public var dryRun = false
  /// When the file is compacted afterwards.
  public var compaction = CompactionPolicy()
  /// When the import began, spelled as a date-time.
  package var begun = ""
  /// Looks records up, instead of importing them.
  package var verifier: VerifierBox?
  /// Whether only the beginning is examined, to describe how the input would be read.
  package var isSniffing = false
  /// Columns whose types are a server's: numbers in them may be spelled as the first records show.
  var typedByServer: Set<String> = []
  /// Chunks that begin after this many bytes of an input are not read.
  package var byteLimit: Int?
  /// Threads that read files ahead of the one that cuts them into chunks; nil: as many as the parsers need.
  package var readers: Int?
  /// Limits that bound memory, and that tests make tiny.
  package var limits = ChunkLimits()
  /// How the database is opened: tests make its parts tiny.
  package var engine = Database.Options()
  /// Whether parsers look their rows up in the table; tests compare that with a writer that does so alone.
  package var looksAhead = true
  /// For how many nanoseconds batches may share a version, with `group` or `none`: other processes see them
  /// together in any case. Only for a program that does not read the table meanwhile, and does not write in
  /// `progress`. 0: each batch is a version.
  package var joinsBatchesFor: UInt64 = 0
  /// Asked after every batch, and between inputs: true ends the import there, committed. Also asked while a
  /// pipe has nothing to read.
  public var shouldStop: @Sendable () -> Bool = { false }
  /// Called on the writer's thread when it has waited for a second, with the reason for the wait.
  public var onWaiting: @Sendable (String) -> Void = { _ in }
  /// Called after every batch, and now and then on the way to the end of a long one, on the writer's
  /// thread.
  public var progress: @Sendable (ImportProgress) -> Void = { _ in }
  /// Called for every rejected record, in the order of the input, on the writer's thread.
  public var onReject: @Sendable (Reject) -> Void = { _ in }

  /// - Parameters:
  ///   - inputs: paths in order; `-` is standard input.
  ///   - database: the database file, created where missing.
  public init(inputs: [String], database: String) {
    self.inputs = inputs
    self.database = database
  }

  /// The present moment, spelled as a date-time.
  static var now: String {
    DateTime(microsecondsSince1970: Int64(System.secondsSince1970) * 1_000_000)?.description ?? ""
  }

  var conflictRule: ConflictRule {
    ConflictRule(policy: conflictPolicy, ignoresBlanks: ignoresBlanks, newerThan: newerThan)
  }

  /// Whether all inputs are one transaction.
  var isOneTransaction: Bool {
    (deletesMissing || (truncate && batchSize == nil)) && !publishesAtEnd
  }

  /// Whether batches go to a pending table.
  var publishesAtEnd: Bool { publication == .end && !dryRun }

  /// `batchSize`, or the default that the other options imply.
  public var effectiveBatchSize: BatchSize {
    if isOneTransaction { return .all }
    // Readers do not see the single batches of a new table: larger ones cost less.
    return batchSize ?? .records(truncate || deletesMissing ? 10_000 : 1000)
  }

  /// How long to wait for others, in all.
  var waiting: Waiting {
    Waiting(seconds: wait, notice: onWaiting, shouldStop: shouldStop)
  }
}

/// Carries the object that looks records up to the writer's thread, which keeps it.
///
/// Thread rule: `Sendable` for the way to that thread only.
package struct VerifierBox: @unchecked Sendable {
  // @unchecked: the object is used by the import's writer thread, which `run` waits for.
  let verifier: AnyObject

  init(_ verifier: AnyObject) { self.verifier = verifier }
}

/// When a file is compacted after an import.
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
  /// In bytes.
  public var above = 70_000_000
  /// From 0 to 1.
  public var usedBelow = 0.5

  /// The policy of the command line: larger than 70 MB and less than half used.
  public init() {}

  /// True when a file should be compacted. Fits `Database.Options.shouldCompact`.
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
  /// Its number in the input, from 1.
  public let record: Int
  /// Where the field at fault begins; without one, the record.
  public let position: SourcePosition
  /// The column's name, when one field is at fault.
  public let column: String?
  /// The field's text, when one field is at fault.
  public let value: String?
  /// The reason, for people.
  public let reason: String
  /// The record's bytes in the input, without its record end.
  public let original: [UInt8]
}
