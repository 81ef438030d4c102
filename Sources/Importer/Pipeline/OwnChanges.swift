import Engine

/// The import's own changes of objects since the versions that its parsers use: if others have not written,
/// the parsers' results apply except for these changes.
///
/// An import never deletes an object and never changes its primary key, so a key that was found stays found.
/// New keys are in the index's newer runs; changed objects are recorded here.
///
/// Thread rule: confined to the writer's thread.
final class OwnChanges {
  /// Others have not written since this version; nil: no version has the table's content, until the next
  /// commit.
  private var first: UInt64?
  /// `changed` has all objects changed since this version; nil: not all of them, until the next commit.
  private var noted: UInt64?
  private var changed: Set<Int64> = []

  /// With more objects, all are dropped: the writer then compares rows itself for a while.
  private static let mostChanged = 1 << 16

  /// From now on the table differs from this version only by recorded changes.
  func begin(at version: UInt64) {
    (first, noted) = (version, version)
    changed.removeAll()
  }

  /// No version has the table's current content.
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

  /// Returns whether keys that were found in a version still lead to the same objects, and the import has
  /// added all other keys in the table since.
  func hold(since version: UInt64) -> Bool { first.map { $0 <= version } ?? false }

  /// Returns whether an object is unchanged since a version for which `hold` returns true.
  func isUnchanged(_ object: Int64, since version: UInt64) -> Bool {
    noted.map { $0 <= version } ?? false && !changed.contains(object)
  }
}
