import Base
import Engine

/// What to import, from where, and how. The command line's options, as values.
///
/// Thread rule: a plain value, `Sendable`; its closures are called on threads of the import.
public struct ImportOptions: Sendable {
  /// The most records whose values a cluster of an import holds.
  static let clusterRecords = 1024
  /// Batches smaller than this fill up shared clusters instead of making one each.
  static let smallBatch = 256

  /// How many records make a transaction.
  public enum BatchSize: Sendable, Equatable {
    /// So many records a transaction.
    case records(Int)
    /// The whole input in one transaction.
    case all
  }

  /// Where the names of columns come from.
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

  /// Where the types of columns come from.
  public enum TypeRule: Sendable, Equatable {
    /// The narrowest type that loses nothing, widened when a later value does not fit.
    case infer
    /// Every column is text.
    case text
    /// These columns have these types, strictly; the others are inferred.
    case named([String: ColumnType])
  }

  /// What becomes of an input whose columns are not those of the table.
  public enum SchemaPolicy: String, Sendable, CaseIterable {
    /// Types that `types` names widen too, as inferred ones do: they are what a column begins with.
    case evolve
    /// New columns are added, which a note says, and inferred types widen where a value does not fit; types
    /// that are named are strict.
    case add
    /// A table that is there keeps its columns and their types: an input with other columns, or without some,
    /// is refused with a list of all differences, a value that is none of its column's type is rejected.
    case freeze
  }

  /// What stands between the whole part of a number and its fraction.
  public enum DecimalMark: String, Sendable, CaseIterable {
    /// `4.5`
    case point
    /// `4,5`
    case comma
  }

  /// A format of dates or date-times, as `strptime` has them: `%d/%m/%Y`; see `Notation`.
  public struct DateFormat: Sendable, Equatable {
    /// The column that it is for, by its name in the table, which then is strictly of that type; nil: every
    /// column whose values are spelled so.
    public var column: String?
    /// The format.
    public var format: String

    /// - Parameters:
    ///   - format: as `strptime` has them.
    ///   - column: the column that it is for; nil: all.
    public init(_ format: String, column: String? = nil) {
      self.format = format
      self.column = column
    }
  }

  /// What becomes of text behind a closing quote.
  public enum Quotes: String, Sendable, CaseIterable {
    /// The record is rejected.
    case strict
    /// It belongs to the field, without the quotes around what is before it.
    case lenient
  }

