/// A spelling's bytes, read in words of eight.
///
/// Unsafe for speed: it is made once for every field of an import. It reads at most `readable` bytes from
/// `pointer`; inside an arena these are more than the spelling's own `count`, so that most words take one
/// load instead of a loop.
struct SpellingView {
  let pointer: UnsafeRawPointer
  let count: Int
  private let readable: Int

  /// - Precondition: `count` <= `readable`, and `readable` bytes may be read from `pointer`.
  @inline(__always)
  init(_ pointer: UnsafeRawPointer, count: Int, readable: Int) {
    self.pointer = pointer
    self.count = count
    self.readable = readable
  }

  /// A separate spelling: no byte beyond its end may be read.
  init(_ bytes: UnsafeRawBufferPointer) {
    // The pointer of an empty buffer may be nil; any address will do, since nothing is read from it.
    pointer = bytes.baseAddress ?? UnsafeRawPointer(Self.nowhere)
    count = bytes.count
    readable = bytes.count
  }

  // Safe to share: no byte of it is ever read or written.
  nonisolated(unsafe) private static let nowhere: UnsafeMutableRawPointer = .allocate(
    byteCount: 8, alignment: 8)

  @inline(__always)
  subscript(index: Int) -> UInt8 { pointer.load(fromByteOffset: index, as: UInt8.self) }

  /// Whether this many bytes may be read from `pointer`.
  @inline(__always)
  func mayRead(_ bytes: Int) -> Bool { readable >= bytes }

  /// - Precondition: `range` lies within `count`.
  func part(_ range: Range<Int>) -> SpellingView {
    SpellingView(
      pointer + range.lowerBound, count: range.count, readable: readable &- range.lowerBound)
  }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: pointer, count: count) }

  /// The first eight bytes, the first one lowest; zeros past the end.
  @inline(__always)
  var firstWord: UInt64 { word(at: 0) }

  /// Eight bytes from `offset` (at most `count`), zeros past the end.
  @inline(__always)
  func word(at offset: Int) -> UInt64 {
    let length = count &- offset
    if readable &- offset >= 8 {
      let word = UInt64(
        littleEndian: pointer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      if length >= 8 { return word }
      return word & ~(UInt64.max &<< UInt64(truncatingIfNeeded: length &* 8))
    }
    return shortWord(at: offset, length: length)
  }

  /// A word of at most eight bytes, none of which is read behind them: two loads that overlap, or three bytes
  /// of which some may be the same.
  @inline(never)
  private func shortWord(at offset: Int, length: Int) -> UInt64 {
    let length = min(length, 8)
    if length >= 4 {
      let (low, high) = (half(at: offset), half(at: offset &+ length &- 4))
      return low | high &<< UInt64(truncatingIfNeeded: (length &- 4) &* 8)
    }
    guard length > 0 else { return 0 }
    let (middle, last) = (length &>> 1, length &- 1)
    return UInt64(self[offset])
      | UInt64(self[offset &+ middle]) &<< UInt64(truncatingIfNeeded: middle &* 8)
      | UInt64(self[offset &+ last]) &<< UInt64(truncatingIfNeeded: last &* 8)
  }

  /// Four bytes from `offset`.
  @inline(__always)
  private func half(at offset: Int) -> UInt64 {
    UInt64(UInt32(littleEndian: pointer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  /// The first and the last bytes; with the length, they determine a spelling of up to 16 bytes.
  @inline(__always)
  var ends: SpellingEnds {
    guard mayRead(8) else {
      let word = shortWord(at: 0, length: count)
      return SpellingEnds(first: word, last: word)
    }
    // Without a branch: lengths are unpredictable.
    let length = UInt64(truncatingIfNeeded: min(count, 8))
    let mask = length == 0 ? 0 : UInt64.max &>> (64 &- length &* 8)
    return SpellingEnds(
      first: fullWord(at: 0) & mask, last: fullWord(at: max(count, 8) &- 8) & mask)
  }

  /// The first eight bytes as a number that orders like the bytes themselves.
  @inline(__always)
  var orderedPrefix: UInt64 { firstWord.byteSwapped }

  /// Eight bytes of the spelling itself, or of what may be read behind it.
  ///
  /// - Precondition: 0 <= `offset`, and 8 bytes from there may be read.
  @inline(__always)
  func fullWord(at offset: Int) -> UInt64 {
    UInt64(littleEndian: pointer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  func equals(_ other: SpellingView) -> Bool {
    if count != other.count { return false }
    if count <= 8 { return firstWord == other.firstWord }
    var offset = 0
    while offset &+ 8 < count {
      if fullWord(at: offset) != other.fullWord(at: offset) { return false }
      offset &+= 8
    }
    return fullWord(at: count &- 8) == other.fullWord(at: count &- 8)
  }
}

/// The first and the last eight bytes of a spelling; for a shorter one, the same word twice, with zeros past
/// the end.
struct SpellingEnds: Equatable, BitwiseCopyable {
  var first: UInt64
  var last: UInt64

  static let none = SpellingEnds(first: 0, last: 0)
}
