import Base
import Engine

/// A value that several threads change. The standard library's `Mutex` would do, but
/// ThreadSanitizer does not see what it guards, and reports it.
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
