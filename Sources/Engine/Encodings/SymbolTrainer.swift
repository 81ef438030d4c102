/// Makes the symbol table for a column from a sample, in a few generations. Each compresses the sample with
/// the present table, counts its symbols and pairs of them, and keeps those symbols and joined pairs that
/// cover the most bytes. After the paper named at `SymbolTable`.
///
/// The same strings always give the same table.
struct SymbolTrainer: ~Copyable {
  /// How much is sampled, and in which parts.
  struct Limits {
    var width: SymbolTable.Width
    /// A sixteenth of the strings is sampled, within these bounds.
    var sampleBytes: ClosedRange<Int>
    /// How many of 128 parts of the sample each generation uses; the last one uses all.
    var generations: [Int]
    /// Less frequent pairs are not joined.
    var leastPairs: Int

    static let narrow = Limits(
      width: .narrow, sampleBytes: 60_000...60_000, generations: [8, 30, 60, 90, 110, 128],
      leastPairs: 2)
    /// For strings of more than about 150 kB in all, which get prefix codes.
    static let coded = Limits(
      width: .coded, sampleBytes: 192 << 10...1 << 20, generations: [16, 24, 40, 70, 110, 128],
      leastPairs: 3)
  }

  // Not private: debug builds of the compiler fail for private elements of `Scratch`.
  struct Candidate: BitwiseCopyable {
    var symbol: Symbol
    var uses: Int

    /// The bytes that it covers. A single byte counts as eight, since without a code it costs two bytes.
    var gain: Int { uses &* (symbol.length == 1 ? 8 : symbol.length) }
  }

  /// Long strings are sampled in pieces of this many bytes.
  private static let pieceBytes = 256
  private static let largestGain = 1 << 13

  private var sample = OutputBuffer()
  private var ends = Scratch<Int>()
  private(set) var pieces = 0
  /// How many codes the table may have, those of bytes among them.
  private var codeCount = 0
  private var counts = Scratch<UInt32>(capacity: 0)
  private var pairs = PairCounts()
  private var candidates = Scratch<Candidate>()
  private var slots = Scratch<UInt32>()
  private var candidateCount = 0

  /// Loads `matcher` with a table for strings of the column.
  ///
  /// - Parameters:
  ///   - count: how many strings there are, `total` bytes together.
  ///   - span: the place of each string.
  mutating func train(
    _ matcher: inout SymbolMatcher, _ column: GatheredColumn, count: Int, total: Int,
    limits: Limits, span: (Int) -> TextSpan
  ) {
    let bounds = limits.sampleBytes
    let limit = min(max(total / 16, bounds.lowerBound), bounds.upperBound)
    codeCount = limits.width == .narrow ? 512 : 1 << PairCounts.codeBits
    pairs.slotBits = limits.width == .narrow ? 15 : 17
    takeSample(column, count: count, total: total, limit: limit, span)
    matcher.load([], width: limits.width)
    for part in limits.generations {
      let isLast = part >= 128
      self.count(matcher, part: part, joins: !isLast)
      collect(matcher, least: limits.leastPairs)
      // Only the last table is stored, so only its symbols must pay for their places.
      let scale = isLast ? max(1, total / max(sample.count, 1)) : .max
      let symbols = best(limits.width, scale: scale, isLast: isLast)
      matcher.load(symbols, width: limits.width)
    }
  }

  // MARK: The sample

  private mutating func takeSample(
    _ column: GatheredColumn, count: Int, total: Int, limit: Int, _ span: (Int) -> TextSpan
  ) {
    sample.removeAll()
    pieces = 0
    // A piece is taken wherever the concatenated strings reach the next mark: all of a short string, or a
    // piece of a long one.
    let typical = max(1, min(Self.pieceBytes, total / max(1, count)))
    let step = total <= limit ? 0 : total / max(1, limit / typical)
    var position = 0
    var next = 0
    for index in 0..<count {
      let string = span(index)
      let length = Int(string.length)
      while next < position + length {
        let offset = length > Self.pieceBytes ? next - position : 0
        let size = min(Self.pieceBytes, length - offset)
        guard sample.count + size <= limit else { return }
        sample.append(column.spelling(string).pointer + offset, count: size)
        ends.reserve(pieces + 1, keeping: pieces)[pieces] = sample.count
        pieces += 1
        next = max(next + step, position + offset + size)
      }
      position += length
    }
  }

