import Engine

/// What an import did.
///
/// Always, `read == imported + updated + skipped + unchanged + rejected + filtered`. If no table is pending,
/// and others have not written or their changes were `merged`, `objects == objectsBefore + imported -
/// deleted`. For an import that continues a pending table, `objectsBefore` is the number of objects in that
/// table.
///
/// Thread rule: a plain value, `Sendable`.
public struct ImportReport: Sendable {
  /// The outcome for a column.
  public struct ColumnReport: Sendable, Equatable {
    /// Its name in the table.
    public let name: String
    /// Its type at the end.
    public let type: ColumnType
    /// The notation of its values; nil: values have the canonical spellings of the type.
    public let notation: Notation?
    /// Nulls in the records read, in all inputs.
    public let nulls: Int
    /// How a value after the first 1,000 records widened its type, or any value if the table had a type; nil
    /// when the type did not change.
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
    /// The previous type.
    public let from: ColumnType
    /// The new type.
    public let to: ColumnType
    /// The line of the first value that did not fit.
    public let line: Int
  }

  /// How an input was read.
  public struct DialectReport: Sendable, Equatable {
    /// The text between fields, or `whitespace`.
    public let delimiter: String
    /// The character around quoted fields; nil when there is no quoting.
    public let quote: String?
    /// The character that makes others literal, equal to the quote when quotes are doubled; nil when there is
    /// none.
    public let escape: String?
    /// The beginning of lines that are not records; nil when there is none.
    public let comment: String?
    /// True when the first record had the names of the columns.
    public let hasHeader: Bool
    /// The encoding of the input, by the option or a byte-order mark.
    public let encoding: TextEncoding
    /// Lines skipped before the header, by the option or because they are certainly not part of the table.
    public let skippedLines: Int
    /// The parts that were found in the input rather than given: `delimiter`, `quote`, `escape`, `comment`,
    /// `header`, `encoding`, `skippedLines`.
    public let sniffed: [String]
    /// The first record end in the input; nil when there is none.
    public let recordEnd: String?
  }

  /// The outcome for an input.
  public struct FileReport: Sendable, Equatable {
    /// The path as given or found.
    public let path: String
    /// Records read by this run.
    public var read = 0
    /// Records that became new objects.
    public var imported = 0
    /// Records that changed an object with their key.
    public var updated = 0
    /// Records skipped because an object had their key.
    public var skipped = 0
    /// Records with the same values as the object with their key.
    public var unchanged = 0
    /// Records that went to the rejects file.
    public var rejected = 0
    /// Records that `ImportOptions.filter` left out.
    public var filtered = 0
    /// Bytes read by this run; for a compressed input, decompressed bytes.
    public var bytesRead = 0
    /// Where this run resumed the input; nil when it began at the start.
    public var resumedAt: ResumePoint?
    /// The files with the input's rejected records; nil when there are none.
    public var rejects: RejectFiles?
    /// The input's columns, in its order; empty when it had been imported completely before.
    public var columns: [ColumnReport] = []
    /// How the input was read; nil when it is empty.
    public var dialect: DialectReport?
    /// Notes for the user.
    public var notes: [String] = []
    /// The dialects that were tried, and the reasons for the choice.
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

  /// Where an interrupted import was resumed.
  public struct ResumePoint: Sendable, Equatable {
    /// Records of the input that were committed before this run.
    public let record: Int
    /// The offset in the input at which this run began to read, from 0.
    public let byteOffset: Int
    /// True when the input had been imported completely before, so nothing was done.
    public let isComplete: Bool
  }

  /// The files with rejected records.
  public struct RejectFiles: Sendable, Equatable {
    /// The records, byte for byte.
    public let path: String
    /// The line, byte offset and reason of each record.
    public let reasonsPath: String
  }

  /// The changes of the import, as in the file of `ImportOptions.changes`; for a dry run, those that the
  /// import would make.
  public struct Changes: Sendable, Equatable {
    /// The file; nil for a dry run that writes none.
    public let path: String?
    /// Objects that were added.
    public var inserted = 0
    /// Objects that were deleted.
    public var deleted = 0
    /// Objects with other values.
    public var changed = 0
  }

