import Base

/// The newest visible version, in memory that threads or processes share.
///
///     0   8  the number of versions published
///     8  40  record of an even number: version, root offset, root length, root checksum, end
///     48 40  record of an odd number
///
/// The upper half of a length is 1 for a version with a history (`VersionRecord.lengthWord`).
///
/// The single writer fills the record that is not in use, and then increments the number. Readers take the
/// record that the number selects, and start again only if the number has changed meanwhile: they block
/// neither the writer nor each other, and a writer that is interrupted or killed half-way leaves them the
/// version before. They must not use an older one, whose pages may have been overwritten.
package struct VersionCell: @unchecked Sendable {
  // @unchecked: every word is an atomic; the owner ensures that the memory outlives the cell.
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

  /// Switches threads in tests with a scheduler.
  @inline(__always)
  private func reach(changes: Bool) {
    #if DEBUG
      Scheduling.reach(.words(memory, changes: changes))
    #endif
  }

  /// Publishes a version. Only for the thread that has the writers' turn.
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
