import TestSupport
import Testing

@testable import Importer

/// The masks of 64 bytes, by the processor's instruction, by arithmetic, and byte by byte.
@Suite struct BlockScannerTests {
  @Test("The masks of a block have a bit for each special byte, in both ways to find them")
  func masks() throws {
    var random = SplitMix64(seed: 1)
    for dialect in [
      .rfc4180, try Dialect(delimiter: [0x09], quote: nil),
      try Dialect(delimiter: [0x7C], quote: 0x27),
    ] {
      let scanner = BlockScanner(dialect)
      let wanted: [UInt8] = [
        dialect.delimiter.first, dialect.quote ?? 0, 0x0A, 0x0D, 0, 0x7F, 0x80, 0xFF, 0x09,
      ]
      for round in 0..<2000 {
        // The bytes behind the block do not count, whatever its address.
        let start = round % 17
        // In some rounds only the bytes around the block are special.
        let isPlain = round % 7 == 0
        let bytes = (0..<96).map { index -> UInt8 in
          if isPlain, index >= start, index < start + 64 {
            return [0x0A, 0x61, dialect.delimiter.first].randomElement(using: &random) ?? 0
          }
          return round % 5 == 0
            ? UInt8.random(in: 0...255, using: &random)
            : wanted.randomElement(using: &random) ?? 0
        }
        func mask(_ byte: UInt8) -> UInt64 {
          (0..<64).reduce(0) { $0 | (bytes[start + $1] == byte ? 1 << UInt64($1) : 0) }
        }
        bytes.withUnsafeBytes { bytes in
          guard let base = bytes.baseAddress else { return }
          for tabs in [scanner.tabs(base + start), scanner.portableTabs(base + start)] {
            #expect(tabs == mask(0x09), "round \(round)")
          }
          for marks in [scanner.marks(base + start), scanner.portableMarks(base + start)] {
            #expect(
              marks.quotes == dialect.quote.map(mask) ?? 0
                && marks.delimiters == mask(dialect.delimiter.first)
                && marks.lineFeeds == mask(0x0A) && marks.carriageReturns == mask(0x0D),
              "round \(round)")
          }
          let hasOthers = (dialect.quote.map(mask) ?? 0) | mask(0x0D) != 0
          for lineFeeds in [
            scanner.plainLineFeeds(base + start), scanner.portablePlainLineFeeds(base + start),
          ] {
            #expect(lineFeeds == (hasOthers ? nil : mask(0x0A)), "round \(round)")
          }
        }
      }
    }
  }

  /// Compared with a walk over the lines.
  @Test func textsBehindBlanks() {
    var random = SplitMix64(seed: 2)
    for round in 0..<3000 {
      let kinds: [UInt8] = [0x20, 0x20, 0x20, 0x0A, 0x61]
      let bytes = (0..<64).map { _ in kinds.randomElement(using: &random) ?? 0 }
      let isCarried = round % 2 == 0
      var begins: UInt64 = isCarried ? 1 : 0
      var blanks: UInt64 = 0
      var expected: UInt64 = 0
      var isBlank = isCarried
      for (place, byte) in bytes.enumerated() {
        let bit: UInt64 = 1 &<< UInt64(place)
        if byte == 0x20 { blanks |= bit } else if isBlank { expected |= bit }
        if byte == 0x0A { begins |= bit &<< 1 }
        isBlank = byte == 0x0A || (isBlank && byte == 0x20)
      }
      let found = BlockScanner.texts(begins, blanks: blanks)
      #expect(found.texts == expected, "round \(round)")
      // Where a line begins behind the block, none of its blanks were seen.
      #expect(found.endsBlank == (isBlank && bytes[63] != 0x0A), "round \(round)")
    }
  }
}
