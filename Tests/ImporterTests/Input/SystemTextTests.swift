import Base
import TestSupport
import Testing

@testable import Importer

/// Text decoded by iconv: the same UTF-8 as iconv gives in one call, and the same bytes on the way
/// back.
@Suite struct SystemTextTests {
  static let names = [
    "cp932", "euc-jp", "gb18030", "big5-hkscs", "cp949", "koi8-r", "koi8-u", "iso-8859-2",
    "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8",
    "iso-8859-9", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16",
    "windows-1250", "windows-1251", "windows-1253", "windows-1254", "windows-1255", "windows-1256",
    "windows-1257", "windows-1258", "windows-874", "tis-620", "cp437", "cp850", "cp852", "cp866",
    "cp1125", "macintosh", "mac-cyrillic", "hp-roman8", "euc-tw", "euc-jisx0213", "pt154",
    "georgian-ps",
  ]

  /// The codes of an encoding, asked of iconv one by one: all of one and two bytes, some of the longer
  /// ones.
  private static func codes(_ converter: CharacterConverter) -> (good: [[UInt8]], bad: [[UInt8]]) {
    var (good, bad): ([[UInt8]], [[UInt8]]) = ([], [])
    var open: [[UInt8]] = [[]]
    while let prefix = open.popLast() {
      // There are a million of the longest codes.
      let step = prefix.count < 2 ? 1 : prefix.count == 2 ? 5 : 9
      for byte in stride(from: prefix.isEmpty ? 0x80 : 0x21, through: 0xFF, by: step) {
        let code = prefix + [UInt8(byte)]
        switch converter.meaning(of: code) {
        case .text: good.append(code)
        case .none: if code.count < 3 { bad.append(code) }
        case .beginning:
          if code.count < 3 || code.reduce(0, { $0 &* 31 &+ Int($1) }) % 17 == 0 {
            open.append(code)
          }
        }
      }
    }
    return (good, bad)
  }

  /// Reads an input to its end. Returns its text, and the input bytes by its chunks.
  private static func read(
    _ bytes: [UInt8], _ encoding: TextEncoding, pieces: [Int], records: Int = 100
  ) throws -> (text: [UInt8], original: [UInt8], chunks: [Chunk]) {
    let source = try DecodingSource(
      MemorySource(bytes, readSizes: pieces), encoding: encoding)
    let dialect = try Dialect(quote: nil, escape: nil)
    let splitter = RecordSplitter(
      source: source, dialect: dialect, encoding: encoding, original: source.original)
    var (text, original): ([UInt8], [UInt8]) = ([], [])
    var chunks: [Chunk] = []
    while let chunk = try splitter.next(recordLimit: records) {
      #expect(chunk.byteOffset == original.count)
      text += chunk.copy(from: 0, to: chunk.byteCount)
      let part = chunk.original(from: 0, to: chunk.byteCount)
      #expect(part.count == chunk.inputByteCount)
      original += part
      chunks.append(chunk)
    }
    return (text, original, chunks)
  }

  @Test("Every code of an encoding converts both ways", arguments: Effort.some(names))
  func everyCode(name: String) throws {
    guard let encoding = TextEncoding(rawValue: name), let converter = encoding.converter else {
      print("iconv does not know \(name) here")
      return
    }
    let codes = Self.codes(converter)
    #expect(codes.good.count >= 40, "\(name)")
    // All codes in a row, and each in a field of its own.
    let run = Array(codes.good.joined())
    var fields: [UInt8] = []
    for (index, code) in codes.good.enumerated() {
      fields += [0x61] + code + [index % 3 == 2 ? 0x0A : 0x2C]
    }
    let bytes = fields + run + [0x0A]
    guard case .text(let whole) = converter.meaning(of: bytes) else {
      Issue.record("iconv does not decode \(name) as a whole")
      return
    }
    let all = try Self.read(bytes, encoding, pieces: [1 << 16])
    // A letter and the mark behind it may become one character, which is the same text.
    let isSame =
      all.text == whole
      || String(decoding: all.text, as: UTF8.self) == String(decoding: whole, as: UTF8.self)
    #expect(isSame, "\(name)")
    #expect(all.original == bytes, "\(name)")
    let few = codes.good.enumerated().filter { $0.offset % 41 == 0 || codes.good.count < 200 }
    var short: [UInt8] = []
    for (index, code) in few { short += code + (index % 2 == 0 ? [0x0A] : []) }
    let expected = try Self.read(short, encoding, pieces: [1 << 16])
    for size in 1...7 {
      let pieces = try Self.read(short, encoding, pieces: [size], records: size)
      #expect(pieces.text == expected.text && pieces.original == short, "\(name), \(size)")
    }
  }