  /// A string, or piece of a string, of the sample.
  @inline(__always)
  borrowing func piece(_ index: Int) -> SpellingView {
    let start = index == 0 ? 0 : ends.pointer[index &- 1]
    return SpellingView(
      UnsafeRawBufferPointer(rebasing: sample.bytes[start..<ends.pointer[index]]))
  }

  // MARK: Counting

  private mutating func count(_ matcher: borrowing SymbolMatcher, part: Int, joins: Bool) {
    counts.reserve(codeCount).update(repeating: 0, count: codeCount)
    pairs.removeAll()
    // Spreads the pieces of a part evenly over the sample.
    for index in 0..<pieces where (index &* 53) & 127 < part {
      count(piece(index), matcher, joins: joins)
    }
  }

  private mutating func count(
    _ text: SpellingView, _ matcher: borrowing SymbolMatcher, joins: Bool
  ) {
    let byteBase = matcher.width == .narrow ? 256 : 0
    var previous = -1
    var offset = 0
    while offset < text.count {
      let match = matcher.match(text, at: offset)
      let byte = byteBase &+ Int(text[offset])
      counts.pointer[match.code] &+= 1
      if match.length > 1 { counts.pointer[byte] &+= 1 }
      if joins && previous >= 0 {
        pairs.add(previous, match.code)
        if match.length > 1 { pairs.add(previous, byte) }
      }
      previous = match.code
      offset &+= match.length
    }
  }

  // MARK: Choosing

  /// Lists the used symbols, and the pairs that occur at least `least` times, each symbol once.
  private mutating func collect(_ matcher: borrowing SymbolMatcher, least: Int) {
    let room = codeCount + pairs.count
    let longest = matcher.width.longestSymbol
    var size = 1024
    while size < 2 * room { size *= 2 }
    slots.reserve(size).update(repeating: .max, count: size)
    _ = candidates.reserve(room)
    candidateCount = 0
    for code in 0..<codeCount where counts.pointer[code] > 0 {
      add(matcher.symbol(code), uses: Int(counts.pointer[code]), mask: size - 1)
    }
    for slot in 0..<pairs.slotCount {
      guard let pair = pairs[slot], pair.uses >= least else { continue }
      let first = matcher.symbol(pair.first)
      if first.length == longest { continue }
      let joined = first.followed(by: matcher.symbol(pair.second), most: longest)
      add(joined, uses: pair.uses, mask: size - 1)
    }
  }

  private mutating func add(_ symbol: Symbol, uses: Int, mask: Int) {
    let mixed =
      (symbol.low ^ UInt64(symbol.length)) &* 0x9E37_79B9_7F4A_7C15
      ^ symbol.high &* 0xD6E8_FEB8_6659_FD93
    // The highest bits: every byte changes them.
    var slot = Int(truncatingIfNeeded: mixed &>> UInt64(mask.leadingZeroBitCount))
    while slots.pointer[slot] != .max {
      let found = Int(slots.pointer[slot])
      if candidates.pointer[found].symbol == symbol {
        candidates.pointer[found].uses += uses
        return
      }
      slot = (slot &+ 1) & mask
    }
    slots.pointer[slot] = UInt32(truncatingIfNeeded: candidateCount)
    candidates.pointer[candidateCount] = Candidate(symbol: symbol, uses: uses)
    candidateCount += 1
  }

