import TestSupport
import Testing

@testable import Importer

/// Escapes at every place of fields of about the length of the vectors that search them.
@Suite struct EscapeTests {
  @Test(
    "Escapes and doubled quotes are undone at every place of a field of up to 50 bytes",
    arguments: [nil, 0x5C] as [UInt8?])
  func everyPlace(escape: UInt8?) throws {
    var random = SplitMix64(seed: 1)
    let dialect = try escape.map { try Dialect(escape: $0) } ?? .rfc4180
    let special: [UInt8] = escape.map { [$0, $0] } ?? [0x22, 0x22]
    for length in 0...50 {
      var records: [UInt8] = Array("a,b\n".utf8)
      for place in 0...length {
        var field = (0..<length).map { UInt8(0x61 + $0 % 26) }
        field.insert(contentsOf: special, at: place)
        // Several escapes, some adjacent.
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          let other = Int.random(in: 0...length, using: &random)
          if other != place + 1 { field.insert(contentsOf: special, at: min(other, place)) }
        }
        records += [0x22] + field + Array("\",".utf8)
        // An escape counts outside quotes, too.
        records += escape.map { [0x78, $0, 0x2C] + field.prefix(place + 2) } ?? Array("1".utf8)
        records.append(0x0A)
      }
      try expectAgreement(ReferenceParser(records, dialect: dialect), Feed(dialect: dialect))
    }
  }

  /// Chunks are adjacent in memory, and so is the space for their unescaped fields.
  @Test func leavesTheNextChunkAlone() throws {
    for length in 1...40 {
      let field = [UInt8](repeating: 0x61, count: length)
      let record = Array("\"x\"\"".utf8) + field + Array("\"\n".utf8)
      let splitter = RecordSplitter(source: MemorySource(record + record))
      let first = try #require(try splitter.next(recordLimit: 1))
      let second = try #require(try splitter.next(recordLimit: 1))
      let parser = RecordParser(dialect: .rfc4180, columnCount: 1)
      let parsed = parser.parse(second)
      let expected = Array("x\"".utf8) + field
      #expect(parsed.text(parsed.span(row: 0, column: 0)) == expected, "\(length)")
      _ = RecordParser(dialect: .rfc4180, columnCount: 1).parse(first)
      #expect(parsed.text(parsed.span(row: 0, column: 0)) == expected, "\(length)")
    }
  }
}
