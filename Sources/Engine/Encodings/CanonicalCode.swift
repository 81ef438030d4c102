import Base

/// A prefix code for symbols that are numbered by falling frequency. The number of codes of each length
/// describes it completely, since the first symbols have the shortest codes, and codes of one length ascend.
/// After David Huffman, "A Method for the Construction of Minimum-Redundancy Codes".
///
///     u8   maximumLength    0 (one symbol, which takes no bits) to 20
///     u8   width            0 to 21
///     packed  how many codes have 1, 2, ... bits     (maximumLength values of width bits)
struct CanonicalCode {
  static let longest = 20

  let symbolCount: Int
  let maximumLength: Int
  private let counts: PackedBits

  /// - Parameter symbolCount: the required number of symbols; nil for any number.
  init(_ reader: inout ByteReader, symbolCount expected: Int?) throws(DecodingFailure) {
    let start = reader.offset
    maximumLength = Int(try reader.read(UInt8.self, "the longest code"))
    let width = Int(try reader.read(UInt8.self, "the width of code counts"))
    guard maximumLength <= Self.longest else {
      throw DecodingFailure(what: "the longest code", offset: start)
    }
    counts = try PackedBits(
      &reader, count: maximumLength, width: width, maximumWidth: 21, "the code counts")
    var symbols = maximumLength == 0 ? 1 : 0
    // The codes that are still free, counted in codes of the longest length. No prefix code has more.
    var room = 1 << maximumLength
    for length in 0..<maximumLength {
      let count = Int(truncatingIfNeeded: counts[length])
      symbols &+= count
      room &-= count &<< (maximumLength &- length &- 1)
    }
    guard room >= 0, symbols == expected ?? symbols else {
      throw DecodingFailure(what: "the code", offset: start)
    }
    symbolCount = symbols
  }

  /// The numbers for decoding symbol by symbol.
  func limits() -> Limits {
    var limits = Limits(maximumLength: maximumLength, symbolCount: symbolCount)
    var code: UInt64 = 0
    var index = 0
    for length in 1...Self.longest where length <= maximumLength {
      let count = Int(truncatingIfNeeded: counts[length &- 1])
      limits.offsets[length] = Int32(
        truncatingIfNeeded: index &- Int(truncatingIfNeeded: code))
      code &+= UInt64(truncatingIfNeeded: count)
      index &+= count
      limits.ends[length] = code &<< UInt64(truncatingIfNeeded: 32 &- length)
      code &<<= 1
    }
    return limits
  }

  struct Limits {
    fileprivate let maximumLength: Int
    let symbolCount: Int
    /// For each length, the code behind its last one, as the top of 32 bits.
    fileprivate var ends = SIMD32<UInt64>()
    /// For each length, the number to add to a code to get its symbol.
    fileprivate var offsets = SIMD32<Int32>()

    fileprivate init(maximumLength: Int, symbolCount: Int) {
      self.maximumLength = maximumLength
      self.symbolCount = symbolCount
    }

    /// The symbol at the top of a window of bits, and its length; `symbolCount` for bits that are not a code.
    @inline(__always)
    func decode(_ window: UInt64) -> (symbol: Int, length: Int) {
      if maximumLength == 0 { return (0, 0) }
      let top = window &>> 32
      var length = 1
      while top >= ends[length] {
        length &+= 1
        if length > maximumLength { return (symbolCount, maximumLength) }
      }
      let code = Int(truncatingIfNeeded: top &>> UInt64(truncatingIfNeeded: 32 &- length))
      return (code &+ Int(offsets[length]), length)
    }
  }
}

/// A code expanded for decoding many symbols: short codes are looked up. Reused for the next column.
struct CodeTable: ~Copyable {
  private static let bits = 11
  /// `symbol << 8 | length`; 0 for longer codes.
  private var entries = Scratch<UInt32>(capacity: 0)
  private var isLoaded = false
  /// Whether the codes that are loaded from now on are all the same: then only the first `load` does work.
  var isKept = false {
    didSet { if !isKept { isLoaded = false } }
  }

  mutating func load(_ limits: CanonicalCode.Limits) {
    if isKept, isLoaded { return }
    isLoaded = true
    let entries = entries.reserve(1 << Self.bits)
    var entry = 0
    while entry < 1 << Self.bits {
      let window = UInt64(truncatingIfNeeded: entry) &<< UInt64(64 - Self.bits)
      let (symbol, length) = limits.decode(window)
      let isShort = length <= Self.bits && symbol < limits.symbolCount
      let value = isShort ? UInt32(truncatingIfNeeded: symbol &<< 8 | length) : 0
      // All entries that begin with this code, or only this one.
      let span = isShort ? 1 << (Self.bits - length) : 1
      for same in entry..<min(entry + span, 1 << Self.bits) { entries[same] = value }
      entry += span
    }
  }

