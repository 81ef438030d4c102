import Base

/// Finds the newest valid version of a file.
package struct Recovery: Sendable {
  package let record: VersionRecord
  /// The slot that names it.
  package let slot: Int
  package let identity: DatabaseIdentity
  /// The fault of the other slot; nil when there is none. A later version may have been lost.
  package let fallback: String?

  /// Reads both slots and takes the newest version whose root block is sound.
  ///
  /// A slot is within one sector, which a power cut leaves old or new but never mixed. A slot that is neither
  /// valid nor empty was damaged by something else, which `fallback` reports.
  ///
  /// - Throws: `EngineError.notADatabase`, `.newerFormat`, `.damaged`, naming the slots, or `.system`.
  package static func run(_ storage: any Storage) throws -> Recovery {
    let readings = try read(storage)
    let length = try storage.length()
    var problems: [String?] = [nil, nil]
    var candidates: [(slot: Int, value: CommitSlot)] = []
    for (index, reading) in readings.enumerated() {
      switch reading {
      case .valid(let slot):
        if slot.record.end > UInt64(length) {
          problems[index] =
            "slot \(index): the file is cut short (\(length) bytes of "
            + "\(slot.record.end))"
        } else {
          candidates.append((index, slot))
        }
      case .otherFormat(let format):
        throw EngineError.newerFormat(path: storage.path, format: format)
      case .damaged(let reason): problems[index] = "slot \(index): \(reason)"
      case .foreign: problems[index] = "slot \(index): it is not a commit slot"
      case .empty, .temporary: break
      }
    }
    candidates.sort { $0.value.record.version > $1.value.record.version }
    for candidate in candidates {
      if let problem = try rootProblem(candidate.value.record, storage) {
        problems[candidate.slot] = "slot \(candidate.slot): \(problem)"
        continue
      }
      return Recovery(
        record: candidate.value.record, slot: candidate.slot, identity: candidate.value.identity,
        fallback: problems[candidate.slot ^ 1]
          ?? erasure(of: readings[candidate.slot ^ 1], beside: candidate.value, in: candidate.slot))
    }
    if readings.allSatisfy(isForeign) {
      throw EngineError.notADatabase(path: storage.path, reason: "it has no commit slot")
    }
    throw EngineError.damaged(
      path: storage.path, where: "both commit slots",
      reason: problems.compactMap { $0 }.joined(separator: "; "))
  }

  /// Like `run`, while other handles may be committing.
  ///
  /// A slot that is being written can be read half old and half new, and the root block that it names can be
  /// overwritten before it is read. So a fault counts only if both slots have stayed the same for some
  /// milliseconds.
  ///
  /// - Throws: the errors of `run`, and `CoordinationError.tooFast` when the slots have not stayed the same
  ///   for that long within a minute.
  package static func runAmongWriters(_ storage: any Storage) throws -> Recovery {
    let end = System.monotonicNanoseconds &+ 60_000_000_000
    var (before, timesSame) = (try read(storage), 0)
    while true {
      let outcome = Result { try run(storage) }
      if case .success(let found) = outcome, found.fallback == nil { return found }
      System.sleep(milliseconds: 1)
      let after = try read(storage)
      timesSame = after == before ? timesSame + 1 : 0
      before = after
      if timesSame == 5 { return try outcome.get() }
      if System.monotonicNanoseconds > end { throw CoordinationError.tooFast(storage.path) }
    }
  }

  /// Returns whether no version was ever committed to a file: it is empty, has the mark of a creation and
  /// anything after it, or zeros and perhaps the first catalogue. Any other file may contain user data.
  ///
  /// - Parameter catalogue: the bytes that creation writes after the slots.
  package static func isUnborn(_ storage: any Storage, catalogue: [UInt8]) throws -> Bool {
    let length = try storage.length()
    guard length <= Layout.firstBlockOffset + Layout.pageBytes else { return false }
    var bytes = [UInt8](repeating: 0, count: length)
    let count = try bytes.withUnsafeMutableBytes { try storage.read(into: $0, at: 0) }
    let mark = CommitSlot.creationPage.prefix(Layout.sectorBytes)
    if count == length, bytes.starts(with: mark) { return true }
    guard count == length, bytes.prefix(Layout.firstBlockOffset).allSatisfy({ $0 == 0 }) else {
      return false
    }
    let block = bytes.dropFirst(Layout.firstBlockOffset)
    let rest = block.dropFirst(catalogue.count)
    return rest.allSatisfy { $0 == 0 }
      && (zip(block, catalogue).allSatisfy(==) || block.allSatisfy { $0 == 0 })
  }

  /// Returns whether neither slot resembles a slot: the file is not a database.
  package static func isForeign(_ storage: any Storage) throws -> Bool {
    try read(storage).allSatisfy(isForeign)
  }

  private static func isForeign(_ reading: CommitSlot.PageContent) -> Bool {
    [.foreign, .empty, .temporary].contains(reading)
  }

  /// The fault of a slot of zeros: only the second one was never written, as long as the first one has the
  /// version of the file's creation. Nil for all others.
  package static func erasure(
    of reading: CommitSlot.PageContent, beside valid: CommitSlot, in slot: Int
  ) -> String? {
    guard case .empty = reading, slot != 0 || valid.record.version > 1 else { return nil }
    return "slot \(slot ^ 1): it has nothing but zeros, and was written before version "
      + "\(valid.record.version)"
  }

  package init(record: VersionRecord, slot: Int, identity: DatabaseIdentity, fallback: String?) {
    self.record = record
    self.slot = slot
    self.identity = identity
    self.fallback = fallback
  }

  package static func read(_ storage: any Storage) throws -> [CommitSlot.PageContent] {
    var pages = [UInt8](repeating: 0, count: Layout.firstBlockOffset)
    let count = try pages.withUnsafeMutableBytes { try storage.read(into: $0, at: 0) }
    return pages.withUnsafeBytes { bytes in
      (0..<Layout.slotCount).map { index in
        let start = index * Layout.pageBytes
        let end = max(start, min(count, start + Layout.pageBytes))
        return CommitSlot.read(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      }
    }
  }

  private static func rootProblem(_ record: VersionRecord, _ storage: any Storage) throws
    -> String?
  {
    guard Int(record.root.length) <= Layout.maximumBlockBytes else { return "root too large" }
    var root = [UInt8](repeating: 0, count: Int(record.root.length))
    let count = try root.withUnsafeMutableBytes {
      try storage.read(into: $0, at: Int(record.root.offset))
    }
    guard count == root.count, Checksum.of(root) == record.root.checksum else {
      return "the root block at offset \(record.root.offset) of version \(record.version) "
        + "does not fit its checksum"
    }
    return nil
  }
}
