import Dispatch

/// Where a session may be used, and how work gets there.
struct Confinement: Sendable {
  private let context: ExecutionContext
  private let isQueue: Bool
  /// Runs work there later; nil where nothing takes work.
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
    Confinement(context: .tag(queue), isQueue: true) { work in queue.async(execute: work) }
  }

  /// The main queue on its thread; any other thread by itself.
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
