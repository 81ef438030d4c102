import Base
import TestSupport
import Testing

@testable import Engine

/// Texts of few symbols, compared with a twin that reads and writes the format of the page one bit at a
/// time.
@Suite struct DigitTests {
  /// A table and the codes of strings, as the format's page describes them.
  private struct Twin {
    var bits: Int
    var symbols: [UInt8]
    var literals: [(place: Int, byte: UInt8)]

    func text(_ codes: [Int]) -> [UInt8] {
      if codes.isEmpty { return [] }
      var text: [UInt8] = []
      var (used, next) = (0, 0)
      while true {
        if next < literals.count, literals[next].place == text.count {
          text.append(literals[next].byte)
          next += 1
        } else if used < codes.count {
          text.append(symbols[codes[used]])
          used += 1
        } else {
          return text
        }
      }
    }

    func bytes(_ strings: [[Int]]) -> [UInt8] {
      var output = OutputBuffer()
      output.append(UInt8(bits))
      output.append(UInt8(symbols.count))
      for symbol in symbols { output.append(symbol) }
      output.append(UInt8(literals.count))
      for literal in literals {
        output.append(UInt16(literal.place))
        output.append(literal.byte)
      }
      var plan = PackedStringsPlan(bits: bits)
      for string in strings { plan.add(length: string.count) }
      plan.writeIndex(into: &output) { strings[$0].count }
      var all = [UInt8](repeating: 0, count: (strings.joined().count * bits + 7) / 8)
      for (index, code) in strings.joined().enumerated() {
        for bit in 0..<bits where code >> bit & 1 == 1 {
          all[(index * bits + bit) / 8] |= 1 << UInt8((index * bits + bit) % 8)
        }
      }
      for byte in all { output.append(byte) }
      return Array(output.bytes)
    }
  }

