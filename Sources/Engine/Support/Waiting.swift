import Base

/// How long to wait for locks of other processes or handles, and how to report the wait.
///
/// Thread rule: a plain value, `Sendable`.
public struct Waiting: Sendable {
  /// The maximum wait in seconds; infinity: no limit. Locks that are held only for moments, as while opening
  /// a file, are waited for at least a tenth of a second.
  public var seconds: Double
  /// Called once, after a second, with the cause of the wait, in words that continue "waiting for".
  public var notice: (@Sendable (String) -> Void)?
  /// Called during the wait; true ends it with `EngineError.cancelled`.
  public var shouldStop: (@Sendable () -> Bool)?

  /// - Parameters:
  ///   - seconds: the maximum wait; infinity: no limit.
  ///   - notice: called once, after a second, with the cause of the wait, in words that continue "waiting
  ///     for".
  ///   - shouldStop: called during the wait; true ends it.
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
  /// - Parameter least: the least limit in seconds, whatever `waiting` says.
  package init(_ waiting: Waiting, least: Double = 0) {
    self.init(
      seconds: waiting.seconds, least: least, notice: waiting.notice,
      shouldStop: waiting.shouldStop)
  }

  /// The remaining time, for another wait.
  package var rest: Waiting {
    Waiting(seconds: max(0, limit - seconds), notice: notice, shouldStop: shouldStop)
  }
}
