import Engine

/// What an import did. `read == imported + updated + skipped + unchanged + rejected + filtered`, always, and
/// `objects == objectsBefore + imported - deleted` where nobody else has written, or it is `merged`, and
/// nothing is pending: where the import has gone on with what was, `objectsBefore` are those of that.
///
/// Thread rule: a plain value, `Sendable`.
public struct ImportReport: Sendable {
  /// What became of a column.
  public struct ColumnReport: Sendable, Equatable {
    /// Its name in the table.
    public let name: String
    /// Its type at the end.
    public let type: ColumnType
    /// How its values are spelled; nil: as its type's canonical ones.
    public let notation: Notation?
    /// Nulls among the records that were read, in all inputs.
    public let nulls: Int
    /// What a value after the first 1,000 records, or any value where the table had a type, made of it;
    /// nil when nothing.
    public let widened: Widening?

    var wideningNote: String? {
      widened.map {
        "column '\(name)' was \($0.from.name) and is \($0.to.name) now, because of a value at line "
          + "\($0.line)"
      }
    }
  }

  /// A change of a column's type on the way.
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
    /// What stands between fields.
    public let delimiter: String
    /// The character around quoted fields; nil without quoting.
    public let quote: String?
    /// The character that makes others literal; the quote itself when quotes are written twice; nil
    /// without.
    public let escape: String?
    /// What lines that are no records begin with; nil without.
    public let comment: String?
    /// Whether the first record had the names of the columns.
    public let hasHeader: Bool
    /// Of the input, as the user or a byte-order mark says.
    public let encoding: TextEncoding
    /// Lines left out before the header, as asked for or because they are certainly not part of the
    /// table.
    public let skippedLines: Int
    /// What was found in the input rather than given: `delimiter`, `quote`, `escape`, `comment`,
    /// `header`, `encoding`, `skippedLines`.
    public let sniffed: [String]
    /// The first record end in the input; nil when it has none.
    public let recordEnd: String?
  }

  /// What became of one of the inputs.
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
    /// Records that said what the object with their key said already.
    public var unchanged = 0
    /// Records that went to the rejects file.
    public var rejected = 0
    /// Records that `ImportOptions.filter` left out.
    public var filtered = 0
    /// Bytes read by this run; of a compressed input, those that it holds.
    public var bytesRead = 0
    /// Where this run went on in it; nil when it began at the start.
    public var resumedAt: ResumePoint?
    /// Where its rejected records are; nil when there are none.
    public var rejects: RejectFiles?
    /// Its columns, in its order; empty when it was imported completely before.
    public var columns: [ColumnReport] = []
    /// How it was read; nil when it is empty.
    public var dialect: DialectReport?
    /// What was noticed in it that a person should know.
    public var notes: [String] = []
    /// What was tried to find out how it is to be read, and what spoke for it.
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

  /// Where an interrupted import went on.
  public struct ResumePoint: Sendable, Equatable {
    /// Records of the input that were committed before this run.
    public let record: Int
    /// Where this run began to read, from 0.
    public let byteOffset: Int
    /// True when the input had been imported completely before: there was nothing to do.
    public let isComplete: Bool
  }

  /// Where rejected records are.
  public struct RejectFiles: Sendable, Equatable {
    /// The records, byte for byte.
    public let path: String
    /// Line, byte offset and reason of each.
    public let reasonsPath: String
  }

  /// What the import has changed, as `ImportOptions.changes` has written it, or what a dry run would.
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

  /// What somebody else had done to the table while the import made it anew beside them.
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
  /// Records that said what the object with their key said already: it was not rewritten.
  public var unchanged = 0
  /// Records that went to the rejects file.
  public var rejected = 0
  /// Records that `ImportOptions.filter` left out.
  public var filtered = 0
  /// Objects that were deleted: those of a table that was emptied, or whose keys no input has.
  public var deleted = 0
  /// How many records made a transaction.
  public var batchSize = ImportOptions.BatchSize.records(1000)
  /// Transactions committed.
  public var batches = 0
  /// From the beginning to the end, with the compaction.
  public var seconds = 0.0
  /// Processor time of the threads that only one of each kind works at a time: of the one that cuts
  /// the inputs into chunks, without what it parsed. Small inputs are not counted, nor is waiting.
  public var readerSeconds = 0.0
  /// Of the one that writes objects and commits them.
  public var writerSeconds = 0.0
  /// Of the one that makes versions durable in the background.
  public var flusherSeconds = 0.0
  /// Bytes of all inputs.
  public var bytesRead = 0
  /// Bytes written to the database.
  public var bytesWritten = 0
  /// What became of each of the inputs that were come to, in their order.
  public var files: [FileReport] = []
  /// The columns of the last input, in its order, with the nulls of all.
  public var columns: [ColumnReport] = []
  /// Of the first input.
  public var dialect: DialectReport?
  /// Where the import went on; nil when it began at the start.
  public var resumedAt: ResumePoint?
  /// Where rejected records are; nil when there are none.
  public var rejects: RejectFiles?
  /// What was noticed that a person should know: names that were changed, and the like.
  public var notes: [String] = []
  /// True when `shouldStop` ended the import before its end.
  public var isInterrupted = false
  /// True when the destination is a server: nothing is said of a file then.
  public var isOfServer = false
  /// When readers see what was imported.
  public var publication = ImportOptions.Publication.batches
  /// True when this run has put a pending table in the place of the visible one.
  public var isPublished = false
  /// What the import has left pending: of one that was interrupted, or failed; nil when nothing is.
  public var pending: PendingTable?
  /// True when nothing was written, as was asked.
  public var isDryRun = false
  /// Objects in the table at the end; after a dry run, those that there would be.
  public var objects = 0
  /// Objects in the table before.
  public var objectsBefore = 0
  /// Bytes of the database file before; 0 when there was none.
  public var fileBefore = 0
  /// Where the database file's bytes are at the end; nil after a dry run.
  public var file: FileUse?
  /// What became of the compaction afterwards.
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
