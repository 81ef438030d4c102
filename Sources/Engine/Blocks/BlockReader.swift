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

  /// The bytes of a block without a look at them.
  package func extent(_ reference: BlockReference, end: UInt64) throws(BlockError)
    -> UnsafeRawBufferPointer
  {
    guard reference.pages(within: end) != nil,
      Int(reference.length) <= Layout.maximumBlockBytes
    else {
      throw BlockError(
        path: storage.path, offset: reference.offset, length: reference.length,
        what: "the reference points outside the version's pages")
    }
    guard let view = storage.view(at: Int(reference.offset), count: Int(reference.length)) else {
      throw BlockError(
        path: storage.path, offset: reference.offset, length: reference.length,
        what: "the system cannot map it")
    }
    return view
  }

  /// Compares bytes at a file offset with their checksum, unless that was done before.
  package func verify(_ bytes: UnsafeRawBufferPointer, offset: Int, checksum: UInt64)
    throws(BlockError)
  {
    // The offset is part of the tag: a page that was reused carries other checksums.
    let tag = (checksum ^ (UInt64(truncatingIfNeeded: offset) &* 0x9E37_79B9_7F4A_7C15)) | 1
    let entry = AtomicWord(
      table + Int(truncatingIfNeeded: (tag &* 0xD6E8_FEB8_6659_FD93) >> 46) * 8)
    if entry.load() == tag { return }
    guard Checksum.of(bytes) == checksum else {
      throw BlockError(
        path: storage.path, offset: UInt64(offset), length: UInt32(clamping: bytes.count),
        what: "the checksum does not fit its bytes")
    }
    entry.store(tag)
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
