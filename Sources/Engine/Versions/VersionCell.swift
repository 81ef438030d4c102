import Base

/// The newest visible version, in memory that threads or processes share.
///
///     0   8  how many versions were published
///     8  40  record of an even count: version, root offset, root length, root checksum, end
///     48 40  record of an odd count
///
/// The upper half of a length is 1 for a version with a history (`VersionRecord.lengthWord`).
///
/// The one writer fills the record that is not in use and then increments the count. Readers take the record
/// that the count selects and start over only if the count changed meanwhile: they never block the writer nor
/// each other, and a writer that is interrupted or killed half-way leaves them the version before. They must
/// not fall back to an older one, whose pages may have been overwritten.
package struct VersionCell: @unchecked Sendable {
  // @unchecked: every word is an atomic; the memory outlives the cell by its owner's promise.
  private let memory: UnsafeMutableRawPointer

  package static let encodedBytes = 128

  /// - Parameter memory: `encodedBytes` zeroed, 8-byte-aligned bytes that outlive the cell.
  package init(_ memory: UnsafeMutableRawPointer) {
    self.memory = memory
  }

  private var published: AtomicWord { AtomicWord(memory) }

  private func word(_ count: UInt64, _ index: Int) -> AtomicWord {
    AtomicWord(memory + 8 + Int(count & 1) * 40 + index * 8)
  }

  /// Lets a test's scheduler choose who goes first.
  @inline(__always)
  private func reach(changes: Bool) {
    #if DEBUG
      Scheduling.reach(.words(memory, changes: changes))
    #endif
  }

  /// Publishes a version. Only the owner of the writer's place may call it.
  package func store(_ record: VersionRecord) {
    reach(changes: true)
    let count = published.load() &+ 1
    word(count, 0).store(record.version)
    word(count, 1).store(record.root.offset)
    word(count, 2).store(record.lengthWord)
    word(count, 3).store(record.root.checksum)
    word(count, 4).store(record.end)
    published.store(count)
  }

  /// The published version; nil when there is none yet.
  package func load() -> VersionRecord? {
    reach(changes: false)
    while true {
      let count = published.load()
      if count == 0 { return nil }
      let record = VersionRecord(
        version: word(count, 0).load(), offset: word(count, 1).load(),
        length: word(count, 2).load(), checksum: word(count, 3).load(), end: word(count, 4).load())
      if published.load() == count { return record }
    }
  }
}
