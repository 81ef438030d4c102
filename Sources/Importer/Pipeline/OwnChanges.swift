import Engine

/// What an import itself has done to objects since the versions that its parsers look at: as long
/// as nobody else has written, their answers hold but for that.
///
/// An import never deletes an object and never changes its primary key, so a key that was found
/// stays found. What it adds is in the index's newer runs; which objects it changes is noted here.
///
/// Thread rule: belongs to the writer's thread.
final class OwnChanges {
  /// Nobody else has written since this version; nil: no version tells what is in the table, until
  /// the next commit.
  private var first: UInt64?
  /// What was changed since this version is in `changed`; nil: not all of it, until the next commit.
  private var noted: UInt64?
  private var changed: Set<Int64> = []

  /// More are forgotten: then rows are compared by the writer for a while.
  private static let mostChanged = 1 << 16

  /// The table is as a version has it, but for what comes now.
  func begin(at version: UInt64) {
    (first, noted) = (version, version)
    changed.removeAll()
  }

  /// No version has what is in the table now.
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

  /// Whether keys that were found in a version still lead to the same objects, and other ones are
  /// in the table only if the import has added them since.
  func hold(since version: UInt64) -> Bool { first.map { $0 <= version } ?? false }

  /// Whether an object is as it was in a version since which `hold` says true.
  func isUnchanged(_ object: Int64, since version: UInt64) -> Bool {
    noted.map { $0 <= version } ?? false && !changed.contains(object)
  }
}
