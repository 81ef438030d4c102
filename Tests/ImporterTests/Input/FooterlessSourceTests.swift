import TestSupport
import Testing

@testable import Importer

/// An input without its last lines, compared with a list of lines.
@Suite struct FooterlessSourceTests {
  /// Lines with their ends.
  private static func lines(_ bytes: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      line.append(byte)
      let isPair = byte == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A
      if byte == 0x0A || (byte == 0x0D && !isPair) {
        lines.append(line)
        line = []
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }

  private static func read(_ source: FooterlessSource, upTo most: Int) throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      var buffer = [UInt8](repeating: 0, count: most)
      let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
      if count == 0 { return all }
      all += buffer[..<count]
    }
  }

  @Test("The last lines are left out, however reads fall")
  func againstLines() throws {
    for seed in Effort.seeds(1..<2000) {
      var random = SplitMix64(seed: seed)
      let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        [0x61, 0x62, 0x0A, 0x0D, 0x0D, 0x0A].randomElement(using: &random) ?? 0x61
      }.map { UInt8($0) }
      let count = Int.random(in: 1...5, using: &random)
      let sizes = (0..<8).map { _ in Int.random(in: 1...6, using: &random) }
      let expected = Self.lines(bytes).dropLast(count).flatMap(\.self)
      let source = FooterlessSource(MemorySource(bytes, readSizes: sizes), lines: count)
      let found = try Self.read(source, upTo: Int.random(in: 1...9, using: &random))
      #expect(found == expected, "seed \(seed): \(count) of \(bytes)")
    }
  }

  @Test("A long record before the footer is none of it")
  func longRecord() throws {
    let body =
      Array("a\n".utf8) + [UInt8](repeating: 0x78, count: 40_000_000) + Array("\n".utf8)
      + Array(repeatElement([0x31, 0x0A], count: 16_000_000).joined())
    // The sizes of reads decide at how many bytes the footer is looked for.
    let source = FooterlessSource(
      MemorySource(body + Array("total".utf8), readSizes: [140_000]), lines: 1)
    #expect(try Self.read(source, upTo: 1 << 20) == body)
  }

  /// More lines than any input has.
  @Test(arguments: [4, 1 << 40, Int.max - 1, Int.max])
  func nothingIsLeft(lines: Int) throws {
    for sizes in [[1], [3], [100]] {
      let source = FooterlessSource(
        MemorySource(Array("a,b\r\n1,2\n\ntotal".utf8), readSizes: sizes), lines: lines)
      #expect(try Self.read(source, upTo: 10) == [])
    }
  }

  /// From any offset on, as a resumed import reads it.
  @Test func fromAPlaceOn() throws {
    let bytes = Array("a,b\n1,2\n3,4\ntotal\n".utf8)
    let source = FooterlessSource(MemorySource(bytes), lines: 1)
    _ = try Self.read(source, upTo: 3)
    try source.seek(to: 8)
    #expect(try Self.read(source, upTo: 100) == Array("3,4\n".utf8))
  }
}
