import Base
import Engine

/// How far tests look that could look for ever: as the environment says.
package enum Effort {
  /// `SHEAF_LONG=1`: as far as minutes or hours allow.
  package static let isLong = System.environment("SHEAF_LONG") == "1"
  /// `SHEAF_SHORT=1`, 2, 3 or 4: a quarter of the usual, each another one, for sanitizers, under which each
  /// step takes many times as long.
  package static let isShort = quarter != nil
  private static let quarter = System.environment("SHEAF_SHORT").flatMap { Int($0) }.map {
    ($0 &- 1) & 3
  }

  /// One in so many of what is tried one by one.
  package static var stride: Int { isShort ? 32 : 1 }

  /// How often: usually, and in a long run.
  package static func rounds(_ usual: Int, long: Int) -> Int {
    isLong ? long : max(1, isShort ? usual / 4 : usual)
  }

  /// From one to the next of many places: each of them in a long run, a quarter of the usual in a short one.
  package static func step(_ usual: Int) -> Int { isLong ? 1 : isShort ? usual * 4 : usual }

  /// Which ways: all, of which a short run takes one of every four, and one at least.
  package static func some<Way>(_ usual: [Way]) -> [Way] {
    guard let quarter, !usual.isEmpty else { return usual }
    let first = quarter % usual.count
    return usual.indices.filter { $0 % 4 == first % 4 }.map { usual[$0] }
  }

  /// Which histories: all of these, of which a short run takes every fourth.
  package static func seeds(_ usual: Range<UInt64>) -> [UInt64] { some(Array(usual)) }
}
