/// What a transaction needs of the handle that it was begun on: `Database`, which it keeps alive.
///
/// Thread rule: `Sendable`; what has to do with `memory` is for whoever has the writers' turn.
protocol TransactionHost: AnyObject, Sendable {
  var path: String { get }
  var settings: TransactionSettings { get }
  /// The lock file, by which transactions on one file know each other.
  var lockFile: FileIdentity { get }
  /// Which numbers this process has given to tables and objects; nil once the handle is closed.
  var given: GivenNumbers? { get }
  var memory: WriterMemory { get }
  /// - Throws: `EngineError.closed`.
  var parts: FileParts { get throws }

  // MARK: Beginning and ending

  /// Has closing wait for a transaction.
  ///
  /// - Throws: `EngineError.closed`.
  func addTransaction() throws
  func removeTransaction()
  /// Waits for the turn among the writers.
  ///
  /// - Throws: as `WriterQueue.enter`.
  func takeTurn() throws -> WriterQueue.Turn
  func leave(_ turn: WriterQueue.Turn)
  /// Whether a writer of another handle has asked for its turn.
  var othersWait: Bool { get }
  /// Has commits that are not durable made so when a writer of another handle asks for its turn.
  ///
  /// - Returns: false when that cannot be had.
  func isAskedToMakeWay() -> Bool
  /// Counts what a transaction has written.
  func noteWritten(bytes: Int)
  /// There is a version that closing has to tidy up after.
  func noteCommit()

  // MARK: Versions

  /// The newest version, held.
  func snapshot() throws -> Snapshot
  /// A version that is complete, held, though readers may not take it yet.
  func hold(_ record: VersionRecord, _ parts: FileParts) throws -> Snapshot
  /// Every version whose pages may not be written.
  func versionsToKeep(_ parts: FileParts) throws -> KeptVersions
  /// The map of the file's pages, found by a walk.
  func freshSpace(_ newest: VersionRecord, _ parts: FileParts) throws -> SpaceMap
  /// - Throws: `EngineError.tooManyVersions` when a commit would keep too many alive.
  func checkActiveVersions() throws
}

/// What a handle was opened with, as far as transactions ask.
struct TransactionSettings: Sendable {
  var isReadOnly: Bool
  /// Of commits that are not told otherwise.
  var durability: Durability
  /// Of the schema that the program has declared; nil when it has not.
  var schemaVersion: UInt64?
  var limits: TreeEditor.Limits
  var indexLimits: IndexLimits
  /// True where a test writes what is wrong on purpose.
  var isWrongOnPurpose: Bool
}

/// The versions whose pages must stay as they are, the newest included.
struct KeptVersions {
  /// Those whose roots are known.
  var records: [VersionRecord]
  /// Those held by a lock on the file (`FileLocks`), which says a number and nothing else.
  var locked: [ClosedRange<UInt64>] = []

  var versions: [ClosedRange<UInt64>] { records.map { $0.version...$0.version } + locked }
}
