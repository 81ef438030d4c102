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

/// One wait, in pauses: the system knows no end of a wait for a lock. It begins with the first pause.
package struct Patience {
  /// What ended a wait.
  package enum Refusal: Error, Sendable, Equatable {
    /// Others have it still.
    case busy
    /// `Waiting.shouldStop` said so.
    case cancelled
  }

  private let waiting: Waiting
  /// How long it may take, in seconds.
  package let limit: Double
  private var began: UInt64?
  private var microseconds = Self.firstPause
  private var hasTold = false

  /// Others mostly have it for less than a commit takes; if not, they may for minutes.
  private static let firstPause: UInt32 = 50
  private static let longestPause: UInt32 = 20_000
  private static let noticeSeconds = 1.0

  /// - Parameter least: seconds that it takes at least, whatever `waiting` says.
  package init(_ waiting: Waiting, least: Double = 0) {
    self.waiting = waiting
    // No number is no time.
    limit = waiting.seconds > least ? waiting.seconds : least
  }

  /// How long it has taken.
  package var seconds: Double {
    began.map { Double(System.monotonicNanoseconds &- $0) / 1e9 } ?? 0
  }

  /// What is left of the time, for another wait.
  package var rest: Waiting {
    var rest = waiting
    rest.seconds = max(0, limit - seconds)
    if hasTold { rest.notice = nil }
    return rest
  }

  /// Lets a moment pass.
  ///
  /// - Parameter what: what is waited for.
  package mutating func pause(_ what: () -> String) throws(Refusal) {
    if began == nil { began = System.monotonicNanoseconds }
    if waiting.shouldStop?() == true { throw .cancelled }
    let passed = seconds
    if passed >= limit { throw .busy }
    if passed >= Self.noticeSeconds, !hasTold {
      hasTold = true
      waiting.notice?(what())
    }
    let left = min((limit - passed) * 1e6, Double(microseconds))
    System.sleep(microseconds: UInt32(left.rounded(.up)))
    microseconds = min(microseconds * 2, Self.longestPause)
  }
}
