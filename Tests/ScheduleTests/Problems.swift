import Base
import Synchronization

@testable import Engine

/// What the threads of a scenario have found wrong.
final class Problems: Sendable {
  private let found = Mutex<[String]>([])

  var first: String? { found.withLock(\.first) }

  func note(_ problem: String) { found.withLock { $0.append(problem) } }

  /// Notes what `body` throws.
  func watch(_ body: () throws -> Void) {
    do { try body() } catch { note("\(error)") }
  }
}

extension Scheduling {
  /// A moment at which a scenario's thread has nothing to do, and others go on.
  static func idle() { reach(.call(SwitchPoint.nothing, changes: false, isLong: true)) }
}
