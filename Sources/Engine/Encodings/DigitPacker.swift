/// Strings of a column in the codes of a `DigitTable`, before they are written.
struct DigitPacker: ~Copyable {
  private var pattern: DigitPattern?
  private var codes = OutputBuffer()
  private var lengths = Scratch<UInt32>()
  private var strays = Scratch<UInt32>()
  /// The codes of one string, a byte each.
  private var room = Scratch<UInt8>()
  private var codeOf = Scratch<UInt8>(capacity: 256)
  private(set) var strings = PackedStringsPlan()
  /// The strings to write as exceptions.
  private(set) var exceptions = PackedStringsPlan()
  // Codes that wait for a whole word.
  private var word: UInt64 = 0
  private var filled = 0

  private static let none: UInt8 = 0xFF
  /// How many times strings that do not fit may correct the pattern, which was found from a few.
  private static let mostMends = 8

  /// Bytes that `write` appends.
  var size: Int { (pattern?.size ?? 0) &+ strings.size }

  /// Numbers of the strings that are exceptions, ascending.
  var strayRows: UnsafePointer<UInt32> { UnsafePointer(strays.pointer) }

  /// True when a few strings had a pattern, even if it does not fit all.
  var hasPattern: Bool { pattern != nil }

  mutating func forget() { pattern = nil }

  /// Packs the strings if they have a pattern.
  ///
  /// - Parameters:
  ///   - plan: the plan for the uncompressed strings.
  ///   - mostExceptions: the largest allowed number of exceptions.
  ///   - span: the place of each string; null counts as empty.
  /// - Returns: false when there is no pattern, or too many strings do not fit it.
  mutating func pack(
    _ column: GatheredColumn, _ plan: PackedStringsPlan, mostExceptions: Int,
    span: (Int) -> TextSpan
  ) -> Bool {
    guard var pattern = DigitPattern(column, count: plan.count, span: span) else { return false }
    for _ in 0..<Self.mostMends {
      var misfits = Misfits()
      let fits = pack(column, plan, pattern, mostExceptions, &misfits, span)
      // With too many exceptions, everything that can be mended is mended.
      let least = fits ? plan.count / max(1, 8 * plan.total / max(1, plan.count)) : 0
      if misfits.mend(&pattern, least: least) { continue }
      self.pattern = pattern
      return fits
    }
    self.pattern = pattern
    return false
  }

  func write(into output: inout OutputBuffer) {
    guard let pattern else { return }
    pattern.write(into: &output)
    let lengths = lengths.pointer
    strings.writeIndex(into: &output) { Int(lengths[$0]) }
    output.append(UnsafeRawPointer(codes.start), count: codes.count)
  }

  /// True when the symbols are about equally frequent whatever precedes them, so that no other method makes
  /// the strings much smaller.
  var looksRandom: Bool {
    guard let pattern, codes.count >= 256 else { return false }
    var different = 1
    for _ in 0..<(8 / pattern.bits) { different *= pattern.symbols.count }
    return withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { counts in
      counts.initialize(repeating: 0)
      let step = max(1, codes.count / 8192)
      var total = 0
      for index in stride(from: 0, to: codes.count, by: step) {
        counts[Int(codes.bytes[index])] &+= 1
        total &+= 1
      }
      // Equal pairs, compared with as many as chance would give.
      let pairs = counts.reduce(0) { $0 &+ $1 &* ($1 &- 1) }
      return pairs &* different <= total &* (total &- 1) &* 3 / 2
    }
  }

  // MARK: Packing

  private mutating func pack(
    _ column: GatheredColumn, _ plan: PackedStringsPlan, _ pattern: DigitPattern,
    _ mostExceptions: Int, _ misfits: inout Misfits, _ span: (Int) -> TextSpan
  ) -> Bool {
    codes.removeAll()
    exceptions = PackedStringsPlan()
    if let fixed = FixedDigits(pattern, length: plan.maximum), pack(fixed, column, plan, span) {
      return true
    }
    let codeOf = codeOf.reserve(256)
    codeOf.update(repeating: Self.none, count: 256)
    for (code, symbol) in pattern.symbols.enumerated() {
      codeOf[Int(symbol)] = UInt8(truncatingIfNeeded: code)
    }
    let lengths = lengths.reserve(plan.count)
    let room = room.reserve(plan.maximum &+ 16)
    (word, filled) = (0, 0)
    strings = PackedStringsPlan(bits: pattern.bits)
    return pattern.literals.withUnsafeBufferPointer { literals in
      for index in 0..<plan.count {
        let string = span(index)
        var count = 0
        if string.length > 0 {
          count = Self.read(column.spelling(string), codeOf, literals, room)
          if count == 0 {
            guard exceptions.count < mostExceptions else {
              misfits.add(column.spelling(string), codeOf, literals)
              return false
            }
            misfits.add(column.spelling(string), codeOf, literals)
            strays.reserve(exceptions.count &+ 1, keeping: exceptions.count)[exceptions.count] =
              UInt32(truncatingIfNeeded: index)
            exceptions.add(length: Int(string.length))
          }
          append(room, count, bits: pattern.bits)
        }
        lengths[index] = UInt32(truncatingIfNeeded: count)
        strings.add(length: count)
      }
      finish()
      return true
    }
  }

