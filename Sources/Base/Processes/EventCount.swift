// Waits for other processes, without polling. What differs between Linux and macOS is here and in
// System.swift.

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A count of events in memory that processes share, and threads that sleep until it changes.
///
/// Linux has futexes for this, macOS `os_sync_wait_on_address`; both find the sleepers by the place in the
/// file, whatever the addresses of its mappings. Where neither is permitted, a wait ends after a moment.
///
/// Nothing has to be opened, and so nothing closed: the system lets go of a file that it watches (inotify)
/// only after some milliseconds, for which `close` waits.
///
/// Thread rule: any thread of any process that maps the memory.
package struct EventCount: Sendable {
  /// What a wait has seen.
  package enum Outcome: Sendable {
    /// The count has changed, or may have.
    case changed
    case timedOut
    /// The system cannot wait here; that took a moment.
    case unknown
  }

  private let place: UInt

  /// How long a wait takes where the system cannot wait.
  private static let moment: Int32 = 50

  /// - Parameter memory: 8 aligned bytes that stay mapped; the count is in the first 4.
  package init(_ memory: UnsafeMutableRawPointer) { place = UInt(bitPattern: memory) }

  private var memory: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: place) }

  /// The events so far. Read it before what the events are about: a wait for a change since then misses none.
  package var count: UInt32 {
    memory.map { UInt32(truncatingIfNeeded: AtomicWord($0).load()) } ?? 0
  }

  /// Counts an event, and wakes all who wait for a change.
  package func advance() {
    guard let memory else { return }
    _ = AtomicWord(memory).increment()
    #if canImport(Darwin)
      _ = System.call(.watch) { darwinWakeAll(memory, 4, Self.shared) }
    #else
      _ = System.call(.watch) {
        linuxSystemCall(Self.futex, place, Self.wake, UInt(Int32.max), 0, 0, 0)
      }
    #endif
  }

  /// Waits until the count is no longer `count`, for at most some milliseconds.
  package func wait(past count: UInt32, milliseconds: Int32) -> Outcome {
    #if DEBUG
      // The system does not wake a scheduled thread: it checks, lets the others run, and checks again.
      if let scheduler = Scheduling.scheduler {
        if self.count == count { scheduler.pause(milliseconds: Int(milliseconds)) }
        return self.count == count ? .timedOut : .changed
      }
    #endif
    #if canImport(Darwin)
      let nanoseconds = UInt64(max(0, milliseconds)) * 1_000_000
      let result = System.call(.watch) {
        darwinWait(memory, UInt64(count), 4, Self.shared, Self.clock, nanoseconds)
      }
      let isOver = result < 0 && errno == ETIMEDOUT
      let isUnknown = result < 0 && !isOver && errno != EINTR
    #else
      var time = timespec(
        tv_sec: Int(milliseconds) / 1000, tv_nsec: Int(milliseconds) % 1000 * 1_000_000)
      let result = withUnsafePointer(to: &time) { time in
        System.call(.watch) {
          linuxSystemCall(
            Self.futex, place, Self.sleep, UInt(count), UInt(bitPattern: time), 0, 0)
        }
      }
      let isOver = result < 0 && errno == ETIMEDOUT
      // EAGAIN: the count had changed before. After a signal, an unnecessary check does no harm.
      let isUnknown = result < 0 && !isOver && errno != EAGAIN && errno != EINTR
    #endif
    if isOver { return .timedOut }
    guard isUnknown else { return .changed }
    System.sleep(milliseconds: UInt32(clamping: min(milliseconds, Self.moment)))
    return .unknown
  }

  #if canImport(Darwin)
    /// OS_SYNC_WAIT_ON_ADDRESS_SHARED and OS_SYNC_WAKE_BY_ADDRESS_SHARED; OS_CLOCK_MACH_ABSOLUTE_TIME.
    private static let shared: UInt32 = 1
    private static let clock: UInt32 = 32
  #else
    /// FUTEX_WAIT and FUTEX_WAKE, of memory that processes share.
    private static let sleep: UInt = 0
    private static let wake: UInt = 1

    /// The number of the system call; one that no system has where it is not known.
    private static var futex: Int {
      #if arch(x86_64)
        202
      #elseif arch(arm64) || arch(riscv64)
        98
      #else
        -1
      #endif
    }
  #endif
}
