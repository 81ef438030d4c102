/// Gives the symbols of a matcher prefix codes, and writes texts in them.
///
/// The codes come from the sample of the trainer, so that a text is read once; bytes that the sample lacks
/// have long codes. `SymbolSplitter` chooses the symbols of a text.
struct SymbolCoder: ~Copyable {
  private var splitter = SymbolSplitter()
  /// `code << 8 | bits` of each symbol, by its number in the matcher.
  private var codes = Scratch<UInt32>(capacity: 0)
  /// The symbols in the order of their codes.
  private var order: [UInt16] = []
  private var longest = 0
  /// Of the table in the file.
  private(set) var tableSize = 0

  // MARK: Codes

  /// Makes codes for the symbols of a matcher that the trainer has loaded, and takes those away that the
  /// sample does not need.
  mutating func load(_ matcher: inout SymbolMatcher, _ trainer: borrowing SymbolTrainer) {
    // The longest symbols first; their frequencies give the lengths of codes, by which others are chosen.
    var counts = [Int](repeating: 0, count: matcher.end)
    for piece in 0..<trainer.pieces {
      matcher.forEachCode(trainer.piece(piece)) { counts[$0] += 1 }
    }
    keep(&counts, &matcher)
    _ = assign(counts, matcher)
    counts = [Int](repeating: 0, count: matcher.end)
    splitter.split(trainer.pieces, matcher, text: { trainer.piece($0) }) { symbols, _ in
      for symbol in symbols { counts[Int(symbol)] += 1 }
      return true
    }
    keep(&counts, &matcher)
    arrange(assign(counts, matcher), matcher)
  }

  /// Leaves only symbols that occur in the matcher, and only what is left in `counts`.
  private func keep(_ counts: inout [Int], _ matcher: inout SymbolMatcher) {
    let used = counts.indices.filter { $0 < 256 || counts[$0] > 0 }
    matcher.load(used.dropFirst(256).map { matcher.symbol($0) }, width: .coded)
    counts = used.map { counts[$0] }
  }

  /// Gives every symbol a code, shorter ones to those that occur more often, and returns the codes, ascending
  /// in length.
  private mutating func assign(
    _ counts: [Int], _ matcher: borrowing SymbolMatcher
  ) -> [UInt32] {
    // One number for each, since they are sorted faster than by a closure: the frequency, then the number of
    // the symbol, the lowest first.
    var ranked = counts.indices.map { UInt64(counts[$0]) << 16 | (0xFFFF - UInt64($0)) }
    ranked.sort(by: >)
    var frequencies = ranked.map { max(Int($0 >> 16), 1) }
    let plan = frequencies.withUnsafeMutableBufferPointer {
      CodePlan($0, shortest: CodedSymbols.shortest)
    }
    longest = plan.maximumLength
    let codes = codes.reserve(ranked.count)
    plan.fill(codes)
    let values = ranked.indices.map { codes[$0] }
    for (value, key) in zip(values, ranked) { codes[0xFFFF - Int(key & 0xFFFF)] = value }
    splitter.load(matcher) { codes[$0] & 0xFF }
    return values
  }

  /// How many numbers tell how many symbols of each length have codes of each length.
  private var numbers: Int {
    CodedSymbols.countBytes(longest: longest, sizes: CodedSymbols.longestSymbol) / 2
  }

  /// Gives the codes of one length to the short symbols first, so that their lengths need not be stored.
  private mutating func arrange(_ values: [UInt32], _ matcher: borrowing SymbolMatcher) {
    let codes = codes.pointer
    var keys = (0..<matcher.end).map { code in
      UInt64(codes[code] & 0xFF) << 32 | UInt64(matcher.symbol(code).length) << 16 | UInt64(code)
    }
    keys.sort()
    order = keys.map { UInt16($0 & 0xFFFF) }
    tableSize = 2 + 2 * numbers
    for (code, value) in zip(order, values) {
      codes[Int(code)] = value
      tableSize += matcher.symbol(Int(code)).length
    }
  }

  /// Writes the table, see `CodedSymbols`.
  func writeTable(_ matcher: borrowing SymbolMatcher, into output: inout OutputBuffer) {
    output.append(SymbolTable.Width.coded.rawValue)
    output.append(UInt8(truncatingIfNeeded: longest))
    var counts = [UInt16](repeating: 0, count: numbers)
    for code in order {
      let bits = Int(codes.pointer[Int(code)] & 0xFF) - CodedSymbols.shortest
      counts[bits * CodedSymbols.longestSymbol + matcher.symbol(Int(code)).length - 1] += 1
    }
    for count in counts { output.append(count) }
    for code in order {
      let symbol = matcher.symbol(Int(code))
      output.reserve(16).storeBytes(of: symbol.bytes.littleEndian, as: UInt128.self)
      output.advance(symbol.length)
    }
  }

  // MARK: Compressing

  /// Compresses texts one after the other, and calls `body` with the compressed length of each, and that of
  /// the output then, until it returns false.
  mutating func compress(
    _ count: Int, _ matcher: borrowing SymbolMatcher, to output: inout OutputBuffer,
    text: (Int) -> SpellingView, _ body: (_ length: Int, _ end: Int) -> Bool
  ) {
    let codes = codes.pointer
    // The bits of a text that are not a whole byte yet.
    var (rest, restBits) = (UInt64(0), 0)
    var start = output.count
    splitter.split(count, matcher, text: text) { symbols, isLast in
      let target = output.reserve(symbols.count &* CanonicalCode.longest / 8 &+ 24)
      var writer = BitWriter(target)
      writer.append(rest, count: restBits)
      var total = restBits
      for symbol in symbols.reversed() {
        let value = codes[Int(symbol)]
        let bits = Int(value & 0xFF)
        writer.append(UInt64(value &>> 8), count: bits)
        total &+= bits
      }
      guard isLast else {
        output.advance(total &>> 3)
        restBits = total & 7
        let byte = target.load(fromByteOffset: total &>> 3, as: UInt8.self)
        rest = UInt64(byte) &>> UInt64(truncatingIfNeeded: 8 &- restBits)
        return true
      }
      let left = -total & 7
      writer.append(1 &<< UInt64(truncatingIfNeeded: left) &- 1, count: left)
      output.advance((total &+ left) &>> 3)
      let length = output.count &- start
      (rest, restBits, start) = (0, 0, output.count)
      return body(length, output.count)
    }
  }
}
