import Base

/// The small blocks that the last write transaction placed. The next transaction begins by reading most of
/// them, and a system call for each would cost a small transaction more than its rows do.
///
/// The checksum in the reference identifies the bytes, so nothing has to be removed after a rollback or a
/// reuse of pages.
///
/// Thread rule: any thread.
package final class RecentBlocks: @unchecked Sendable {
  // @unchecked: `lock` guards the state.
  private let lock = Lock()
  private var blocks: [(reference: BlockReference, bytes: [UInt8])] = []

  /// The maximum number of blocks. The nodes and the catalogue are written last and read first.
  static let most = 16
  /// Copying larger blocks costs more than the system call.
  static let mostBytes = 4096

  /// Replaces all stored blocks by these.
  func replace(with written: [(reference: BlockReference, bytes: [UInt8])]) {
    lock.withLock { blocks = written }
  }

  /// The bytes of a block; nil when it is not stored.
  func bytes(of reference: BlockReference) -> [UInt8]? {
    lock.withLock { blocks.first { $0.reference == reference }?.bytes }
  }
}
