import Foundation
import TestSupport
import Testing

@testable import Engine

/// Decimals by themselves, and in notations, sums and tables.
@Suite struct ExactDecimalTests {
  private func decimal(_ text: String) throws -> ExactDecimal {
    try #require(ExactDecimal(text), "\(text)")
  }

  @Test("Decimals are parsed exactly and shown canonically")
  func spellings() throws {
    for (text, shown) in [
      ("0", "0"), ("-0", "0"), ("0.000", "0"), ("1.10", "1.1"), ("+5", "5"), (".5", "0.5"),
      ("1e3", "1000"), ("1200e-2", "12"), ("-1.5E-3", "-0.0015"),
      ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
      ("0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"),
      ("12345678901234567890.123456789012345678", "12345678901234567890.123456789012345678"),
      ("1.000000000000000000000000000000000000000000000000000", "1"),
      ("100000000000000000000000000000000000000e-38", "1"),
      ("1e37", "1" + String(repeating: "0", count: 37)),
      ("0e99999999", "0"),
      ("0.000000000000000000000000000000000000000000000000001e40", "0.00000000001"),
    ] {
      #expect(try decimal(text).description == shown, "\(text)")
      let spelled = Value.decimal(try decimal(text)).spelling
      #expect(Value(spelling: spelled, type: .decimal) == .decimal(try decimal(text)))
    }
    for text in [
      "", "-", ".", "1.", "007", "1,5", "NaN", "inf", "1e38", "1e-39", "$1", "1 2", "0x1",
      "100000000000000000000000000000000000000", "0.000000000000000000000000000000000000001",
      "1.00000000000000000000000000000000000001", "1e999999999999999999999", "٣",
    ] {
      #expect(ExactDecimal(text) == nil, "\(text)")
    }
    #expect(
      ExactDecimal(coefficient: .max, scale: 0) == nil
        && ExactDecimal(coefficient: .min, scale: 9) == nil)
    #expect(
      ExactDecimal(coefficient: 5, scale: -37)?.description == "5"
        + String(repeating: "0", count: 37))
    #expect(
      ExactDecimal(coefficient: 5, scale: .max) == nil
        && ExactDecimal(coefficient: 5, scale: .min + 1) == nil)
    #expect(ExactDecimal(Int64.min).description == "-9223372036854775808")
  }

  @Test("Decimals are ordered by value", arguments: 0..<4 as Range<UInt64>)
  func order(seed: UInt64) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    let texts = generator.column(kind: 40, rows: 300).compactMap {
      $0.map { String(decoding: $0, as: UTF8.self) }
    }
    .filter { ExactDecimal($0) != nil }
    #expect(texts.count > 100)
    for (one, other) in zip(texts, texts.shuffled(using: &generator.random)) {
      let (left, right) = (try decimal(one), try decimal(other))
      let order = SlowDecimal.compare(one, other)
      #expect(
        (left < right) == (order < 0) && (left == right) == (order == 0), "\(one) and \(other)")
      let codes = [left, right].map {
        ValueCode(Reading(.decimal), secret: KeyCode(low: 1, high: 2, bits: 24)).code(
          WideNumber($0))
      }
      #expect(
        order == 0
          ? codes[0] == codes[1] : (order < 0) == (codes[0] <= codes[1]) || codes[0] == codes[1])
      #expect(codes.allSatisfy { $0 > ValueCode.nan && $0 <= ValueCode.highest })
    }
    var sum = DecimalSum()
    for text in texts { sum.add(try decimal(text)) }
    let exact = SlowDecimal.sum(texts)
    #expect(sum.double == Double(exact))
    #expect(sum.value.map { SlowDecimal.compare($0.description, exact) } ?? 0 == 0)
  }

  @Test("Sums of decimals are exact")
  func sums() throws {
    func sum(_ texts: String...) throws -> String? {
      var sum = DecimalSum()
      for text in texts { sum.add(try decimal(text)) }
      return sum.value?.description
    }
    #expect(try sum("0.1", "0.2") == "0.3")
    #expect(try sum("0.1", "-0.3") == "-0.2")
    #expect(try sum("1e20", "-1e20", "1e-38") == "0.00000000000000000000000000000000000001")
    #expect(try sum("99999999999999999999999999999999999999", "1") == nil)
    #expect(
      try sum("99999999999999999999999999999999999999", "1", "-2")
        == "99999999999999999999999999999999999998")
    #expect(
      try sum("-10000000000000000000", "0.0000000000000000001")
        == "-9999999999999999999.9999999999999999999")
    #expect(try sum() == "0")
  }

  @Test("Decimals are read in notations")
  func notations() throws {
    func read(_ text: String, _ pattern: String) throws -> String? {
      let reading = Reading(.decimal, try Notation(.decimal, [pattern]))
      let value = Array(text.utf8).withUnsafeBytes { Value(spelling: $0, as: reading) }
      if let value {
        // The spelling that is stored for a value is read as that value.
        let stored = Column("c", .decimal, notation: reading.notation).stored(value).spelling
        #expect(stored.withUnsafeBytes { Value(spelling: $0, as: reading) } == value, "\(text)")
      }
      return value.map { String(decoding: $0.spelling, as: UTF8.self) }
    }
    for (text, pattern, value) in [
      ("$1,234.56", "$1,234.5", "1234.56"), ("$1234.56", "$1,234.5", "1234.56"),
      ("1,234.50 $", "$1,234.5", "1234.5"),
      ("-$5", "$1.5", "-5"), ("$-5", "$1.5", "-5"), ("- $ 5", "$1.5", "-5"),
      ("($5.10)", "$1.5", "-5.1"),
      ("5", "$1.5", "5"), ("−5 €", "1,5 €", "-5"), ("1.234,56 €", "1.234,5 €", "1234.56"),
      ("€ 1.234", "1.234,5 €", "1234"), ("1\u{A0}234,5\u{202F}€", "1 234,5 €", "1234.5"),
      ("+5 €", "1,5 €", "5"),
      ("12.5%", "1.5%", "0.125"), ("12.5 %", "1.5%", "0.125"), ("-3%", "1.5%", "-0.03"),
      ("0", "1.5%", "0"),
      ("12,5%", "1,5%", "0.125"), ("USD 7", "USD 1.5", "7"), (" $7 ", "$1.5", "7"),
      ("$.5", "$1.5", "0.5"),
      ("1.234,5", "1.234,5", "1234.5"), ("CHF 1'234.50", "CHF 1'234.5", "1234.5"),
      ("Rs. 5", "Rs. 1.5", "5"),
      ("90000000000000000000000000000000000000%", "1.5%", "900000000000000000000000000000000000"),
    ] {
      #expect(try read(text, pattern) == value, "\(text) as \(pattern)")
    }
    for (text, pattern) in [
      ("€5", "$1.5"), ("$", "$1.5"), ("$-", "$1.5"), ("", "$1.5"), ("$1,23", "$1,234.5"),
      ("$1.234,5", "$1,234.5"),
      ("5", "1.5%"), ("5%", "$1.5"), ("%5", "1.5%"), ("(-5)", "$1.5"), ("--5", "$1.5"),
      ("-$-5", "$1.5"),
      ("$5$", "$1.5"), ("$1 5", "$1.5"), ("()", "$1.5"), ("( )", "$1.5"), ("$007", "$1.5"),
      ("1.234", "1,5"),
      ("NaN", "$1.5"), ("$1,234", "$1.5"),
    ] {
      #expect(try read(text, pattern) == nil, "\(text) as \(pattern)")
    }
    for pattern in [
      "", "1", "5$", "$1", "$1.5 €", "$ 1.5%", "%1.5", "$1,234,5", "1.5 1", "$1x234.5", "-1.5",
      "a b1.5", "1.5\n",
    ] {
      #expect(throws: EngineError.self, "\(pattern)") { try Notation(.decimal, [pattern]) }
    }
    #expect(throws: EngineError.self) { try Notation(.uuid, ["x"]) }
    #expect(throws: EngineError.self) { try Notation(.decimal, ["$1.5", "€1.5"]) }
  }

  @Test("Decimals and UUIDs are stored, queried and coded")
  func inATable() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    struct Sale: Codable, Equatable {
      var price: ExactDecimal
      var id: UniqueIdentifier
      var share: ExactDecimal?
    }
    let id = try #require(UniqueIdentifier("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"))
    let sale = Sale(price: try decimal("0.10"), id: id, share: nil)
    try database.write { transaction in
      try transaction.createTable(
        "t",
        columns: [
          Column("price", .decimal), Column("id", .uuid),
          Column("share", .decimal, notation: try Notation(.decimal, ["1,5%"])),
        ])
      let table = try transaction.table("t")
      try table.insert(sale)
      try table.insert([.int(5), .uuid(UniqueIdentifier(bits: 5)), .decimal(ExactDecimal(2))])
      #expect(throws: EngineError.self) { try table.insert([.double(0.5), .null, .null]) }
      #expect(throws: EngineError.self) { try table.insert([.text("5"), .null, .null]) }
    }
    let table = try database.snapshot().table("t")
    #expect(try table.row(forKey: 1)?.decode(Sale.self) == sale)
    #expect(try table.row(forKey: 2)?["share"] == .decimal(ExactDecimal(2)))
    #expect(try Query(column("share") == ExactDecimal(2)).count(in: table) == 1)
    #expect(try Query(column("id") == id).count(in: table) == 1)
    #expect(try Query(Predicate("share == '200%' and price == 5.00")).count(in: table) == 1)
    #expect(try Query(Predicate("price == 0.1")).count(in: table) == 1)
    #expect(try Query(Predicate("price == 0.10000000000000000001")).count(in: table) == 0)
    #expect(try Query(Predicate("price < 0.10000000000000000001")).count(in: table) == 1)
    #expect(
      try Query().aggregates([.sum("price"), .average("price")], in: table) == [
        .decimal(try decimal("5.1")), .double(2.55),
      ])
    for text in [
      "price contains '1'", "id like 'f8%'", "price == 'x'", "id == 5", "price is nan", "id > true",
    ] {
      #expect(throws: QueryError.self, "\(text)") {
        _ = try Query(try Predicate(text)).count(in: table)
      }
    }
    var seen: [String] = []
    try table.forEachView { view in
      seen.append(
        "\(try view.decimal(0)?.description ?? "-") \(try view.uuid(1)?.bits == id.bits) \(view.bytes(0) == nil) \(view.int(0) == nil)"
      )
    }
    #expect(seen == ["0.1 true true true", "5 false true true"])
    #expect(try database.check(deep: true).problems == [])
    try database.close()
  }

  @Test("UUIDs are read in their usual spellings")
  func identifiers() throws {
    let id = try #require(UniqueIdentifier("F81D4FAE-7dec-11d0-a765-00a0c91e6bf6"))
    for text in [
      "f81d4fae7dec11d0a76500a0c91e6bf6", "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
      "{F81D4FAE7DEC11D0A76500A0C91E6BF6}", "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    ] {
      #expect(UniqueIdentifier(text) == id, "\(text)")
    }
    for text in [
      "", "f81d4fae-7dec-11d0-a765-00a0c91e6bf", "f81d4fae-7dec-11d0-a76500a0c91e6bf6-",
      "g81d4fae-7dec-11d0-a765-00a0c91e6bf6",
      "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae--dec-11d0-a765-00a0c91e6bf6",
      "urn:uuid:f81d4fae7dec11d0a76500a0c91e6bf6",
    ] {
      #expect(UniqueIdentifier(text) == nil, "\(text)")
    }
    #expect(
      id.description == "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" && id.bytes[0] == 0xF8
        && id.bytes.count == 16)
    #expect(UUID(uuidString: id.description) != nil)
  }
}
