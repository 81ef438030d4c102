import Base

@testable import Engine

/// Runs `body` on a thread beside the caller.
final class Background: @unchecked Sendable {
  // @unchecked: `failure` is written before the thread ends and read after it was joined.
  private var failure: (any Error)?
  private var thread: Base.Thread?

  init(_ body: @escaping @Sendable () throws -> Void) throws {
    thread = try Base.Thread(name: "background") { [self] in
      do { try body() } catch { failure = error }
    }
  }

  /// What `body` returns on a thread beside the caller.
  static func run<Output: Sendable>(_ body: @escaping @Sendable () throws -> Output) throws
    -> Output?
  {
    let output = Shared<Output>()
    try Background { output.append(try body()) }.join()
    return output.list.first
  }

  /// Waits for the thread's end and throws what `body` threw.
  func join() throws {
    thread?.join()
    if let failure { throw failure }
  }
}

/// A list that several threads add to.
final class Shared<Element: Sendable>: @unchecked Sendable {
  // @unchecked: guarded by `lock`.
  private let lock = Lock()
  private var elements: [Element] = []
  var list: [Element] { lock.withLock { elements } }
  func append(_ element: Element) { lock.withLock { elements.append(element) } }

  /// Waits until there are `count` elements; false when that takes longer than `seconds`.
  func wait(for count: Int, seconds: Int = 20) -> Bool {
    for _ in 0..<seconds * 500 {
      if list.count >= count { return true }
      System.sleep(milliseconds: 2)
    }
    return false
  }
}
