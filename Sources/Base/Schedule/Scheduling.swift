#if DEBUG
  import Synchronization

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// Something that a thread is about to do, before which another thread may go first.
  package struct SwitchPoint: Sendable {
    /// What it is done to: an address, or for calls a number that stands for what they look at or change.
    package let object: UInt
    /// Whether others can see that it was done; a mere look they cannot.
    package let changes: Bool
    /// Whether it takes so long, or the thread has nothing to do for so long, that others go on meanwhile:
    /// that interrupts nobody.
    package let isLong: Bool
    /// Whether it is a part of something that is a step by itself, where the grain is coarse.
    package let isFine: Bool

    package static func word(_ address: UInt, changes: Bool) -> SwitchPoint {
      SwitchPoint(object: address, changes: changes, isLong: false, isFine: true)
    }

    /// Several words that are read or changed together, as a version's are.
    package static func words(_ address: UnsafeRawPointer, changes: Bool) -> SwitchPoint {
      SwitchPoint(object: UInt(bitPattern: address), changes: changes, isLong: false, isFine: false)
    }

    /// A call of the kernel's about what `object` numbers, below 4096, where no word has its address.
    package static func call(_ object: UInt, changes: Bool, isLong: Bool = false) -> SwitchPoint {
      SwitchPoint(object: object, changes: changes, isLong: isLong, isFine: false)
    }

    /// What a file has in the page of an offset.
    package static func contents(of file: UInt64 = 0, at offset: Int) -> UInt {
      1 << 62 | UInt(truncatingIfNeeded: file & 0x3FFF_FFFF) << 32
        | UInt(truncatingIfNeeded: offset >> 12) & 0xFFFF_FFFF
    }

    /// The kernel's locks on ranges of files.
    package static let fileLocks: UInt = 1
    /// The clock.
    package static let clock: UInt = 2
    /// Nothing that anybody shares: a mere moment.
    package static let nothing: UInt = 3
  }

  /// Decides which of its threads goes on. Tests have one; there is none in release builds, where the calls
  /// below are not compiled.
  ///
  /// Thread rule: every function is called by the scheduled thread that it is about.
  package protocol ThreadScheduler: AnyObject, Sendable {
    /// Returns when the calling thread may take the step.
    func reach(_ point: SwitchPoint)
    /// Returns when no scheduled thread has the lock; it is the caller's then.
    func lock(_ lock: UInt)
    func unlock(_ lock: UInt)
    /// Gives the lock up, and returns with it after `wake` of the condition, or once the time is over.
    func wait(_ lock: UInt, on condition: UInt, milliseconds: Int?)
    /// Wakes all that wait on the condition, or one.
    func wake(_ condition: UInt, all: Bool)
    /// Returns after other threads have gone on: the caller has nothing to do but to look again.
    func pause(milliseconds: Int)
    /// Called by a thread that starts another: what the other is known by.
    func start() -> Int
    /// Called by the new thread, first and last.
    func began(_ thread: Int)
    func ended()
    /// Returns when the thread has ended.
    func join(_ thread: Int)
    /// A clock that goes on only while all wait.
    var nanoseconds: UInt64 { get }
  }

  /// The scheduler of the calling thread.
  package enum Scheduling {
    /// How many threads have one: without any, looking for it costs one load.
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

    /// Runs `body` with the calling thread not scheduled: for what a test does by itself.
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
