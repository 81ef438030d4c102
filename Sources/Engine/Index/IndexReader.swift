import Base

/// The entries of an index, in a version or a transaction, for looking codes up.
///
/// Entries are hints, as `ValueIndex` and `KeyIndex` explain: an object may have been deleted or have another
/// value now.
///
/// Thread rule: confined, while the version is held; in a transaction, until the index is changed.
package struct IndexReader {
  private let runs: [IndexRun]
  private let blocks: IndexBlocks
  /// Entries that are in no run yet, ascending.
  private let pending: [IndexEntry]

  /// - Parameter pending: ascending.
  package init(_ runs: [IndexRun], _ blocks: IndexBlocks, pending: [IndexEntry] = []) {
    self.runs = runs
    self.blocks = blocks
    self.pending = pending
  }

  /// The number of entries with such codes, including outdated ones.
  ///
  /// - Complexity: O(log entries) for each run; no entry is read.
  /// - Throws: `BlockError` when a block of the index is damaged.
  package func count(_ codes: ClosedRange<Int64>) throws(BlockError) -> UInt64 {
    let behind = codes.upperBound == .max ? Int64.max : codes.upperBound + 1
    var count = UInt64(firstPending(behind) - firstPending(codes.lowerBound))
    for run in runs where run.firstCode <= codes.upperBound && run.lastCode >= codes.lowerBound {
      var cursor = EntryCursor(run, blocks)
      let below = try cursor.count(below: codes.lowerBound)
      let (sum, overflow) = try cursor.count(below: behind).subtractingReportingOverflow(below)
      // Damaged bytes may contain any number.
      if !overflow { count &+= sum }
    }
    return count
  }

  /// Calls `body` with the object of every entry with such a code, perhaps repeatedly with the same object.
  ///
  /// - Throws: `BlockError`; the errors of `body`, which end the loop.
  package func forEachObject(
    _ codes: ClosedRange<Int64>, _ body: (Int64) throws -> Void
  ) throws {
    for entry in pending[firstPending(codes.lowerBound)...] {
      if entry.code > codes.upperBound { break }
      try body(entry.object)
    }
    for run in runs where run.firstCode <= codes.upperBound && run.lastCode >= codes.lowerBound {
      var cursor = EntryCursor(run, blocks)
      try cursor.seek(IndexEntry(code: codes.lowerBound, object: .min))
      while let entry = try cursor.next(), entry.code <= codes.upperBound { try body(entry.object) }
    }
  }

  private func firstPending(_ code: Int64) -> Int {
    partitionPoint(pending.indices) { pending[$0].code >= code }
  }
}
