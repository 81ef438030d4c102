import Base
import Dispatch

/// The thread or queue on which a session may be used, and how to run work there.
struct Confinement: Sendable {
  private let context: ExecutionContext
  private let isQueue: Bool
  /// Runs work there later; nil when work cannot be scheduled there.
  let schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

  /// The calling thread, on which nothing can be scheduled.
  static func thread() -> Confinement {
    Confinement(context: .thread, isQueue: false, schedule: nil)
  }

  /// The calling thread, which receives work through `schedule`.
  static func thread(
    _ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) -> Confinement {
    Confinement(context: .thread, isQueue: false, schedule: schedule)
  }

  /// A serial queue.
  static func queue(_ queue: DispatchQueue) -> Confinement {
    Confinement(context: .tag(queue), isQueue: true) { work in
      // No difference on a serial queue; on a concurrent one the work runs alone.
      queue.async(flags: .barrier, execute: work)
    }
  }

  /// Rejects the system's concurrent queues, which only their labels reveal; they must not be tagged.
  ///
  /// - Throws: `EngineError.invalidArgument`.
  static func checkQueue(_ queue: DispatchQueue) throws(EngineError) {
    guard queue.label.hasPrefix("com.apple.root.") else { return }
    throw .invalidArgument(
      "a session needs a serial queue, and '\(queue.label)' is a global one; make a queue of your own"
    )
  }

  /// The main queue on the main thread; elsewhere the calling thread.
  static func current() -> Confinement {
    ExecutionContext.isMain ? .queue(.main) : .thread()
  }

  /// True on this thread or queue.
  var isHere: Bool {
    isQueue ? ExecutionContext.queue == context : ExecutionContext.thread == context
  }

  /// - Parameter what: the subject of the error.
  /// - Throws: `EngineError.wrongThread` elsewhere.
  func check(_ what: @autoclosure () -> String) throws(EngineError) {
    if !isHere { throw .wrongThread(what: what()) }
  }
}
