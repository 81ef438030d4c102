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
@usableFromInline
package final class Lock: @unchecked Sendable {
  // @unchecked: the pthread objects are allocated once, never moved, and made for sharing.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition = ConditionVariable()

  package init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    condition.destroy()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @usableFromInline
  package func lock() {
    #if DEBUG
      // The scheduler knows which thread has the lock: the mutex is then free, except for unscheduled
      // threads.
      Scheduling.scheduler?.lock(address)
    #endif
    pthread_mutex_lock(mutex)
  }

  @usableFromInline
  package func unlock() {
    pthread_mutex_unlock(mutex)
    #if DEBUG
      Scheduling.scheduler?.unlock(address)
    #endif
  }

  #if DEBUG
    private var address: UInt { UInt(bitPattern: mutex) }
  #endif

  /// Runs `body` with the lock held.
  @inlinable
  package func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Releases the lock and waits until another thread calls `wakeAll`. May return early: callers test their
  /// condition in a loop.
  package func wait() { condition.wait(mutex) }

  /// Like `wait`, for at most about `milliseconds`, independent of changes of the wall clock.
  package func wait(milliseconds: Int) { condition.wait(mutex, milliseconds: milliseconds) }

  /// Wakes every waiting thread.
  package func wakeAll() { condition.wakeAll() }

  /// One of several conditions to wait for with the same lock, so that a change wakes only the threads
  /// concerned.
  ///
  /// Thread rule: any thread. `wait` with the lock held; waking others with it or, so that these need not
  /// wait for it, after it was released.
  package final class Condition: @unchecked Sendable {
    // @unchecked: as for the lock.
    private let lock: Lock
    private let condition = ConditionVariable()

    package init(_ lock: Lock) { self.lock = lock }

    deinit { condition.destroy() }

    /// Waits until another thread wakes this one. May return early: callers test their condition in a loop.
    package func wait() { condition.wait(lock.mutex) }

    /// Like `wait`, for at most about `milliseconds`, independent of changes of the wall clock.
    package func wait(milliseconds: Int) { condition.wait(lock.mutex, milliseconds: milliseconds) }

    /// Wakes one of the waiting threads, perhaps one that was returning early anyway: for cases in which any
    /// of them can continue, and one suffices.
    package func wakeOne() { condition.wakeOne() }

    package func wakeAll() { condition.wakeAll() }
  }
}

/// The condition that threads wait for with a mutex. Its owner destroys it.
private struct ConditionVariable {
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  init() {
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      // Timed waits must not depend on the wall clock, which may be set.
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  func destroy() {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  func wait(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
    #if DEBUG
      if waitScheduled(mutex, milliseconds: nil) { return }
    #endif
    pthread_cond_wait(condition, mutex)
  }

  func wait(_ mutex: UnsafeMutablePointer<pthread_mutex_t>, milliseconds: Int) {
    #if DEBUG
      if waitScheduled(mutex, milliseconds: milliseconds) { return }
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

  func wakeOne() {
    #if DEBUG
      Scheduling.scheduler?.wake(address, all: false)
    #endif
    pthread_cond_signal(condition)
  }

  func wakeAll() {
    #if DEBUG
      Scheduling.scheduler?.wake(address, all: true)
    #endif
    pthread_cond_broadcast(condition)
  }

  #if DEBUG
    private var address: UInt { UInt(bitPattern: condition) }

    /// Waits as a scheduled thread; returns false when the thread is not scheduled.
    private func waitScheduled(
      _ mutex: UnsafeMutablePointer<pthread_mutex_t>, milliseconds: Int?
    ) -> Bool {
      guard let scheduler = Scheduling.scheduler else { return false }
      pthread_mutex_unlock(mutex)
      scheduler.wait(UInt(bitPattern: mutex), on: address, milliseconds: milliseconds)
      pthread_mutex_lock(mutex)
      return true
    }
  #endif
}
