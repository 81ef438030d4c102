/// Splits texts into symbols whose codes take few bits together.
///
/// A text is a path from its beginning to its end; its steps are symbols, as long as their codes; a short
/// path is taken. Places that are not nearer than a place further on are passed over. With them the path
/// would be the shortest, and take up to 5% fewer bits, for 1.5 to 2.5 times the time; the longest symbol at
/// each place would take 8 to 12% more bits, for a quarter of the time.
///
/// Each step waits for what the one before it found in memory, so a few blocks are split in turn: the
/// processor works on one while the others wait.
struct SymbolSplitter: ~Copyable {
  // Not private: debug builds of the compiler fail for private elements of `Scratch`.
  /// A symbol and, of those that it begins with, which fit wherever it does, the longest three; the last
  /// one again where there are fewer. Bytes are left out: they are there if nothing else is.
  ///
  /// Each is `length << 27 | bits << 14 | rank`, with the bits of its code, and a rank that is the lower the
  /// later the symbol comes in the matcher: of two ways of as many bits, one with a longer symbol is taken.
  struct Steps: BitwiseCopyable {
    var first: UInt32
    var second: UInt32
    var third: UInt32
    var fourth: UInt32
  }

  /// A part of a text that no symbol crosses.
  struct Block: BitwiseCopyable {
    var text: SpellingView
    /// Where its symbols lie in `choices`.
    var start: Int
    /// How many there are.
    var count = 0
    /// True when the text ends with it.
    var isLast: Bool
  }

  /// A block that is being split.
  struct Lane: BitwiseCopyable {
    var block: Int
    var text: SpellingView
    var place: Int
    let ways: UnsafeMutablePointer<UInt32>
  }

  private static let lengthShift: UInt32 = 27
  private static let bitsShift: UInt32 = 14
  private static let rankMask: UInt32 = 1 << bitsShift - 1

  private static let blockBytes = 4096
  /// So many bytes, in at most so many blocks, are split before their symbols are used.
  private static let batchBytes = 16_384
  private static let mostBlocks = 256
  /// No symbol reaches so far.
  private static let ahead = CodedSymbols.longestSymbol + 1
  private static let laneWays = blockBytes + ahead
  private static let laneCount = 4

  // Without memory before the first symbols are loaded: imports load none.
  /// Of each symbol, by its number in the matcher.
  private var steps = Scratch<Steps>(capacity: 0)
  /// For each place of a lane's block: the fewest bits of what precedes it, and the rank of their last
  /// symbol, as in `Steps`. 4096 bytes take at most 81,920 bits.
  private var ways = Scratch<UInt32>(capacity: 0)
  private var lanes = Scratch<Lane>(capacity: 0)
  private var blocks = Scratch<Block>(capacity: 0)
  /// The symbols of each block, the last one first.
  private var choices = Scratch<UInt16>(capacity: 0)

  init() {}

  /// Finds the symbols that each symbol of a matcher begins with.
  ///
  /// - Precondition: the matcher's symbols ascend in length, so that of equal ways the one with a longer
  ///   symbol is taken.
  /// - Parameter bits: the length of each symbol's code.
  mutating func load(_ matcher: borrowing SymbolMatcher, bits: (Int) -> UInt32) {
    _ = ways.reserve(Self.laneCount * Self.laneWays)
    _ = lanes.reserve(Self.laneCount)
    _ = blocks.reserve(Self.mostBlocks)
    _ = choices.reserve(Self.batchBytes)
    let steps = steps.reserve(matcher.end)
    func step(_ code: Int, _ length: Int) -> UInt32 {
      UInt32(truncatingIfNeeded: length) &<< Self.lengthShift
        | bits(code) &<< Self.bitsShift
        | UInt32(truncatingIfNeeded: code) ^ Self.rankMask
    }
    for code in 0..<matcher.end {
      let symbol = matcher.symbol(code)
      func shorter(_ than: UInt32) -> UInt32 {
        let most = Int(than &>> Self.lengthShift) &- 1
        if most < 2 { return than }
        let match = matcher.indexed(symbol, most: most)
        return match.length == 1 ? than : step(match.code, match.length)
      }
      let first = step(code, symbol.length)
      let second = shorter(first)
      let third = shorter(second)
      steps[code] = Steps(first: first, second: second, third: third, fourth: shorter(third))
    }
  }

