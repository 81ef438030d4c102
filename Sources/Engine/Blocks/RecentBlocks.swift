import Base

/// The small blocks that the last write transaction placed, as it wrote them: the next one begins
/// by reading most of them, and a call of the system for each costs a small transaction more than
/// its rows.
///
/// A reference with its checksum says that the bytes are the same, so nothing has to be taken out when a
/// transaction is rolled back or pages are used again.
///
/// Thread rule: any thread.
package final class RecentBlocks: @unchecked Sendable {
  // @unchecked: guarded by `lock`.
  private let lock = Lock()
  private var blocks: [(reference: BlockReference, bytes: [UInt8])] = []

  /// Blocks that are kept; those written last, nodes and the catalogue, are read first.
  static let most = 16
  /// Larger ones cost more than the call.
  static let mostBytes = 4096

  /// Keeps these blocks, and no others.
  func replace(with written: [(reference: BlockReference, bytes: [UInt8])]) {
    lock.withLock { blocks = written }
  }

  /// A block's bytes, when it is one of those kept.
  func bytes(of reference: BlockReference) -> [UInt8]? {
    lock.withLock { blocks.first { $0.reference == reference }?.bytes }
  }
}
