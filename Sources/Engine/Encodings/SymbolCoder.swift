/// Splits texts into symbols whose prefix codes take few bits, and writes the codes.
///
/// The codes come from the sample of the trainer, so that a text is read once; bytes that the sample lacks
/// have long codes. A text is a path from its beginning to its end; its steps are symbols, as long as their
/// codes; a short path is taken. Places that are not nearer than a place further on are passed over. With
/// them the path would be the shortest, and take 1 to 5% fewer bits, for a third more time; the longest
/// symbol at each place would take 8 to 12% more bits, for a quarter of the time.
struct SymbolCoder: ~Copyable {
  // Not private: debug builds of the compiler fail for private elements of `Scratch`.
  /// A symbol and, of those that it begins with, which fit wherever it does, the longest three; the last
  /// one again where there are fewer. Bytes are left out: they are there if nothing else is.
  ///
  /// Each is `length << 28 | bits << 14 | rank`, with the bits of its code, and a rank that is the lower the
  /// later the symbol comes in the matcher: of two ways of as many bits, one with a longer symbol is taken.
  struct Steps: BitwiseCopyable {
    var first: UInt32
    var second: UInt32
    var third: UInt32
    var fourth: UInt32
  }

  private static let lengthShift: UInt32 = 28
  private static let bitsShift: UInt32 = 14
  private static let rankMask: UInt32 = 1 << bitsShift - 1

  /// Texts are split in blocks of so many bytes, which no symbol crosses.
  private static let block = 4096
  /// No symbol reaches so far.
  private static let ahead = SymbolTable.maximumLength + 1

  /// Of each symbol, by its number in the matcher.
  private var steps = Scratch<Steps>(capacity: 0)
  /// `code << 8 | bits` of each symbol, by its number in the matcher.
  private var codes = Scratch<UInt32>(capacity: 0)
  /// The symbols in the order of their codes.
  private var order: [UInt16] = []
  private var longest = 0
  /// For each place of a block: the fewest bits of what precedes it, and the rank of their last symbol, as in
  /// `Steps`. 4096 bytes take at most 81,920 bits.
  private var ways = Scratch<UInt32>(capacity: block + ahead)
  /// The symbols of a block, the last one first.
  private var choices = Scratch<UInt16>(capacity: block)
  /// Of the table in the file.
  private(set) var tableSize = 0

  // MARK: Codes

  /// Makes codes for the symbols of a matcher that the trainer has loaded, and takes those away that the
  /// sample does not need.
  mutating func load(_ matcher: inout SymbolMatcher, _ trainer: borrowing SymbolTrainer) {
    // The longest symbols first; their frequencies give the lengths of codes, by which others are chosen.
    var counts = [Int](repeating: 0, count: matcher.end)
    trainer.forEachPiece { text in matcher.forEachCode(text) { counts[$0] += 1 } }
    keep(&counts, &matcher)
    assign(counts, matcher)
    link(matcher)
    counts = [Int](repeating: 0, count: matcher.end)
    trainer.forEachPiece { text in forEachChoice(text, matcher) { counts[$0] += 1 } }
    keep(&counts, &matcher)
    assign(counts, matcher)
    link(matcher)
  }

  /// Leaves only symbols that occur in the matcher, and only what is left in `counts`.
  private func keep(_ counts: inout [Int], _ matcher: inout SymbolMatcher) {
    let used = counts.indices.filter { $0 < 256 || counts[$0] > 0 }
    matcher.load(used.dropFirst(256).map { matcher.symbol($0) }, width: .coded)
    counts = used.map { counts[$0] }
  }

