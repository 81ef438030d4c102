import Base
import Synchronization

@testable import Engine

/// The problems that a scenario's threads have found.
final class Problems: Sendable {
  private let found = Mutex<[String]>([])

  var first: String? { found.withLock(\.first) }

  func note(_ problem: String) { found.withLock { $0.append(problem) } }

  /// Notes an error that `body` throws.
  func watch(_ body: () throws -> Void) {
    do { try body() } catch { note("\(error)") }
  }
}

extension Scheduling {
  /// A switch point at which a scenario's thread has nothing to do.
  static func idle() { reach(.call(SwitchPoint.nothing, changes: false, isLong: true)) }
}
