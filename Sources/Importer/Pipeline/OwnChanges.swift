import Engine

/// The import's own changes to objects since the versions that its parsers look in: as long as nobody else
/// has written, the parsers' results hold except for these changes.
///
/// An import never deletes an object and never changes its primary key, so a key that was found stays found.
/// New keys are in the index's newer runs; changed objects are noted here.
///
/// Thread rule: belongs to the writer's thread.
final class OwnChanges {
  /// Nobody else has written since this version; nil: no version has the table's content, until the next
  /// commit.
  private var first: UInt64?
  /// `changed` has all objects changed since this version; nil: not all of them, until the next commit.
  private var noted: UInt64?
  private var changed: Set<Int64> = []

  /// With more, all are dropped: the writer then compares rows itself for a while.
  private static let mostChanged = 1 << 16

  /// From now on the table differs from this version only by noted changes.
  func begin(at version: UInt64) {
    (first, noted) = (version, version)
    changed.removeAll()
  }

  /// No version has the table's present content.
  func end() {
    (first, noted) = (nil, nil)
    changed.removeAll()
  }

  func committed(_ version: UInt64) {
    if first == nil { first = version }
    if noted == nil { noted = version }
  }

  func change(_ object: Int64) {
    if noted == nil { return }
    changed.insert(object)
    if changed.count > Self.mostChanged {
      noted = nil
      changed.removeAll()
    }
  }

  /// Whether keys that were found in a version still lead to the same objects, and all other keys in the
  /// table were added by the import since.
  func hold(since version: UInt64) -> Bool { first.map { $0 <= version } ?? false }

  /// Whether an object is as it was in a version since which `hold` says true.
  func isUnchanged(_ object: Int64, since version: UInt64) -> Bool {
    noted.map { $0 <= version } ?? false && !changed.contains(object)
  }
}