  /// The best symbols; ascending in length if they are the last, or their codes narrow.
  ///
  /// - Parameter scale: how many times longer than the sample the strings are: symbols that save less than
  ///   their place in the table costs are left out.
  private func best(_ width: SymbolTable.Width, scale: Int, isLast: Bool) -> [Symbol] {
    let shortest = width == .narrow ? 1 : 2
    func isCandidate(_ candidate: Candidate) -> Bool {
      let uses = candidate.uses.multipliedReportingOverflow(by: scale)
      let length = candidate.symbol.length
      return length >= shortest && (uses.overflow || uses.partialValue > length)
    }
    let least = leastGain(width.maximumCount, isCandidate)
    var symbols: [Symbol] = []
    symbols.reserveCapacity(width.maximumCount)
    // Sorting all of them would take longer than counting: only those with the least gain compete.
    var equals: [Candidate] = []
    for index in 0..<candidateCount {
      let candidate = candidates.pointer[index]
      let gain = min(candidate.gain, Self.largestGain)
      if gain < least || !isCandidate(candidate) { continue }
      if gain == least { equals.append(candidate) } else { symbols.append(candidate.symbol) }
    }
    let room = width.maximumCount - symbols.count
    if equals.count > room {
      equals.sort { left, right in
        if left.gain != right.gain { return left.gain > right.gain }
        return left.symbol.precedes(right.symbol)
      }
    }
    symbols += equals.prefix(room).map(\.symbol)
    if isLast || width == .narrow { symbols.sort { $0.precedes($1) } }
    return symbols
  }

  /// A gain that at least `count` candidates reach, or all if there are fewer: sorting the others would take
  /// longer than counting.
  private func leastGain(_ count: Int, _ isCandidate: (Candidate) -> Bool) -> Int {
    withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.largestGain + 1) { histogram in
      histogram.initialize(repeating: 0)
      for index in 0..<candidateCount {
        let candidate = candidates.pointer[index]
        if isCandidate(candidate) { histogram[min(candidate.gain, Self.largestGain)] += 1 }
      }
      var total = 0
      for gain in stride(from: Self.largestGain, to: 0, by: -1) {
        total += histogram[gain]
        if total >= count { return gain }
      }
      return 0
    }
  }
}

extension Symbol {
  /// An arbitrary order, so that results do not depend on a hash table's.
  fileprivate func precedes(_ other: Symbol) -> Bool {
    length != other.length ? length < other.length : bytes < other.bytes
  }
}

/// How often pairs of codes occur, in an open-addressed hash table. Once it is three quarters full, new pairs
/// are not counted: the important ones came earlier.
private struct PairCounts: ~Copyable {
  static let codeBits = 14

  /// The table has 2^slotBits slots.
  var slotBits = 17
  var slotCount: Int { 1 &<< slotBits }
  /// `(first << codeBits | second) + 1` in the high half, the uses in the low one.
  private var slots = Scratch<UInt64>(capacity: 1)
  private(set) var count = 0

  mutating func removeAll() {
    slots.reserve(slotCount).update(repeating: 0, count: slotCount)
    count = 0
  }

  @inline(__always)
  mutating func add(_ first: Int, _ second: Int) {
    let key = UInt64(truncatingIfNeeded: first &<< Self.codeBits | second) &+ 1
    var slot = Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) &>> UInt64(64 &- slotBits))
    while true {
      let value = slots.pointer[slot]
      if value &>> 32 == key {
        slots.pointer[slot] = value &+ 1
        return
      }
      if value == 0 {
        if count < slotCount / 4 * 3 {
          slots.pointer[slot] = key &<< 32 | 1
          count &+= 1
        }
        return
      }
      slot = (slot &+ 1) & (slotCount &- 1)
    }
  }

  /// The pair in a slot; nil when it is empty.
  subscript(slot: Int) -> (first: Int, second: Int, uses: Int)? {
    let value = slots.pointer[slot]
    if value == 0 { return nil }
    let key = Int(truncatingIfNeeded: value &>> 32) &- 1
    let second = key & (1 &<< Self.codeBits &- 1)
    return (key &>> Self.codeBits, second, Int(truncatingIfNeeded: value & 0xFFFF_FFFF))
  }
}
