import Base

/// Packs a transaction's new blocks back to back into pages that no living version uses, and writes them with
/// few, large writes.
///
/// Long-lived blocks (clusters) and short-lived blocks (nodes and the catalogue, which every commit rewrites)
/// fill separate runs, so that the pages of the short-lived ones become free together. A short-lived block
/// may also fill the rest of the last page of long-lived ones.
///
/// Clusters of a few rows, which a later transaction joins into a larger one, share no run with lasting ones,
/// unless they are smaller than a page: the pages that they leave between those would fit nothing but other
/// small clusters.
///
/// Thread rule: only the thread that has the writers' turn.
package final class BlockWriter {
  /// How long a cluster stays where it is placed.
  package enum Lifetime: Sendable {
    /// Mostly a few transactions: then it is joined with others.
    case passing
    /// Mostly until its rows change.
    case lasting
  }

  /// Adjacent pages that are being filled.
  private struct Run {
    /// The offset of the first buffered byte.
    var start = 0
    var buffer: [UInt8] = []
    /// The end of the pages taken.
    var limit = 0
    /// That of its clusters; nil when it has none of which that is known.
    var lifetime: Lifetime?
    var cursor: Int { start + buffer.count }
    var room: Int { limit - cursor }
  }

  private static let writeBytes = 1 << 20
  /// Space for the nodes of a small transaction, after its first block.
  private static let nodeBytes = 1 << 13
  /// Blocks of at least this length are written without being copied first.
  private static let directBytes = 1 << 18

  package let storage: any Storage
  private let space: SpaceMap
  // Unchecked: no function called during a change of these accesses them again.
  @exclusivity(unchecked) private var clusters = Run()
  @exclusivity(unchecked) private var nodes = Run()
  /// The storage's length; every block that was placed and written is before it.
  private(set) package var length: Int
  /// The bytes of the blocks placed and dropped so far.
  @exclusivity(unchecked) private var added: [Range<Int>] = []
  @exclusivity(unchecked) private var dropped: [Range<Int>] = []
  /// The offsets of the dropped blocks. A transaction uses no page twice, so an offset belongs to one block.
  private var droppedOffsets: Set<UInt64> = []
  /// The last small blocks placed, for the next transaction.
  @exclusivity(unchecked) private(set) var recent: [(reference: BlockReference, bytes: [UInt8])] =
    []
  /// Bytes written to the storage so far.
  private(set) package var bytesWritten = 0

  /// - Parameter length: the current length of the storage.
  package init(storage: any Storage, space: SpaceMap, length: Int) {
    self.storage = storage
    self.space = space
    self.length = length
  }

  /// Places a long-lived block.
  ///
  /// - Parameters:
  ///   - checksum: of the block's bytes that its reference covers.
  ///   - lifetime: nil when it does not matter what it lies beside.
  /// - Throws: `SystemError` when writing fails.
  package func append(
    cluster bytes: [UInt8], checksum: UInt64, lifetime: Lifetime? = nil
  ) throws -> BlockReference {
    // Smaller ones share their pages with anything: of them, each would take a page.
    if let lifetime, bytes.count >= Layout.pageBytes {
      if let other = clusters.lifetime, other != lifetime { try end(&clusters) }
      clusters.lifetime = lifetime
    }
    try makeRoom(in: &clusters, for: bytes.count)
    return try put(bytes, checksum: checksum, into: &clusters)
  }

  /// Places a block that the next commits will replace.
  package func append(node bytes: [UInt8]) throws -> BlockReference {
    let checksum = Checksum.of(bytes)
    if bytes.count <= clusters.room { return try put(bytes, checksum: checksum, into: &clusters) }
    try makeRoom(in: &nodes, for: bytes.count)
    return try put(bytes, checksum: checksum, into: &nodes)
  }

  /// Drops a block that the transaction no longer refers to, its own or an older version's.
  ///
  /// In frozen pages nothing is freed: a table and its pending table may each drop a block that both have.
  ///
  /// - Throws: `BlockError` for a reference that is not to a block, or to one that was dropped before: its
  ///   bytes would be subtracted from those of living blocks in the same page, which would then be
  ///   overwritten.
  package func drop(_ reference: BlockReference) throws(BlockError) {
    guard let bytes = reference.bytes(within: .max) else {
      throw surplus(reference.offset, reference.length, "it is to be freed, and it is no block")
    }
    guard
      droppedOffsets.insert(reference.offset).inserted
        || reference.pages(within: .max)?.allSatisfy(space.isFrozen) == true
    else {
      throw surplus(reference.offset, reference.length, "it is to be freed twice")
    }
    dropped.append(bytes)
  }

  /// Freezes the pages of blocks of the newest version: dropping a block there frees nothing.
  func freeze(_ blocks: [Range<Int>]) { space.freeze(blocks) }

  private func surplus(_ offset: UInt64, _ length: UInt32, _ what: String) -> BlockError {
    BlockError(path: storage.path, offset: offset, length: length, what: what)
  }

  /// Makes the blocks placed and dropped so far part of a version.
  ///
  /// - Throws: `BlockError` when more bytes were dropped than exist; the map must then not be used again.
  package func commit(version: UInt64) throws(BlockError) {
    do {
      try space.commit(version: version, added: added, dropped: dropped)
    } catch {
      throw surplus(
        UInt64(error.bytes.lowerBound), UInt32(clamping: error.bytes.count),
        "it is to be freed, and page \(error.page) holds fewer bytes")
    }
  }

  /// The pages by which the version is smaller than the newest one, if nothing else changes but its root;
  /// negative when it is larger.
  ///
  /// - Parameters:
  ///   - root: the newest version's root, which is not dropped yet.
  ///   - bytes: the length of the new root, which is not placed yet; its pages are rounded up.
  /// - Complexity: O(pages of the blocks placed and dropped so far).
  func pagesGained(replacing root: BlockReference, by bytes: Int) -> Int {
    let dropped = dropped + [root.bytes(within: .max)].compactMap(\.self)
    let hasRoom = bytes <= max(clusters.room, nodes.room)
    return space.pagesGained(added: added, dropped: dropped)
      - (hasRoom ? 0 : Layout.pages(holding: bytes))
  }

  /// Returns whether the newest version uses at most half of the pages that contain a block of it.
  func isSparse(_ reference: BlockReference) -> Bool {
    reference.pages(within: .max).map(space.isSparse) ?? false
  }

  /// Copies a block of the transaction's base, damaged or not, to its final place. Readers of the copy verify
  /// the checksum in its reference.
  func copy(_ reference: BlockReference) throws -> BlockReference {
    var bytes = [UInt8](repeating: 0, count: Int(reference.length))
    let count = try bytes.withUnsafeMutableBytes {
      try storage.read(into: $0, at: Int(reference.offset))
    }
    guard count == bytes.count else {
      throw surplus(reference.offset, reference.length, "the file ends before it does")
    }
    var copy = try append(cluster: bytes, checksum: reference.checksum)
    copy.isOverlay = reference.isOverlay
    return copy
  }

  /// Returns whether a long-lived block would be placed before a given page, in pages that are already free.
  func hasRoom(for count: Int, below page: Int) -> Bool {
    if clusters.room >= count { return clusters.cursor + count <= page * Layout.pageBytes }
    let missing = Layout.pages(holding: count - clusters.room)
    let end = clusters.limit / Layout.pageBytes
    if clusters.limit > 0, space.isFree(end..<end + missing) { return end + missing <= page }
    let pages = Layout.pages(holding: count)
    return space.firstFree(pages).map { $0 + pages <= page } ?? false
  }

  /// Writes all buffered bytes to the storage; nothing is durable before a flush.
  package func writeOut() throws {
    try write(&clusters)
    try write(&nodes)
  }

  private func put(
    _ bytes: [UInt8], checksum: UInt64, into run: inout Run
  ) throws -> BlockReference {
    let reference = BlockReference(
      offset: UInt64(run.cursor), length: UInt32(bytes.count), checksum: checksum)
    if bytes.count >= Self.directBytes {
      try write(&run)
      try write(bytes, into: &run)
    } else {
      // Space for the nodes that follow, so that the buffer is not reallocated.
      if run.buffer.isEmpty { run.buffer.reserveCapacity(bytes.count + Self.nodeBytes) }
      run.buffer.append(contentsOf: bytes)
    }
    if bytes.count <= RecentBlocks.mostBytes {
      if recent.count == RecentBlocks.most { recent.removeFirst(RecentBlocks.most / 2) }
      recent.append((reference, bytes))
    }
    if let bytes = reference.bytes(within: .max) { added.append(bytes) }
    return reference
  }

  private func makeRoom(in run: inout Run, for count: Int) throws {
    if run.room >= count {
      if run.buffer.count >= Self.writeBytes { try write(&run) }
      return
    }
    let missing = Layout.pages(holding: count - run.room)
    if run.limit > 0, space.takeIfFree(at: run.limit / Layout.pageBytes, missing) {
      run.limit += missing * Layout.pageBytes
      if run.buffer.count >= Self.writeBytes { try write(&run) }
      return
    }
    try write(&run)
    let pages = space.take(Layout.pages(holding: count))
    run.start = pages.lowerBound * Layout.pageBytes
    run.limit = pages.upperBound * Layout.pageBytes
  }

  /// Writes a run, so that the next block begins another one.
  private func end(_ run: inout Run) throws {
    try write(&run)
    run = Run()
  }

  private func write(_ run: inout Run) throws {
    guard !run.buffer.isEmpty else { return }
    try write(run.buffer, into: &run)
    run.buffer.removeAll(keepingCapacity: true)
  }

  /// Writes the next bytes of a run directly; its buffer is empty.
  private func write(_ bytes: [UInt8], into run: inout Run) throws {
    let start = run.start
    let end = Layout.pages(holding: start + bytes.count) * Layout.pageBytes
    try storage.checkLength(length)
    if end > length { try grow(to: end) }
    let storage = storage
    try bytes.withUnsafeBytes { try storage.write($0, at: start) }
    bytesWritten += bytes.count
    run.start += bytes.count
  }

  /// Extends the file by at least an eighth, so that the number of extensions is logarithmic. The commit's
  /// flush makes the new length durable before a slot refers to it.
  private func grow(to end: Int) throws {
    // The next writer would count the reserved pages as used, and reserve an eighth more each time.
    let step = space.hasUnknownPages ? 0 : min(max(length / 8, 1 << 18), 1 << 28)
    let wanted = Layout.pages(holding: max(end, length + step)) * Layout.pageBytes
    try storage.resize(to: wanted)
    length = wanted
  }
}
