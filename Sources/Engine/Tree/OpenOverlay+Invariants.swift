#if DEBUG
  import Base

  extension OpenOverlay {
    /// Deleted and changed rows ascend and lie in the base, no row is both, and records lie in the arena and
    /// have the stated number of bytes.
    ///
    /// Checked whenever the overlay is closed, which takes as long anyway.
    ///
    /// - Complexity: O(deleted and changed rows).
    package func checkInvariants() throws(BrokenInvariant) {
      func broken(_ what: String) -> BrokenInvariant {
        BrokenInvariant(what: "overlay of the cluster from key \(base.firstKey): \(what)")
      }
      func check(_ rows: [UInt32], _ what: String) throws(BrokenInvariant) {
        for (row, next) in zip(rows, rows.dropFirst()) where row >= next {
          throw broken("\(what) row \(next) behind \(row)")
        }
        if let last = rows.last, Int(last) >= cluster.rowCount {
          throw broken("\(what) row \(last) of \(cluster.rowCount)")
        }
      }
      let changed = changes.map(\.row)
      try check(deleted, "deleted")
      try check(newlyDeleted, "newly deleted")
      try check(changed, "changed")
      if let both = Set(deleted).intersection(changed).first {
        throw broken("row \(both) is changed and deleted")
      }
      if let row = Set(newlyDeleted).subtracting(deleted).first {
        throw broken("row \(row) is newly deleted and not deleted")
      }
      for change in changes
      where change.start < 0 || change.length < 0 || change.start + change.length > arena.count {
        throw broken("the record of row \(change.row) is not in the arena")
      }
      let bytes = changes.reduce(0) { $0 + $1.length }
      if bytes != recordBytes { throw broken("\(bytes) bytes, said to be \(recordBytes)") }
    }
  }
#endif
