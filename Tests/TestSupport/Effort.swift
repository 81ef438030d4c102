import Base
import Engine

/// How far open-ended tests search, as the environment says.
package enum Effort {
  /// `SHEAF_LONG=1`: for minutes or hours.
  package static let isLong = System.environment("SHEAF_LONG") == "1"
  /// `SHEAF_SHORT=1`, 2, 3 or 4: a quarter of the usual cases, each a different one, for sanitizers,
  /// under which each step takes many times as long.
  package static let isShort = quarter != nil
  private static let quarter = System.environment("SHEAF_SHORT").flatMap { Int($0) }.map {
    ($0 &- 1) & 3
  }

  /// Tests of single cases try one of as many.
  package static var stride: Int { isShort ? 32 : 1 }

  /// The number of rounds, usually and in a long run.
  package static func rounds(_ usual: Int, long: Int) -> Int {
    isLong ? long : max(1, isShort ? usual / 4 : usual)
  }

  /// The step between tested places: 1 in a long run, four times the usual one in a short run.
  package static func step(_ usual: Int) -> Int { isLong ? 1 : isShort ? usual * 4 : usual }

  /// The ways to test: all, or in a short run one of every four, and at least one.
  package static func some<Way>(_ usual: [Way]) -> [Way] {
    guard let quarter, !usual.isEmpty else { return usual }
    let first = quarter % usual.count
    return usual.indices.filter { $0 % 4 == first % 4 }.map { usual[$0] }
  }

  /// The seeds to test: all, or in a short run every fourth.
  package static func seeds(_ usual: Range<UInt64>) -> [UInt64] { some(Array(usual)) }
}