  /// The input offset of every place in a chunk equals one counted from the front.
  @Test(arguments: ["cp932", "gb18030", "big5-hkscs", "koi8-r", "euc-jp"])
  func everyPlace(name: String) throws {
    guard let encoding = TextEncoding(rawValue: name), let converter = encoding.converter else {
      return
    }
    let codes = Self.codes(converter).good
    var random = SplitMix64(seed: 5)
    var bytes: [UInt8] = []
    var places: [(text: Int, input: Int)] = []
    var text = 0
    for _ in 0..<12_000 {
      guard let code = codes.randomElement(using: &random) else { return }
      guard case .text(let meaning) = converter.meaning(of: code) else { continue }
      places.append((text, bytes.count))
      bytes += code
      text += meaning.count
    }
    let chunks = try Self.read(bytes, encoding, pieces: [1000]).chunks
    let chunk = try #require(chunks.first)
    #expect(chunks.count == 1 && chunk.byteCount == text)
    for place in places { #expect(chunk.inputOffset(place.text) == place.input) }
    for _ in 0..<500 {
      let (a, b) = (
        Int.random(in: 0..<places.count, using: &random),
        Int.random(in: 0..<places.count, using: &random)
      )
      let (first, last) = (places[min(a, b)], places[max(a, b)])
      #expect(
        chunk.original(from: first.text, to: last.text) == Array(bytes[first.input..<last.input]))
    }
  }

