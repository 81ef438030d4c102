/// SplitMix64 (Steele, Lea, Flood 2014): a 64-bit state, one addition and a mix per number.
///
/// Integer arithmetic only, so a seed gives the same numbers on every machine.
struct RandomSource: Sendable {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// 32 bits; also used as a position in a distribution, 0 the start and 2^32 the end.
  mutating func next32() -> UInt32 { UInt32(truncatingIfNeeded: next() >> 32) }

  /// A number from 0 up to, not including, `limit`, which is 1 to 2^32.
  mutating func below(_ limit: Int) -> Int {
    Int((UInt64(next32()) &* UInt64(limit)) >> 32)
  }

  /// True `count` times in 10,000.
  mutating func chance(_ count: Int) -> Bool { below(10_000) < count }
}
