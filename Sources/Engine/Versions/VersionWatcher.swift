import Base

/// Notices versions that other processes make visible, on a thread of its own.
///
/// After publishing a version, a writer touches the lock file (`Coordination.announce`), which wakes this
/// thread. The thread also checks once a second, in case a writer was killed between the two, and more often
/// where files cannot be watched.
///
/// Thread rule: any thread; `look` is called on the watcher's thread.
package final class VersionWatcher: Sendable {
  private let watch: FileWatch
  private let thread: Thread

  /// The milliseconds between checks: while writes wake the thread, and while nothing does.
  private static let rarely: Int32 = 1000
  private static let often: Int32 = 50

  /// Starts watching.
  ///
  /// - Parameter look: called with the newest version that other processes can see, whenever there may be a
  ///   newer one, and once at the start.
  /// - Returns: nil for private memory, where no other process takes part.
  /// - Throws: `SystemError` when no descriptor or thread is available.
  package init?(
    _ coordination: Coordination, watchesFile: Bool, look: @escaping @Sendable (UInt64) -> Void
  ) throws(SystemError) {
    guard let descriptor = coordination.descriptor else { return nil }
    let watch = try FileWatch(descriptor, path: coordination.path, watches: watchesFile)
    self.watch = watch
    thread = try Thread(name: "sheaf-watcher") {
      // Before the first check: a writer publishes first, and then reads the number of watchers.
      if watch.isWatching { coordination.beginWatching() }
      defer { if watch.isWatching { coordination.endWatching() } }
      repeat {
        if let version = coordination.visible.load()?.version { look(version) }
      } while watch.wait(milliseconds: watch.isWatching ? Self.rarely : Self.often) != .stopped
    }
  }

  /// Ends the thread after the running call of `look`, or without waiting if that call is the caller.
  package func stop() {
    watch.stop()
    thread.join()
  }
}