  /// The changes that others made to the table while the import built its pending table.
  public struct Merged: Sendable, Equatable {
    /// Objects that only others had added.
    public var inserted = 0
    /// Objects that only others had changed.
    public var changed = 0
    /// Objects that others had deleted and the import had not changed.
    public var deleted = 0
    /// Objects that both had added or changed, or one had deleted and the other changed; the policy decided.
    public var ofBoth = 0
  }

  /// The changes of others that were merged with the import, by the table's key, when it became visible; nil
  /// when others had not changed the table.
  public var merged: Merged?
  /// The changes of the import; nil when they were not requested, or the import was interrupted. For a dry
  /// run into a table with a key, the changes that it would make.
  public var changes: Changes?
  /// The inputs as given.
  public var inputs: [String] = []
  /// The database file as given.
  public var database = ""
  /// The table that the records went into.
  public var table = ""
  /// Records read by this run.
  public var read = 0
  /// Records that became new objects.
  public var imported = 0
  /// Records that changed an object with their key.
  public var updated = 0
  /// Records skipped because an object had their key.
  public var skipped = 0
  /// Records with the same values as the object with their key, which was not rewritten.
  public var unchanged = 0
  /// Records that went to the rejects file.
  public var rejected = 0
  /// Records that `ImportOptions.filter` left out.
  public var filtered = 0
  /// Objects that were deleted: those of a table that was emptied, and those whose keys no input has.
  public var deleted = 0
  /// The number of records in a transaction.
  public var batchSize = ImportOptions.BatchSize.records(1000)
  /// Transactions committed.
  public var batches = 0
  /// The duration, with the compaction, in seconds.
  public var seconds = 0.0
  /// Processor time of the thread that cuts the inputs into chunks, without its parsing, in seconds. This
  /// thread and the next two limit the speed, since there is only one of each. Small inputs and waiting are
  /// not counted.
  public var readerSeconds = 0.0
  /// Processor time of the thread that writes and commits objects, in seconds.
  public var writerSeconds = 0.0
  /// Processor time of the thread that makes versions durable, in seconds.
  public var flusherSeconds = 0.0
  /// Bytes of all inputs.
  public var bytesRead = 0
  /// Bytes written to the database.
  public var bytesWritten = 0
  /// The outcome for each input that was reached, in order.
  public var files: [FileReport] = []
  /// The columns of the last input, in its order, with the nulls of all inputs.
  public var columns: [ColumnReport] = []
  /// How the first input was read.
  public var dialect: DialectReport?
  /// Where the import was resumed; nil when it began at the start.
  public var resumedAt: ResumePoint?
  /// The files with rejected records; nil when there are none.
  public var rejects: RejectFiles?
  /// Notes for the user, for example about changed names.
  public var notes: [String] = []
  /// True when `shouldStop` ended the import early.
  public var isInterrupted = false
  /// True when the destination is a server; the properties about a file are then empty.
  public var isOfServer = false
  /// When readers see the imported records.
  public var publication = ImportOptions.Publication.batches
  /// True when this run has replaced the visible table by a pending one.
  public var isPublished = false
  /// The pending table that an interrupted or failed import has left; nil when there is none.
  public var pending: PendingTable?
  /// True for a dry run, which has written nothing.
  public var isDryRun = false
  /// Objects in the table at the end; after a dry run, those that it would have.
  public var objects = 0
  /// Objects in the table before the import.
  public var objectsBefore = 0
  /// Bytes of the database file before the import; 0 when there was no file.
  public var fileBefore = 0
  /// The use of the database file's bytes at the end; nil after a dry run.
  public var file: FileUse?
  /// The outcome of the compaction afterwards.
  public var compaction = CompactionResult(decision: .disabled, before: 0, after: 0)
  /// The duration of the compaction, in seconds.
  public var compactionSeconds = 0.0

  /// True when all inputs had been imported completely before.
  public var isNothingToDo: Bool {
    !files.isEmpty && files.count == inputs.count && !isPublished
      && files.allSatisfy { $0.resumedAt?.isComplete == true }
  }

  /// Creates an empty report.
  public init() {}
}
