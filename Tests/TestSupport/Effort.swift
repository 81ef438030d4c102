import Engine

/// How far tests look that could look for ever: as the environment says.
package enum Effort {
  /// `SHEAF_LONG=1`: as far as minutes or hours allow.
  package static let isLong = System.environment("SHEAF_LONG") == "1"
  /// `SHEAF_SHORT=1`: a part of the usual, for sanitizers, under which each step takes many times as long.
  package static let isShort = System.environment("SHEAF_SHORT") == "1"

  /// One in so many of what is tried one by one.
  package static var stride: Int { isShort ? 32 : 1 }

  /// How often: usually, and in a long run.
  package static func rounds(_ usual: Int, long: Int) -> Int {
    isLong ? long : max(1, isShort ? usual / 4 : usual)
  }

  /// Which ways: all, of which a short run takes the first of every four.
  package static func some<Way>(_ usual: [Way]) -> [Way] {
    isShort ? usual.indices.filter { $0 % 4 == 0 }.map { usual[$0] } : usual
  }

  /// Which histories: all of these, of which a short run takes every fourth.
  package static func seeds(_ usual: Range<UInt64>) -> [UInt64] {
    usual.filter { !isShort || ($0 - usual.lowerBound) % 4 == 0 }
  }
}
