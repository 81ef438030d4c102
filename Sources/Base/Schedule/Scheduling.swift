#if DEBUG
  import Synchronization

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// A step that a thread is about to take; another thread may go first.
  package struct SwitchPoint: Sendable {
    /// The thing that the step uses: an address, or, for system calls, a number for the file or lock
    /// concerned.
    package let object: UInt
    /// Whether other threads can see its effect; they cannot see a mere read.
    package let changes: Bool
    /// Whether the step takes so long, or the thread is idle for so long, that switching to others here is no
    /// interruption.
    package let isLong: Bool
    /// Whether it is part of a larger step; a coarse grain does not divide that step.
    package let isFine: Bool

    package static func word(_ address: UInt, changes: Bool) -> SwitchPoint {
      SwitchPoint(object: address, changes: changes, isLong: false, isFine: true)
    }

    /// Several words that are read or changed together, such as a version's.
    package static func words(_ address: UnsafeRawPointer, changes: Bool) -> SwitchPoint {
      SwitchPoint(object: UInt(bitPattern: address), changes: changes, isLong: false, isFine: false)
    }

    /// A system call on what `object` stands for: a number below 4096, where no word has its address.
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
    /// Nothing shared: a mere pause.
    package static let nothing: UInt = 3
  }

  /// Decides which of its threads runs. Tests have one; release builds have none, and do not compile the
  /// calls below.
  ///
  /// Thread rule: the scheduled thread that a call concerns makes it.
  package protocol ThreadScheduler: AnyObject, Sendable {
    /// Returns when the calling thread may take the step.
    func reach(_ point: SwitchPoint)
    /// Returns when no scheduled thread has the lock; the caller has it then.
    func lock(_ lock: UInt)
    func unlock(_ lock: UInt)
    /// Gives up the lock, and returns with it after `wake` of the condition, or after the timeout.
    func wait(_ lock: UInt, on condition: UInt, milliseconds: Int?)
    /// Wakes one or all of the threads that wait on the condition.
    func wake(_ condition: UInt, all: Bool)
    /// Returns after other threads have run: the caller can only look again.
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
    /// How many threads have a scheduler: while none has, the check costs one load.
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

    /// Runs `body` with the calling thread not scheduled: for the test's own work.
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
