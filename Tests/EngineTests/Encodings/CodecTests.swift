import Base
import Testing
import TestSupport

@testable import Engine

/// The codecs by themselves, against slow twins.
@Suite struct CodecTests {
  /// Every symbol decodes to itself, whatever follows it, also through the table.
  private func expectDecodes(_ frequencies: [Int], _ note: String) throws {
    var copy = frequencies
    let plan = copy.withUnsafeMutableBufferPointer { CodePlan($0) }
    var output = OutputBuffer()
    plan.write(into: &output)
    #expect(output.count == plan.size, "\(note)")
    output.appendZeros(8)
    let guarded = try GuardedBytes(Array(output.bytes))
    defer { withExtendedLifetime(guarded) {} }
    var reader = ByteReader(guarded.readOnly)
    let limits = try CanonicalCode(&reader, symbolCount: frequencies.count).limits()
    var table = CodeTable()
    table.load(limits)
    var codes = [UInt32](repeating: 0, count: frequencies.count)
    codes.withUnsafeMutableBufferPointer { plan.fill($0.baseAddress.unsafelyUnwrapped) }
    var bits = 0
    for (symbol, code) in codes.enumerated() {
      let length = Int(code & 0xFF)
      #expect(length <= CanonicalCode.longest, "\(note)")
      bits += length * frequencies[symbol]
      let top = UInt64(code >> 8) << UInt64(64 - max(length, 1)) * (length == 0 ? 0 : 1)
      for rest in [0, UInt64.max] {
        let window = length == 0 ? rest : top | rest >> UInt64(length)
        #expect(limits.decode(window) == (symbol, length), "\(note)")
        #expect(table.decode(window, limits) == (symbol, length), "\(note)")
      }
    }
    #expect(bits == plan.bits, "\(note)")
  }

