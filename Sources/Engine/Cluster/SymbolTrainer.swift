/// Makes the symbol table for a column from a sample of it, in a few generations: each compresses the
/// sample with the table so far, counts its symbols and pairs of them, and keeps the 255 symbols and
/// joined pairs that stand for the most bytes. After the paper named at `SymbolTable`.
///
/// The same strings always give the same table.
struct SymbolTrainer: ~Copyable {
  /// How much is looked at.
  struct Limits {
    /// At most 60,000, so that no count of two bytes overflows.
    var sampleBytes: Int
    /// How many of 128 parts of the sample each generation uses; the last one should use all.
    var generations: [Int]

    static let fast = Limits(sampleBytes: 12_000, generations: [10, 40, 80, 128])
    static let thorough = Limits(sampleBytes: 60_000, generations: [8, 30, 60, 90, 110, 120, 128])
  }

  struct Candidate: BitwiseCopyable {
    var symbol: Symbol
    var gain: Int
  }

  private static let codes = 512
  /// Long strings are sampled in pieces of this many bytes.
  private static let pieceBytes = 256

  private var sample = OutputBuffer()
  private var ends = Scratch<Int>()
  private var pieces = 0
  private var counts = Scratch<UInt32>(capacity: codes)
  /// All zero between generations: those counted are listed in `touched`.
  private var pairCounts = Scratch<UInt16>(capacity: 1)
  private var touched = Scratch<UInt32>()
  private var touchedCount = 0
  private var candidates = Scratch<Candidate>()
  private var slots = Scratch<UInt32>()
  private var candidateCount = 0

  /// Loads `matcher` with a table for strings of the column.
  ///
  /// - Parameters:
  ///   - count: how many strings there are, `total` bytes together.
  ///   - span: where each lies.
  mutating func train(
    _ matcher: inout SymbolMatcher, _ column: GatheredColumn, count: Int, total: Int,
    limits: Limits, span: (Int) -> TextSpan
  ) {
    if pairCounts.capacity < Self.codes * Self.codes {
      let room = pairCounts.reserve(Self.codes * Self.codes)
      room.update(repeating: 0, count: pairCounts.capacity)
    }
    takeSample(column, count: count, total: total, limit: limits.sampleBytes, span)
    matcher.load([])
    for part in limits.generations {
      let isLast = part >= 128
      self.count(matcher, part: part, pairs: !isLast)
      collect(matcher, minimum: isLast ? 0 : 5 * part / 128)
      // What a symbol must stand for in the sample, so that it pays for its place in the table.
      let scale = max(1, total / max(sample.count, 1))
      matcher.load(best(isLast: isLast, scale: scale))
    }
  }

  // MARK: The sample

