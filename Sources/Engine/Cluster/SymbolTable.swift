/// Up to 255 strings of one to eight bytes, each standing for a code of one byte; code 255 says that
/// the byte behind it stands for itself. After Peter Boncz, Thomas Neumann and Viktor Leis, "FSST:
/// Fast Random Access String Compression" (VLDB 2020).
///
///     8 * u8   how many symbols have 1, 2, ... 8 bytes; 255 together at most
///     bytes    the symbols, the short ones first; codes count from 0 in this order
///
/// A compressed string is read by itself: no other is needed for it.
struct SymbolTable {
  static let escape: UInt8 = 255
  static let maximumCount = 255
  static let maximumLength = 8

  /// The first symbol; eight bytes may be read from the beginning of each.
  private let base: UnsafeRawPointer
  /// For the lengths 1 to 8: the code after the last symbol of that length, and where the next
  /// length begins.
  private let ends: SIMD8<UInt16>
  private let offsets: SIMD8<UInt16>

  init(_ reader: inout ByteReader) throws(DecodingFailure) {
    var ends = SIMD8<UInt16>()
    var offsets = SIMD8<UInt16>()
    var count: UInt16 = 0
    var bytes: UInt16 = 0
    for index in 0..<Self.maximumLength {
      let symbols = UInt16(try reader.read(UInt8.self, "the number of symbols"))
      count &+= symbols
      bytes &+= symbols &* UInt16(index + 1)
      ends[index] = count
      offsets[index] = bytes
    }
    guard Int(count) <= Self.maximumCount else {
      throw DecodingFailure(what: "the number of symbols", offset: reader.offset)
    }
    guard let base = try reader.readBytes(Int(bytes), "the symbols").baseAddress else {
      throw DecodingFailure(what: "the symbols", offset: reader.offset)
    }
    self.base = base
    self.ends = ends
    self.offsets = offsets
  }

  /// How many symbols there are.
  var count: Int { Int(ends[7]) }

  /// The length of a code's symbol; 0 for codes that have none, the escape among them.
  @inline(__always)
  private func length(_ code: UInt8) -> Int {
    let index = shorter(code)
    return index < Self.maximumLength ? index &+ 1 : 0
  }

  /// How many lengths have only codes below this one.
  @inline(__always)
  private func shorter(_ code: UInt8) -> Int {
    var index = 0
    while index < Self.maximumLength, ends[index] <= UInt16(code) { index &+= 1 }
    return index
  }

  /// A code's symbol in the low bytes of a word, other bytes above it.
  @inline(__always)
  private func symbol(_ code: UInt8) -> (word: UInt64, length: Int) {
    let index = shorter(code)
    guard index < Self.maximumLength else { return (0, 0) }
    let firstCode = index == 0 ? 0 : Int(ends[index &- 1])
    let start = index == 0 ? 0 : Int(offsets[index &- 1])
    let offset = start &+ (Int(code) &- firstCode) &* (index &+ 1)
    let word = base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    return (UInt64(littleEndian: word), index &+ 1)
  }

  /// How many bytes a compressed string stands for.
  func decodedCount(_ codes: UnsafeRawBufferPointer) -> Int {
    var total = 0
    var index = 0
    while index < codes.count {
      if codes[index] == Self.escape {
        // Damaged strings may end with an escape, which then stands for nothing.
        total &+= index &+ 1 < codes.count ? 1 : 0
        index &+= 2
      } else {
        total &+= length(codes[index])
        index &+= 1
      }
    }
    return total
  }

  /// Writes the bytes a compressed string stands for, and returns how many there are.
  ///
  /// - Precondition: `target` has room for 8 bytes for each code.
  func decode(_ codes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Int {
    var total = 0
    var index = 0
    while index < codes.count {
      if codes[index] == Self.escape {
        if index &+ 1 < codes.count {
          target.storeBytes(of: codes[index &+ 1], toByteOffset: total, as: UInt8.self)
          total &+= 1
        }
        index &+= 2
      } else {
        let (word, length) = symbol(codes[index])
        target.storeBytes(of: word.littleEndian, toByteOffset: total, as: UInt64.self)
        total &+= length
        index &+= 1
      }
    }
    return total
  }
}

/// A symbol table unfolded for decoding many strings, used again from column to column.
struct SymbolDecoder: ~Copyable {
  private var words = Scratch<UInt64>(capacity: 256)
  private var lengths = Scratch<UInt8>(capacity: 256)

  mutating func load(_ table: SymbolTable) {
    for code in 0..<256 {
      let (word, length) = table.entry(UInt8(truncatingIfNeeded: code))
      words.pointer[code] = word.littleEndian
      lengths.pointer[code] = length
    }
  }

  /// Like `SymbolTable.decode`, with one load for each symbol and one for its length.
  ///
  /// - Precondition: `target` has room for 8 bytes for each code.
  @inline(__always)
  borrowing func decode(
    _ codes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) -> Int {
    guard let base = codes.baseAddress else { return 0 }
    let (words, lengths) = (words.pointer, lengths.pointer)
    let end = base + codes.count
    var source = base
    var output = target
    while source < end {
      let code = source.load(as: UInt8.self)
      source += 1
      if code == SymbolTable.escape {
        if source < end { output.copyMemory(from: source, byteCount: 1) }
        output += source < end ? 1 : 0
        source += 1
      } else {
        output.storeBytes(of: words[Int(code)], as: UInt64.self)
        output += Int(lengths[Int(code)])
      }
    }
    return output - target
  }
}

extension SymbolTable {
  fileprivate func entry(_ code: UInt8) -> (word: UInt64, length: UInt8) {
    let (word, length) = symbol(code)
    return (word, UInt8(truncatingIfNeeded: length))
  }
}
