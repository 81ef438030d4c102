/// The parts of a handle that its transactions use; a transaction keeps its handle, a `Database`, alive.
///
/// Thread rule: `Sendable`; `memory` is for the holder of the writers' turn.
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

  /// Makes closing wait for a transaction.
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
  /// From now on, commits that are not durable are made durable when a writer of another handle asks for its
  /// turn.
  ///
  /// - Returns: false when no thread could be started for it.
  func isAskedToMakeWay() -> Bool
  /// Counts the bytes that a transaction has written.
  func noteWritten(bytes: Int)
  /// Notes that there is a commit, so that closing trims the file.
  func noteCommit()

  // MARK: Versions

  /// The newest version, held.
  func snapshot() throws -> Snapshot
  /// Holds a complete version, though readers may not take it yet.
  func hold(_ record: VersionRecord, _ parts: FileParts) throws -> Snapshot
  /// Every version whose pages may not be written.
  func versionsToKeep(_ parts: FileParts) throws -> KeptVersions
  /// The map of the file's pages, found by a walk.
  func freshSpace(_ newest: VersionRecord, _ parts: FileParts) throws -> SpaceMap
  /// - Throws: `EngineError.tooManyVersions` when a commit would keep too many alive.
  func checkActiveVersions() throws
}

/// The options of a handle that transactions use.
struct TransactionSettings: Sendable {
  var isReadOnly: Bool
  /// The durability of commits without one of their own.
  var durability: Durability
  /// The version of the schema that the program has declared; nil when it has not.
  var schemaVersion: UInt64?
  var limits: TreeEditor.Limits
  var indexLimits: IndexLimits
  /// True in a test that writes wrong data on purpose.
  var isWrongOnPurpose: Bool
}

/// The versions whose pages must stay as they are, the newest included.
struct KeptVersions {
  /// Those whose roots are known.
  var records: [VersionRecord]
  /// Those held by a lock on the file (`FileLocks`), which tells only their numbers.
  var locked: [ClosedRange<UInt64>] = []

  var versions: [ClosedRange<UInt64>] { records.map { $0.version...$0.version } + locked }
}
