import Engine

/// What an import did. `read == imported + updated + skipped + unchanged + rejected`, always.
public struct ImportReport: Sendable {
  public struct ColumnReport: Sendable, Equatable {
    public let name: String
    public let type: ColumnType
    public let nulls: Int
    /// What a value after the first 1,000 records made of the type; nil when nothing.
    public let widened: Widening?
  }

  public struct Widening: Sendable, Equatable {
    public let from: ColumnType
    public let to: ColumnType
    /// Line of the first value that did not fit.
    public let line: Int
  }

  public struct DialectReport: Sendable, Equatable {
    public let delimiter: UInt8
    public let quote: UInt8?
    public let hasHeader: Bool
    /// What was found in the input rather than given: `delimiter`, `quote`, `header`.
    public let sniffed: [String]
    /// The first record end in the input; nil when it has none.
    public let recordEnd: String?
  }

  public struct ResumePoint: Sendable, Equatable {
    public let record: Int
    public let byteOffset: Int
    /// True when the input had been imported completely before: there was nothing to do.
    public let isComplete: Bool
  }

  public struct RejectFiles: Sendable, Equatable {
    public let path: String
    public let reasonsPath: String
  }

  public var inputs: [String] = []
  public var database = ""
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
  public var rejected = 0
  public var batchSize = ImportOptions.BatchSize.records(1000)
  /// Transactions committed.
  public var batches = 0
  public var seconds = 0.0
  public var bytesRead = 0
  public var bytesWritten = 0
  public var columns: [ColumnReport] = []
  /// Of the first input.
  public var dialect: DialectReport?
  public var resumedAt: ResumePoint?
  public var rejects: RejectFiles?
  /// What was noticed that a person should know: names that were changed, and the like.
  public var notes: [String] = []
  /// True when `shouldStop` ended the import before its end.
  public var isInterrupted = false
  public var isDryRun = false
  /// Objects in the table at the end.
  public var objects = 0
  /// Where the database file's bytes are at the end; nil after a dry run.
  public var file: FileUse?
  public var compaction = CompactionResult(decision: .disabled, before: 0, after: 0)
  public var compactionSeconds = 0.0

  public init() {}
}
