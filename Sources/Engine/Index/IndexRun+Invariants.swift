#if DEBUG
  import Base

  extension IndexRun {
    /// Entries ascend from the first code to the last, no leaf begins before the end of the previous one, and
    /// the count is right.
    ///
    /// For tests: reads the whole run.
    ///
    /// - Parameter sharesCodes: whether entries of one code may lie in two leaves.
    /// - Throws: `BrokenInvariant`; what reading throws.
    /// - Complexity: O(entries).
    package func checkInvariants(_ blocks: IndexBlocks, sharesCodes: Bool) throws {
      func broken(_ what: String) -> BrokenInvariant {
        BrokenInvariant(what: "index run from code \(firstCode): \(what)")
      }
      var last: IndexEntry?
      var total: UInt64 = 0
      try blocks.walk(self) { entry, level in
        guard level == 0 else { return }
        let entries = try blocks.entries(entry)
        if !sharesCodes, let last, entries.first?.code == last.code {
          throw broken("code \(last.code) lies in two leaves")
        }
        for entry in entries {
          if let last, !(last < entry) { throw broken("\(entry) behind \(last)") }
          last = entry
        }
        total += UInt64(entries.count)
      }
      if total != count { throw broken("\(total) entries, said to be \(count)") }
      if let last, last.code > lastCode { throw broken("code \(last.code) beyond \(lastCode)") }
    }
  }

  extension RunWriter {
    /// Leaves ascend, up to the last code, and their counts add up.
    ///
    /// Checked when a run is finished, which takes as long anyway.
    ///
    /// - Complexity: O(leaves).
    func checkInvariants() throws(BrokenInvariant) {
      for (leaf, next) in zip(leaves, leaves.dropFirst())
      where leaf.firstKey > next.firstKey || (!sharesCodes && leaf.firstKey == next.firstKey) {
        throw BrokenInvariant(what: "index leaves: code \(next.firstKey) behind \(leaf.firstKey)")
      }
      if let last = leaves.last, last.firstKey > lastCode {
        throw BrokenInvariant(what: "index leaves: code \(last.firstKey) beyond \(lastCode)")
      }
      let total = leaves.reduce(0 as UInt64) { $0 &+ $1.count }
      if total != count {
        throw BrokenInvariant(what: "index leaves: \(total) entries, said to be \(count)")
      }
    }
  }

  extension RunSet {
    /// Entries in memory ascend when they are marked as sorted, and added ones will be written.
    ///
    /// Checked when a few entries have been sorted.
    ///
    /// - Complexity: O(entries in memory).
    func checkInvariants() throws(BrokenInvariant) {
      if pendingIsSorted {
        for (entry, next) in zip(pending, pending.dropFirst()) where next < entry {
          throw BrokenInvariant(what: "index: \(next) behind \(entry)")
        }
      }
      if !pending.isEmpty, !isChanged {
        throw BrokenInvariant(what: "index: entries that nobody writes")
      }
      for run in runs where run.count == 0 || run.firstCode > run.lastCode {
        throw BrokenInvariant(what: "index: a run of \(run.count) entries")
      }
    }
  }
#endif
