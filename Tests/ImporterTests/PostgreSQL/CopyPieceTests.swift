import Engine
import TestSupport
import Testing

@testable import Importer

/// The bytes sent for the rows of a chunk, compared with the fields one by one.
@Suite struct CopyPieceTests {
  /// A column's reading, and its possible fields.
  private struct Column {
    let name: String
    let type: ColumnType
    let fields: [String]
  }

  // Texts of about eight and sixteen bytes, with characters that are special in CSV, in COPY, or in
  // neither.
  private static let texts =
    (0...40).map { String("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN".prefix($0)) }
    + [
      "a\tb", "C:\\N", "\\.", "\\", "two\nlines", "\r\n", "say \"hello\" to", "a,b", "é",
      "日本語のテキスト",
      "eight by", "sixteen bytes ab", "sixteen bytes\tab", "seventeen bytes a\\", " ",
      "\u{7F}\u{B}",
    ]
  private static let columns = [
    Column(name: "a", type: .text, fields: texts),
    Column(name: "n", type: .int, fields: ["0", "-7", "123456789012345678", "+5", " 8 ", ""]),
    Column(
      name: "d", type: .date,
      fields: ["2018-07-05", "1999-12-31", "0001-01-01", "", "2024-02-29"]),
    Column(
      name: "x", type: .double, fields: ["0.5", "-3.25", "12345678901234567", "1e300", "", "NaN"]),
    Column(name: "b", type: .text, fields: texts),
  ]

  /// The field as CSV, quoted if it must be, or by chance.
  private static func spelled(_ field: String, quoted: Bool) -> String {
    let needs = field.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
    return needs || quoted
      ? "\""
        + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
        + "\"" : field
  }

  /// The bytes sent for a field by itself; nil for null.
  private static func sent(_ field: String?, _ type: ColumnType) -> [UInt8]? {
    guard let field else { return Array("\\N".utf8) }
    let text = CopyText(capacity: 1)
    let problem = Array(field.utf8).withUnsafeBytes {
      CopyField(reading: Reading(type)).write($0, to: text)
    }
    return problem == nil ? text.bytes : nil
  }

  private static func pieces(
    _ csv: String, added: [AddedColumn] = [], chunk: Int
  ) throws -> [CopyPiece] {
    var options = ImportOptions(inputs: ["a.csv"], database: "")
    options.addedColumns = added
    var types: [String: ColumnType] = added.isEmpty ? [:] : ["tag": .text]
    for column in columns { types[column.name] = column.type }
    options.types = .named(types)
    let opened = try InputPlanner.open(
      MemorySource(Array(csv.utf8)), types: columns.map(\.type), path: "a.csv", options)
    let match = try TableMatch(opened, options, table: nil)
    let plan = ImportPlan(InputFile(table: "a.csv", in: nil), opened, match, options, encodes: true)
    let builder = CopyPieceBuilder(plan)
    var pieces: [CopyPiece] = []
    while let next = try opened.splitter.next(recordLimit: chunk) {
      pieces.append(try builder.build(next))
    }
    return pieces
  }

  @Test(
    "Rows are sent as their fields are one by one, whatever stands beside them",
    arguments: [false, true])
  func rows(isAdded: Bool) throws {
    var random = SplitMix64(seed: 11)
    for round in 0..<8 {
      var csv = Self.columns.map(\.name).joined(separator: ",") + "\n"
      var expected: [[UInt8]] = []
      var nulls = [Int](repeating: 0, count: Self.columns.count + (isAdded ? 1 : 0))
      // The constant of an added column, which is in no record.
      let added = isAdded ? [try AddedColumn("tag", "tab\there")] : []
      for _ in 0..<300 {
        var record: [String] = []
        var row: [[UInt8]] = []
        for (index, column) in Self.columns.enumerated() {
          // Most rows have no special characters.
          let plain = column.fields.prefix(column.type == .text && round % 2 == 0 ? 41 : 100)
          let field = plain.randomElement(using: &random) ?? ""
          let isQuoted = column.type == .text && Int.random(in: 0..<4, using: &random) == 0
          record.append(Self.spelled(field, quoted: isQuoted))
          if field.isEmpty, !isQuoted { nulls[index] += 1 }
          row.append(
            try #require(Self.sent(field.isEmpty && !isQuoted ? nil : field, column.type)))
        }
        if isAdded { row.append(Array("tab\\there".utf8)) }
        csv += record.joined(separator: ",") + "\n"
        expected.append(Array(row.joined(separator: [0x09])) + [0x0A])
      }
      // The last row ends with the bytes of the input.
      for chunk in [1, 7, 300] {
        let pieces = try Self.pieces(csv, added: added, chunk: chunk)
        let rejects = pieces.flatMap { $0.rejects }
        #expect(rejects.isEmpty)
        let sent = pieces.flatMap { $0.text }
        #expect(sent == expected.flatMap { $0 })
        let ends = pieces.flatMap { piece in
          piece.rowEnds.indices.map { Array(piece.text[piece.bytes(ofRows: $0..<$0 + 1)]) }
        }
        #expect(ends == expected)
        let counted = nulls.indices.map { index in pieces.reduce(0) { $0 + $1.nulls[index] } }
        #expect(counted == nulls)
      }
    }
  }

  @Test("A NUL is refused wherever it stands, and its row is not sent")
  func nul() throws {
    for length in 1...40 {
      let text = String(repeating: "a", count: length - 1) + "\0"
      let pieces = try Self.pieces("a,n,d,x,b\nabc,1,2018-07-05,1,\(text)\nx,2,,2,y\n", chunk: 9)
      let rejects = pieces.flatMap { $0.rejects.map { $0.record } }
      #expect(rejects == [1])
      let sent = pieces.map { String(decoding: $0.text, as: UTF8.self) }
      #expect(sent == ["x\t2\t\\N\t2\ty\n"])
    }
  }
}