  /// Calls `body` with the symbols of each text, block by block, by their numbers in the matcher, the last
  /// one of a block first; until it returns false.
  ///
  /// - Precondition: the matcher is the one that was loaded.
  @inline(__always)
  mutating func split(
    _ count: Int, _ matcher: borrowing SymbolMatcher, text: (Int) -> SpellingView,
    _ body: (_ symbols: UnsafeBufferPointer<UInt16>, _ isLast: Bool) -> Bool
  ) {
    let (blocks, choices) = (blocks.pointer, choices.pointer)
    var (index, offset) = (0, 0)
    while index < count {
      var (waiting, bytes) = (0, 0)
      while index < count, waiting < Self.mostBlocks, bytes <= Self.batchBytes - Self.blockBytes {
        let whole = text(index)
        let end = min(whole.count, offset &+ Self.blockBytes)
        let isLast = end == whole.count
        blocks[waiting] = Block(text: whole.part(offset..<end), start: bytes, isLast: isLast)
        waiting &+= 1
        bytes &+= end &- offset
        offset = isLast ? 0 : end
        index &+= isLast ? 1 : 0
      }
      splitBlocks(waiting, matcher)
      for block in 0..<waiting {
        let symbols = UnsafeBufferPointer(
          start: choices + blocks[block].start, count: blocks[block].count)
        guard body(symbols, blocks[block].isLast) else { return }
      }
    }
  }

  private mutating func splitBlocks(_ count: Int, _ matcher: borrowing SymbolMatcher) {
    let lanes = lanes.pointer
    var (next, active) = (0, 0)
    while active < Self.laneCount {
      guard let block = following(&next, count) else { break }
      lanes[active] = begin(block, ways.pointer + active &* Self.laneWays)
      active &+= 1
    }
    var current = 0
    while active > 0 {
      let lane = lanes + current
      advance(&lane.pointee, matcher)
      current = current &+ 1 < active ? current &+ 1 : 0
      if lane.pointee.place < lane.pointee.text.count { continue }
      trace(lane.pointee)
      if let block = following(&next, count) {
        lane.pointee = begin(block, lane.pointee.ways)
      } else {
        active &-= 1
        lane.pointee = lanes[active]
        current = 0
      }
    }
  }

  /// The next block that is not empty.
  private func following(_ next: inout Int, _ count: Int) -> Int? {
    while next < count {
      next &+= 1
      if blocks.pointer[next &- 1].text.count > 0 { return next &- 1 }
    }
    return nil
  }

  private func begin(_ block: Int, _ ways: UnsafeMutablePointer<UInt32>) -> Lane {
    let text = blocks.pointer[block].text
    ways.update(repeating: .max, count: text.count &+ Self.ahead)
    ways[0] = 0
    return Lane(block: block, text: text, place: 0, ways: ways)
  }

  /// Takes the steps from a lane's place, and moves it to the next one.
  @inline(__always)
  private func advance(_ lane: inout Lane, _ matcher: borrowing SymbolMatcher) {
    // Hardly a branch depends on the text: nothing would predict it.
    let (place, ways) = (lane.place, lane.ways)
    let bits = ways[place] & ~Self.rankMask
    @inline(__always) func take(_ step: UInt32) {
      let target = place &+ Int(step &>> Self.lengthShift)
      ways[target] = min(bits &+ (step & (1 &<< Self.lengthShift &- 1)), ways[target])
    }
    let match = matcher.indexed(lane.text, at: place)
    let steps = steps.pointer[match.code]
    take(steps.first)
    take(steps.second)
    take(steps.third)
    take(steps.fourth)
    // The nearest of the next places, the last one of those that are as near. One is where the first step
    // leads.
    let far = UInt32(truncatingIfNeeded: CodedSymbols.longestSymbol)
    @inline(__always) func key(_ step: UInt32) -> UInt32 {
      ways[place &+ Int(step)] & ~Self.rankMask | (far &- step)
    }
    let near = min(min(key(1), key(2)), min(key(3), key(4)))
    var nearest = min(near, min(min(key(5), key(6)), min(key(7), key(8))))
    if match.length > 8 {
      let farther = min(min(key(9), key(10)), min(key(11), key(12)))
      nearest = min(nearest, farther, min(min(key(13), key(14)), min(key(15), key(16))))
    }
    lane.place = place &+ Int(far &- (nearest & Self.rankMask))
  }

  /// Follows a way back from the end of a lane's block.
  private func trace(_ lane: Lane) {
    let (steps, ways) = (steps.pointer, lane.ways)
    let block = blocks.pointer + lane.block
    let choices = choices.pointer + block.pointee.start
    var place = lane.text.count
    var count = 0
    while place > 0 {
      let code = (ways[place] & Self.rankMask) ^ Self.rankMask
      choices[count] = UInt16(truncatingIfNeeded: code)
      count &+= 1
      place &-= Int(steps[Int(code)].first &>> Self.lengthShift)
    }
    block.pointee.count = count
  }
}
