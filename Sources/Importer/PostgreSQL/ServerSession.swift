import Base

/// A session that reconnects: it connects at the first use, and again after the connection was lost.
///
/// Thread rule: one thread at a time.
final class ServerSession {
  let target: any ServerAccess
  private let retrySeconds: Double
  /// Returns true to throw transient failures instead of trying again.
  private let isStopping: @Sendable () -> Bool
  /// Returns true to stop waiting even for an answer under way.
  private let isAbandoned: @Sendable () -> Bool
  private var connection: (any ServerLink)?
  private var hasConnected: Bool
  /// How many times it has connected.
  private(set) var connections = 0

  /// - Parameters:
  ///   - retrySeconds: how long transient failures are retried.
  ///   - hasConnected: true when the server was reachable before; a failed connection is then retried.
  ///   - isStopping: called between tries and while connecting; true ends them.
  ///   - isAbandoned: called while the server is silent; true closes the connection.
  init(
    _ target: any ServerAccess, retrySeconds: Double, hasConnected: Bool = false,
    isStopping: @escaping @Sendable () -> Bool, isAbandoned: @escaping @Sendable () -> Bool
  ) {
    self.target = target
    self.retrySeconds = retrySeconds
    self.hasConnected = hasConnected
    self.isStopping = isStopping
    self.isAbandoned = isAbandoned
  }

  /// Closes the connection; the server rolls an open transaction back.
  func close() {
    connection?.close()
    connection = nil
  }

  private func connected() throws(ServerError) -> any ServerLink {
    if let connection, connection.isOpen { return connection }
    connection?.close()
    let new = try target.connect(
      silence: LoadPlan.silence, isStopping: isStopping, isCancelled: isAbandoned)
    connection = new
    hasConnected = true
    connections += 1
    return new
  }

  /// Runs `work` on the server, and again when it fails with a transient error.
  ///
  /// - Parameter work: may run any number of times, however an earlier try ended. When it throws, the session
  ///   rolls its transaction back.
  /// - Throws: `ServerError`, and whatever else `work` throws.
  func use<Result>(_ work: (any ServerLink) throws -> Result) throws -> Result {
    var backoff = Backoff(seconds: retrySeconds)
    while true {
      do {
        return try work(try connected())
      } catch {
        connection?.rollBack()
        guard let failure = error as? ServerError, mayPass(failure), backoff.pause(isStopping)
        else {
          throw error
        }
      }
    }
  }

  private func mayPass(_ failure: ServerError) -> Bool {
    switch failure.kind {
    case .interrupted, .usage, .missing, .data: return false
    case .busy, .inputOutput: break
    }
    if let state = failure.sqlState { return SQLState(state).isTransient }
    return failure.isDisconnected && hasConnected
  }
}

@available(*, unavailable)
extension ServerSession: Sendable {}

/// Pauses between tries, each about twice as long as the one before and partly random, so that clients that
/// failed together do not return together.
struct Backoff {
  private let end: UInt64
  private var milliseconds = 50
  /// A process that was stopped for longer than the limit tries once more, to learn the state of its input.
  private var isFirst: Bool

  private static let longest = 2000

  init(seconds: Double) {
    end = System.monotonicNanoseconds &+ UInt64(max(0, min(seconds, 1e9)) * 1e9)
    isFirst = seconds > 0
  }

  /// Waits; false when the time is over, or `isStopping` returns true.
  mutating func pause(_ isStopping: () -> Bool) -> Bool {
    let pause = System.jitter(milliseconds / 2...milliseconds)
    milliseconds = min(2 * milliseconds, Self.longest)
    defer { isFirst = false }
    var left = pause
    while left > 0 {
      if isStopping() || (!isFirst && System.monotonicNanoseconds >= end) { return false }
      let slice = min(left, 50)
      System.sleep(milliseconds: UInt32(slice))
      left -= slice
    }
    return true
  }
}
