import Base

/// How long to wait for locks of other processes or handles, and whom to tell.
///
/// Thread rule: a plain value, `Sendable`.
public struct Waiting: Sendable {
  /// The longest wait in seconds; infinity: as long as it takes. Locks that everybody holds only for a
  /// moment, such as while opening a file, are waited for at least a tenth of a second.
  public var seconds: Double
  /// Called once, after a second, with the cause of the wait, in words that continue "waiting for".
  public var notice: (@Sendable (String) -> Void)?
  /// Asked during the wait: true ends it, with `EngineError.cancelled`.
  public var shouldStop: (@Sendable () -> Bool)?

  /// - Parameters:
  ///   - seconds: the longest wait; infinity: as long as it takes.
  ///   - notice: called once, after a second, with the cause of the wait, in words that continue "waiting
  ///     for".
  ///   - shouldStop: asked during the wait: true ends it.
  public init(
    seconds: Double = 60, notice: (@Sendable (String) -> Void)? = nil,
    shouldStop: (@Sendable () -> Bool)? = nil
  ) {
    self.seconds = seconds
    self.notice = notice
    self.shouldStop = shouldStop
  }
}

extension Patience {
  /// - Parameter least: the shortest limit in seconds, whatever `waiting` says.
  package init(_ waiting: Waiting, least: Double = 0) {
    self.init(
      seconds: waiting.seconds, least: least, notice: waiting.notice,
      shouldStop: waiting.shouldStop)
  }

  /// The rest of the time, for another wait.
  package var rest: Waiting {
    Waiting(seconds: max(0, limit - seconds), notice: notice, shouldStop: shouldStop)
  }
}
