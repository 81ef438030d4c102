/// Hands out blocks in place, verified at their first use.
///
/// Which blocks have been verified is remembered in a table of atomics, so that readers on many
/// threads share the knowledge without a lock.
///
/// Thread rule: any thread.
package final class BlockReader: @unchecked Sendable {
  // @unchecked: the table is reached through atomics only.
  package let storage: any Storage
  private let table: UnsafeMutableRawPointer

  private static let entryCount = 1 << 18

  package init(storage: any Storage) throws(SystemError) {
    self.storage = storage
    guard let table = System.reserve(length: Self.entryCount * 8) else {
      throw SystemError.noMemory("reserve memory", storage.path)
    }
    self.table = table
  }

  deinit { System.unmap(table, length: Self.entryCount * 8) }

  /// The bytes of a block whose checksum covers all of it.
  ///
  /// - Parameter end: where the version that refers to it ends.
  /// - Throws: `BlockError` naming the block, when it lies outside or its checksum does not fit.
  package func block(_ reference: BlockReference, end: UInt64) throws(BlockError)
    -> UnsafeRawBufferPointer
  {
    let bytes = try extent(reference, end: end)
    try verify(bytes, offset: Int(reference.offset), checksum: reference.checksum)
    return bytes
  }

  /// Calls `body` with a verified copy of a block.
  ///
  /// For the writer, which reads a few small blocks at every commit: in place, each would map the
  /// pages around it too, and an import's peak memory would be the size of the file.
  package func withCopy<Result>(
    of reference: BlockReference, end: UInt64, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    // Bounds the length that is allocated for.
    try checkPlace(reference, end: end)
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

  /// The bytes of a block without a look at them.
  package func extent(_ reference: BlockReference, end: UInt64) throws(BlockError)
    -> UnsafeRawBufferPointer
  {
    try checkPlace(reference, end: end)
    guard let view = storage.view(at: Int(reference.offset), count: Int(reference.length)) else {
      throw BlockError(
        path: storage.path, offset: reference.offset, length: reference.length,
        what: "the system cannot map it")
    }
    return view
  }

  /// Tells the system that none of the file's pages will be read again soon; they count as this process's
  /// memory no longer.
  package func forgetAll(length: Int) {
    // Only a file's own mapping may be dropped: other memory would lose what it holds.
    guard storage is FileStorage, let bytes = storage.view(at: 0, count: length) else { return }
    System.forgetMapped(bytes)
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

  /// Compares bytes at a file offset with their checksum, unless that was done before.
  package func verify(_ bytes: UnsafeRawBufferPointer, offset: Int, checksum: UInt64)
    throws(BlockError)
  {
    if isVerified(offset: offset, checksum: checksum) { return }
    guard Checksum.of(bytes) == checksum else {
      throw BlockError(
        path: storage.path, offset: UInt64(offset), length: UInt32(clamping: bytes.count),
        what: "the checksum does not fit its bytes")
    }
    markVerified(offset: offset, checksum: checksum)
  }

  /// True when the bytes at a file offset were found to have this checksum before.
  package func isVerified(offset: Int, checksum: UInt64) -> Bool {
    let tag = Self.tag(offset, checksum)
    return entry(tag).load() == tag
  }

  /// To be called after the bytes at a file offset were found to have this checksum.
  package func markVerified(offset: Int, checksum: UInt64) {
    let tag = Self.tag(offset, checksum)
    entry(tag).store(tag)
  }

  /// Offset and checksum in one word: a page that was reused carries other checksums.
  private static func tag(_ offset: Int, _ checksum: UInt64) -> UInt64 {
    (checksum ^ (UInt64(truncatingIfNeeded: offset) &* 0x9E37_79B9_7F4A_7C15)) | 1
  }

  private func entry(_ tag: UInt64) -> AtomicWord {
    let index = Int(truncatingIfNeeded: (tag &* 0xD6E8_FEB8_6659_FD93) >> 46)
    return AtomicWord(table + index * 8)
  }
}

/// A block that cannot be trusted.
package struct BlockError: Error, Equatable {
  package let path: String
  package let offset: UInt64
  package let length: UInt32
  package let what: String

  package init(path: String, offset: UInt64, length: UInt32, what: String) {
    self.path = path
    self.offset = offset
    self.length = length
    self.what = what
  }
}
