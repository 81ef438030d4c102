/// Holds a version: while this object exists, no page of the version is written.
///
/// Thread rule: any thread.
package final class VersionHold: Sendable {
  package let record: VersionRecord
  private let slot: Int
  package let coordination: Coordination
  /// Shows the version to writers that do not see the slot.
  private let lock: FileLocks.Hold?

  package init(
    record: VersionRecord, slot: Int, coordination: Coordination, lock: FileLocks.Hold? = nil
  ) {
    self.lock = lock
    self.record = record
    self.slot = slot
    self.coordination = coordination
  }

  deinit { coordination.release(slot) }
}
