#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A mutual-exclusion lock with a condition to wait on.
///
/// Built on `pthread_mutex_t`: ThreadSanitizer does not understand `Synchronization.Mutex` on Linux
/// and reports races that are not there, and the standard library has no condition variable.
///
/// Thread rule: any thread. Not recursive: locking twice on one thread never returns.
package final class Lock: @unchecked Sendable {
  // @unchecked: the two pthread objects are allocated once, never moved, and made for sharing.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      // Timed waits must not follow the clock on the wall, which people set.
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  package func lock() {
    #if DEBUG
      // The scheduler knows who has it: the mutex is free then, but for threads that are not scheduled.
      Scheduling.scheduler?.lock(address)
    #endif
    pthread_mutex_lock(mutex)
  }

  package func unlock() {
    pthread_mutex_unlock(mutex)
    #if DEBUG
      Scheduling.scheduler?.unlock(address)
    #endif
  }

  #if DEBUG
    private var address: UInt { UInt(bitPattern: mutex) }

    /// Waits as a scheduled thread; false where the thread is none.
    private func waitScheduled(milliseconds: Int?) -> Bool {
      guard let scheduler = Scheduling.scheduler else { return false }
      pthread_mutex_unlock(mutex)
      scheduler.wait(address, milliseconds: milliseconds)
      pthread_mutex_lock(mutex)
      return true
    }
  #endif

  /// Runs `body` with the lock held.
  package func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Waits, with the lock held, until another thread calls `wakeAll`. May return early: callers
  /// test their condition in a loop.
  package func wait() {
    #if DEBUG
      if waitScheduled(milliseconds: nil) { return }
    #endif
    pthread_cond_wait(condition, mutex)
  }

  /// Like `wait`, for at most about `milliseconds`, whatever becomes of the clock on the wall.
  package func wait(milliseconds: Int) {
    #if DEBUG
      if waitScheduled(milliseconds: milliseconds) { return }
    #endif
    let length = timespec(
      tv_sec: milliseconds / 1000, tv_nsec: (milliseconds % 1000) * 1_000_000)
    #if canImport(Darwin)
      var time = length
      pthread_cond_timedwait_relative_np(condition, mutex, &time)
    #else
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      let nanoseconds = time.tv_nsec + length.tv_nsec
      time.tv_sec += length.tv_sec + nanoseconds / 1_000_000_000
      time.tv_nsec = nanoseconds % 1_000_000_000
      pthread_cond_timedwait(condition, mutex, &time)
    #endif
  }

  /// Wakes every waiting thread.
  package func wakeAll() {
    #if DEBUG
      Scheduling.scheduler?.wake(address)
    #endif
    pthread_cond_broadcast(condition)
  }
}
