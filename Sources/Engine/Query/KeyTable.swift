import Base

/// Numbers distinct byte strings from 0, in the order of their first occurrence.
///
/// Open addressing: the standard dictionary would make an array for each string that is only looked up. A
/// table of many strings is larger than a processor's caches, and each look at another place of memory takes
/// longer than all else. So a slot has a part of the hash, and all of a short string; only long ones are in
/// an arena.
struct KeyTable {
  private struct Slot {
    /// The upper half of the hash, whose highest bits are the place, above the number of the string + 1; 0
    /// for an empty slot.
    var tag: UInt64 = 0
    var text = Text()
  }

  /// A string of up to 15 bytes with its length in the last byte; or the place and length of a longer one,
  /// with `isLong` in the last byte.
  private struct Text: Equatable {
    var low: UInt64 = 0
    var high: UInt64 = 0

    static let isLong = UInt64(0xFF) << 56
  }

  private static let mostShort = 15
  private static let upper = UInt64.max << 32

  private(set) var count = 0
  private var slots = [Slot](repeating: Slot(), count: 64)
  /// By how many bits a hash is shifted to get a place.
  private var shift: UInt64 = 58
  private var arena: [UInt8] = []
  /// Random, so that nobody can write strings which all have one place. The numbers do not depend on it.
  let seed: UInt64

  init(seed: UInt64 = .random(in: .min ... .max)) { self.seed = seed }

  /// The number of a string.
  mutating func number(of key: [UInt8]) -> Int {
    key.withUnsafeBytes { number(of: $0) }
  }

  private mutating func number(of key: UnsafeRawBufferPointer) -> Int {
    let hash = Checksum.of(key, seed: seed)
    let short = key.count <= Self.mostShort ? Self.short(key) : nil
    var place = Int(truncatingIfNeeded: hash >> shift)
    while true {
      let slot = slots[place]
      if slot.tag == 0 { break }
      if (slot.tag ^ hash) & Self.upper == 0,
        short.map({ $0 == slot.text }) ?? isLong(slot.text, key)
      {
        return Int(truncatingIfNeeded: slot.tag & ~Self.upper) - 1
      }
      place = (place + 1) & (slots.count - 1)
    }
    count += 1
    slots[place] = Slot(
      tag: hash & Self.upper | UInt64(UInt32(count)), text: short ?? storeLong(key))
    if count * 2 > slots.count { grow() }
    return count - 1
  }

  private static func short(_ key: UnsafeRawBufferPointer) -> Text {
    let view = SpellingView(key)
    return Text(
      low: view.firstWord,
      high: (key.count > 8 ? view.word(at: 8) : 0) | UInt64(key.count) << 56)
  }

  private mutating func storeLong(_ key: UnsafeRawBufferPointer) -> Text {
    let start = arena.count
    arena.append(contentsOf: key)
    return Text(low: UInt64(start), high: UInt64(key.count) | Text.isLong)
  }

  /// Whether a slot's string is a long one.
  private func isLong(_ text: Text, _ key: UnsafeRawBufferPointer) -> Bool {
    guard text.high == UInt64(key.count) | Text.isLong else { return false }
    let start = Int(text.low)
    return arena.withUnsafeBytes {
      Bytes.areEqual(UnsafeRawBufferPointer(rebasing: $0[start..<start + key.count]), key)
    }
  }

  private mutating func grow() {
    let old = slots
    slots = [Slot](repeating: Slot(), count: old.count * 2)
    shift -= 1
    for slot in old where slot.tag != 0 {
      var place = Int(truncatingIfNeeded: slot.tag >> shift)
      while slots[place].tag != 0 { place = (place + 1) & (slots.count - 1) }
      slots[place] = slot
    }
  }
}
