import Base

/// Remembers which bytes of a file have matched their checksums, so that they are hashed once instead of at
/// every use.
///
/// It is a table of atomic words, with 2 MB of addresses that use memory only where they are accessed. Bytes
/// whose entry was displaced are hashed again; only a collision of 48 bits can make unverified bytes count as
/// verified.
///
/// Thread rule: any thread; readers share the table without a lock.
package final class VerifiedTable: @unchecked Sendable {
  // @unchecked: the table is accessed through atomics only.
  private let table: UnsafeMutableRawPointer
  private let insertions = AtomicWord.allocate()

  private static let entryCount = 1 << 18
  /// With more insertions, all memory of the table is provided at once. Otherwise the system would provide
  /// each page twice: one of zeros for the first look, and one of its own for the first entry.
  private static let fewInsertions: UInt64 = 64

  /// - Parameter path: the path for errors.
  package init(path: String) throws(SystemError) {
    guard let table = System.reserve(length: Self.entryCount * 8) else {
      throw SystemError.noMemory("reserve memory", path)
    }
    self.table = table
  }

  deinit {
    System.unmap(table, length: Self.entryCount * 8)
    insertions.deallocate()
  }

  fileprivate func noteInsertion() {
    if insertions.increment() == Self.fewInsertions {
      System.makePresent(table, count: Self.entryCount * 8)
    }
  }

  /// The word for a block, and the upper 48 bits that it has while it belongs to that block.
  fileprivate func entry(_ identity: UInt64) -> (word: AtomicWord, tag: UInt64) {
    let mixed = identity &* 0xD6E8_FEB8_6659_FD93
    let index = Int(truncatingIfNeeded: mixed >> 46)
    return (AtomicWord(table + index * 8), (identity ^ mixed >> 32) & ~0xFFFF)
  }
}

/// The verified parts of one block. Part 0 is the bytes that the reference's checksum covers; the code that
/// divides the block numbers the others. Sixteen parts share a word.
///
/// A block's place and checksum identify it, since a reused page has other checksums.
///
/// Thread rule: any thread.
package struct VerifiedParts: Sendable {
  private let table: VerifiedTable?
  private let identity: UInt64

  /// The parts of the block with a reference of this offset and checksum.
  ///
  /// - Parameter table: nil: none is verified, or remembered.
  package init(table: VerifiedTable?, offset: Int, checksum: UInt64) {
    self.table = table
    identity = checksum ^ (UInt64(truncatingIfNeeded: offset) &* 0x9E37_79B9_7F4A_7C15)
  }

  @inline(__always)
  private func entry(
    _ part: Int, in table: VerifiedTable
  ) -> (word: AtomicWord, tag: UInt64, bit: UInt64) {
    let group = UInt64(truncatingIfNeeded: part >> 4) &* 0xA24B_AED4_963E_E407
    let (word, tag) = table.entry(identity ^ group)
    return (word, tag, 1 << UInt64(truncatingIfNeeded: part & 15))
  }

  /// Returns whether the part was inserted and has not been displaced.
  package func contains(_ part: Int) -> Bool {
    guard let table else { return false }
    let (word, tag, bit) = entry(part, in: table)
    let value = word.load()
    return value & ~0xFFFF == tag && value & bit != 0
  }

  /// Inserts a part whose bytes have matched their checksum.
  package func insert(_ part: Int) {
    guard let table else { return }
    let (word, tag, bit) = entry(part, in: table)
    let value = word.load()
    // A bit that another thread sets meanwhile may be lost; its part is then hashed again.
    word.store((value & ~0xFFFF == tag ? value : tag) | bit)
    table.noteInsertion()
  }
}
