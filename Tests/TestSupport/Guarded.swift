import Base
import Engine

/// A value that several threads change. ThreadSanitizer does not see what the standard library's
/// `Mutex` guards, and would report it.
package final class Guarded<Value>: @unchecked Sendable {
  // @unchecked: guarded by `lock`.
  private let lock = Lock()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
