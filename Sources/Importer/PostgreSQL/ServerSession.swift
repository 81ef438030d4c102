import Base

/// A server that is worked with until it is done: the connection is made when it is needed, and made anew
/// when it was lost.
///
/// Thread rule: one thread at a time.
final class ServerSession {
  let target: any ServerAccess
  private let retrySeconds: Double
  /// Whether failures that may pass are to be thrown now.
  private let isStopping: @Sendable () -> Bool
  /// Whether even an answer that is under way is not waited for.
  private let isAbandoned: @Sendable () -> Bool
  private var connection: (any ServerLink)?
  private var hasConnected: Bool
  /// How often it has connected.
  private(set) var connections = 0

  /// - Parameters:
  ///   - retrySeconds: for how long failures that may pass are retried.
  ///   - hasConnected: whether the server was there already, so that one that is not is waited for.
  ///   - isStopping: asked between tries and while connecting: true ends them.
  ///   - isAbandoned: asked while the server is silent: true gives it up.
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

  /// Ends the connection; what is not committed is rolled back.
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

  /// Does something on the server, again where it fails in a way that may pass.
  ///
  /// - Parameter work: which may be done any number of times, whatever became of a try before. It need not
  ///   end a transaction that it leaves by an error.
  /// - Throws: `ServerError`, and what else `work` throws.
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

/// Pauses between tries, each about twice as long as the one before and no two alike, so that those who
/// failed together do not come back together.
struct Backoff {
  private let end: UInt64
  private var milliseconds = 50
  /// Who was stopped for longer than that tries once more, and hears what became of its input.
  private var isFirst: Bool

  private static let longest = 2000

  init(seconds: Double) {
    end = System.monotonicNanoseconds &+ UInt64(max(0, min(seconds, 1e9)) * 1e9)
    isFirst = seconds > 0
  }

  /// Waits; false when the time is over, or `isStopping` says so.
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
