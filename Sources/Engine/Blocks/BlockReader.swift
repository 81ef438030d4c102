import Base

/// Returns blocks in place, verified at their first use.
///
/// Thread rule: any thread.
package final class BlockReader: Sendable {
  package let storage: any Storage
  /// Nil: nothing is remembered.
  private let verified: VerifiedTable?
  /// The blocks that this process wrote last.
  let recent: RecentBlocks
  /// State about blocks that readers of single objects have built, kept for the next reader. It points into
  /// the file, so it must not outlive this object.
  package let known: Pool

  package init(storage: any Storage) throws(SystemError) {
    self.storage = storage
    verified = try VerifiedTable(path: storage.path)
    recent = RecentBlocks()
    known = Pool()
  }

  /// A reader of the same file that remembers no block as verified: for a walk over a file, which reads each
  /// block once. The memory for what it would remember costs more than the walk.
  package init(forWalking reader: BlockReader) {
    storage = reader.storage
    verified = nil
    recent = reader.recent
    known = reader.known
  }

  /// The bytes of a block whose checksum covers all of it.
  ///
  /// - Parameter end: the end of the version that refers to the block.
  /// - Throws: `BlockError`, naming the block, when it is outside the version or its checksum does not match.
  package func block(_ reference: BlockReference, end: UInt64) throws(BlockError)
    -> UnsafeRawBufferPointer
  {
    let bytes = try extent(reference, end: end)
    try verify(bytes, offset: Int(reference.offset), checksum: reference.checksum)
    return bytes
  }

  /// Calls `body` with a verified copy of a block.
  ///
  /// For the writer, which reads a few small blocks in every commit: reading in place would also map the
  /// pages around them, and an import's peak memory would reach the size of the file.
  package func withCopy<Result>(
    of reference: BlockReference, end: UInt64, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    // Limits the allocation, since the length comes from the file.
    try checkPlace(reference, end: end)
    if Int(reference.length) <= RecentBlocks.mostBytes, let bytes = recent.bytes(of: reference) {
      return try bytes.withUnsafeBytes(body)
    }
    let copy = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(reference.length), alignment: 8)
    defer { copy.deallocate() }
    guard try storage.read(into: copy, at: Int(reference.offset)) == copy.count else {
      throw BlockError(
        path: storage.path, offset: reference.offset, length: reference.length,
        what: "the file ends before it does")
    }
    let bytes = UnsafeRawBufferPointer(copy)
    try verify(bytes, offset: Int(reference.offset), checksum: reference.checksum)
    return try body(bytes)
  }

  /// The bytes of a block, unverified.
  package func extent(_ reference: BlockReference, end: UInt64) throws(BlockError)
    -> UnsafeRawBufferPointer
  {
    try checkPlace(reference, end: end)
    guard let view = storage.view(at: Int(reference.offset), count: Int(reference.length)) else {
      // Cannot overflow: the pages are within the version.
      let isCut = (try? storage.length()).map { $0 < Int(reference.offset) + Int(reference.length) }
      let failure = isCut == true ? nil : storage.viewFailure
      throw BlockError(
        path: storage.path, offset: reference.offset, length: reference.length,
        what: failure.map { "it cannot be read: \($0.reason)" } ?? "the file ends before it does",
        system: failure)
    }
    return view
  }

  /// Tells the system that the file's pages will not be read again soon; they then no longer count as this
  /// process's memory.
  package func forgetAll(length: Int) {
    forget(0..<max(0, length))
  }

  /// Like `forgetAll`, for some of the file's bytes.
  package func forget(_ range: Range<Int>) {
    storage.forget(range)
  }

  private func checkPlace(_ reference: BlockReference, end: UInt64) throws(BlockError) {
    guard reference.pages(within: end) != nil,
      Int(reference.length) <= Layout.maximumBlockBytes
    else {
      throw BlockError(
        path: storage.path, offset: reference.offset, length: reference.length,
        what: "the reference points outside the version's pages")
    }
  }

  /// Compares bytes at a file offset with their checksum, unless they were verified before.
  package func verify(_ bytes: UnsafeRawBufferPointer, offset: Int, checksum: UInt64)
    throws(BlockError)
  {
    let parts = VerifiedParts(table: verified, offset: offset, checksum: checksum)
    if parts.contains(0) { return }
    guard Checksum.of(bytes) == checksum else {
      throw BlockError(
        path: storage.path, offset: UInt64(offset), length: UInt32(clamping: bytes.count),
        what: BlockError.wrongChecksum)
    }
    parts.insert(0)
  }

  /// The parts of a block that are verified.
  package func verifiedParts(of reference: BlockReference) -> VerifiedParts {
    VerifiedParts(table: verified, offset: Int(reference.offset), checksum: reference.checksum)
  }
}

/// A block that is damaged or cannot be read.
package struct BlockError: Error, Equatable {
  package let path: String
  package let offset: UInt64
  package let length: UInt32
  package let what: String
  /// The system's error when the block could not be read; nil when the block is damaged.
  package let system: SystemError?

  fileprivate static let wrongChecksum = "the checksum does not fit its bytes"

  /// True when the bytes differ from those that were written.
  package var isWrittenOver: Bool { what == Self.wrongChecksum }

  package init(
    path: String, offset: UInt64, length: UInt32, what: String, system: SystemError? = nil
  ) {
    self.system = system
    self.path = path
    self.offset = offset
    self.length = length
    self.what = what
  }
}
