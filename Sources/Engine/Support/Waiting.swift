import Base

/// For how long to wait for what other processes or handles have, and who is told.
///
/// Thread rule: a plain value, `Sendable`.
public struct Waiting: Sendable {
  /// The most seconds; infinity: as long as it takes. What everybody has for a moment, as who opens
  /// a file does, is waited for a tenth of a second at least.
  public var seconds: Double
  /// Told once, after a second, what is waited for, in words that go on behind "waiting for".
  public var notice: (@Sendable (String) -> Void)?
  /// Asked while it waits: true ends it, with `EngineError.cancelled`.
  public var shouldStop: (@Sendable () -> Bool)?

  /// - Parameters:
  ///   - seconds: the most; infinity: as long as it takes.
  ///   - notice: told once, after a second, what is waited for.
  ///   - shouldStop: asked while it waits: true ends it.
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
  /// - Parameter least: seconds that it takes at least, whatever `waiting` says.
  package init(_ waiting: Waiting, least: Double = 0) {
    self.init(
      seconds: waiting.seconds, least: least, notice: waiting.notice,
      shouldStop: waiting.shouldStop)
  }

  /// What is left of the time, for another wait.
  package var rest: Waiting {
    Waiting(seconds: max(0, limit - seconds), notice: notice, shouldStop: shouldStop)
  }
}
