/// The newest visible version, in eight words of memory that threads or processes share.
///
/// A sequence lock: the one writer makes the sequence odd, stores, and makes it even again; a reader
/// retries while the sequence is odd or has changed. Readers never block the writer nor each other.
package struct VersionCell: @unchecked Sendable {
  // @unchecked: every word is an atomic; the memory outlives the cell by its owner's promise.
  private let memory: UnsafeMutableRawPointer

  package static let encodedBytes = 64

  /// - Parameter memory: 64 zeroed, 8-byte-aligned bytes that outlive the cell.
  package init(_ memory: UnsafeMutableRawPointer) {
    self.memory = memory
  }

  private func word(_ index: Int) -> AtomicWord { AtomicWord(memory + index * 8) }

  /// Publishes a version. Only the owner of the writer's place may call it.
  package func store(_ record: VersionRecord) {
    // A writer killed between the two stores of the sequence left it odd; begin from the next even.
    let sequence = (word(0).load() &+ 1) & ~1
    word(0).store(sequence &+ 1)
    word(1).store(record.version)
    word(2).store(record.root.offset)
    word(3).store(UInt64(record.root.length))
    word(4).store(record.root.checksum)
    word(5).store(record.end)
    word(0).store(sequence &+ 2)
  }

  /// The published version; nil when there is none yet, or when a writer died while publishing.
  package func load() -> VersionRecord? {
    for _ in 0..<100_000 {
      let before = word(0).load()
      if before & 1 == 1 { continue }
      let record = VersionRecord(
        version: word(1).load(),
        root: BlockReference(
          offset: word(2).load(),
          length: UInt32(truncatingIfNeeded: word(3).load()),
          checksum: word(4).load()),
        end: word(5).load())
      if word(0).load() == before {
        return record.version == 0 ? nil : record
      }
    }
    return nil
  }
}
