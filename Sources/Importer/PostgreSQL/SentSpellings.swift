/// A cache of the text sent for each spelling of a column with a notation: the same few spellings recur, and
/// parsing a date in words takes longer than the rest of its row.
///
/// Thread rule: confined.
final class SentSpellings {
  /// The maximum number of slots, of 64 bytes each: for all columns of a table, and for one column.
  private static let slots = (all: 1 << 15, column: 1 << 13)
  /// Longer spellings and longer texts are not cached.
  private static let most = 30
  /// A slot holds the lengths of spelling and text, then both: a line of the processor's cache.
  private static let stride = 64
  private static let textStart = 32
  private let memory: UnsafeMutablePointer<UInt8>
  /// The shift that makes the upper bits of a hash the number of a slot.
  private let shift: UInt64

  /// - Parameter columns: the number of columns of the table that have a cache.
  init(columns: Int) {
    let share = min(Self.slots.column, Self.slots.all / max(1, columns))
    // A power of two, and at least two: a spelling is in one of two neighbouring slots.
    let bits = max(1, Int.bitWidth - 1 - max(1, share).leadingZeroBitCount)
    shift = UInt64(64 - bits)
    let count = Self.stride << bits
    memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: Self.stride)
      .initializeMemory(as: UInt8.self, repeating: 0, count: count)
  }

  deinit { memory.deallocate() }

  /// The number of the slot that is searched first, from the first and the last eight bytes of a spelling.
  /// The neighbouring slot is the second.
  @inline(__always)
  private func slot(_ field: UnsafeRawBufferPointer) -> Int {
    var ends = UInt64(field.count) &* 0x9E37_79B9_7F4A_7C15
    if field.count >= 8 {
      let last = field.loadUnaligned(fromByteOffset: field.count &- 8, as: UInt64.self)
      ends ^= field.loadUnaligned(as: UInt64.self) ^ (last << 29 | last >> 35)
    } else {
      for byte in field { ends = ends << 8 ^ ends >> 56 ^ UInt64(byte) }
    }
    // Multiplication carries differences to the upper bits.
    let hash = (ends ^ ends >> 32) &* 0xD6E8_FEB8_6659_FD93
    return Int(truncatingIfNeeded: hash &>> shift)
  }

  @inline(__always)
  private func place(_ slot: Int) -> UnsafeMutablePointer<UInt8> { memory + slot &* Self.stride }

  /// True when a slot has the spelling.
  @inline(__always)
  private static func isOf(
    _ slot: UnsafeMutablePointer<UInt8>, _ field: UnsafeRawBufferPointer
  ) -> Bool {
    if Int(slot[0]) != field.count { return false }
    let spelling = slot + 2
    if field.count < 8 {
      for index in 0..<field.count where spelling[index] != field[index] { return false }
      return true
    }
    let known = UnsafeRawPointer(spelling)
    func differs(_ index: Int) -> Bool {
      known.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        != field.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    }
    var index = 0
    while index < field.count &- 8 {
      if differs(index) { return false }
      index &+= 8
    }
    // The last eight bytes, some of which were compared before.
    return !differs(field.count &- 8)
  }

  /// The cached text of a spelling; nil when there is none. `surplus` bytes from its beginning on can be
  /// read.
  @inline(__always)
  func text(_ field: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard field.count > 0, field.count <= Self.most else { return nil }
    let number = slot(field)
    var slot = place(number)
    if !Self.isOf(slot, field) {
      slot = place(number ^ 1)
      guard Self.isOf(slot, field) else { return nil }
    }
    return UnsafeRawBufferPointer(start: slot + Self.textStart, count: Int(slot[1]))
  }

  /// The number of bytes that can be read from the beginning of any text, however short it is.
  static let surplus = stride - textStart

  /// Writes the cached text of a spelling; false when there is none.
  func write(_ field: UnsafeRawBufferPointer, to text: CopyText) -> Bool {
    guard let known = self.text(field) else { return false }
    text.writePlain(known)
    return true
  }

  /// Caches the text after `start` for a spelling.
  func note(_ field: UnsafeRawBufferPointer, _ text: CopyText, from start: Int) {
    guard field.count > 0, field.count <= Self.most else { return }
    let number = slot(field)
    let slot = place(number)
    text.withBytes(from: start) { sent in
      guard sent.count <= Self.most else { return }
      // The present spelling of this slot replaces that of its neighbour.
      if slot[0] != 0 { place(number ^ 1).update(from: slot, count: Self.stride) }
      slot[0] = UInt8(field.count)
      slot[1] = UInt8(sent.count)
      for index in 0..<field.count { slot[2 + index] = field[index] }
      for index in 0..<sent.count { slot[Self.textStart + index] = sent[index] }
    }
  }
}

@available(*, unavailable)
extension SentSpellings: Sendable {}
