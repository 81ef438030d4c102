/// The parts of a handle that its transactions use. A transaction retains its handle, a `Database`.
///
/// Thread rule: `Sendable`; `memory` is for the holder of the writers' turn.
protocol TransactionHost: AnyObject, Sendable {
  var path: String { get }
  var settings: TransactionSettings { get }
  /// The lock file, by which transactions on one file recognize each other.
  var lockFile: FileIdentity { get }
  /// The numbers that this process has assigned to tables and objects; nil once the handle is closed.
  var given: GivenNumbers? { get }
  var memory: WriterMemory { get }
  /// - Throws: `EngineError.closed`.
  var parts: FileParts { get throws }

  // MARK: Beginning and ending

  /// Registers a transaction, for which closing waits.
  ///
  /// - Throws: `EngineError.closed`.
  func addTransaction() throws
  func removeTransaction()
  /// Waits for the writers' turn.
  ///
  /// - Throws: the errors of `WriterQueue.enter`.
  func takeTurn() throws -> WriterQueue.Turn
  func leave(_ turn: WriterQueue.Turn)
  /// True when a writer of another handle waits for its turn.
  var othersWait: Bool { get }
  /// From now on, makes undurable commits durable when a writer of another handle waits for its turn.
  ///
  /// - Returns: false when no thread could be started for it.
  func isAskedToMakeWay() -> Bool
  /// Counts the bytes that a transaction has written.
  func noteWritten(bytes: Int)
  /// Notes that there was a commit, so that closing trims the file.
  func noteCommit()
  /// Notes that blocks of a transaction that was not committed may lie at the file's end, so that closing
  /// trims the file.
  func noteBlocksInVain()

  // MARK: Versions

  /// The newest version, held.
  func snapshot() throws -> Snapshot
  /// Holds a complete version that readers may not use yet.
  func hold(_ record: VersionRecord, _ parts: FileParts) throws -> Snapshot
  /// Every version whose pages must not be written.
  func versionsToKeep(_ parts: FileParts) throws -> KeptVersions
  /// The map of the file's pages, made by a walk.
  func freshSpace(_ newest: VersionRecord, _ parts: FileParts) throws -> SpaceMap
  /// - Throws: `EngineError.tooManyVersions` when a commit would keep too many versions alive.
  func checkActiveVersions() throws
}

/// The options of a handle that transactions use.
struct TransactionSettings: Sendable {
  var isReadOnly: Bool
  /// The durability of commits that give none.
  var durability: Durability
  /// The version of the schema that the program has declared; nil when it has declared none.
  var schemaVersion: UInt64?
  var limits: TreeEditor.Limits
  var indexLimits: IndexLimits
  /// The number of kept versions in a part of the history.
  var keptInPart: Int
  /// True in a test that writes wrong data on purpose.
  var isWrongOnPurpose: Bool
}

/// The versions whose pages must not change, including the newest.
struct KeptVersions {
  /// Those whose roots are known.
  var records: [VersionRecord]
  /// Those held by a lock on the file (`FileLocks`), which reveals only their numbers.
  var locked: [ClosedRange<UInt64>] = []

  var versions: [ClosedRange<UInt64>] { records.map { $0.version...$0.version } + locked }
}
