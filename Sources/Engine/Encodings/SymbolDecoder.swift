import Base

/// A symbol table expanded for decoding many strings; reused for the next column.
struct SymbolDecoder: ~Copyable {
  private static let capacity = 4096

  private var words = Scratch<UInt64>(capacity: 0)
  private var lengths = Scratch<UInt8>(capacity: 0)
  private var width = SymbolTable.Width.narrow
  private var coded = CodedDecoder()

  mutating func load(_ table: SymbolTable) {
    width = table.width
    if let symbols = table.coded { return coded.load(symbols) }
    let count = width == .wide ? Self.capacity : 256
    let words = words.reserve(count)
    let lengths = lengths.reserve(count)
    for code in 0..<count {
      let (word, length) = code < table.end ? table.symbol(code) : (0, 0)
      words[code] = word.littleEndian
      lengths[code] = UInt8(truncatingIfNeeded: length)
    }
  }

  /// Like `SymbolTable.decode`, with one load for each symbol and one for its length.
  ///
  /// - Precondition: `target` has room for the text and 16 bytes more; 8 bytes may be read behind the codes.
  @inline(__always)
  borrowing func decode(
    _ codes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) -> Int {
    guard let base = codes.baseAddress else { return 0 }
    switch width {
    case .coded: return coded.decode(base, count: codes.count, to: target)
    case .narrow: return decodeNarrow(base, count: codes.count, to: target)
    case .wide: return decodeWide(base, count: codes.count, to: target)
    }
  }

  /// Like `SymbolTable.room`, of the table that is loaded.
  borrowing func room(_ codes: UnsafeRawBufferPointer, of table: SymbolTable) -> Int {
    guard table.coded != nil, let base = codes.baseAddress, !table.hasRoughRoom(codes) else {
      return table.room(codes)
    }
    return coded.decodedCount(base, count: codes.count)
  }

  /// Like `SymbolTable.areCodes`, of the table that is loaded.
  borrowing func areCodes(_ codes: UnsafeRawBufferPointer, of table: SymbolTable) -> Bool {
    guard table.coded != nil else { return table.areCodes(codes) }
    return CodedSymbols.isPadding(coded.left(codes), of: codes)
  }

  @inline(__always)
  private borrowing func decodeNarrow(
    _ base: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer
  ) -> Int {
    let (words, lengths) = (words.pointer, lengths.pointer)
    let end = base + count
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

  @inline(__always)
  private borrowing func decodeWide(
    _ base: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer
  ) -> Int {
    let (words, lengths) = (words.pointer, lengths.pointer)
    var source = base
    var output = target
    var remaining = SymbolTable.wideCount(count)
    while remaining > 0 {
      let both = UInt32(littleEndian: source.loadUnaligned(as: UInt32.self))
      let first = Int(both & 0xFFF)
      output.storeBytes(of: words[first], as: UInt64.self)
      output += Int(lengths[first])
      if remaining == 1 { break }
      let second = Int(both &>> 12 & 0xFFF)
      output.storeBytes(of: words[second], as: UInt64.self)
      output += Int(lengths[second])
      source += 3
      remaining &-= 2
    }
    return output - target
  }
}

/// A table of prefix codes expanded for decoding: codes of up to 14 bits are looked up.
private struct CodedDecoder: ~Copyable {
  private static let bits = 14
  /// The first class of longer codes.
  private static let longClasses = bits - CodedSymbols.shortest + 1

  /// For the bits that a code begins with: the symbol's place, then its length, then the code's; 0 for longer
  /// codes, and for bits that are no code.
  private var entries = Scratch<UInt32>(capacity: 0)
  /// The symbols in the order of codes: the bytes, and the length.
  private var words = Scratch<UInt128>(capacity: 0)
  private var lengths = Scratch<UInt8>(capacity: 0)
  private var classes = Scratch<CodedSymbols.CodeClass>(capacity: 0)
  private var classCount = 0