  @Test("Prefix codes of any frequencies read back")
  func codesOfAllShapes() throws {
    try expectDecodes([7], "one")
    try expectDecodes([7, 7], "two")
    try expectDecodes((0..<5000).map { 10_000 / ($0 + 1) + 1 }, "many")
    // Frequencies like Fibonacci numbers make the longest possible codes, far beyond the limit.
    var numbers = [1, 1]
    while numbers.count < 40 {
      numbers.append(numbers[numbers.count - 1] + numbers[numbers.count - 2])
    }
    try expectDecodes(numbers.reversed(), "long")
    for seed in 1...20 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      let count = Int.random(in: 1...300, using: &random)
      let list = (0..<count).map { _ in
        1 + Int.random(in: 0...1_000_000, using: &random) >> Int.random(in: 0...20, using: &random)
      }
      try expectDecodes(list.sorted(by: >), "seed \(seed)")
    }
  }

  /// Any rows can be decoded, wherever blocks that are decoded several at a time are said to begin.
  @Test(arguments: [false, true])
  func codedRows(isForged: Bool) throws {
    var random = SplitMix64(seed: 3)
    var frequencies = (0..<300).map { 4000 / ($0 + 1) + 1 }
    let plan = frequencies.withUnsafeMutableBufferPointer { CodePlan($0) }
    var codes = [UInt32](repeating: 0, count: 300)
    codes.withUnsafeMutableBufferPointer { plan.fill($0.baseAddress.unsafelyUnwrapped) }
    let symbols = (0..<2500).map { _ in Int.random(in: 0..<300, using: &random) / 7 * 3 }
    let bits = symbols.reduce(0) { $0 + Int(codes[$1] & 0xFF) }
    var output = OutputBuffer()
    plan.write(into: &output)
    BitRows.write(rowCount: symbols.count, bits: bits, into: &output) {
      Int(codes[symbols[$0]] & 0xFF) - (isForged && $0 == 900 ? 1 : 0)
    } append: {
      $1.append(UInt64(codes[symbols[$0]] >> 8), count: Int(codes[symbols[$0]] & 0xFF))
    }
    output.appendZeros(8)
    try Array(output.bytes).withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let indices = try CodedIndices(
        &reader, rowCount: symbols.count, entryCount: 300, hasNulls: false)
      var table = CodeTable()
      // Rows from the block before the forged one on are right.
      for start in isForged ? [0, 1, 128, 300] : [0, 1, 127, 128, 300, 1024, 1100, 2432, 2499] {
        for end in [start, start + 1, start + 511, start + 512, start + 1300, 2500] {
          let range = start..<min(end, 2500)
          var found = [UInt32](repeating: 7, count: range.count + 1)
          found.withUnsafeMutableBufferPointer {
            guard let target = $0.baseAddress else { return }
            indices.decode(range, limit: 300, table: &table, into: target)
          }
          #expect(found.dropLast().map(Int.init) == Array(symbols[range]), "\(range)")
          #expect(found.last == 7, "\(range)")
        }
      }
      for row in isForged ? 0..<896 : 0..<2500 { #expect(indices.index(row) == symbols[row]) }
    }
  }

  @Test("A prefix code with too many codes, symbols or bits is refused")
  func codesThatCannotBeAreRefused() {
    // Three codes of one bit; too many symbols; a code that is too long.
    for bytes in [[1, 2, 3], [2, 2, 0b0100], [21, 0], [1, 22, 0, 0, 0]] as [[UInt8]] {
      let padded = bytes + [0, 0, 0, 0, 0, 0, 0, 0]
      padded.withUnsafeBytes { all in
        var reader = ByteReader(all)
        #expect(throws: DecodingFailure.self) { try CanonicalCode(&reader, symbolCount: 3) }
      }
    }
  }

  /// Numbers of every width; one load does not hold the widest.
  @Test func packedBits() throws {
    var random = SplitMix64(seed: 6)
    for width in 0...64 {
      let most: UInt64 = width == 0 ? 0 : .max >> UInt64(64 - width)
      let numbers = (0..<24).map { $0 % 3 == 0 ? most : random.next() & most }
      var output = OutputBuffer()
      BitPacking.pack(count: numbers.count, width: width, into: &output) { numbers[$0] }
      #expect(output.count == BitPacking.byteCount(numbers.count, width: width))
      output.appendZeros(8)
      let guarded = try GuardedBytes(Array(output.bytes))
      defer { withExtendedLifetime(guarded) {} }
      var reader = ByteReader(guarded.readOnly)
      let packed = try PackedBits(
        &reader, count: numbers.count, width: width, maximumWidth: 64, "numbers")
      #expect(numbers.indices.map { packed[$0] } == numbers, "width \(width)")
    }
  }

  // MARK: Symbols

  /// The matcher must find the longest symbol that the text begins with.
  @Test(arguments: Array(1...10) as [UInt64])
  func matchesAreTheLongest(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let width: SymbolTable.Width = seed % 2 == 0 ? .narrow : .coded
    let (base, byteBase) = width == .narrow ? (0, 256) : (256, 0)
    let alphabet: [UInt8] = [0, 97, 98, 99, 255]
    func text(_ count: Int) -> [UInt8] {
      (0..<count).map { _ in alphabet.randomElement(using: &random) ?? 0 }
    }
    let lengths = (width == .narrow ? 1 : 2)...width.longestSymbol
    var symbols: [[UInt8]] = []
    for _ in 0..<(width == .narrow ? 255 : 3000) {
      let length = Int.random(in: lengths, using: &random)
      // Half of them begin like others, at least where there are long ones.
      let start = Bool.random(using: &random) ? symbols.randomElement(using: &random) ?? [] : []
      symbols.append((start + text(length)).prefix(max(length, min(start.count, 9))).map { $0 })
    }
    symbols = Set(symbols).sorted { ($0.count, $0.description) < ($1.count, $1.description) }
    let loaded = symbols.map { bytes in
      Symbol(
        bytes: bytes.reversed().reduce(0 as UInt128) { $0 << 8 | UInt128($1) },
        length: bytes.count)
    }
    var matcher = SymbolMatcher()
    matcher.load(loaded, width: width)
    var long = 0
    for round in 0..<600 {
      // A symbol, perhaps another byte in it, something behind it, and then cut.
      var bytes = round % 3 == 0 ? [] : symbols.randomElement(using: &random) ?? []
      if round % 3 == 2 { bytes[Int.random(in: bytes.indices, using: &random)] = 98 }
      bytes += text(Int.random(in: 1...12, using: &random))
      bytes = Array(bytes.prefix(Int.random(in: 1...20, using: &random)))
      let slow = symbols.lastIndex { bytes.starts(with: $0) }
      let guarded = try GuardedBytes(bytes)
      defer { withExtendedLifetime(guarded) {} }
      let match = matcher.match(SpellingView(guarded.readOnly), at: 0)
      let expected = slow.map { $0 + base } ?? byteBase + Int(bytes[0])
      #expect(match.code == expected, "seed \(seed) \(bytes)")
      #expect(match.length == slow.map { symbols[$0].count } ?? 1, "seed \(seed) \(bytes)")
      long += match.length > 8 ? 1 : 0
    }
    #expect(width == .narrow || long > 50, "seed \(seed): \(long) symbols of more than 8 bytes")
  }

  /// Compressed strings decode to themselves, one by one and through the unfolded table.
  @Test(arguments: [60, 900, 12_000])
  func compressedStrings(count: Int) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: UInt64(count)))
    var column: [Spelling] = (0..<count).map { generator.spelling(kind: $0 % 9 == 0 ? 18 : 30) }
    column[count / 2] = []
    let total = column.reduce(0) { $0 + ($1?.count ?? 0) }
    let stored = try GuardedBytes(try compressed(column.map { $0 ?? [] }))
    defer { withExtendedLifetime(stored) {} }
    #expect(stored.bytes.count - 8 < total * 3 / 4)
    let bytes = UnsafeRawBufferPointer(rebasing: stored.readOnly.dropLast(8))
    var reader = ByteReader(bytes)
    let strings = try StoredStrings(&reader, count: count, areCompressed: true)
    #expect(reader.remaining == 0 && strings.inconsistency() == nil)
    let symbols = try #require(strings.symbols)
    #expect(symbols.width == (total > 160 << 10 ? .coded : .narrow))
    var decoder = SymbolDecoder()
    decoder.load(symbols)
    for (index, spelling) in column.enumerated() {
      let alone = strings.withBytes(index) { $0.map(Array.init) }
      try #require(alone == spelling, "string \(index)")
      let codes = strings.packed.bytes(index)
      let room = codes.count * symbols.mostBytesOfByte + 16
      let target = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 8)
      defer { target.deallocate() }
      let length = decoder.decode(codes, to: target)
      try #require(
        Array(UnsafeRawBufferPointer(start: target, count: length)) == spelling, "\(index)")
    }
  }

  /// Damaged tables and codes give something or are refused, without a read or write outside.
  @Test(arguments: [900, 12_000])
  func hostileCodes(count: Int) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: UInt64(count)))
    let column: [Spelling] = (0..<count).map { _ in generator.spelling(kind: 30) }
    let cluster = try encode([column], with: ClusterBuilder(effort: .thorough))
    let guarded = try GuardedBytes(cluster.bytes)
    defer { withExtendedLifetime(guarded) {} }
    let start = try ClusterReader(guarded.readOnly).column(at: 0).offset
    let decoded = DecodedColumn()
    var accepted = 0
    for round in 0..<150 {
      for _ in 0..<Int.random(in: 1...3, using: &generator.random) {
        // Every second change is in the table's header.
        let end = round % 2 == 0 ? start + 40 : cluster.bytes.count
        let position = Int.random(in: start..<end, using: &generator.random)
        guarded.bytes[position] = UInt8.random(in: .min ... .max, using: &generator.random)
      }
      let segment = UnsafeRawBufferPointer(
        rebasing: guarded.readOnly[start..<cluster.bytes.count - ClusterFormat.padding])
      guarded.bytes.storeBytes(
        of: Checksum.of(segment), toByteOffset: ClusterFormat.fixedHeaderLength + 16,
        as: UInt64.self)
      if let opened = try? ClusterReader(guarded.readOnly).open(id: 1) {
        accepted += 1
        var length = 0
        decoded.decode(opened, rows: 0..<300)
        for row in 0..<300 {
          length += decoded[row]?.count ?? 0
          if row % 40 == 0 { length += opened.withSpelling(row) { $0?.count ?? 0 } }
        }
        #expect(length >= 0)
      }
      guarded.bytes.copyBytes(from: cluster.bytes)
    }
    #expect(accepted > 30, "\(count) strings")
  }

  // MARK: Dates

  @Test("Every date style is written and read back")
  func writtenDates() throws {
    for style in DateStyle.allCases {
      for days in stride(from: -719_528, through: 2_932_896, by: 997) {
        let date = try #require(CalendarDate(daysSince1970: days))
        let spelling = spell(date, style)
        let guarded = try GuardedBytes(spelling)
        defer { withExtendedLifetime(guarded) {} }
        #expect(style.parse(SpellingView(guarded.readOnly)) == Int32(days), "\(style) \(days)")
      }
    }
    let date = try #require(CalendarDate(year: 2018, month: 9, day: 3))
    let spellings = DateStyle.allCases.map { String(decoding: spell(date, $0), as: UTF8.self) }
    #expect(
      spellings == [
        "2018-09-03", "September 3, 2018", "Sep 3, 2018", "3 September 2018", "3 Sep 2018",
        "09/03/2018", "03/09/2018", "03.09.2018", "2018/09/03", "03-Sep-2018",
      ])
  }

  private func spell(_ date: CalendarDate, _ style: DateStyle) -> [UInt8] {
    withUnsafeTemporaryAllocation(byteCount: NumberSpelling.capacity, alignment: 8) { room in
      Array(room[..<style.write(date, to: room.baseAddress.unsafelyUnwrapped)])
    }
  }

  /// A style writes every text that it accepts back to the letter.
  @Test func nearDatesAreRefused() throws {
    let near = [
      "August 03, 2018", "August 3 2018", "August 3,2018", "august 3, 2018", "AUGUST 3, 2018",
      "Augustus 3, 2018", "Augus 3, 2018", "August 32, 2018", "August 0, 2018", "August 3, 18",
      "February 29, 2018", "February 29, 2016", "May 3, 2018", "Mayo 3, 2018", "Septembe 3, 2018",
      "Septembes 3, 2018", "September 31, 2018", "3 May 2018", "03 May 2018", "3. May 2018",
      "13/13/2018", "31/12/2018", "12/31/2018", "1/2/2018", "31.04.2018", "2018/02/29",
      "03-May-2018", "3-May-2018", "03-MAY-2018", " May 3, 2018", "May 3, 2018 ", "May 3, 20188",
      "0/00/0000000", "1234567890", "..........", "A 1, 2018", "May", "May 3, 2", "Dec 31, 9999",
    ]
    var taken = 0
    for text in near {
      let guarded = try GuardedBytes(Array(text.utf8))
      defer { withExtendedLifetime(guarded) {} }
      for style in DateStyle.allCases {
        guard let days = style.parse(SpellingView(guarded.readOnly)) else { continue }
        taken += 1
        let date = try #require(CalendarDate(daysSince1970: Int(days)))
        #expect(spell(date, style) == Array(text.utf8), "\(style) \(text)")
      }
    }
    #expect(taken > 8)
  }
}
