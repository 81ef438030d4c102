#if DEBUG
  import Base

  extension Coordination {
    /// A slot that this handle has taken has its token and the version that it holds, and is below the number
    /// of used slots.
    ///
    /// Checked whenever a version is held.
    ///
    /// - Complexity: O(1).
    package func checkHolding(_ record: VersionRecord, in slot: Int) throws(BrokenInvariant) {
      func broken(_ what: String) -> BrokenInvariant {
        BrokenInvariant(what: "reader slot \(slot), which holds version \(record.version): \(what)")
      }
      let owner = readerWord(slot, 0).load()
      if owner != token { throw broken("its owner is \(owner), not \(token)") }
      let version = readerWord(slot, 1).load()
      if version != record.version { throw broken("it says \(version)") }
      if readerWord(slot, 2).load() != record.root.offset
        || readerWord(slot, 3).load() != record.lengthWord
        || readerWord(slot, 4).load() != record.root.checksum
        || readerWord(slot, 5).load() != record.end
      {
        throw broken("it names another root or end")
      }
      let used = word(Offset.usedReaderSlots).load()
      if used <= UInt64(slot) { throw broken("only \(used) slots are looked at") }
    }

    /// No slot beyond the number of used slots is taken, and every owner is a participant. For tests, while
    /// no thread takes a version.
    ///
    /// - Complexity: O(slots).
    package func checkInvariants() throws(BrokenInvariant) {
      let used = Int(clamping: word(Offset.usedReaderSlots).load())
      guard used <= Offset.allSlotCount else {
        throw BrokenInvariant(what: "reader slots: \(used) are in use of \(Offset.allSlotCount)")
      }
      for slot in 0..<Offset.allSlotCount {
        let owner = readerWord(slot, 0).load()
        if owner == 0 { continue }
        if slot >= used {
          throw BrokenInvariant(what: "reader slot \(slot) is taken, \(used) are looked at")
        }
        let index = Int(owner & 0xFFFF)
        if index < 1 || index > LockByte.participantCount {
          throw BrokenInvariant(what: "reader slot \(slot): \(owner) is nobody's token")
        }
      }
    }
  }
#endif
