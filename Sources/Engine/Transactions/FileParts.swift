/// What a handle has open of the file, which a compaction replaces together.
final class FileParts: Sendable {
  let storage: any Storage
  let blocks: BlockReader
  let pipeline: CommitPipeline
  /// Of a file on a disk.
  let locks: FileLocks?

  /// - Parameters:
  ///   - becameVisible: told each version that readers of this process may take.
  ///   - lostVersions: told when versions that they have seen have come to nothing.
  init(
    storage: any Storage, locks: FileLocks?, coordination: Coordination, recovered: Recovery,
    becameVisible: @escaping @Sendable (UInt64) -> Void,
    lostVersions: @escaping @Sendable () -> Void
  ) throws {
    self.storage = storage
    self.locks = locks
    blocks = try BlockReader(storage: storage)
    pipeline = CommitPipeline(
      storage: storage, coordination: coordination, recovered: recovered,
      becameVisible: becameVisible, lostVersions: lostVersions)
  }
}
