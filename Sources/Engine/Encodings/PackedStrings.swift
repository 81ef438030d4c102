import Base

/// Strings of bytes back to back, with packed lengths, so that any one is found in constant time.
///
///     u32  total      bytes of all strings
///     u32  minimum    of the lengths
///     u8   lengthWidth   0 to 32
///     u8   startWidth    0 to 32
///     packed  length - minimum of each string            (count values of lengthWidth bits)
///     packed  start of strings 16, 32, 48, ...           ((count - 1) / 16 values of startWidth bits)
///     bytes   total
///
/// The context gives the count. With lengthWidth 0 all strings have one length and there are no starts
/// (startWidth is 0). Otherwise a start is the nearest stored one plus at most 15 lengths.
struct PackedStrings {
  static let blockShift = 4
  static let headerSize = 10

  /// Where the first string begins.
  let base: UnsafeRawPointer
  private let lengths: PackedBits
  private let starts: PackedBits
  private let storedCount: UInt32
  private let storedTotal: UInt32
  private let storedMinimum: UInt32

  @inline(__always)
  var count: Int { Int(storedCount) }
  @inline(__always)
  var total: Int { Int(storedTotal) }
  @inline(__always)
  private var minimum: Int { Int(storedMinimum) }

  /// - Parameter bits: bits of each part of a string, 8 for bytes. Total, lengths and starts are numbers of
  ///   parts.
  init(_ reader: inout ByteReader, count: Int, bits: Int = 8) throws(DecodingFailure) {
    let total = try reader.read(UInt32.self, "the length of the strings")
    let minimum = try reader.read(UInt32.self, "the shortest length")
    let lengthWidth = Int(try reader.read(UInt8.self, "the width of lengths"))
    let startWidth = Int(try reader.read(UInt8.self, "the width of starts"))
    lengths = try PackedBits(
      &reader, count: count, width: lengthWidth, maximumWidth: 32, "the lengths")
    starts = try PackedBits(
      &reader, count: lengthWidth == 0 ? 0 : Self.startCount(count), width: startWidth,
      maximumWidth: 32, "the starts")
    let bytes = try reader.readBytes((Int(total) &* bits &+ 7) &>> 3, "the strings")
    guard let base = bytes.baseAddress, total < UInt32.max else {
      throw DecodingFailure(what: "the strings", offset: reader.offset)
    }
    self.base = base
    // At most the number of a cluster's rows.
    storedCount = UInt32(truncatingIfNeeded: count)
    storedTotal = total
    storedMinimum = minimum
  }

  static func startCount(_ count: Int) -> Int { count == 0 ? 0 : (count &- 1) &>> blockShift }

  /// Where string `index` lies, relative to `base`. Limited to the existing bytes, whatever the lengths say.
  ///
  /// - Precondition: 0 <= `index` < `count`.
  @inline(__always)
  func span(_ index: Int) -> TextSpan {
    if lengths.width == 0 { return clamped(index &* minimum, minimum) }
    let block = index &>> Self.blockShift
    var start = block == 0 ? 0 : Int(truncatingIfNeeded: starts[block &- 1])
    var other = block &<< Self.blockShift
    while other < index {
      start &+= length(other)
      other &+= 1
    }
    return clamped(start, length(index))
  }

  /// The bytes of string `index`.
  @inline(__always)
  func bytes(_ index: Int) -> UnsafeRawBufferPointer {
    let span = span(index)
    return UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length))
  }

  @inline(__always)
  private func length(_ index: Int) -> Int {
    minimum &+ Int(truncatingIfNeeded: lengths[index])
  }

  @inline(__always)
  private func clamped(_ start: Int, _ length: Int) -> TextSpan {
    let offset = min(start, total)
    return TextSpan(
      offset: UInt32(truncatingIfNeeded: offset),
      length: UInt32(truncatingIfNeeded: min(length, total &- offset)))
  }

  /// The spans of strings `range`, in order; cheaper than one by one.
  @inline(__always)
  func spans(_ range: Range<Int>, into target: UnsafeMutablePointer<TextSpan>) {
    guard let first = range.first else { return }
    var start = Int(span(first).offset)
    for index in range {
      let length = length(index)
      target[index &- first] = clamped(start, length)
      start &+= length
    }
  }

  /// The first contradiction between lengths and starts; nil when they agree.
  func inconsistency() -> String? {
    var start = 0
    for index in 0..<count {
      if lengths.width > 0, index > 0, index & (1 << Self.blockShift - 1) == 0,
        Int(truncatingIfNeeded: starts[index >> Self.blockShift - 1]) != start
      {
        return "the start of string \(index) disagrees with the lengths before it"
      }
      start &+= length(index)
      if start > total { return "string \(index) ends beyond the strings" }
    }
    return start == total ? nil : "the strings are longer than their lengths"
  }
}

/// The lengths for writing `PackedStrings`, and the exact size.
struct PackedStringsPlan {
  private(set) var count = 0
  /// The total number of parts of all strings.
  private(set) var total = 0
  /// Bits of a part; 8 for bytes.
  private let bits: Int
  private(set) var minimum = Int.max
  private(set) var maximum = 0

  init(bits: Int = 8) { self.bits = bits }

  init(count: Int, total: Int, minimum: Int, maximum: Int) {
    bits = 8
    self.count = count
    self.total = total
    self.minimum = minimum
    self.maximum = maximum
  }

  @inline(__always)
  mutating func add(length: Int) {
    count &+= 1
    total &+= length
    minimum = min(minimum, length)
    maximum = max(maximum, length)
  }

  var lengthWidth: Int { count == 0 ? 0 : BitPacking.width(maximum &- minimum) }
  private var startWidth: Int { lengthWidth == 0 ? 0 : BitPacking.width(total) }
  private var startCount: Int { lengthWidth == 0 ? 0 : PackedStrings.startCount(count) }

  /// The bytes `write` appends.
  var size: Int {
    PackedStrings.headerSize &+ BitPacking.byteCount(count, width: lengthWidth)
      &+ BitPacking.byteCount(startCount, width: startWidth)
      &+ BitPacking.byteCount(total, width: bits)
  }

  /// Writes the strings whose fields `span` returns for 0..<`count`; null counts as an empty string.
  func write(
    _ column: GatheredColumn, into output: inout OutputBuffer, span: (Int) -> TextSpan
  ) {
    writeIndex(into: &output) { Int(span($0).length) }
    var target = output.reserve(total &+ 8)
    for index in 0..<count {
      let span = span(index)
      let length = Int(span.length)
      column.copy(span, to: target)
      target += length
    }
    output.advance(total)
  }

  /// Writes everything except the strings' bytes.
  @inline(__always)
  func writeIndex(into output: inout OutputBuffer, length: (Int) -> Int) {
    let shortest = count == 0 ? 0 : minimum
    output.append(UInt32(truncatingIfNeeded: total))
    output.append(UInt32(truncatingIfNeeded: shortest))
    output.append(UInt8(truncatingIfNeeded: lengthWidth))
    output.append(UInt8(truncatingIfNeeded: startWidth))
    BitPacking.pack(count: count, width: lengthWidth, into: &output) { index in
      UInt64(truncatingIfNeeded: length(index) &- shortest)
    }
    var start = 0
    var next = 0
    BitPacking.pack(count: startCount, width: startWidth, into: &output) { block in
      let end = (block &+ 1) &<< PackedStrings.blockShift
      while next < end {
        start &+= length(next)
        next &+= 1
      }
      return UInt64(truncatingIfNeeded: start)
    }
  }
}
