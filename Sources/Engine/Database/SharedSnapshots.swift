import Base

/// The last snapshots of a handle that are still alive. A further request for the same version gets the same
/// snapshot, so that they share one reader slot.
///
/// A living snapshot holds its version, so nothing has to be published again; only the version is compared.
///
/// No thread waits: one that finds the entries in use for longer than a moment takes a slot of its own.
///
/// Thread rule: any thread. Cost: two atomic operations.
final class SharedSnapshots: @unchecked Sendable {
  // @unchecked: only the thread that has set `isTaken` uses `entries`.
  private struct Entry {
    weak var snapshot: Snapshot?
  }

  private let isTaken = AtomicWord.allocate()
  /// Two, because the newest version may be another for other handles than for this one.
  private var entries = [Entry(), Entry()]

  /// Another thread's use takes some dozen instructions.
  private static let attempts = 64

  deinit { isTaken.deallocate() }

  @discardableResult
  private func trying<Result>(_ body: () -> Result?) -> Result? {
    for _ in 0..<Self.attempts where isTaken.exchange(0, with: 1) {
      defer { isTaken.store(0) }
      return body()
    }
    return nil
  }

  /// A living snapshot of a version; nil when there is none, or another thread uses the entries.
  func find(_ record: VersionRecord, _ blocks: BlockReader) -> Snapshot? {
    trying {
      for entry in entries {
        // The whole record is compared: after a failed flush another handle may have used the number again.
        if let snapshot = entry.snapshot, snapshot.record == record, snapshot.blocks === blocks {
          return snapshot
        }
      }
      return nil
    }
  }

  func add(_ snapshot: Snapshot) {
    trying {
      let place = entries.firstIndex { $0.snapshot == nil } ?? 0
      entries[place] = Entry(snapshot: snapshot)
      // The last entry added is replaced last.
      if place == 0 { entries.swapAt(0, 1) }
      return ()
    }
  }
}
