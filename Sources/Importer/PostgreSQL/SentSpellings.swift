/// A cache of the text sent for each spelling of a column with a notation: the same few spellings recur, and
/// reading a date in words takes longer than the rest of its row.
///
/// Thread rule: confined.
final class SentSpellings {
  /// As many as the number of a slot has bits for.
  private static let slots = 1 << 12
  /// Longer spellings and longer texts are not cached.
  private static let most = 30
  /// A slot holds the lengths of spelling and text, then both: a line of the processor's cache.
  private static let stride = 64
  private static let textStart = 32
  private let memory: UnsafeMutablePointer<UInt8>

  init() {
    let count = Self.slots * Self.stride
    memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: Self.stride)
      .initializeMemory(as: UInt8.self, repeating: 0, count: count)
  }

  deinit { memory.deallocate() }

  /// By the first and the last eight bytes of the spelling.
  @inline(__always)
  private func slot(_ field: UnsafeRawBufferPointer) -> UnsafeMutablePointer<UInt8> {
    var ends = UInt64(field.count) &* 0x9E37_79B9_7F4A_7C15
    if field.count >= 8 {
      let last = field.loadUnaligned(fromByteOffset: field.count &- 8, as: UInt64.self)
      ends ^= field.loadUnaligned(as: UInt64.self) ^ (last << 29 | last >> 35)
    } else {
      for byte in field { ends = ends << 8 ^ ends >> 56 ^ UInt64(byte) }
    }
    // Multiplication carries what differs upwards.
    let hash = (ends ^ ends >> 32) &* 0xD6E8_FEB8_6659_FD93
    return memory + Int(truncatingIfNeeded: hash >> 52) &* Self.stride
  }

  /// Whether a slot's spelling has the same bytes.
  @inline(__always)
  private static func isSame(
    _ spelling: UnsafeMutablePointer<UInt8>, _ field: UnsafeRawBufferPointer
  ) -> Bool {
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
    // The last eight overlap those before.
    return !differs(field.count &- 8)
  }

  /// The cached text of a spelling; nil when there is none. `surplus` bytes from its beginning on can be
  /// read.
  @inline(__always)
  func text(_ field: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard field.count > 0, field.count <= Self.most else { return nil }
    let slot = slot(field)
    guard Int(slot[0]) == field.count, Self.isSame(slot + 2, field) else { return nil }
    return UnsafeRawBufferPointer(start: slot + Self.textStart, count: Int(slot[1]))
  }

  /// How many bytes of a text can be read, however short it is.
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
    let slot = slot(field)
    text.withBytes(from: start) { sent in
      guard sent.count <= Self.most else { return }
      slot[0] = UInt8(field.count)
      slot[1] = UInt8(sent.count)
      for index in 0..<field.count { slot[2 + index] = field[index] }
      for index in 0..<sent.count { slot[Self.textStart + index] = sent[index] }
    }
  }
}

@available(*, unavailable)
extension SentSpellings: Sendable {}
