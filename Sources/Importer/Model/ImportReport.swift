import Engine

/// What an import did.
///
/// Always, `read == imported + updated + skipped + unchanged + rejected + filtered`. If nothing is pending,
/// and nobody else has written or their changes were `merged`, `objects == objectsBefore + imported -
/// deleted`. An import that goes on with a pending table counts the objects of that table as
/// `objectsBefore`.
///
/// Thread rule: a plain value, `Sendable`.
public struct ImportReport: Sendable {
  /// The outcome for a column.
  public struct ColumnReport: Sendable, Equatable {
    /// Its name in the table.
    public let name: String
    /// Its type at the end.
    public let type: ColumnType
    /// The notation of its values; nil: they have the canonical spellings of the type.
    public let notation: Notation?
    /// Nulls among the records that were read, in all inputs.
    public let nulls: Int
    /// How its type was widened by a value after the first 1,000 records, or by any value if the table had a
    /// type; nil when it was not.
    public let widened: Widening?

    var wideningNote: String? {
      widened.map {
        "column '\(name)' was \($0.from.name) and is \($0.to.name) now, because of a value at line "
          + "\($0.line)"
      }
    }
  }

  /// A change of a column's type during the import.
  public struct Widening: Sendable, Equatable {
    /// The type before.
    public let from: ColumnType
    /// The type since.
    public let to: ColumnType
    /// Line of the first value that did not fit.
    public let line: Int
  }

  /// How an input was read.
  public struct DialectReport: Sendable, Equatable {
    /// The text between fields, or `whitespace`.
    public let delimiter: String
    /// The character around quoted fields; nil without quoting.
    public let quote: String?
    /// The character that makes others literal; the quote itself when quotes are written twice; nil
    /// without.
    public let escape: String?
    /// The beginning of lines that are not records; nil without.
    public let comment: String?
    /// Whether the first record had the names of the columns.
    public let hasHeader: Bool
    /// The encoding of the input, by the user's option or a byte-order mark.
    public let encoding: TextEncoding
    /// Lines left out before the header, by the option or because they are certainly not part of the table.
    public let skippedLines: Int
    /// The parts that were found in the input rather than given: `delimiter`, `quote`, `escape`, `comment`,
    /// `header`, `encoding`, `skippedLines`.
    public let sniffed: [String]
    /// The first record end in the input; nil when it has none.
    public let recordEnd: String?
  }

  /// The outcome for one of the inputs.
  public struct FileReport: Sendable, Equatable {
    /// The path, as it was given or found.
    public let path: String
    /// Records read by this run.
    public var read = 0
    /// Records that became new objects.
    public var imported = 0
    /// Records that changed an object which had their key.
    public var updated = 0
    /// Records left out because an object had their key.
    public var skipped = 0
    /// Records with the same values as the object that has their key.
    public var unchanged = 0
    /// Records that went to the rejects file.
    public var rejected = 0
    /// Records that `ImportOptions.filter` left out.
    public var filtered = 0
    /// Bytes read by this run; of a compressed input, the decompressed bytes.
    public var bytesRead = 0
    /// The point from which this run resumed it; nil when it began at the start.
    public var resumedAt: ResumePoint?
    /// The files with its rejected records; nil when there are none.
    public var rejects: RejectFiles?
    /// Its columns, in its order; empty when it was imported completely before.
    public var columns: [ColumnReport] = []
    /// How it was read; nil when it is empty.
    public var dialect: DialectReport?
    /// Notes for the user.
    public var notes: [String] = []
    /// The dialects that were tried, with the reasons for the choice.
    public var findings: InputFindings?

    init(path: String, resumedAt: ResumePoint? = nil) {
      self.path = path
      self.resumedAt = resumedAt
    }

    mutating func add(_ report: ImportReport, bytesRead: Int) {
      read = report.read
      imported = report.imported
      updated = report.updated
      skipped = report.skipped
      unchanged = report.unchanged
      rejected = report.rejected
      filtered = report.filtered
      self.bytesRead = bytesRead
    }
  }

  /// The point from which an interrupted import was resumed.
  public struct ResumePoint: Sendable, Equatable {
    /// Records of the input that were committed before this run.
    public let record: Int
    /// The offset at which this run began to read, from 0.
    public let byteOffset: Int
    /// True when the input had been imported completely before: there was nothing to do.
    public let isComplete: Bool
  }

  /// The files with rejected records.
  public struct RejectFiles: Sendable, Equatable {
    /// The records, byte for byte.
    public let path: String
    /// Line, byte offset and reason of each.
    public let reasonsPath: String
  }

