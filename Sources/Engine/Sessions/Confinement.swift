import Base
import Dispatch

/// The place where a session may be used, and the way to run work there.
struct Confinement: Sendable {
  private let context: ExecutionContext
  private let isQueue: Bool
  /// Runs work there later; nil when work cannot be scheduled there.
  let schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

  /// The calling thread, which nothing can be scheduled on.
  static func thread() -> Confinement {
    Confinement(context: .thread, isQueue: false, schedule: nil)
  }

  /// The calling thread, which takes work through `schedule`.
  static func thread(
    _ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) -> Confinement {
    Confinement(context: .thread, isQueue: false, schedule: schedule)
  }

  /// A serial queue.
  static func queue(_ queue: DispatchQueue) -> Confinement {
    Confinement(context: .tag(queue), isQueue: true) { work in
      // Makes no difference on a serial queue; on a concurrent one the work runs alone.
      queue.async(flags: .barrier, execute: work)
    }
  }

  /// Only their labels tell the system's own concurrent queues from a serial one, and they must not be
  /// tagged.
  ///
  /// - Throws: `EngineError.invalidArgument`.
  static func checkQueue(_ queue: DispatchQueue) throws(EngineError) {
    guard queue.label.hasPrefix("com.apple.root.") else { return }
    throw .invalidArgument(
      "a session needs a serial queue, and '\(queue.label)' is a global one; make a queue of your own"
    )
  }

  /// On the main thread the main queue; elsewhere the calling thread.
  static func current() -> Confinement {
    ExecutionContext.isMain ? .queue(.main) : .thread()
  }

  /// True on the thread or queue that it names.
  var isHere: Bool {
    isQueue ? ExecutionContext.queue == context : ExecutionContext.thread == context
  }

  /// - Parameter what: named by the error.
  /// - Throws: `EngineError.wrongThread` elsewhere.
  func check(_ what: @autoclosure () -> String) throws(EngineError) {
    if !isHere { throw .wrongThread(what: what()) }
  }
}
