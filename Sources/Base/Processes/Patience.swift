/// One wait for a lock, in pauses, since the system has no timeout for a wait for a file lock. The time
/// counts from the first pause.
package struct Patience {
  /// Why a wait ended.
  package enum Refusal: Error, Sendable, Equatable {
    /// Others still hold the lock.
    case busy
    /// `shouldStop` returned true.
    case cancelled
  }

  /// How long the wait may take, in seconds.
  package let limit: Double
  /// Nil after its call.
  package private(set) var notice: (@Sendable (String) -> Void)?
  package let shouldStop: (@Sendable () -> Bool)?
  private var began: UInt64?
  private var microseconds = Self.firstPause

  /// Others usually hold a lock for less time than a commit takes, and otherwise perhaps for minutes.
  private static let firstPause: UInt32 = 50
  private static let longestPause: UInt32 = 20_000
  private static let noticeSeconds = 1.0

  /// - Parameters:
  ///   - seconds: the maximum wait; infinity: no limit.
  ///   - least: the least limit in seconds, whatever `seconds` says.
  ///   - notice: called once, after a second, with the cause of the wait.
  ///   - shouldStop: called during the wait; true ends it.
  package init(
    seconds: Double, least: Double = 0, notice: (@Sendable (String) -> Void)? = nil,
    shouldStop: (@Sendable () -> Bool)? = nil
  ) {
    // NaN is no time.
    limit = seconds > least ? seconds : least
    self.notice = notice
    self.shouldStop = shouldStop
  }

  /// The duration of the wait so far, in seconds.
  package var seconds: Double {
    began.map { Double(System.monotonicNanoseconds &- $0) / 1e9 } ?? 0
  }

  /// Pauses briefly.
  ///
  /// - Parameter what: the cause of the wait.
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
