import Base
import Synchronization

/// Notices versions that other processes make visible, on a thread of its own.
///
/// After publishing a version, a writer counts an event in the lock file (`Coordination.announce`), which
/// wakes this thread. The thread also checks once a second, in case a writer was killed between the two, and
/// more often where it cannot be woken.
///
/// Thread rule: any thread; `look` is called on the watcher's thread.
package final class VersionWatcher: Sendable {
  private let thread: Thread
  private let coordination: Coordination
  private let isStopped: Flag

  /// Shared with the thread, which may outlive the watcher.
  private final class Flag: Sendable {
    let value = Atomic<Bool>(false)
  }

  /// The milliseconds between checks while nothing wakes the thread.
  private static let rarely: Int32 = 1000

  /// Starts watching.
  ///
  /// - Parameter look: called with the newest version that other processes can see, whenever there may be a
  ///   newer one, and once at the start.
  /// - Returns: nil for private memory, where no other process takes part.
  /// - Throws: `SystemError` when no thread is available.
  package init?(
    _ coordination: Coordination, look: @escaping @Sendable (UInt64) -> Void
  ) throws(SystemError) {
    guard coordination.descriptor != nil else { return nil }
    let isStopped = Flag()
    self.coordination = coordination
    self.isStopped = isStopped
    thread = try Thread(name: "sheaf-watcher") {
      // Before the first check: a writer publishes first, and then reads the number of watchers.
      coordination.beginWatching()
      defer { coordination.endWatching() }
      let events = coordination.events
      while !isStopped.value.load(ordering: .sequentiallyConsistent) {
        let seen = events.count
        if let version = coordination.visible.load()?.version { look(version) }
        // Either the flag is seen here, or the event that follows it ends the wait.
        if isStopped.value.load(ordering: .sequentiallyConsistent) { return }
        _ = events.wait(past: seen, milliseconds: Self.rarely)
      }
    }
  }

  /// Ends the thread after the running call of `look`, or without waiting if that call is the caller.
  package func stop() {
    isStopped.value.store(true, ordering: .sequentiallyConsistent)
    coordination.events.advance()
    thread.join()
  }
}
