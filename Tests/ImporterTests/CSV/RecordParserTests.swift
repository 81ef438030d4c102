import Importer
import Testing

/// The limits and special cases of `RecordParser`; `AgreementTests` compares its results.
@Suite struct RecordParserTests {
  private func parse(
    _ bytes: [UInt8], columnCount: Int, ragged: ImportOptions.Ragged = .reject
  ) throws -> ParsedChunk {
    let splitter = RecordSplitter(source: MemorySource(bytes))
    let chunk = try #require(try splitter.next(recordLimit: .max))
    return RecordParser(dialect: .rfc4180, columnCount: columnCount, ragged: ragged).parse(chunk)
  }

  @Test("An empty field is null, and a quoted empty one is an empty text")
  func emptyIsNullAndQuotedEmptyIsNot() throws {
    let parsed = try parse(Array(",\"\"\n".utf8), columnCount: 2)
    #expect(parsed.span(row: 0, column: 0) == .null)
    let empty = parsed.span(row: 0, column: 1)
    #expect(!empty.isNull && empty.length == 0)
    #expect(parsed.text(empty) == [])
  }

  @Test("Records of ten thousand columns are parsed")
  func tenThousandColumns() throws {
    let count = 10_000
    let record = (0..<count).map { $0 % 3 == 0 ? "\"\($0)\"\"\"" : "\($0)" }.joined(separator: ",")
    let input = Array((record + "\n" + record + ",1\n" + record).utf8)
    let parsed = try parse(input, columnCount: count)
    #expect(parsed.rowCount == 2)
    #expect(parsed.text(parsed.span(row: 1, column: 9_999)) == Array("9999\"".utf8))
    #expect(parsed.text(parsed.span(row: 1, column: 9_998)) == Array("9998".utf8))
    #expect(
      parsed.malformed.map(\.reason) == [.tooManyFields(expected: count, found: count + 1)])
    #expect(parsed.malformed.first?.line == 2)
  }

  @Test("Short records are padded with nulls to 1,000 columns, in bounded memory")
  func shortRecordsPaddedToManyColumns() throws {
    let input = Array(String(repeating: "a\n", count: 500).utf8)
    let parsed = try parse(input, columnCount: 1000, ragged: .pad)
    #expect(parsed.rowCount == 500 && parsed.malformed.isEmpty)
    #expect(parsed.text(parsed.span(row: 499, column: 0)) == Array("a".utf8))
    #expect(parsed.spans.count { !$0.isNull } == 500)
    #expect(RecordSplitter.maximumRecords(columnCount: 10_000) * 10_000 * 8 <= 64 << 20)
  }

  @Test("Surplus fields are limited by the number of columns")
  func surplusFieldsAreBounded() throws {
    let commas = [UInt8](repeating: UInt8(ascii: ","), count: Header.maximumColumns - 1)
    let fits = try parse(commas, columnCount: 1, ragged: .extend)
    #expect(fits.rowCount == 1 && fits.surplus.count == Header.maximumColumns - 1)
    let tooMany = try parse(commas + [UInt8(ascii: ",")], columnCount: 1, ragged: .extend)
    #expect(tooMany.rowCount == 0 && tooMany.surplus.isEmpty && tooMany.malformed.count == 1)
  }

  /// Every start of two bytes and every combination of four edge values, compared with the standard
  /// library's decoder.
  @Test func ill_formedUTF8IsFoundExactly() throws {
    let edges: [UInt8] = [
      0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC,
      0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]
    var input: [UInt8] = []
    for first in 0x80...0xFF as ClosedRange<UInt8> {
      for second in edges {
        for rest in [[], [0x80], [0x80, 0x80], [0xBF, 0x41], [0x80, 0xC0]] as [[UInt8]] {
          input += [0x41, first, second] + rest + [0x0A]
        }
      }
    }
    let reference = ReferenceParser(input)
    #expect(reference.records.contains { $0.problem == nil })
    try expectAgreement(reference, Feed(columnCount: 1))
  }

  @Test("A record with doubled quotes that is parsed twice gives what the reference gives")
  func unescapedTextNeverOutgrowsItsScratch() throws {
    // Records that are parsed twice and have doubled quotes: what the first pass wrote is dropped.
    for length in 90..<110 {
      let record = "\"\"\"" + String(repeating: "x", count: length) + "\",\"a\"b\n"
      let input = Array(String(repeating: record + "\"\"\"y\"\"\",z\n", count: 50).utf8)
      try expectAgreement(ReferenceParser(input), Feed())
    }
  }

  @Test("A doubled quote is undone wherever the border of a block falls")
  func doubledQuoteIsRememberedAcrossBlocks() throws {
    for length in 0..<300 {
      let field = String(repeating: "x", count: length)
      let input = Array("a,\"\"\"\(field)\"\nb,\"\(field)\"\n\(field)\(field)".utf8)
      try expectAgreement(ReferenceParser(input), Feed())
    }
  }
}
