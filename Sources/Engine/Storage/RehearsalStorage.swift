import Base

/// A copy of a version that can be written while the file stays unchanged. Writes go to an unnamed scratch
/// file, at the same offsets; all other bytes are read from the file.
///
/// The caller holds the version and its kept versions, so that their blocks are not overwritten.
///
/// Thread rule: as `Storage`.
package final class RehearsalStorage: Storage, @unchecked Sendable {
  // @unchecked: `lock` guards `written`; the other properties never change.
  package let path: String
  /// The storage of the file; nil when it does not exist.
  private let base: (any Storage)?
  /// The end of the version's bytes in `base`.
  private let baseEnd: Int
  private let scratch: FileStorage
  private let lock = Lock()
  /// Objects that hold the versions which are read.
  private let holding: [AnyObject]
  /// The pages in the scratch file, 64 a word.
  private var written: [UInt64] = []

  private static let pageBytes = 4096

  /// - Parameters:
  ///   - base: the storage with the version's blocks; nil when there is none.
  ///   - end: an offset after all blocks of the version and of those that it keeps.
  ///   - slots: the first pages, which name the version; the slots in the file change to newer versions.
  ///   - path: the path of the file.
  ///   - folder: the folder of the scratch file.
  ///   - holding: objects that must live as long as this one.
  /// - Throws: `SystemError` for the scratch file.
  package init(
    _ base: (any Storage)?, end: Int, slots: UnsafeRawBufferPointer, path: String, folder: String,
    holding: [AnyObject] = []
  ) throws(SystemError) {
    self.path = path
    self.holding = holding
    self.base = base
    baseEnd = end
    let name = "sheaf-rehearsal-\(System.processIdentifier)-\(System.monotonicNanoseconds)"
    scratch = try FileStorage(path: "\(folder)/\(name)", mode: .createNew, isScratch: true)
    try scratch.resize(to: end)
    try scratch.write(slots, at: 0)
    note(0..<slots.count)
  }

  // MARK: Pages

  private func pages(_ range: Range<Int>) -> Range<Int> {
    if range.isEmpty { return 0..<0 }
    return range.lowerBound / Self.pageBytes..<(range.upperBound - 1) / Self.pageBytes + 1
  }

  /// Requires the lock, unless no other thread knows this object yet.
  private func note(_ range: Range<Int>) {
    for page in pages(range) {
      if page / 64 >= written.count {
        written += [UInt64](repeating: 0, count: page / 64 + 1 - written.count)
      }
      written[page / 64] |= 1 << UInt64(page % 64)
    }
  }

  /// Requires the lock.
  private func has(_ page: Int) -> Bool {
    page / 64 < written.count && written[page / 64] & 1 << UInt64(page % 64) != 0
  }

  /// Copies the pages of a range that the scratch file lacks. Requires the lock.
  private func bring(_ range: Range<Int>) throws(SystemError) {
    guard let base else { return note(range) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pageBytes, alignment: 8)
    defer { buffer.deallocate() }
    for page in pages(range) where !has(page) {
      let start = page * Self.pageBytes
      if start < baseEnd {
        let count = try base.read(into: buffer, at: start)
        try scratch.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: start)
      }
      note(start..<start + Self.pageBytes)
    }
  }

  /// Returns whether the scratch file has all pages of a range, or none. Requires the lock.
  private func isUniform(_ range: Range<Int>) -> Bool {
    let pages = pages(range)
    guard let first = pages.first.map(has) else { return true }
    return pages.allSatisfy { has($0) == first }
  }

  // MARK: Storage

  package func length() throws(SystemError) -> Int { try scratch.length() }

  package func resize(to length: Int) throws(SystemError) {
    lock.lock()
    defer { lock.unlock() }
    if length < baseEnd, length % Self.pageBytes != 0 { try bring(length..<length + 1) }
    try scratch.resize(to: length)
    // Bytes that are truncated and later added again are zeros, not the file's bytes.
    if length < baseEnd { note(length..<baseEnd) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    let range = offset..<offset + bytes.count
    lock.lock()
    defer { lock.unlock() }
    // The first and the last page may be written partly.
    for edge in [range.lowerBound, range.upperBound] where edge % Self.pageBytes != 0 {
      try bring(edge..<edge + 1)
    }
    try scratch.write(bytes, at: offset)
    note(range)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
    throws(SystemError) -> Int
  {
    let end = min(offset + buffer.count, try length())
    guard offset < end else { return 0 }
    return try lockedSource(offset..<end).read(
      into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<(end - offset)]), at: offset)
  }

  private func lockedSource(_ range: Range<Int>) throws(SystemError) -> any Storage {
    lock.lock()
    defer { lock.unlock() }
    return try source(range)
  }

  /// The storage that has the whole range. Requires the lock.
  private func source(_ range: Range<Int>) throws(SystemError) -> any Storage {
    // Bytes beyond the version's end are in the scratch file, written or not.
    if !isUniform(range) || range.upperBound > baseEnd { try bring(range) }
    guard let base, let first = pages(range).first, !has(first), range.upperBound <= baseEnd else {
      return scratch
    }
    return base
  }

  package func flush() throws(SystemError) {}

  package func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    let (end, overflow) = offset.addingReportingOverflow(count)
    guard offset >= 0, count >= 0, !overflow else { return nil }
    return (try? lockedSource(offset..<end))?.view(at: offset, count: count)
  }

  package var viewFailure: SystemError { base?.viewFailure ?? scratch.viewFailure }
  package func forget(_ bytes: UnsafeRawBufferPointer) { scratch.forget(bytes) }

  package func forget(_ range: Range<Int>) {
    scratch.forget(range)
    base?.forget(range.clamped(to: 0..<max(0, baseEnd)))
  }
}