  /// What becomes of records with fewer or more fields than there are columns.
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
    /// So many; the import ends at the next.
    case count(Int)
    /// Of the records read, from 0 to 1; looked at from the 1,000th record on and at the end.
    case share(Double)
    /// However many there are.
    case unlimited
  }

  /// A number of objects, or a share of those that are in the table.
  public enum Portion: Sendable, Equatable {
    /// So many.
    case count(Int)
    /// From 0 to 1.
    case share(Double)

    var isPossible: Bool {
      switch self {
      case .count(let count): count >= 0
      case .share(let share): share >= 0 && share <= 1
      }
    }

    /// How many that is, rounded down; a little is added, so that 10% of 30 are 3.
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

  /// What makes an input the one that was imported before.
  public enum SameInput: String, Sendable, CaseIterable {
    /// The path that it is read from, behind all links: another one is another input, also with the same
    /// bytes.
    case path
    /// The path, or its bytes: a file that was renamed is the one that it was, unless it has grown, too. Each
    /// input with a new path is read twice.
    case contents
  }

  /// Paths of the inputs, in order; `-` is standard input. A path that names no file but has `*`, `?` or
  /// `[...]` in it stands for the files whose names fit, `**` for any number of folders. Files that
  /// end with .gz, .zst, .bz2 or .xz, or begin as such do, are decompressed by the system's own program.
  /// `postgresql://user@host/database?query=SELECT ...` is a query of a PostgreSQL server, whose columns have
  /// the types that they have there; `resume` refuses it.
  public var inputs: [String]
  /// The database file.
  public var database: String
  /// The table; nil: the first input's file name without its extensions. Columns are matched by name. One
  /// that only the input has is added; in one that only the table has, new objects get its default, or
  /// null without one. A null in the input stays null.
  public var table: String?
  /// How many records make a transaction; nil: 1,000, and with `truncate` those of all inputs, so
  /// that readers see the old table or the new one.
  public var batchSize: BatchSize?
  /// The columns that together are the table's primary key: a table that is created gets it, in this order,
  /// one without a key too, when no two of its objects have the same values there. Empty: the key that the
  /// table has.
  public var keys: [String] = []
  /// The primary key's only column; nil: the key that the table has, or one of several columns: see `keys`.
  public var key: String? {
    get { keys.count == 1 ? keys[0] : nil }
    set { keys = newValue.map { [$0] } ?? [] }
  }
  /// What becomes of records whose key is there already. Needs a table with a key.
  public var conflictPolicy = ConflictPolicy.error
  /// Whether an empty field, and one that is spelled like null, leaves the value of an object that has the
  /// record's key. Needs `replace` or `update`.
  public var ignoresBlanks = false
  /// A column that says how new a record is: an object that has the record's key changes only if its own
  /// value there comes before the record's; otherwise the record is skipped, unless it changes nothing.
  /// A record without a value there is as old as can be. The column keeps its type. Nil: the last record
  /// wins. Needs `replace` or `update`.
  public var newerThan: String?
  /// Whether objects whose keys none of the inputs has are deleted, so that the table is what the inputs are.
  /// All inputs are one transaction then, in which this comes last, or with `Publication.end` as many as
  /// there are batches, and the last one: readers see the old table or the new one, and whatever goes wrong
  /// leaves the old one. With `resume` all inputs are read again unless the table's last import was of just
  /// these and none of them has changed. Needs a key and `skip`, `replace` or `update`; not with `limit`, nor
  /// with `batchSize` unless it is published at the end. An import that rejects a record, and misses an
  /// object, fails: that object's key may be what could not be read.
  public var deletesMissing = false
  /// How many objects `deletesMissing` may delete: more end the import before anything has changed. Nil: a
  /// tenth of a table with 100 objects or more.
  public var maxDeletes: Portion?
  /// How many records `deletesMissing` wants of the inputs together, or what share of the objects before:
  /// fewer end the import before anything has changed.
  public var minRecords = Portion.count(0)
  /// Neither more parsers nor more waiting chunks than this make sense.
  package static let mostThreads = 1024

  /// No header has more records than this.
  package static let mostHeaderLines = 16

  /// Parser threads, from 1 to 1,024.
  public var parsers = max(1, System.processorCount - 1)
  /// Chunks that may wait between the parsers and the writer, from 1 to 1,024.
  public var queue = 8
  /// When batches survive a power cut. All are durable when the import returns.
  public var durability = Durability.group
  /// What stands between fields: one to four bytes of UTF-8. nil: found in the input.
  public var delimiter: String?
  /// An ASCII character. nil: found in the input; `.some(nil)`: none.
  public var quote: UInt8??
  /// What makes a quote inside quotes, a delimiter, a record end or itself literal: an ASCII character;
  /// the quote itself when quotes are written twice. nil: found in the input; `.some(nil)`: none.
  public var escape: UInt8??
  /// What becomes of text behind a closing quote.
  public var quotes = Quotes.strict
  /// What lines that are no records begin with: one to four bytes of UTF-8. nil: found in the input;
  /// empty: none.
  public var comment: String?
  /// Lines to leave out before the header, or the first record. nil: those that are certainly not part
  /// of the table.
  public var skipLines: Int?
  /// Lines to leave out at the end of each input: totals and notes.
  public var skipFooter = 0
  /// How many records the names are in, from 1 to 16, one above the other; those of a column are joined by
  /// a blank.
  public var headerLines = 1
  /// How the input's bytes stand for text; a byte-order mark overrules it. nil: UTF-8, or what the mark
  /// says.
  public var encoding: TextEncoding?
  /// Where the names of columns come from.
  public var header = HeaderRule.sniffed
  /// Where the types of columns come from.
  public var types = TypeRule.infer
  /// Formats of dates and date-times, besides ISO 8601 and the written forms of one meaning. Those of a
  /// column are tried in their order.
  public var dateFormats: [DateFormat] = []
  /// What stands before fractions; nil: a point, and a comma where a column makes sense no other way.
  public var decimalMark: DecimalMark?
  /// What stands between thousands: one of `,`, `.`, `'`, `_` and space; nil: nothing, and commas or points
  /// where a column makes sense no other way.
  public var thousandsSeparator: UInt8?
  /// Spellings of null besides the empty unquoted field.
  public var nulls: [String] = []
  /// Whether blanks and tabs around fields, in quotes too, are left out. An unquoted field of nothing else is
  /// null then.
  public var trimsFields = false
  /// The columns to import, by the input's names, in the order in which a table that is created gets them;
  /// nil: all.
  public var columns: [String]?
  /// The table's names for columns, by the input's names. All other options take the new ones.
  public var renames: [String: String] = [:]
  /// Columns that every record gets beside its fields, behind these.
  public var addedColumns: [AddedColumn] = []
  /// Take folders such as `region=eu/` in the paths of inputs for columns and their values, as Hive writes
  /// them.
  public var takesFolderColumns = false
  /// Columns in which null is rejected, by their names in the table.
  public var requiredColumns: [String] = []
  /// What every record has to be: others are rejected.
  ///
  /// A column that a rule compares keeps the type that its first values have, or that the table has: a later
  /// value of another type is rejected, since it cannot be compared.
  public var rules: [RecordRule] = []
  /// Only records of which this is true are imported; the others are counted as filtered, and looked at no
  /// further: what is wrong with their other fields does not matter. A record is rejected where a field that
  /// it compares is not of its column's type. Its columns keep their types, as those of `rules` do. Nil: all
  /// records are.
  public var filter: RecordRule?
  /// What becomes of differences between an input's columns and the table's.
  public var schemaPolicy = SchemaPolicy.add
  /// What becomes of records with fewer or more fields than there are columns.
  public var ragged = Ragged.reject
  /// Where rejected records go; nil: beside the database, named after the input.
  public var rejects: String?
  /// How many records may be rejected before the import ends.
  public var maxRejects = RejectLimit.count(0)
  /// Take an input that has no column of the table's, or no names and another width, and add its
  /// columns: such an input is refused otherwise.
  public var newColumns = false
  /// Refuse an input whose last record has no line end, before that record is committed; otherwise
  /// it is noted, where there are others.
  public var requiresFinalNewline = false
  /// Read at most so many records of each input.
  public var limit: Int?
  /// The version before the import is kept, and of those that were kept so the newest so many stay, 0 to
  /// 1,000; 0: it is not kept, and none is let go. Nil: as many as the file says, see
  /// `WriteTransaction.keepVersions`.
  public var keepVersions: Int?
  /// The file that gets what the import has changed in the table, a JSON object a line for each object that
  /// is new, was changed or is gone, in the order of keys. It is there when the import is durable and the
  /// file complete, and replaces a file of that name. An import that was interrupted and is gone on with
  /// writes what all of it did. The version before the import is kept for it, whatever `keepVersions` says.
  /// A dry run writes what would change. Nil: none.
  public var changes: String?
  /// How many seconds to wait while another import or compaction has the database, or another
  /// process is in a write transaction when this one begins; 0: not at all. Once a batch is
  /// committed, other writers are waited for as long as they take.
  public var wait = 60.0
  /// Go on after the last committed batch of each of the inputs, which are known by the checksum of
  /// what was committed; standard input and pipes have to give the same bytes again. With
  /// `truncate`, the table is emptied only when there is no such batch: the same command can be run
  /// until it succeeds.
  public var resume = false
  /// What makes an input the one that was imported before, for `resume`.
  public var sameInput = SameInput.path
  /// Empty the table first, in the transaction of the first batch that has a record for it. Unless
  /// `batchSize` or `Publication.end` is given, that is the only one, and whatever goes wrong leaves the
  /// table as it was. The file then has both for a while.
  public var truncate = false
  /// When readers see what is imported.
  public enum Publication: String, Sendable, CaseIterable {
    /// Each batch as it is committed.
    case batches
    /// All of it at once, when the import has come to its end.
    case end
  }
  /// When readers see what is imported. With `end` batches are committed to a pending table beside the
  /// visible one, and the last commit puts that in its place: whatever happens before leaves the visible
  /// table as it was. An import that was interrupted is gone on with by `resume`; else the next one with
  /// `end` drops what it had, and so does `Database.abandonPending`. If somebody else changes the table
  /// meanwhile, it cannot be put in place, and `EngineError.busy` is thrown.
  public var publication = Publication.batches
  /// Let `truncate` or `deletesMissing` leave a table empty that had objects.
  public var allowsEmpty = false
  /// Read everything, write nothing: the import is done in a copy that takes what is written, in `TMPDIR`,
  /// and ends with the process; the report says what it would have done.
  public var dryRun = false
  /// When the file is compacted afterwards.
  public var compaction = CompactionPolicy()
  /// When the import began, as a date-time is spelled.
  package var begun = ""
  /// What records are looked up in, instead of being imported.
  package var verifier: VerifierBox?
  /// Whether only the beginning is looked at, to say how it would be read.
  package var isSniffing = false
  /// Chunks that begin behind so many bytes of an input are not read.
  package var byteLimit: Int?
  /// Threads that read files ahead of the one that cuts them into chunks; nil: as many as the parsers need.
  package var readers: Int?
  /// Limits that bound memory, and that tests make tiny.
  package var limits = ChunkLimits()
  /// How the database is opened: tests make its parts tiny.
  package var engine = Database.Options()
  /// Whether parsers look their rows up in the table, as they do; tests compare it with a writer
  /// that does so alone.
  package var looksAhead = true
  /// For how many nanoseconds batches may join a version, with `group` or `none`: other processes see them
  /// together in any case. For a program that does not look at the table meanwhile, and does not write in
  /// `progress`. 0: each batch is a version.
  package var joinsBatchesFor: UInt64 = 0
  /// Asked after every batch, and between inputs: true ends the import there, committed. Also asked
  /// while a pipe has nothing to read.
  public var shouldStop: @Sendable () -> Bool = { false }
  /// Called on the writer's thread when it has waited for a second, with what it waits for.
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

  /// This moment, as a date-time is spelled.
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

  /// `batchSize` as it is meant.
  public var effectiveBatchSize: BatchSize {
    if isOneTransaction { return .all }
    // Nobody sees the batches of a table that is made anew: larger ones cost less.
    return batchSize ?? .records(truncate || deletesMissing ? 10_000 : 1000)
  }

  /// For how long to wait for others, in all.
  var waiting: Waiting {
    Waiting(seconds: wait, notice: onWaiting, shouldStop: shouldStop)
  }
}

/// What looks records up, kept by the writer's thread.
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
  /// Which rule decides.
  public enum Mode: String, Sendable, CaseIterable {
    /// When the file is larger than `above` and less than `usedBelow` of it is used.
    case auto
    /// After every import.
    case always
    /// Not by itself.
    case never
  }
  /// Which rule decides.
  public var mode = Mode.auto
  /// Bytes.
  public var above = 70_000_000
  /// From 0 to 1.
  public var usedBelow = 0.5

  /// The policy of the command line: larger than 70 MB and less than half used.
  public init() {}

  /// True when a file is to be compacted. Fits `Database.Options.shouldCompact`.
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

/// How far an import has come.
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
  /// What is wrong with it, for people.
  public let reason: String
  /// The record as it stands in the input, without its record end.
  public let original: [UInt8]
}
