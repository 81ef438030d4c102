import Base
import Testing
import TestSupport

@testable import Engine

/// Strings compressed by symbols with prefix codes, and those whose symbols have 8 bytes at most, or codes of
/// 12 bits, which only older files have.
@Suite struct CodedSymbolsTests {
  private func open(_ bytes: GuardedBytes, count: Int) throws -> StoredStrings {
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes.readOnly.dropLast(8)))
    return try StoredStrings(&reader, count: count, areCompressed: true)
  }

  /// All strings, each by itself and by the expanded table.
  private func expect(_ stored: StoredStrings, have strings: [[UInt8]], _ note: String) throws {
    let symbols = try #require(stored.symbols)
    var decoder = SymbolDecoder()
    decoder.load(symbols)
    for (index, string) in strings.enumerated() {
      let alone = stored.withBytes(index) { $0.map(Array.init) ?? [] }
      try #require(alone == string, "\(note), string \(index)")
      let codes = stored.packed.bytes(index)
      // As much room as it may need, and not a byte more.
      let room = try GuardedBytes([UInt8](repeating: 0, count: symbols.decodedCount(codes) + 16))
      defer { withExtendedLifetime(room) {} }
      let target = try #require(room.bytes.baseAddress)
      let length = decoder.decode(codes, to: target)
      let mayBeMore = symbols.hasRoughRoom(codes)
      let needed = decoder.room(codes, of: symbols)
      try #require(mayBeMore ? needed >= length : needed == length, "\(note), string \(index)")
      let all = Array(UnsafeRawBufferPointer(start: target, count: length))
      try #require(all == string, "\(note), string \(index) with others")
    }
  }

  /// Texts of words; some are empty, some longer than a block, some have bytes that hardly another has.
  private func texts(
    _ random: inout SplitMix64, words counts: [Int] = [0, 1, 3, 9, 40, 3000]
  ) -> [[UInt8]] {
    let letters = Array("etaoinshrdlu ".utf8) + [0, 200, 255]
    let words = (0..<Int.random(in: 20...2000, using: &random)).map { _ in
      (0..<Int.random(in: 1...24, using: &random)).map { _ in
        letters[Int.random(in: letters.indices, using: &random)]
      }
    }
    var texts: [[UInt8]] = []
    var total = 0
    while total < 200_000 {
      let count = counts[Int.random(in: counts.indices, using: &random)]
      var text: [UInt8] = []
      for _ in 0..<count { text += words[Int.random(in: 0..<words.count, using: &random)] }
      if texts.count % 50 == 7 { text.append(UInt8.random(in: 0...255, using: &random)) }
      texts.append(text)
      total += text.count
    }
    return texts
  }

  /// A table as a reader that follows the format's description reads it: bits to symbols.
  private func table(_ bytes: [UInt8]) throws -> (codes: [String: [UInt8]], end: Int) {
    try #require(bytes[0] == 0 || bytes[0] == 16)
    let sizes = bytes[0] == 0 ? 8 : 16
    let longest = Int(bytes[1])
    var (place, counts) = (2, [[Int]]())
    for _ in 4...longest {
      counts.append(
        (0..<sizes).map { Int(bytes[place + 2 * $0]) + Int(bytes[place + 2 * $0 + 1]) << 8 })
      place += 2 * sizes
    }
    var (codes, next) = ([String: [UInt8]](), 0)
    for length in 1...longest {
      next <<= 1
      if length < 4 { continue }
      for size in 1...sizes {
        for _ in 0..<counts[length - 4][size - 1] {
          let digits = String(next, radix: 2)
          codes[String(repeating: "0", count: length - digits.count) + digits] =
            Array(bytes[place..<place + size])
          place += size
          next += 1
        }
      }
    }
    return (codes, place)
  }

  private func bits(_ codes: UnsafeRawBufferPointer) -> String {
    codes.map {
      String(repeating: "0", count: $0.leadingZeroBitCount) + ($0 == 0 ? "" : String($0, radix: 2))
    }
    .joined()
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func stringsAreReadBack(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let texts = texts(&random)
    let bytes = try GuardedBytes(try compressed(texts))
    defer { withExtendedLifetime(bytes) {} }
    let stored = try open(bytes, count: texts.count)
    #expect(stored.symbols?.width == .coded, "seed \(seed)")
    #expect(stored.inconsistency() == nil, "seed \(seed)")
    try expect(stored, have: texts, "seed \(seed)")
  }

  /// The bits are those of the description, and few: a slow search for the fewest saves less than a tenth.
  @Test(arguments: [11, 12] as [UInt64])
  func fewBits(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let texts = texts(&random, words: [0, 1, 3, 9, 40])
    let bytes = try GuardedBytes(try compressed(texts))
    defer { withExtendedLifetime(bytes) {} }
    let stored = try open(bytes, count: texts.count)
    let codes = try table(Array(bytes.readOnly)).codes
    var lengths: [[UInt8]: Int] = [:]
    for (code, symbol) in codes { lengths[symbol] = code.count }
    #expect(lengths.count == codes.count, "no symbol has two codes")
    #expect(lengths.keys.count { $0.count > 8 } > 10 && lengths.keys.contains { $0.count == 16 })
    var (taken, fewest) = (0, 0)
    for (index, text) in texts.enumerated() where index % 8 == 0 {
      var (read, code, left) = ([UInt8](), "", 0)
      for bit in bits(stored.packed.bytes(index)) {
        code.append(bit)
        left += 1
        guard let symbol = codes[code] else { continue }
        read += symbol
        taken += left
        (code, left) = ("", 0)
      }
      try #require(read == text, "seed \(seed), string \(index)")
      #expect(left < 8 && code.allSatisfy { $0 == "1" })
      var costs = [0] + [Int](repeating: .max, count: text.count)
      for start in text.indices {
        for end in start + 1...min(start + 16, text.count) {
          guard let length = lengths[Array(text[start..<end])] else { continue }
          costs[end] = min(costs[end], costs[start] + length)
        }
      }
      fewest += costs[text.count]
    }
    #expect(
      taken >= fewest && Double(taken) < 1.095 * Double(fewest),
      "seed \(seed): \(taken) of \(fewest)")
  }

  /// A symbol that is nearly all of a text would have a code of a bit; none has fewer than four.
  @Test func frequentSymbols() throws {
    let texts = (0..<2500).map {
      [UInt8](repeating: 120, count: 80 + $0 % 3) + Array("\($0 % 7)".utf8)
    }
    let bytes = try GuardedBytes(try compressed(texts))
    defer { withExtendedLifetime(bytes) {} }
    let codes = try table(Array(bytes.readOnly)).codes
    #expect(codes.keys.map(\.count).min() == 4)
    try expect(try open(bytes, count: texts.count), have: texts, "one symbol")
  }

  /// Strings whose lengths are those of blocks and batches, and many short or empty ones in a row.
  @Test(arguments: [21, 22] as [UInt64])
  func lengthsOfBlocks(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let words = texts(&random, words: [1]).prefix(300)
    func text(_ count: Int) -> [UInt8] {
      var text: [UInt8] = []
      while text.count < count { text += words[Int.random(in: 0..<300, using: &random)] + [32] }
      return Array(text.prefix(count))
    }
    let block = 4096
    var lengths = [1, 2, 3, 4, 5].flatMap { [block * $0 - 1, block * $0, block * $0 + 1] }
    lengths += [Int](repeating: 0, count: 700)
    lengths += (0..<900).map { $0 % 9 }
    lengths += [0, 3 * block, 0, 0, 1]
    let all = lengths + lengths.shuffled(using: &random)
    let strings = all.map(text)
    let bytes = try GuardedBytes(try compressed(strings))
    defer { withExtendedLifetime(bytes) {} }
    try expect(try open(bytes, count: strings.count), have: strings, "seed \(seed)")
  }

  /// Long strings, whose length is counted before they are read: one by one, and by columns.
  @Test func longStrings() throws {
    var random = SplitMix64(seed: 31)
    let words = texts(&random, words: [1]).prefix(300)
    let texts = [9, 600_000, 0, 200_000].map { count -> [UInt8] in
      var text: [UInt8] = []
      while text.count < count { text += words[Int.random(in: 0..<300, using: &random)] }
      return text
    }
    let bytes = try GuardedBytes(try compressed(texts))
    defer { withExtendedLifetime(bytes) {} }
    let stored = try open(bytes, count: texts.count)
    #expect(stored.packed.bytes(1).count > 1 << 16, "shorter ones are not counted")
    try expect(stored, have: texts, "long")
    let cluster = try encode([texts.map { $0 }], with: ClusterBuilder(effort: .thorough))
    let guarded = try GuardedBytes(cluster.bytes)
    defer { withExtendedLifetime(guarded) {} }
    let decoded = DecodedColumn()
    decoded.decode(try ClusterReader(guarded.readOnly).open(id: 1), rows: 0..<texts.count)
    for (row, text) in texts.enumerated() {
      #expect(decoded[row].map(Array.init) == text, "row \(row)")
    }
  }

  // MARK: Damage

  /// A table of symbols of at most `sizes` bytes, whose codes have given lengths, and strings of given bytes.
  private func stored(
    longest: UInt8, sizes: Int = 16, _ symbols: [(bits: Int, [UInt8])], _ strings: [[UInt8]]
  ) -> [UInt8] {
    var counts = [UInt8](repeating: 0, count: 2 * sizes * max(0, Int(longest) - 3))
    for (bits, symbol) in symbols {
      counts[2 * sizes * (bits - 4) + 2 * (symbol.count - 1)] += 1
    }
    let total = strings.reduce(0) { $0 + $1.count }
    let shortest = strings.map(\.count).min() ?? 0
    // Every length in a byte; fewer than 17 strings have no starts.
    return [sizes == 8 ? 0 : 16, longest] + counts + symbols.flatMap(\.1)
      + [UInt8(total & 0xFF), UInt8(total >> 8), 0, 0, UInt8(shortest), 0, 0, 0, 8, 0]
      + strings.map { UInt8($0.count - shortest) } + strings.flatMap { $0 }
      + [0, 0, 0, 0, 0, 0, 0, 0]
  }

  /// Strings of symbols of all lengths up to `sizes`, with codes of several lengths.
  private func allLengths(
    sizes: Int, _ random: inout SplitMix64
  ) throws -> (bytes: [UInt8], texts: [[UInt8]]) {
    // Of each length one with a code of 5 bits, then more; the last ones are longer than the reader's table.
    var symbols = (1...sizes).map { (bits: 5, [UInt8](repeating: UInt8($0), count: $0)) }
    for bits in [8, 13, 15, 16] {
      for size in 1...sizes where bits > 8 || size == sizes {
        symbols.append((bits, (0..<size).map { _ in UInt8.random(in: 97...122, using: &random) }))
      }
    }
    let codes = try table(stored(longest: 16, sizes: sizes, symbols, [])).codes
    let digits = Dictionary(codes.map { ($1, $0) }, uniquingKeysWith: min)
    var (texts, strings): ([[UInt8]], [[UInt8]]) = ([], [])
    for count in 0..<16 {
      let parts = (0..<count * 2).map { _ in
        symbols[Int.random(in: symbols.indices, using: &random)].1
      }
      texts.append(parts.flatMap { $0 })
      var bits = try parts.map { try #require(digits[$0]) }.joined()
      while bits.utf8.count % 8 != 0 { bits.append("1") }
      let places = stride(from: 0, to: bits.utf8.count, by: 8)
      strings.append(places.map { UInt8(bits.dropFirst($0).prefix(8), radix: 2) ?? 0 })
    }
    return (stored(longest: 16, sizes: sizes, symbols, strings), texts)
  }

  /// As they are written now, and as older files have them.
  @Test(arguments: [8, 16], [41, 42] as [UInt64])
  func symbolsOfAllLengths(sizes: Int, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let (stored, texts) = try allLengths(sizes: sizes, &random)
    let bytes = try GuardedBytes(stored)
    defer { withExtendedLifetime(bytes) {} }
    let opened = try open(bytes, count: texts.count)
    #expect(opened.symbols?.width == .coded && opened.inconsistency() == nil, "seed \(seed)")
    try expect(opened, have: texts, "\(sizes), seed \(seed)")
  }

  /// Of the codes `0000` a, `0001` bc, `00100000` d: strings, and what is wrong with others.
  @Test func damagedStrings() throws {
    let symbols: [(bits: Int, [UInt8])] = [(4, [97]), (4, [98, 99]), (8, [100])]
    let sound: [[UInt8]] = [[0b0000_0001], [0b0010_0000, 0b0001_1111], [], [0b0000_1111]]
    let good = try GuardedBytes(stored(longest: 8, symbols, sound))
    defer { withExtendedLifetime(good) {} }
    let strings = try open(good, count: sound.count)
    #expect(strings.inconsistency() == nil)
    try expect(strings, have: [Array("abc".utf8), Array("dbc".utf8), [], Array("a".utf8)], "sound")
    let damaged: [[UInt8]] = [
      [0b0000_0111], [0b0000_1110], [0b0000_0000, 0b1111_1111], [0b1111_1111], [0b0010_0001],
      [0b0000_0010, 0b0000_1110],
    ]
    for string in damaged {
      // What follows the string must not be taken for a part of it.
      let bytes = try GuardedBytes(stored(longest: 8, symbols, [string, [0]]))
      defer { withExtendedLifetime(bytes) {} }
      let strings = try open(bytes, count: 2)
      #expect(strings.inconsistency() == "string 0 has codes without a symbol", "\(string)")
    }
  }

  @Test func codesThatEndBehindTheString() throws {
    // `0010` and then `0000` of the next string would be `d`.
    let symbols: [(bits: Int, [UInt8])] = [(4, [97]), (4, [98, 99]), (8, [100])]
    let bytes = try GuardedBytes(stored(longest: 8, symbols, [[0b0000_0010], [0b0000_0000]]))
    defer { withExtendedLifetime(bytes) {} }
    let strings = try open(bytes, count: 2)
    try expect(strings, have: [Array("a".utf8), Array("aa".utf8)], "cut")
    #expect(strings.inconsistency() == "string 0 has codes without a symbol")
  }

  @Test func damagedTables() throws {
    let one: [(bits: Int, [UInt8])] = [(4, [97])]
    let seventeen = (0..<17).map { (bits: 4, [UInt8(97 + $0)]) }
    let tables = [
      stored(longest: 7, one, []), stored(longest: 21, one, []), stored(longest: 8, [], []),
      stored(longest: 8, seventeen + [(8, [65])], []), stored(longest: 8, one, []),
    ]
    for (index, table) in tables.enumerated() {
      let bytes = try GuardedBytes(table)
      defer { withExtendedLifetime(bytes) {} }
      #expect(throws: DecodingFailure.self, "table \(index)") { try open(bytes, count: 0) }
    }
    // A table's last symbol is read with what follows it, up to its longest length.
    #expect(CodedSymbols.longestSymbol <= 1 + PackedStrings.headerSize + ClusterFormat.padding)
    for sizes in [8, 16] {
      let bytes = try GuardedBytes(stored(longest: 20, sizes: sizes, one + [(20, [65])], []))
      defer { withExtendedLifetime(bytes) {} }
      #expect(try open(bytes, count: 0).inconsistency() == nil)
    }
  }

  /// Any bytes in place of any others give something or are refused, without a read or write outside.
  @Test(arguments: [21, 22] as [UInt64])
  func hostileBytes(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let texts = texts(&random)
    let sound = try compressed(texts)
    let header = try table(sound).end
    let bytes = try GuardedBytes(sound)
    defer { withExtendedLifetime(bytes) {} }
    let target = UnsafeMutableRawPointer.allocate(byteCount: 1 << 22, alignment: 8)
    defer { target.deallocate() }
    var opened = 0
    for round in 0..<60 {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let end = [2, 200, header, sound.count - 8][round % 4]
        let place = Int.random(in: round % 4 == 0 ? 1..<2 : 0..<end, using: &random)
        bytes.bytes[place] = UInt8.random(in: .min ... .max, using: &random)
      }
      if let stored = try? open(bytes, count: texts.count), let symbols = stored.symbols {
        opened += 1
        _ = stored.inconsistency()
        var decoder = SymbolDecoder()
        decoder.load(symbols)
        for index in stride(from: 0, to: texts.count, by: 1 + texts.count / 50) {
          let codes = stored.packed.bytes(index)
          let alone = stored.withBytes(index) { $0?.count ?? 0 }
          if codes.count * symbols.mostBytesOfByte + 16 > 1 << 22 { continue }
          #expect(decoder.decode(codes, to: target) == alone, "seed \(seed), round \(round)")
        }
      }
      bytes.bytes.copyBytes(from: sound)
    }
    #expect(opened > 15, "seed \(seed)")
  }

  @Test(arguments: [8, 16])
  func hostileSymbolsOfAllLengths(sizes: Int) throws {
    var random = SplitMix64(seed: 51)
    let (sound, texts) = try allLengths(sizes: sizes, &random)
    let bytes = try GuardedBytes(sound)
    defer { withExtendedLifetime(bytes) {} }
    var opened = 0
    for round in 0..<400 {
      // Every second time in what follows the counts.
      let first = round % 2 == 0 ? 1 : 2 + 26 * sizes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: first..<sound.count - 8, using: &random)
        bytes.bytes[place] = UInt8.random(in: .min ... .max, using: &random)
      }
      if let stored = try? open(bytes, count: texts.count), let symbols = stored.symbols {
        opened += 1
        _ = stored.inconsistency()
        var decoder = SymbolDecoder()
        decoder.load(symbols)
        for index in texts.indices {
          let codes = stored.packed.bytes(index)
          let alone = stored.withBytes(index) { $0.map(Array.init) ?? [] }
          let room = try GuardedBytes([UInt8](repeating: 0, count: alone.count + 16))
          defer { withExtendedLifetime(room) {} }
          let length = decoder.decode(codes, to: try #require(room.bytes.baseAddress))
          #expect(Array(room.bytes.prefix(length)) == alone, "round \(round)")
        }
      }
      bytes.bytes.copyBytes(from: sound)
    }
    #expect(opened > 100)
  }

  // MARK: Codes of 12 bits

  /// Strings with codes of 12 bits, as they were written before there were prefix codes.
  private func wide(_ symbols: [[UInt8]], _ strings: [[UInt8]]) -> [UInt8] {
    let sorted = symbols.sorted { $0.count < $1.count }
    var output = OutputBuffer()
    output.append(12 as UInt8)
    for size in 1...8 { output.append(UInt16(sorted.count { $0.count == size })) }
    for symbol in sorted { for byte in symbol { output.append(byte) } }
    var plan = PackedStringsPlan()
    let packed = strings.map { string -> [UInt8] in
      var codes: [Int] = []
      var place = 0
      while place < string.count {
        let rest = string[place...]
        let match = sorted.lastIndex { rest.starts(with: $0) }
        codes.append(match.map { 256 + $0 } ?? Int(string[place]))
        place += match.map { sorted[$0].count } ?? 1
      }
      var bytes: [UInt8] = []
      for pair in stride(from: 0, to: codes.count, by: 2) {
        let hasBoth = pair + 1 < codes.count
        let both = codes[pair] | (hasBoth ? codes[pair + 1] << 12 : 0)
        bytes += (0..<(hasBoth ? 3 : 2)).map { UInt8(both >> (8 * $0) & 0xFF) }
      }
      return bytes
    }
    for string in packed { plan.add(length: string.count) }
    plan.writeIndex(into: &output) { packed[$0].count }
    for string in packed { for byte in string { output.append(byte) } }
    return Array(output.bytes) + [0, 0, 0, 0, 0, 0, 0, 0]
  }

  @Test func codesOfTwelveBitsAreRead() throws {
    var random = SplitMix64(seed: 5)
    let symbols = (0..<300).map { _ in
      (0..<Int.random(in: 2...8, using: &random)).map { _ in
        UInt8.random(in: 97...104, using: &random)
      }
    }
    let strings = (0..<400).map { index in
      (0..<index % 7).flatMap { _ in symbols[Int.random(in: symbols.indices, using: &random)] } + [
        UInt8(index & 0xFF)
      ]
    }
    let bytes = try GuardedBytes(wide(Array(Set(symbols)), strings))
    defer { withExtendedLifetime(bytes) {} }
    let stored = try open(bytes, count: strings.count)
    #expect(stored.symbols?.width == .wide && stored.inconsistency() == nil)
    try expect(stored, have: strings, "12 bits")
    // A byte that is left over, a code without a symbol, bits behind the last code.
    for damaged: [UInt8] in [[1], [1, 2, 3, 4], [0xFF, 0x0F], [97, 0x10]] {
      var plan = PackedStringsPlan()
      plan.add(length: damaged.count)
      var output = OutputBuffer()
      output.append(12 as UInt8)
      output.appendZeros(16)
      plan.writeIndex(into: &output) { _ in damaged.count }
      for byte in damaged { output.append(byte) }
      output.appendZeros(8)
      let bytes = try GuardedBytes(Array(output.bytes))
      defer { withExtendedLifetime(bytes) {} }
      let strings = try open(bytes, count: 1)
      #expect(strings.inconsistency() == "string 0 has codes without a symbol", "\(damaged)")
      _ = strings.withBytes(0) { $0?.count }
    }
  }
}
