import Base
import Engine

/// How far open-ended tests search, as the environment says.
package enum Effort {
  /// `SHEAF_LONG=1`: for minutes or hours.
  package static let isLong = System.environment("SHEAF_LONG") == "1"
  /// `SHEAF_SHORT=1`, 2, 3 or 4: a quarter of the usual cases, each a different one; 1/8 to 8/8: an eighth,
  /// for sanitizers, under which each step takes many times as long.
  package static let isShort = part != nil
  /// Which of how many parts, from 0.
  private static let part = System.environment("SHEAF_SHORT").flatMap(part(named:))
  private static var parts: Int { part?.parts ?? 1 }

  private static func part(named text: String) -> (number: Int, parts: Int)? {
    let words = text.split(separator: "/").map { Int($0) }
    guard let number = words.first ?? nil else { return nil }
    let parts = words.count > 1 ? max(1, (words[1] ?? 4)) : 4
    return (((number &- 1) % parts + parts) % parts, parts)
  }

  /// Tests of single cases try one of as many.
  package static var stride: Int { isShort ? 32 : 1 }

  /// The number of rounds, usually and in a long run.
  package static func rounds(_ usual: Int, long: Int) -> Int {
    isLong ? long : max(1, usual / parts)
  }

  /// The step between tested places: 1 in a long run, four or eight times the usual one in a short run.
  package static func step(_ usual: Int) -> Int { isLong ? 1 : usual * parts }

  /// The ways to test: all, or in a short run one of every four or eight, and at least one.
  package static func some<Way>(_ usual: [Way]) -> [Way] {
    guard let part, !usual.isEmpty else { return usual }
    let first = part.number % usual.count
    return usual.indices.filter { $0 % part.parts == first % part.parts }.map { usual[$0] }
  }

  /// The seeds to test: all, or in a short run every fourth or eighth.
  package static func seeds(_ usual: Range<UInt64>) -> [UInt64] { some(Array(usual)) }
}