  /// Like `Limits.decode`.
  @inline(__always)
  borrowing func decode(
    _ window: UInt64, _ limits: borrowing CanonicalCode.Limits
  ) -> (symbol: Int, length: Int) {
    let entry = Int(entries.pointer[Int(window &>> UInt64(64 - Self.bits))])
    // Longer codes, and the only symbol of a code, whose length is 0, have no entry.
    if entry & 0xFF != 0 { return (entry &>> 8, entry & 0xFF) }
    return limits.decode(window)
  }
}

/// The code for given frequencies, and its cost.
struct CodePlan {
  /// How many codes have each length, from 0.
  private var counts: [Int]
  private(set) var symbolCount = 0
  /// Total bits of all symbols at their frequencies.
  private(set) var bits = 0

  /// - Parameters:
  ///   - frequencies: falling, none 0; 1 to 2^20 of them. Overwritten.
  ///   - shortest: no code is shorter.
  init(_ frequencies: UnsafeMutableBufferPointer<Int>, shortest: Int = 0) {
    counts = [Int](repeating: 0, count: CanonicalCode.longest + 1)
    symbolCount = frequencies.count
    let original = frequencies.map { $0 }
    Self.lengths(frequencies)
    for length in frequencies { counts[min(max(length, shortest), CanonicalCode.longest)] += 1 }
    limit()
    var symbol = 0
    for (length, count) in counts.enumerated() {
      for index in symbol..<symbol + count { bits += original[index] * length }
      symbol += count
    }
  }

  /// Turns falling frequencies into the lengths of their codes, in place: Alistair Moffat and Jyrki
  /// Katajainen, "In-Place Calculation of Minimum-Redundancy Codes".
  private static func lengths(_ list: UnsafeMutableBufferPointer<Int>) {
    let count = list.count
    if count == 1 { list[0] = 0 }
    guard count > 1 else { return }
    // The paper's array is ascending: its element i is ours from the end.
    func at(_ index: Int) -> Int { list[count &- 1 &- index] }
    func set(_ index: Int, _ value: Int) { list[count &- 1 &- index] = value }
    set(0, at(0) + at(1))
    var (root, leaf) = (0, 2)
    for next in 1..<count - 1 {
      if leaf >= count || at(root) < at(leaf) {
        set(next, at(root))
        set(root, next)
        root += 1
      } else {
        set(next, at(leaf))
        leaf += 1
      }
      if leaf >= count || (root < next && at(root) < at(leaf)) {
        set(next, at(next) + at(root))
        set(root, next)
        root += 1
      } else {
        set(next, at(next) + at(leaf))
        leaf += 1
      }
    }
    set(count - 2, 0)
    for next in stride(from: count - 3, through: 0, by: -1) { set(next, at(at(next)) + 1) }
    var (available, used, depth) = (1, 0, 0)
    var next = count - 1
    root = count - 2
    while available > 0 {
      while root >= 0 && at(root) == depth {
        used += 1
        root -= 1
      }
      while available > used {
        set(next, depth)
        next -= 1
        available -= 1
      }
      available = 2 * used
      depth += 1
      used = 0
    }
  }

  /// Restores a valid code after lengths were limited to the longest allowed.
  private mutating func limit() {
    let longest = CanonicalCode.longest
    guard symbolCount > 1 else { return }
    var total = 0
    for length in 1...longest { total += counts[length] << (longest - length) }
    while total > 1 << longest {
      // Lengthen one shorter code to make room for one of the longest.
      counts[longest] -= 1
      if let shorter = (1..<longest).last(where: { counts[$0] > 0 }) {
        counts[shorter] -= 1
        counts[shorter + 1] += 2
      }
      total -= 1
    }
  }

  var maximumLength: Int { counts.lastIndex { $0 > 0 } ?? 0 }
  private var width: Int { BitPacking.width(counts.dropFirst().max() ?? 0) }

  /// Bytes that `write` appends.
  var size: Int { 2 &+ BitPacking.byteCount(maximumLength, width: width) }

  func write(into output: inout OutputBuffer) {
    let (maximumLength, width) = (maximumLength, width)
    output.append(UInt8(truncatingIfNeeded: maximumLength))
    output.append(UInt8(truncatingIfNeeded: width))
    BitPacking.pack(count: maximumLength, width: width, into: &output) {
      UInt64(truncatingIfNeeded: counts[$0 + 1])
    }
  }

  /// Puts `code << 8 | length` of every symbol into `codes`.
  func fill(_ codes: UnsafeMutablePointer<UInt32>) {
    var symbol = 0
    var code: UInt32 = 0
    for length in 1...CanonicalCode.longest {
      for _ in 0..<counts[length] {
        codes[symbol] = code &<< 8 | UInt32(truncatingIfNeeded: length)
        code &+= 1
        symbol += 1
      }
      code &<<= 1
    }
    if symbolCount == 1 { codes[0] = 0 }
  }
}