  private mutating func takeSample(
    _ column: GatheredColumn, count: Int, total: Int, limit: Int, _ span: (Int) -> TextSpan
  ) {
    sample.removeAll()
    pieces = 0
    // A piece is taken wherever the strings, back to back, reach the next mark: all of a short
    // string, or a piece of a long one.
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

  // MARK: Counting

  private mutating func count(_ matcher: borrowing SymbolMatcher, part: Int, pairs: Bool) {
    counts.pointer.update(repeating: 0, count: Self.codes)
    touchedCount = 0
    var start = 0
    for piece in 0..<pieces {
      let end = ends.pointer[piece]
      // Spreads the pieces of a part evenly over the sample.
      if (piece &* 53) & 127 < part {
        let text = SpellingView(
          UnsafeRawBufferPointer(rebasing: sample.bytes[start..<end]))
        count(text, matcher, pairs: pairs)
      }
      start = end
    }
  }

  private mutating func count(
    _ text: SpellingView, _ matcher: borrowing SymbolMatcher, pairs: Bool
  ) {
    // Room for all pairs of the piece, two for each of its bytes.
    let list = touched.reserve(touchedCount + 2 * text.count, keeping: touchedCount)
    var previous = -1
    var offset = 0
    while offset < text.count {
      let remaining = text.count &- offset
      let match =
        remaining >= 8
        ? matcher.match(text.fullWord(at: offset))
        : matcher.match(text.word(at: offset), remaining: remaining)
      let byte = 256 &+ Int(text[offset])
      counts.pointer[match.code] &+= 1
      if match.length > 1 { counts.pointer[byte] &+= 1 }
      if pairs && previous >= 0 {
        add(previous, match.code, list)
        if match.length > 1 { add(previous, byte, list) }
      }
      previous = match.code
      offset &+= match.length
    }
  }

  @inline(__always)
  private mutating func add(_ first: Int, _ second: Int, _ list: UnsafeMutablePointer<UInt32>) {
    let pair = first &* Self.codes &+ second
    if pairCounts.pointer[pair] == 0 {
      list[touchedCount] = UInt32(truncatingIfNeeded: pair)
      touchedCount &+= 1
    }
    pairCounts.pointer[pair] &+= 1
  }

  // MARK: Choosing

  /// Lists the symbols in use and the pairs counted at least `minimum` times, each symbol once.
  private mutating func collect(_ matcher: borrowing SymbolMatcher, minimum: Int) {
    func symbol(_ code: Int) -> Symbol {
      code < 256 ? matcher[code] : Symbol(byte: code &- 256)
    }
    let room = Self.codes + touchedCount
    var size = 1024
    while size < 2 * room { size *= 2 }
    slots.reserve(size).update(repeating: .max, count: size)
    _ = candidates.reserve(room)
    candidateCount = 0
    for code in 0..<Self.codes where counts.pointer[code] > 0 {
      add(symbol(code), count: Int(counts.pointer[code]), mask: size - 1)
    }
    for index in 0..<touchedCount {
      let pair = Int(touched.pointer[index])
      let times = Int(pairCounts.pointer[pair])
      pairCounts.pointer[pair] = 0
      let first = symbol(pair / Self.codes)
      if times < minimum || first.length == 8 { continue }
      add(first.followed(by: symbol(pair % Self.codes)), count: times, mask: size - 1)
    }
  }

  private mutating func add(_ symbol: Symbol, count: Int, mask: Int) {
    let mixed = (symbol.bytes ^ UInt64(symbol.length)) &* 0x9E37_79B9_7F4A_7C15
    var slot = Int(truncatingIfNeeded: mixed &>> 32) & mask
    // Single bytes matter more than they stand for: without one, its byte costs two.
    let gain = count * (symbol.length == 1 ? 8 : symbol.length)
    while slots.pointer[slot] != .max {
      let found = Int(slots.pointer[slot])
      if candidates.pointer[found].symbol == symbol {
        candidates.pointer[found].gain += gain
        return
      }
      slot = (slot &+ 1) & mask
    }
    slots.pointer[slot] = UInt32(truncatingIfNeeded: candidateCount)
    candidates.pointer[candidateCount] = Candidate(symbol: symbol, gain: gain)
    candidateCount += 1
  }

  /// The best symbols, ascending in length.
  private func best(isLast: Bool, scale: Int) -> [Symbol] {
    var list = UnsafeMutableBufferPointer(start: candidates.pointer, count: candidateCount)
    list.sort { left, right in
      if left.gain != right.gain { return left.gain > right.gain }
      if left.symbol.length != right.symbol.length {
        return left.symbol.length < right.symbol.length
      }
      return left.symbol.bytes < right.symbol.bytes
    }
    var symbols: [Symbol] = []
    symbols.reserveCapacity(SymbolTable.maximumCount)
    for candidate in list.prefix(SymbolTable.maximumCount) {
      let length = candidate.symbol.length
      let uses = candidate.gain / (length == 1 ? 8 : length)
      if isLast && uses * scale <= length { continue }
      symbols.append(candidate.symbol)
    }
    symbols.sort { left, right in
      left.length != right.length ? left.length < right.length : left.bytes < right.bytes
    }
    return symbols
  }
}
