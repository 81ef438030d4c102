/// The parts of a handle that depend on the open file; a compaction replaces them together.
final class FileParts: Sendable {
  let storage: any Storage
  let blocks: BlockReader
  let pipeline: CommitPipeline
  /// Nil for a storage that is not a file on a disk.
  let locks: FileLocks?

  /// - Parameters:
  ///   - becameVisible: called with each version that readers of this process may use.
  ///   - lostVersions: called when versions that readers have seen are void, with the newest that is not.
  init(
    storage: any Storage, locks: FileLocks?, coordination: Coordination, recovered: Recovery,
    becameVisible: @escaping @Sendable (UInt64) -> Void,
    lostVersions: @escaping @Sendable (UInt64) -> Void
  ) throws {
    self.storage = storage
    self.locks = locks
    blocks = try BlockReader(storage: storage)
    pipeline = CommitPipeline(
      storage: storage, coordination: coordination, recovered: recovered,
      becameVisible: becameVisible, lostVersions: lostVersions)
  }
}
