import Base

/// The snapshots that a handle took last and that live still: who wants one of the same version gets the same
/// one, so that they take one reader slot together.
///
/// A snapshot that lives holds its version, so there is nothing to publish again, and nothing to
/// check but that it is the version asked for.
///
/// Nobody waits: who finds another thread at it for longer than a moment takes a slot of its own.
///
/// Thread rule: any thread. Cost: two atomic operations.
final class SharedSnapshots: @unchecked Sendable {
  // @unchecked: `entries` is used by whoever has set `isTaken`.
  private struct Entry {
    weak var snapshot: Snapshot?
  }

  private let isTaken = AtomicWord.allocate()
  /// The newest version that others see and the newest of this handle may be two.
  private var entries = [Entry(), Entry()]

  /// The others take some dozen instructions.
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

  /// A snapshot of a version that somebody holds; nil when nobody does, or it cannot be known just now.
  func find(_ record: VersionRecord, _ blocks: BlockReader) -> Snapshot? {
    trying {
      for entry in entries {
        // The whole record: after a failed flush another handle may have given the number again.
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
      // The one that came last goes last.
      if place == 0 { entries.swapAt(0, 1) }
      return ()
    }
  }
}