  /// Any bytes come back, and bytes that iconv does not decode are not UTF-8.
  @Test(arguments: Effort.some(names))
  func garbage(name: String) throws {
    guard let encoding = TextEncoding(rawValue: name), let converter = encoding.converter else {
      return
    }
    let hard: [UInt8] = [
      0x81, 0x30, 0x8F, 0x8E, 0xFE, 0xFF, 0x80, 0xA0, 0x0A, 0x2C, 0x5C, 0x7C, 0xA4,
    ]
    for seed in 0..<60 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let bytes: [UInt8] = (0..<Int.random(in: 0...80, using: &random)).map { _ in
        Bool.random(using: &random)
          ? UInt8.random(in: .min ... .max, using: &random)
          : hard.randomElement(using: &random) ?? 0
      }
      let pieces = [[1], [2, 3], [5], [1 << 16]].randomElement(using: &random) ?? []
      let read = try Self.read(bytes, encoding, pieces: pieces, records: 1)
      #expect(read.original == bytes, "seed \(seed)")
      var isText = true
      if case .text = converter.meaning(of: bytes) {} else { isText = false }
      #expect((String(validating: read.text, as: UTF8.self) != nil) == isText, "seed \(seed)")
      // An ASCII character behind a broken code is not lost.
      #expect(
        read.text.count(where: { $0 == 0x0A }) == bytes.count(where: { $0 == 0x0A }),
        "seed \(seed)")
    }
  }

  /// Codes with the same meaning, and a code for two characters.
  @Test func ambiguousCodes() throws {
    // Codes of NEC, IBM and JIS: U+2252 twice, U+222A twice, U+7E8A twice.
    let same: [UInt8] = [0x81, 0xE0, 0x87, 0x90, 0x81, 0xBE, 0x87, 0x9C, 0xED, 0x40, 0xFA, 0x5C]
    let japanese = try Self.read(same, try TextEncoding(named: "cp932"), pieces: [1])
    #expect(String(decoding: japanese.text, as: UTF8.self) == "≒≒∪∪纊纊")
    #expect(japanese.original == same)
    let two: [UInt8] = [0x88, 0x62, 0x61, 0x88, 0x64]
    let chinese = try Self.read(two, try TextEncoding(named: "big5"), pieces: [1])
    #expect(
      Array(String(decoding: chinese.text, as: UTF8.self).unicodeScalars.map(\.value))
        == [0xCA, 0x304, 0x61, 0xCA, 0x30C])
    #expect(chinese.original == two)
    let chunk = try #require(chinese.chunks.first)
    // A place within a code has the code's offset.
    #expect((0...9).map { chunk.inputOffset($0) } == [0, 0, 0, 0, 2, 3, 3, 3, 3, 5])
    let far: [UInt8] = [0x94, 0x39, 0xDA, 0x33, 0x81, 0x30, 0x81, 0x30, 0x30]
    let wide = try Self.read(far, try TextEncoding(named: "gb18030"), pieces: [3])
    #expect(String(decoding: wide.text, as: UTF8.self) == "💩\u{80}0" && wide.original == far)
  }

  /// A code that the input's end truncates.
  @Test func cutOff() throws {
    for tail in [[0x94], [0x94, 0x39], [0x94, 0x39, 0xDA], [0xFF]] as [[UInt8]] {
      let bytes = Array("a,b\n1,".utf8) + tail
      for size in [1, 2, 100] {
        let read = try Self.read(bytes, try TextEncoding(named: "gb18030"), pieces: [size])
        #expect(read.original == bytes)
        #expect(String(validating: read.text, as: UTF8.self) == nil)
      }
    }
  }

  /// Skipped lines and bytes count as parts of the input.
  @Test func skipping() throws {
    let encoding = try TextEncoding(named: "cp932")
    // 表 ends with a backslash, ポ with a bar.
    let line: [UInt8] = [0x95, 0x5C, 0x83, 0x7C, 0x87, 0x90, 0x0D, 0x0A]
    let bytes = Array(repeatElement(line, count: 3000).joined()) + [0x61]
    for sizes in [[1], [7], [1 << 16]] {
      let source = try DecodingSource(MemorySource(bytes, readSizes: sizes), encoding: encoding)
      let splitter = RecordSplitter(
        source: source, encoding: encoding, original: source.original)
      try splitter.skipLines(700)
      #expect(splitter.byteOffset == 700 * line.count)
      let chunk = try #require(try splitter.next(recordLimit: 10))
      #expect(
        chunk.original(from: 0, to: chunk.byteCount)
          == Array(repeatElement(line, count: 10).joined()))
      let sum = splitter.checksum.value
      let again = try DecodingSource(MemorySource(bytes, readSizes: sizes), encoding: encoding)
      let other = RecordSplitter(source: again, encoding: encoding, original: again.original)
      let offset = 710 * line.count
      #expect(try other.skip(to: offset, checksum: sum) == .done(endsLine: true))
      #expect(other.byteOffset == offset)
      let next = try #require(try other.next(recordLimit: 1))
      #expect(next.original(from: 0, to: next.byteCount) == line)
      // Beginning within a code, and behind the end.
      let inside = try DecodingSource(MemorySource(bytes, readSizes: sizes), encoding: encoding)
      let third = RecordSplitter(source: inside, encoding: encoding, original: inside.original)
      #expect(try third.skip(to: 1, checksum: 0) == .different)
      #expect(try other.skip(to: bytes.count + 9, checksum: 0) == .tooShort)
    }
  }
}
