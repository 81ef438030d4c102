#if DEBUG
  import Synchronization

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// A step that a thread will take next; another thread may run before it.
  package struct SwitchPoint: Sendable {
    /// What the step uses: an address or, for system calls, a number for the file or lock.
    package let object: UInt
    /// True when other threads can see its effect, unlike that of a read.
    package let changes: Bool
    /// True when the step, or the thread's idle time, is so long that switching to others here is not an
    /// interruption.
    package let isLong: Bool
    /// True when it is part of a larger step, which a coarse grain does not divide.
    package let isFine: Bool

    package static func word(_ address: UInt, changes: Bool) -> SwitchPoint {
      SwitchPoint(object: address, changes: changes, isLong: false, isFine: true)
    }

    /// Several words that are read or changed together, such as those of a version.
    package static func words(_ address: UnsafeRawPointer, changes: Bool) -> SwitchPoint {
      SwitchPoint(object: UInt(bitPattern: address), changes: changes, isLong: false, isFine: false)
    }

    /// A system call on `object`: a number below 4096, which is no word's address.
    package static func call(_ object: UInt, changes: Bool, isLong: Bool = false) -> SwitchPoint {
      SwitchPoint(object: object, changes: changes, isLong: isLong, isFine: false)
    }

    /// The page of a file that contains an offset.
    package static func contents(of file: UInt64 = 0, at offset: Int) -> UInt {
      1 << 62 | UInt(truncatingIfNeeded: file & 0x3FFF_FFFF) << 32
        | UInt(truncatingIfNeeded: offset >> 12) & 0xFFFF_FFFF
    }

    /// The kernel's locks on ranges of files.
    package static let fileLocks: UInt = 1
    /// Nothing shared: a pause.
    package static let nothing: UInt = 3
  }

  /// Decides which of its threads runs. Tests have one; release builds have none, and do not compile the
  /// calls below.
  ///
  /// Thread rule: called by the scheduled thread that the call concerns.
  package protocol ThreadScheduler: AnyObject, Sendable {
    /// Returns when the calling thread may take the step.
    func reach(_ point: SwitchPoint)
    /// Returns when no other scheduled thread has the lock; the caller then has it.
    func lock(_ lock: UInt)
    func unlock(_ lock: UInt)
    /// Releases the lock, and returns with it after `wake` of the condition or after the timeout.
    func wait(_ lock: UInt, on condition: UInt, milliseconds: Int?)
    /// Wakes one or all of the threads that wait on the condition.
    func wake(_ condition: UInt, all: Bool)
    /// Returns after other threads have run; the caller then checks again.
    func pause(milliseconds: Int)
    /// Called by a thread that starts another; returns the new thread's number.
    func start() -> Int
    /// Called by the new thread, at its beginning and at its end.
    func began(_ thread: Int)
    func ended()
    /// Returns when the thread has ended.
    func join(_ thread: Int)
    /// A clock that advances only while all threads wait.
    var nanoseconds: UInt64 { get }
  }

  /// The scheduler of the calling thread.
  package enum Scheduling {
    /// The number of threads with a scheduler; while it is 0, the check costs one load.
    private static let threads = Atomic<Int>(0)

    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      precondition(pthread_key_create(&key, nil) == 0, "a test needs a thread key")
      return key
    }()

    @inline(__always)
    package static var scheduler: (any ThreadScheduler)? {
      threads.load(ordering: .relaxed) == 0 ? nil : known
    }

    private static var known: (any ThreadScheduler)? {
      guard let pointer = pthread_getspecific(key) else { return nil }
      return Unmanaged<Known>.fromOpaque(pointer).takeUnretainedValue().scheduler
    }

    private final class Known: Sendable {
      let scheduler: any ThreadScheduler
      init(_ scheduler: any ThreadScheduler) { self.scheduler = scheduler }
    }

    /// Runs `body` with the calling thread scheduled.
    package static func run(_ thread: Int, of scheduler: any ThreadScheduler, _ body: () -> Void) {
      let known = Unmanaged.passRetained(Known(scheduler))
      pthread_setspecific(key, known.toOpaque())
      threads.wrappingAdd(1, ordering: .sequentiallyConsistent)
      scheduler.began(thread)
      body()
      scheduler.ended()
      threads.wrappingSubtract(1, ordering: .sequentiallyConsistent)
      pthread_setspecific(key, nil)
      known.release()
    }

    /// Runs `body` without scheduling the calling thread, for the test's own work.
    package static func without<Result>(_ body: () throws -> Result) rethrows -> Result {
      let known = pthread_getspecific(key)
      pthread_setspecific(key, nil)
      defer { pthread_setspecific(key, known) }
      return try body()
    }

    @inline(__always)
    package static func reach(_ point: @autoclosure () -> SwitchPoint) {
      if let scheduler { scheduler.reach(point()) }
    }
  }
#endif
