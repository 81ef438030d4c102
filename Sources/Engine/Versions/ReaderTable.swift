import Base

/// A version that a reader holds.
package struct HeldVersion: Sendable, Equatable {
  package let process: Int32
  package let record: VersionRecord
}

/// The reader slots: 64 bytes each in the memory that the participants share.
///
///     0  owner's token (0: the slot is free)
///     8  version held (0: being set up)
///     16 root offset   24 root length   32 root checksum   40 end   48 process
///     56 the newest version when it was taken: which file a kept version is of, whose number may be lower
///        than the file's first
///
/// Holding a version takes a few atomic stores: no lock, no waiting, no system call. Their order makes it
/// safe: a reader publishes the version that it will use, and then checks that it is still the newest; a
/// writer reads what its pipeline keeps, and then reads the slots (`Database.versionsToKeep`).
extension Coordination {
  /// Holds the newest version that `newest` returns, until `release`; or, with `since`, a kept version.
  ///
  /// - Parameters:
  ///   - usesSpare: whether to take a slot reserved for inspection when no other is free.
  ///   - since: for a kept version, a version of the same file that is not later than the newest one now; it
  ///     identifies the file.
  /// - Throws: `CoordinationError.tooManyReaders` when every slot is taken.
  package func hold(
    usesSpare: Bool = false, since: UInt64? = nil, _ newest: () throws -> VersionRecord
  ) throws -> (slot: Int, VersionRecord) {
    let slot = try claimSlot(usesSpare: usesSpare)
    do {
      var record = try newest()
      while true {
        publish(record, in: slot, since: since ?? record.version)
        let again = try newest()
        // A number may be given again to other blocks, after a flush that failed.
        if again == record {
          #if DEBUG
            Invariants.require { () throws(BrokenInvariant) in try checkHolding(record, in: slot) }
          #endif
          return (slot, record)
        }
        record = again
      }
    } catch {
      release(slot)
      throw error
    }
  }

  /// Releases a held version.
  package func release(_ slot: Int) {
    reach(slot, changes: true)
    readerWord(slot, 1).store(0)
    readerWord(slot, 0).store(0)
    releasedVersion()
  }

  func readerWord(_ slot: Int, _ index: Int) -> AtomicWord {
    word(Offset.readers + slot * 64 + index * 8)
  }

  /// Switches threads in tests with a scheduler.
  @inline(__always)
  private func reach(_ slot: Int, changes: Bool) {
    #if DEBUG
      Scheduling.reach(.words(memory + Offset.readers + slot * 64, changes: changes))
    #endif
  }

  private func claimSlot(usesSpare: Bool) throws -> Int {
    let count = usesSpare ? Offset.allSlotCount : Offset.readerSlotCount
    if let slot = freeSlot(count) { return slot }
    // Some slots may belong to processes that were killed.
    _ = try heldVersions()
    if let slot = freeSlot(count) { return slot }
    throw CoordinationError.tooManyReaders(path, Offset.readerSlotCount)
  }

  private func freeSlot(_ count: Int) -> Int? {
    for slot in 0..<count where readerWord(slot, 0).load() == 0 {
      reach(slot, changes: true)
      if readerWord(slot, 0).exchange(0, with: token) {
        readerWord(slot, 6).store(UInt64(UInt32(bitPattern: System.processIdentifier)))
        word(Offset.usedReaderSlots).raise(to: UInt64(slot + 1))
        return slot
      }
    }
    return nil
  }

  private func publish(_ record: VersionRecord, in slot: Int, since: UInt64) {
    reach(slot, changes: true)
    readerWord(slot, 1).store(0)
    readerWord(slot, 2).store(record.root.offset)
    readerWord(slot, 3).store(record.lengthWord)
    readerWord(slot, 4).store(record.root.checksum)
    readerWord(slot, 5).store(record.end)
    readerWord(slot, 7).store(since)
    readerWord(slot, 1).store(record.version)
  }

  /// Every version of the current file that a living reader of any process holds. Frees the slots of dead
  /// readers.
  ///
  /// A reader that is registering may name a version whose pages are already reused, until its check.
  ///
  /// - Complexity: O(slots ever used), plus one system call for each other process that holds a version.
  package func heldVersions() throws(SystemError) -> [HeldVersion] {
    var held: [HeldVersion] = []
    var alive: [UInt64: Bool] = [token: true]
    let first = word(Offset.firstVersion).load()
    for slot in 0..<min(Int(clamping: word(Offset.usedReaderSlots).load()), Offset.allSlotCount) {
      reach(slot, changes: false)
      let owner = readerWord(slot, 0).load()
      if owner == 0 { continue }
      if alive[owner] == nil { alive[owner] = try isAlive(owner) }
      guard alive[owner] == true else {
        _ = readerWord(slot, 0).exchange(owner, with: 0)
        continue
      }
      let version = readerWord(slot, 1).load()
      // Skips slots being set up, whose readers have not yet checked that their version is the newest, and
      // readers of a file that was replaced.
      if version == 0 || readerWord(slot, 7).load() < first { continue }
      let record = VersionRecord(
        version: version, offset: readerWord(slot, 2).load(), length: readerWord(slot, 3).load(),
        checksum: readerWord(slot, 4).load(), end: readerWord(slot, 5).load())
      // The slot was taken again: its new holder checks the newest version after this.
      guard readerWord(slot, 1).load() == version, readerWord(slot, 0).load() == owner else {
        continue
      }
      let process = Int32(truncatingIfNeeded: readerWord(slot, 6).load())
      held.append(HeldVersion(process: process, record: record))
    }
    return held
  }

  private func isAlive(_ owner: UInt64) throws(SystemError) -> Bool {
    let index = Int(owner & 0xFFFF) - 1
    guard let descriptor, index >= 0, index < LockByte.participantCount else { return false }
    // A new owner of a dead participant's byte clears the slots first, so the owner of a locked byte is
    // alive.
    if index == participant { return owner == token }
    return try System.isLocked(
      descriptor, at: LockByte.participants + index, length: 1, path: path)
  }
}
