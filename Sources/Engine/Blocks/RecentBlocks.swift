import Base

/// The small blocks that the last write transaction placed, as it wrote them. The next transaction begins by
/// reading most of them, and a system call for each costs a small transaction more than its rows.
///
/// The checksum in the reference identifies the bytes, so nothing has to be removed when a transaction is
/// rolled back or pages are reused.
///
/// Thread rule: any thread.
package final class RecentBlocks: @unchecked Sendable {
  // @unchecked: guarded by `lock`.
  private let lock = Lock()
  private var blocks: [(reference: BlockReference, bytes: [UInt8])] = []

  /// How many blocks are kept. The nodes and the catalogue are written last, and read first.
  static let most = 16
  /// Copying larger ones costs more than the system call.
  static let mostBytes = 4096

  /// Keeps these blocks only.
  func replace(with written: [(reference: BlockReference, bytes: [UInt8])]) {
    lock.withLock { blocks = written }
  }

  /// A block's bytes, when it is among those kept.
  func bytes(of reference: BlockReference) -> [UInt8]? {
    lock.withLock { blocks.first { $0.reference == reference }?.bytes }
  }
}
