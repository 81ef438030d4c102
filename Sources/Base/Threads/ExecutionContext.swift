import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Where code runs: a thread, or a tagged serial dispatch queue. Both share one numbering; unlike the
/// system's thread handles, a number is never reused.
///
/// Thread rule: any thread.
package struct ExecutionContext: Sendable, Hashable {
  private let number: UInt64

  private static let lastNumber = Atomic<UInt64>(0)

  private static func next() -> UInt64 {
    lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  }

  // MARK: Threads

  /// Nil when the process has no free key.
  private static let threadKey: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// For a thread that cannot get a number: the system's handle, which no other living thread has. The
  /// highest bit distinguishes it from numbers.
  private static var handle: ExecutionContext {
    #if canImport(Darwin)
      let handle = UInt64(UInt(bitPattern: pthread_self()))
    #else
      let handle = UInt64(pthread_self())
    #endif
    return ExecutionContext(number: handle | 1 << 63)
  }

  /// The calling thread.
  package static var thread: ExecutionContext {
    guard let threadKey else { return handle }
    if let known = pthread_getspecific(threadKey) {
      return ExecutionContext(number: UInt64(UInt(bitPattern: known)))
    }
    let number = next()
    guard pthread_setspecific(threadKey, UnsafeRawPointer(bitPattern: UInt(number))) == 0 else {
      return handle
    }
    return ExecutionContext(number: number)
  }

  /// True on the thread, or while the queue's work runs.
  package var isHere: Bool { Self.thread == self || Self.queue == self }

  /// The tagged queue whose work the calling thread runs, or otherwise the thread.
  package static var here: ExecutionContext { queue ?? thread }

  // MARK: Queues

  private static let queueKey = DispatchSpecificKey<UInt64>()
  private static let lock = Lock()

  /// Tags a queue permanently.
  package static func tag(_ queue: DispatchQueue) -> ExecutionContext {
    lock.withLock {
      if let known = queue.getSpecific(key: queueKey) { return ExecutionContext(number: known) }
      let number = next()
      queue.setSpecific(key: queueKey, value: number)
      return ExecutionContext(number: number)
    }
  }

  private static let main = tag(.main)

  /// True on the main thread, and whenever the main queue's work runs.
  package static var isMain: Bool {
    // The queue must be tagged before the comparison.
    let main = main
    return queue == main
  }

  /// The tagged queue whose work the calling thread runs; nil on other queues and threads.
  package static var queue: ExecutionContext? {
    DispatchQueue.getSpecific(key: queueKey).map { ExecutionContext(number: $0) }
  }
}