  /// Finds the symbols that each symbol begins with.
  private mutating func link(_ matcher: borrowing SymbolMatcher) {
    let (steps, codes) = (steps.reserve(matcher.end), codes.pointer)
    func step(_ code: Int, _ length: Int) -> UInt32 {
      UInt32(truncatingIfNeeded: length) &<< Self.lengthShift
        | (codes[code] & 0xFF) &<< Self.bitsShift
        | UInt32(truncatingIfNeeded: code) ^ Self.rankMask
    }
    for code in 0..<matcher.end {
      let symbol = matcher.symbol(code)
      func shorter(_ than: UInt32) -> UInt32 {
        let most = Int(than &>> Self.lengthShift) &- 1
        if most < 2 { return than }
        let word = symbol.bytes & (UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- most &* 8))
        let match = matcher.match(word, remaining: most)
        return match.length == 1 ? than : step(match.code, match.length)
      }
      let first = step(code, symbol.length)
      let second = shorter(first)
      let third = shorter(second)
      steps[code] = Steps(first: first, second: second, third: third, fourth: shorter(third))
    }
  }

  /// Gives every symbol a code, shorter ones to those that occur more often.
  private mutating func assign(_ counts: [Int], _ matcher: borrowing SymbolMatcher) {
    let ranked = counts.indices.sorted { (counts[$0], $1) > (counts[$1], $0) }
    var frequencies = ranked.map { max(counts[$0], 1) }
    let plan = frequencies.withUnsafeMutableBufferPointer {
      CodePlan($0, shortest: CodedSymbols.shortest)
    }
    let codes = codes.reserve(ranked.count)
    plan.fill(codes)
    let values = ranked.indices.map { codes[$0] }
    // Codes of one length go to the short symbols first, so that their lengths need not be stored.
    let sorted = ranked.indices.sorted { left, right in
      (values[left] & 0xFF, matcher.symbol(ranked[left]).length, ranked[left])
        < (values[right] & 0xFF, matcher.symbol(ranked[right]).length, ranked[right])
    }
    order = sorted.map { UInt16(truncatingIfNeeded: ranked[$0]) }
    longest = plan.maximumLength
    tableSize = 2 + CodedSymbols.countBytes(longest: longest)
    for (code, value) in zip(order, values) {
      codes[Int(code)] = value
      tableSize += matcher.symbol(Int(code)).length
    }
  }

  /// Writes the table, see `CodedSymbols`.
  func writeTable(_ matcher: borrowing SymbolMatcher, into output: inout OutputBuffer) {
    output.append(SymbolTable.Width.coded.rawValue)
    output.append(UInt8(truncatingIfNeeded: longest))
    var counts = [UInt16](repeating: 0, count: CodedSymbols.countBytes(longest: longest) / 2)
    for code in order {
      let bits = Int(codes.pointer[Int(code)] & 0xFF) - CodedSymbols.shortest
      counts[bits * SymbolTable.maximumLength + matcher.symbol(Int(code)).length - 1] += 1
    }
    for count in counts { output.append(count) }
    for code in order {
      let symbol = matcher.symbol(Int(code))
      output.reserve(8).storeBytes(of: symbol.bytes.littleEndian, as: UInt64.self)
      output.advance(symbol.length)
    }
  }

  // MARK: Compressing

  /// The most bytes that `compress` may touch.
  static func mostBytes(_ count: Int) -> Int { count &* CanonicalCode.longest / 8 &+ 24 }

  /// Compresses a text to `target`, and returns the compressed length.
  ///
  /// - Precondition: `target` has room for `mostBytes`.
  mutating func compress(
    _ text: SpellingView, _ matcher: borrowing SymbolMatcher, to target: UnsafeMutableRawPointer
  ) -> Int {
    var writer = BitWriter(target)
    var total = 0
    let codes = codes.pointer
    forEachChoice(text, matcher) { code in
      let value = codes[code]
      let bits = Int(value & 0xFF)
      writer.append(UInt64(value &>> 8), count: bits)
      total &+= bits
    }
    let rest = -total & 7
    writer.append(1 &<< UInt64(truncatingIfNeeded: rest) &- 1, count: rest)
    return (total &+ rest) &>> 3
  }

  /// Calls `body` with the symbols of a text, by their numbers in the matcher.
  @inline(__always)
  private mutating func forEachChoice(
    _ text: SpellingView, _ matcher: borrowing SymbolMatcher, _ body: (Int) -> Void
  ) {
    let choices = choices.pointer
    var start = 0
    while start < text.count {
      let count = min(Self.block, text.count &- start)
      var left = choose(text.part(start..<start &+ count), matcher)
      while left > 0 {
        left &-= 1
        body(Int(choices[left]))
      }
      start &+= count
    }
  }

  /// Finds the symbols of a block, and stores them in `choices`, the last one first. Returns how many.
  private mutating func choose(_ text: SpellingView, _ matcher: borrowing SymbolMatcher) -> Int {
    let (steps, ways) = (steps.pointer, ways.pointer)
    let end = text.count
    ways.update(repeating: .max, count: end &+ Self.ahead)
    ways[0] = 0
    // Hardly a branch depends on the text: nothing would predict it.
    var place = 0
    while place < end {
      let bits = ways[place] & ~Self.rankMask
      @inline(__always) func take(_ step: UInt32) {
        let target = place &+ Int(step &>> Self.lengthShift)
        ways[target] = min(bits &+ (step & (1 &<< Self.lengthShift &- 1)), ways[target])
      }
      let left = end &- place
      let match =
        left >= 8
        ? matcher.match(text.fullWord(at: place))
        : matcher.match(text.word(at: place), remaining: left)
      let steps = steps[match.code]
      take(steps.first)
      take(steps.second)
      take(steps.third)
      take(steps.fourth)
      // The next place that is nearer than all further on.
      var (next, least) = (end, UInt32.max)
      for other in stride(from: place &+ SymbolTable.maximumLength, to: place, by: -1) {
        let known = ways[other] & ~Self.rankMask
        next = known < least ? other : next
        least = min(known, least)
      }
      place = next
    }
    let choices = choices.pointer
    place = end
    var count = 0
    while place > 0 {
      let code = (ways[place] & Self.rankMask) ^ Self.rankMask
      choices[count] = UInt16(truncatingIfNeeded: code)
      count &+= 1
      place &-= Int(steps[Int(code)].first &>> Self.lengthShift)
    }
    return count
  }
}
