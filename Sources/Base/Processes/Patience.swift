/// One wait, in pauses: the system knows no end of a wait for a lock. It begins with the first pause.
package struct Patience {
  /// What ended a wait.
  package enum Refusal: Error, Sendable, Equatable {
    /// Others have it still.
    case busy
    /// `shouldStop` said so.
    case cancelled
  }

  /// How long it may take, in seconds.
  package let limit: Double
  /// Nil once it was told.
  package private(set) var notice: (@Sendable (String) -> Void)?
  package let shouldStop: (@Sendable () -> Bool)?
  private var began: UInt64?
  private var microseconds = Self.firstPause

  /// Others mostly have it for less than a commit takes; if not, they may for minutes.
  private static let firstPause: UInt32 = 50
  private static let longestPause: UInt32 = 20_000
  private static let noticeSeconds = 1.0

  /// - Parameters:
  ///   - seconds: the most; infinity: as long as it takes.
  ///   - least: seconds that it takes at least, whatever `seconds` says.
  ///   - notice: told once, after a second, what is waited for.
  ///   - shouldStop: asked while it waits: true ends it.
  package init(
    seconds: Double, least: Double = 0, notice: (@Sendable (String) -> Void)? = nil,
    shouldStop: (@Sendable () -> Bool)? = nil
  ) {
    // No number is no time.
    limit = seconds > least ? seconds : least
    self.notice = notice
    self.shouldStop = shouldStop
  }

  /// How long it has taken.
  package var seconds: Double {
    began.map { Double(System.monotonicNanoseconds &- $0) / 1e9 } ?? 0
  }

  /// Lets a moment pass.
  ///
  /// - Parameter what: what is waited for.
  package mutating func pause(_ what: () -> String) throws(Refusal) {
    if began == nil { began = System.monotonicNanoseconds }
    if shouldStop?() == true { throw .cancelled }
    let passed = seconds
    if passed >= limit { throw .busy }
    if passed >= Self.noticeSeconds, let tell = notice {
      notice = nil
      tell(what())
    }
    let left = min((limit - passed) * 1e6, Double(microseconds))
    System.sleep(microseconds: UInt32(left.rounded(.up)))
    microseconds = min(microseconds * 2, Self.longestPause)
  }
}