  /// Packs strings that are all alike; returns false, with nothing packed, when they are not.
  private mutating func pack(
    _ fixed: FixedDigits, _ column: GatheredColumn, _ plan: PackedStringsPlan,
    _ span: (Int) -> TextSpan
  ) -> Bool {
    let room = room.reserve(plan.total &+ FixedDigits.slack)
    guard fixed.pack(column, count: plan.count, room: room, into: &codes, span: span) else {
      return false
    }
    let lengths = lengths.reserve(plan.count)
    var strings = PackedStringsPlan(bits: 4)
    for index in 0..<plan.count {
      let count = span(index).length == 0 ? 0 : fixed.codes
      lengths[index] = UInt32(truncatingIfNeeded: count)
      strings.add(length: count)
    }
    self.strings = strings
    return true
  }

  /// Writes the code of each symbol, a byte each, and returns how many; 0 when the string does not fit the
  /// pattern.
  @inline(__always)
  static func read(
    _ text: SpellingView, _ codeOf: UnsafePointer<UInt8>,
    _ literals: UnsafeBufferPointer<(place: Int, byte: UInt8)>, _ room: UnsafeMutablePointer<UInt8>
  ) -> Int {
    var (place, count, next) = (0, 0, 0)
    var all: UInt64 = 0
    while true {
      let end = next < literals.count ? min(literals[next].place, text.count) : text.count
      while end &- place >= 8 {
        let codes = eightCodes(text.fullWord(at: place), codeOf)
        all |= codes
        UnsafeMutableRawPointer(room + count).storeBytes(of: codes.littleEndian, as: UInt64.self)
        place &+= 8
        count &+= 8
      }
      while place < end {
        let code = codeOf[Int(text[place])]
        all |= UInt64(code)
        room[count] = code
        place &+= 1
        count &+= 1
      }
      if next == literals.count { break }
      let literal = literals[next]
      // A string that ends where a literal would follow does not fit: decoding would append the literal.
      if literal.place > text.count { break }
      guard literal.place < text.count, text[place] == literal.byte else { return 0 }
      place &+= 1
      next &+= 1
    }
    // Codes are less than 16, only `none` has the highest bit.
    return all & 0x8080_8080_8080_8080 != 0 ? 0 : count
  }

  /// The codes of eight bytes, in their order.
  @inline(__always)
  private static func eightCodes(_ bytes: UInt64, _ codeOf: UnsafePointer<UInt8>) -> UInt64 {
    var codes: UInt64 = 0
    var shift: UInt64 = 0
    while shift < 64 {
      let code = codeOf[Int(truncatingIfNeeded: bytes &>> shift & 0xFF)]
      codes |= UInt64(code) &<< shift
      shift &+= 8
    }
    return codes
  }

  @inline(__always)
  private mutating func append(_ room: UnsafePointer<UInt8>, _ count: Int, bits: Int) {
    var index = 0
    if bits == 4 {
      let bytes = UnsafeRawPointer(room)
      while index &+ 8 <= count {
        var eight = UInt64(
          littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        eight = (eight | eight &>> 4) & 0x00FF_00FF_00FF_00FF
        eight = (eight | eight &>> 8) & 0x0000_FFFF_0000_FFFF
        append((eight | eight &>> 16) & 0xFFFF_FFFF, 32)
        index &+= 8
      }
    }
    while index < count {
      append(UInt64(room[index]), bits)
      index &+= 1
    }
  }

  @inline(__always)
  private mutating func append(_ value: UInt64, _ width: Int) {
    word |= value &<< UInt64(truncatingIfNeeded: filled)
    filled &+= width
    if filled >= 64 {
      codes.append(word)
      filled &-= 64
      // Not `&>>`: all of the value may be used up, and this then shifts by 64.
      word = value >> UInt64(truncatingIfNeeded: width &- filled)
    }
  }

  private mutating func finish() {
    let bytes = (filled &+ 7) &>> 3
    codes.reserve(8).storeBytes(of: word.littleEndian, as: UInt64.self)
    codes.advance(bytes)
  }
}

/// Why strings do not fit a pattern that was found from a few of them.
private struct Misfits {
  /// Strings of symbols only that differ in a literal, by the literal's number.
  private var literals: [Int: Int] = [:]
  /// Strings with a byte that is not a symbol.
  private var symbols: [UInt8: Int] = [:]

  mutating func add(
    _ text: SpellingView, _ codeOf: UnsafePointer<UInt8>,
    _ pattern: UnsafeBufferPointer<(place: Int, byte: UInt8)>
  ) {
    var next = 0
    for place in 0..<text.count {
      if next < pattern.count, pattern[next].place == place {
        if text[place] != pattern[next].byte {
          literals[next, default: 0] += 1
          return
        }
        next += 1
      } else if codeOf[Int(text[place])] == 0xFF {
        symbols[text[place], default: 0] += 1
        return
      }
    }
  }

  /// Turns literals into places for symbols, and bytes into symbols, when more than `least` strings require
  /// it: that many exceptions cost as much as one more bit in every string.
  func mend(_ pattern: inout DigitPattern, least: Int) -> Bool {
    var mended = pattern
    for index in literals.keys.sorted(by: >) {
      guard literals[index] ?? 0 > least * pattern.bits else { continue }
      var next = mended
      if next.add(next.literals.remove(at: index).byte) { mended = next }
    }
    for symbol in symbols.keys.sorted() where symbols[symbol] ?? 0 > least {
      _ = mended.add(symbol)
    }
    let isMended =
      mended.symbols.count > pattern.symbols.count || mended.literals.count < pattern.literals.count
    if isMended { pattern = mended }
    return isMended
  }
}