  mutating func load(_ symbols: CodedSymbols) {
    let (words, lengths) = (words.reserve(symbols.count), lengths.reserve(symbols.count))
    var rank = 0
    symbols.forEach { word, length in
      words[rank] = word.littleEndian
      lengths[rank] = UInt8(truncatingIfNeeded: length)
      rank &+= 1
    }
    classCount = symbols.classCount
    let classes = classes.reserve(classCount)
    symbols.fill(classes)
    let entries = entries.reserve(1 << Self.bits)
    var entry = 0
    for index in 0..<min(classCount, Self.longClasses) {
      let bits = index &+ CodedSymbols.shortest
      let end = index &+ 1 < classCount ? classes[index &+ 1].rank : symbols.count
      for symbol in classes[index].rank..<end {
        // All entries that begin with the code.
        let span = 1 &<< (Self.bits &- bits)
        let value = Self.entry(symbol, lengths[symbol], bits)
        (entries + entry).update(repeating: value, count: span)
        entry &+= span
      }
    }
    (entries + entry).update(repeating: 0, count: 1 << Self.bits &- entry)
  }

  @inline(__always)
  private static func entry(_ symbol: Int, _ length: UInt8, _ bits: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: symbol &<< 16 | Int(length) &<< 8 | bits)
  }

  /// The entry for the code at the top of a window; 0 for bits that are no code.
  @inline(__always)
  private borrowing func entry(_ window: UInt64) -> UInt32 {
    let entry = entries.pointer[Int(truncatingIfNeeded: window &>> UInt64(64 - Self.bits))]
    return entry != 0 ? entry : longEntry(window)
  }

  @inline(never)
  private borrowing func longEntry(_ window: UInt64) -> UInt32 {
    let (top, classes) = (window &>> 32, classes.pointer)
    var index = Self.longClasses
    while index < classCount, top >= classes[index].end { index &+= 1 }
    if index >= classCount { return 0 }
    let bits = index &+ CodedSymbols.shortest
    let code = Int(truncatingIfNeeded: top &>> UInt64(truncatingIfNeeded: 32 &- bits))
    let symbol = classes[index].rank &+ code &- classes[index].first
    return Self.entry(symbol, lengths.pointer[symbol], bits)
  }

  /// How many bits at the end of a compressed string are no code.
  borrowing func left(_ codes: UnsafeRawBufferPointer) -> Int {
    guard let base = codes.baseAddress else { return 0 }
    let end = codes.count &* 8
    var cursor = BitCursor(base, position: 0, limit: end)
    var position = 0
    while position < end {
      let bits = Int(entry(cursor.window) & 0xFF)
      if bits == 0 || position &+ bits > end { break }
      cursor.skip(bits)
      position &+= bits
    }
    return end &- position
  }

  @inline(__always)
  borrowing func decode(
    _ base: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer
  ) -> Int {
    let words = words.pointer
    var output = target
    forEachEntry(base, count: count) { entry in
      output.storeBytes(of: words[Int(entry &>> 16)], as: UInt128.self)
      output += Int(entry &>> 8 & 0xFF)
    }
    return output - target
  }

  /// The length of the text that `decode` would write.
  borrowing func decodedCount(_ base: UnsafeRawPointer, count: Int) -> Int {
    var total = 0
    forEachEntry(base, count: count) { total &+= Int($0 &>> 8 & 0xFF) }
    return total
  }

  @inline(__always)
  private borrowing func forEachEntry(
    _ base: UnsafeRawPointer, count: Int, _ body: (UInt32) -> Void
  ) {
    let end = count &* 8
    var position = 0
    while position < end {
      let word = base.loadUnaligned(fromByteOffset: position &>> 3, as: UInt64.self)
      var window = UInt64(bigEndian: word) &<< UInt64(truncatingIfNeeded: position & 7)
      // At least 57 bits are valid, enough for two codes.
      for _ in 0..<2 {
        let entry = entry(window)
        let bits = Int(entry & 0xFF)
        // What is left behind the last code is none.
        if bits == 0 || position &+ bits > end { return }
        body(entry)
        position &+= bits
        window = window &<< UInt64(truncatingIfNeeded: bits)
      }
    }
  }
}