  /// Reads strings that end, except for a cluster's padding, at a guarded page.
  private func read(
    _ bytes: [UInt8], count: Int, _ body: (StoredStrings) throws -> Void
  ) throws {
    let stored = try GuardedBytes(bytes + [0, 0, 0, 0, 0, 0, 0, 0])
    defer { withExtendedLifetime(stored) {} }
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: stored.readOnly.dropLast(8)))
    try body(try StoredStrings(&reader, count: count, areCompressed: true))
    #expect(reader.remaining == 0)
  }

  private func unfolded(_ strings: StoredStrings, _ index: Int) throws -> [UInt8] {
    let table = try #require(strings.digits)
    var decoder = DigitDecoder()
    decoder.load(table)
    let span = strings.packed.span(index)
    let count = table.decodedCount(Int(span.length))
    let target = UnsafeMutableRawPointer.allocate(byteCount: count + 16, alignment: 8)
    defer { target.deallocate() }
    #expect(decoder.decode(table, strings.packed.base, span, to: target) == count)
    return Array(UnsafeRawBufferPointer(start: target, count: count))
  }

  @Test(
    "Digits written as the page of the format says are read back as their texts",
    arguments: Array(1...30) as [UInt64])
  func readsWhatThePageSays(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let bits = [1, 2, 4][Int(seed) % 3]
    let symbols = Array(UInt8.min...UInt8.max).shuffled(using: &random)
      .prefix(Int.random(in: 1...(1 << bits), using: &random)).sorted()
    let places = Set(
      (0..<Int.random(in: 0...12, using: &random)).map { _ in
        Int.random(in: 0...(seed % 2 == 0 ? 60 : 15), using: &random)
      })
    let literals = places.sorted().map {
      (place: $0, byte: UInt8.random(in: 1...255, using: &random))
    }
    let twin = Twin(bits: bits, symbols: symbols, literals: literals)
    let longest = Int.random(in: 0...80, using: &random)
    let isFixed = Bool.random(using: &random)
    let strings = (0..<100).map { _ in
      (0..<(isFixed ? longest : Int.random(in: 0...longest, using: &random))).map { _ in
        Int.random(in: symbols.indices, using: &random)
      }
    }
    try read(twin.bytes(strings), count: strings.count) { stored in
      #expect(stored.inconsistency() == nil, "seed \(seed)")
      for (index, codes) in strings.enumerated() {
        let expected = twin.text(codes)
        try #require(stored.withBytes(index) { $0.map(Array.init) } == expected, "seed \(seed)")
        try #require(try unfolded(stored, index) == expected, "seed \(seed), \(index)")
      }
    }
  }

  /// The encoded bytes as a share of those of the texts.
  private func share(_ texts: [String], _ effort: EncodingEffort) throws -> Double {
    let column = texts.map { Array($0.utf8) as Spelling }
    let cluster = try encode([column], with: ClusterBuilder(effort: effort))
    let guarded = try GuardedBytes(cluster.bytes)
    defer { withExtendedLifetime(guarded) {} }
    let reader = try ClusterReader(guarded.readOnly)
    try reader.validate()
    let decoded = DecodedColumn()
    let opened = try reader.open(id: 1)
    decoded.decode(opened, rows: 0..<texts.count)
    let point = PointColumn(opened, as: Reading(.text))
    for row in texts.indices {
      try #require(decoded[row].map(Array.init) == column[row], "row \(row)")
      try #require(opened.withSpelling(row) { $0.map(Array.init) } == column[row], "row \(row)")
      if !point.isOther {
        try #require(point.withSpelling(row) { $0.map(Array.init) } == column[row], "row \(row)")
      }
    }
    return Double(cluster.columns[0].byteCount) / Double(texts.reduce(0) { $0 + $1.utf8.count })
  }

  /// Knowing the places of the digits makes texts smaller, already in an import.
  @Test(arguments: [EncodingEffort.fast, .thorough])
  func fewSymbolsTakeFewBits(effort: EncodingEffort) throws {
    var random = SplitMix64(seed: 3)
    func digits(_ count: Int, _ radix: Int = 16) -> String {
      (0..<count).map { _ in String(Int.random(in: 0..<radix, using: &random), radix: radix) }
        .joined()
    }
    func texts(_ text: (Int) -> String) -> [String] { (0..<1000).map(text) }
    let identifiers = texts { _ in
      [8, 4, 4, 4, 12].map { digits($0) }.joined(separator: "-")
    }
    #expect(try share(identifiers, effort) < 0.46)
    #expect(try share(identifiers.map { "{" + $0.uppercased() + "}" }, effort) < 0.44)
    #expect(try share(texts { digits($0 % 2 == 0 ? 32 : 40) }, effort) < 0.53)
    #expect(
      try share(texts { _ in (0..<6).map { _ in digits(2) }.joined(separator: ":") }, effort) < 0.38
    )
    #expect(try share(texts { _ in digits(25 + Int(random.next() % 9), 10) }, effort) < 0.55)
    #expect(try share(texts { _ in "ID " + digits(3, 10) + "-" + digits(4, 10) }, effort) < 0.37)
    let bases = texts { _ in
      (0..<60).map { _ in ["A", "C", "G", "T"].pick(&random) }.joined()
    }
    #expect(try share(bases, effort) < 0.27)
    #expect(try share(texts { _ in digits(64, 2) }, effort) < 0.14)
    // A few texts differ from the rest, or have characters that few others have.
    var mixed = identifiers
    for row in stride(from: 5, to: 1000, by: 50) { mixed[row] = "none as yet, ask the office" }
    #expect(try share(mixed, effort) < 0.5)
    var prefixed = texts { "0000\(digits(28))-\($0 % 10)" }
    for row in stride(from: 0, to: 1000, by: 40) { prefixed[row] = digits(32) + "-3" }
    #expect(try share(prefixed, effort) < 0.53)
    // Other texts are encoded as before.
    let letters = texts { _ in digits(20, 36) }
    #expect(try share(letters, .fast) > 0.98)
  }

  /// Strings of one length, coded sixteen digits at a time and one byte at a time: the same codes, or
  /// none.
  @Test func fixedDigitsAreThoseOfOneByteAfterTheOther() throws {
    var random = SplitMix64(seed: 7)
    for round in 0..<400 {
      let length = Int.random(in: 1...70, using: &random)
      let alphabets = ["0123456789abcdef", "0123456789ABCDEF", "0123456789", "01234", "01234567"]
      let letters = alphabets[round % 5]
      var pattern = DigitPattern(symbols: Array(letters.utf8), literals: [])
      let places = Set((0..<round % 9).map { _ in Int.random(in: 0...length + 2, using: &random) })
      pattern.literals = places.sorted().map {
        ($0, ([0x2D, 0x30, 0x67] as [UInt8]).randomElement(using: &random) ?? 0)
      }
      var strings = (0..<Int.random(in: 1...40, using: &random)).map { _ -> [UInt8] in
        (0..<length).map { place in
          pattern.literals.first { $0.place == place }?.byte
            ?? (pattern.symbols.randomElement(using: &random) ?? 0)
        }
      }
      // Null counts as empty. Other bytes than digits, letters of the other case, another length.
      if round % 3 == 0 { strings[strings.count / 2] = [] }
      if round % 4 == 1, !strings[0].isEmpty {
        let row = Int.random(in: 0..<strings.count, using: &random)
        let bytes: [UInt8] = [
          0x2F, 0x35, 0x39, 0x3A, 0x40, 0x41, 0x47, 0x60, 0x61, 0x67, 0xB0, 0xE1, 0xFF,
        ]
        let wrong = bytes.randomElement(using: &random) ?? 0
        if !strings[row].isEmpty {
          strings[row][Int.random(in: 0..<length, using: &random)] = wrong
        }
      }
      if round % 16 == 2 { _ = strings[strings.count - 1].popLast() }
      try expectSame(pattern, strings, length, "round \(round)")
    }
  }

  private func expectSame(
    _ pattern: DigitPattern, _ strings: [[UInt8]], _ length: Int, _ comment: Comment
  ) throws {
    let codeOf = (0...255).map { byte in
      UInt8(clamping: pattern.symbols.firstIndex(of: UInt8(byte)) ?? 0xFF)
    }
    let arena = strings.joined() + [UInt8](repeating: 0x35, count: 16)
    var offset = 0
    let spans = strings.map { string in
      defer { offset += string.count }
      return TextSpan(offset: UInt32(offset), length: UInt32(string.count))
    }
    var slow: [UInt8]? = []
    var output = OutputBuffer()
    var found: Bool?
    try Array(arena).withUnsafeBytes { arena in
      var scratch = spans
      let column = try GatheredColumn(
        arena: arena, matrix: spans, column: 0, stride: 1, rowCount: spans.count,
        scratch: &scratch)
      let room = UnsafeMutablePointer<UInt8>.allocate(capacity: offset + 100)
      defer { room.deallocate() }
      for span in spans where span.length > 0 {
        let count = pattern.literals.withUnsafeBufferPointer {
          DigitPacker.read(column.spelling(span), codeOf, $0, room)
        }
        if count == 0 || span.length != length { slow = nil }
        slow?.append(contentsOf: UnsafeBufferPointer(start: room, count: count))
      }
      if let fixed = FixedDigits(pattern, length: length) {
        found = fixed.pack(column, count: spans.count, room: room, into: &output) { spans[$0] }
      }
    }
    guard var slow else {
      #expect(found != true && output.count == 0, comment)
      return
    }
    // All matching texts are found, unless the pattern has a literal that is in none of them.
    #expect(found == true, comment)
    if slow.count % 2 == 1 { slow.append(0) }
    let pairs = stride(from: 0, to: slow.count, by: 2).map { slow[$0] | slow[$0 + 1] << 4 }
    #expect(Array(output.bytes) == pairs, comment)
  }

  @Test("Damaged digit encodings are found")
  func damageIsFound() throws {
    let twin = Twin(bits: 2, symbols: [0x41, 0x43, 0x47], literals: [(2, 0x2D), (5, 0x2D)])
    let good = twin.bytes([[0, 1, 2], [2, 2, 2, 2]])
    try read(good, count: 2) { #expect($0.inconsistency() == nil) }
    // A code without a symbol decodes to the same byte alone and in bulk.
    var bytes = good
    bytes[bytes.count - 1] |= 3
    try read(bytes, count: 2) { stored in
      #expect(stored.inconsistency() != nil)
      for index in 0..<2 {
        let bulk = try unfolded(stored, index)
        #expect(stored.withBytes(index) { $0.map(Array.init) } == bulk)
      }
    }
    for (place, value) in [(0, 3), (1, 0), (1, 5), (2, 0x44), (5, 65), (6, 9)] as [(Int, UInt8)] {
      bytes = good
      bytes[place] = value
      #expect(throws: (any Error).self, "byte \(place)") {
        try read(bytes, count: 2) { stored in
          if let problem = stored.inconsistency() {
            throw DecodingFailure(what: problem, offset: 0)
          }
        }
      }
    }
  }
}