  /// The changes made by the import, as `ImportOptions.changes` lists them; for a dry run, those that it
  /// would make.
  public struct Changes: Sendable, Equatable {
    /// The file; nil for a dry run that writes none.
    public let path: String?
    /// Objects that are new.
    public var inserted = 0
    /// Objects that are gone.
    public var deleted = 0
    /// Objects with other values.
    public var changed = 0
  }

  /// The changes that others made to the table while the import filled its pending version.
  public struct Merged: Sendable, Equatable {
    /// Objects that only they had made.
    public var inserted = 0
    /// Objects that only they had changed.
    public var changed = 0
    /// Objects that they had deleted, and the import left as they were.
    public var deleted = 0
    /// Objects that both had made, changed, or deleted and changed: the policy has decided.
    public var ofBoth = 0
  }

  /// What was merged with the import by the table's key when it became visible; nil when nobody else had
  /// changed the table.
  public var merged: Merged?
  /// What was written of its changes; nil when that was not asked for, or the import was interrupted. Of a
  /// dry run into a table with a key, what would change.
  public var changes: Changes?
  /// The inputs, as they were given.
  public var inputs: [String] = []
  /// The database file, as it was given.
  public var database = ""
  /// The table that was filled.
  public var table = ""
  /// Records read by this run.
  public var read = 0
  /// Records that became new objects.
  public var imported = 0
  /// Records that changed an object which had their key.
  public var updated = 0
  /// Records left out because an object had their key.
  public var skipped = 0
  /// Records with the same values as the object that has their key: it was not rewritten.
  public var unchanged = 0
  /// Records that went to the rejects file.
  public var rejected = 0
  /// Records that `ImportOptions.filter` left out.
  public var filtered = 0
  /// Objects that were deleted: those of a table that was emptied, or whose keys no input has.
  public var deleted = 0
  /// The records of a transaction.
  public var batchSize = ImportOptions.BatchSize.records(1000)
  /// Transactions committed.
  public var batches = 0
  /// From the beginning to the end, with the compaction.
  public var seconds = 0.0
  /// Processor time of the thread that cuts the inputs into chunks, without its parsing. This time and the
  /// next two are of threads that limit the speed, since there is only one of each. Small inputs and waiting
  /// do not count.
  public var readerSeconds = 0.0
  /// Processor time of the thread that writes objects and commits them.
  public var writerSeconds = 0.0
  /// Processor time of the thread that makes versions durable in the background.
  public var flusherSeconds = 0.0
  /// Bytes of all inputs.
  public var bytesRead = 0
  /// Bytes written to the database.
  public var bytesWritten = 0
  /// The outcome for each input that was reached, in their order.
  public var files: [FileReport] = []
  /// The columns of the last input, in its order, with the nulls of all.
  public var columns: [ColumnReport] = []
  /// How the first input was read.
  public var dialect: DialectReport?
  /// The point from which the import was resumed; nil when it began at the start.
  public var resumedAt: ResumePoint?
  /// The files with rejected records; nil when there are none.
  public var rejects: RejectFiles?
  /// Notes for the user, for example about changed names.
  public var notes: [String] = []
  /// True when `shouldStop` ended the import before its end.
  public var isInterrupted = false
  /// True when the destination is a server: the members about a file are then empty.
  public var isOfServer = false
  /// When readers see the imported records.
  public var publication = ImportOptions.Publication.batches
  /// True when this run has replaced the visible table by a pending one.
  public var isPublished = false
  /// The pending table that an interrupted or failed import has left; nil when there is none.
  public var pending: PendingTable?
  /// True for a dry run, which has written nothing.
  public var isDryRun = false
  /// Objects in the table at the end; after a dry run, those that there would be.
  public var objects = 0
  /// Objects in the table before.
  public var objectsBefore = 0
  /// Bytes of the database file before; 0 when there was none.
  public var fileBefore = 0
  /// The use of the database file's bytes at the end; nil after a dry run.
  public var file: FileUse?
  /// The outcome of the compaction afterwards.
  public var compaction = CompactionResult(decision: .disabled, before: 0, after: 0)
  /// Seconds that it took.
  public var compactionSeconds = 0.0

  /// True when all inputs had been imported completely before.
  public var isNothingToDo: Bool {
    !files.isEmpty && files.count == inputs.count && !isPublished
      && files.allSatisfy { $0.resumedAt?.isComplete == true }
  }

  /// A report of nothing, to be filled.
  public init() {}
}
