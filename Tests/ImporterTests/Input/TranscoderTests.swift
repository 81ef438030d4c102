import Testing
import TestSupport

@testable import Importer

/// Other encodings become UTF-8, and every byte of the input is found again.
@Suite struct TranscoderTests {
  static let encodings = TextEncoding.builtIn

  private func decoded(_ bytes: [UInt8], _ encoding: TextEncoding, pieces: [Int]) throws -> [UInt8]
  {
    let source = try DecodingSource(MemorySource(bytes, readSizes: pieces), encoding: encoding)
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: max(1, pieces.last ?? 7))
    while true {
      let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
      if count == 0 { return output }
      output += buffer[..<count]
    }
  }

  @Test(
    "Known texts are converted, however reads fall",
    arguments: [
      ([0x63, 0x61, 0x66, 0xE9], TextEncoding.latin1, "café"),
      ([0x80, 0x99, 0xFC], .windows1252, "€™ü"), ([0x80], .latin1, "\u{80}"),
      ([0x61, 0, 0xAC, 0x20], .utf16LE, "a€"), ([0, 0x61, 0x20, 0xAC], .utf16BE, "a€"),
      ([0x3D, 0xD8, 0x00, 0xDE], .utf16LE, "😀"), ([0xD8, 0x3D, 0xDE, 0x00], .utf16BE, "😀"),
      ([0xFF, 0xFE, 0x41, 0], .utf16LE, "\u{FEFF}A"),
    ] as [([UInt8], TextEncoding, String)])
  func known(bytes: [UInt8], encoding: TextEncoding, text: String) throws {
    for pieces in [[], [1], [3]] {
      #expect(try decoded(bytes, encoding, pieces: pieces) == Array(text.utf8))
    }
  }

  /// Any bytes come back, valid or not; invalid text is not UTF-8.
  @Test func anyBytesComeBack() throws {
    for seed in 0..<400 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let bytes: [UInt8] = (0..<Int.random(in: 0...60, using: &random)).map { _ in
        Bool.random(using: &random)
          ? UInt8.random(in: .min ... .max, using: &random)
          : [0, 0x0A, 0x61, 0xD8, 0xDC, 0x81].randomElement(using: &random) ?? 0
      }
      for encoding in Self.encodings {
        let pieces = [[], [1], [2, 3], [5]].randomElement(using: &random) ?? []
        let text = try decoded(bytes, encoding, pieces: pieces)
        #expect(Transcoder.input(text, encoding) == bytes, "seed \(seed), \(encoding)")
        let length = text.withUnsafeBytes { Transcoder.inputLength($0, encoding) }
        #expect(length == bytes.count, "seed \(seed), \(encoding)")
        if encoding != .utf8 {
          #expect(isValid(text) == isText(bytes, encoding), "seed \(seed), \(encoding): \(bytes)")
        }
      }
    }
  }

  private func isValid(_ bytes: [UInt8]) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

  private func isText(_ bytes: [UInt8], _ encoding: TextEncoding) -> Bool {
    switch encoding {
    case .utf8: return isValid(bytes)
    case .latin1: return true
    case .windows1252: return !bytes.contains { [0x81, 0x8D, 0x8F, 0x90, 0x9D].contains($0) }
    case .utf16LE, .utf16BE:
      if bytes.count % 2 == 1 { return false }
      let units = stride(from: 0, to: bytes.count, by: 2).map { index in
        let pair = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
        return encoding == .utf16LE ? pair.1 << 8 | pair.0 : pair.0 << 8 | pair.1
      }
      return String(validating: units, as: UTF16.self) != nil
    default: return false
    }
  }

  @Test(
    "A byte-order mark decides the encoding",
    arguments: [
      ([0xEF, 0xBB, 0xBF, 0x61], nil, TextEncoding.utf8, nil),
      ([0xEF, 0xBB, 0xBF, 0x61], .latin1, .utf8, .latin1),
      ([0xFF, 0xFE, 0x61, 0], nil, .utf16LE, nil), ([0xFE, 0xFF, 0, 0x61], nil, .utf16BE, nil),
      ([0xFE, 0xFF, 0, 0x61], .utf16LE, .utf16BE, .utf16LE),
      ([0xFF, 0xFE], .utf16LE, .utf16LE, nil), ([0x61], nil, .utf8, nil),
      ([], .latin1, .latin1, nil),
    ] as [([UInt8], TextEncoding?, TextEncoding, TextEncoding?)])
  func marks(
    bytes: [UInt8], given: TextEncoding?, encoding: TextEncoding, overruled: TextEncoding?
  ) throws {
    for sizes in [[], [1]] {
      let source = try DecodingSource(
        detecting: MemorySource(bytes, readSizes: sizes), given: given)
      #expect(source.encoding == encoding && source.overruled == overruled)
    }
  }

  @Test("UTF-32 is refused with a command that converts it")
  func utf32IsRefused() throws {
    for bytes in [[0xFF, 0xFE, 0, 0, 0x61, 0, 0, 0], [0, 0, 0xFE, 0xFF]] as [[UInt8]] {
      #expect {
        try DecodingSource(detecting: MemorySource(bytes), given: nil)
      } throws: { "\($0)".contains("iconv -f UTF-32") }
    }
  }
}
