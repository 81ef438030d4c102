import Testing
import TestSupport

@testable import Engine

/// Cases that random tables seldom have.
@Suite("Queries at the edges")
struct QueryEdgeTests {
  private func table(
    _ columns: [Column], _ spellings: [[Spelling]], effort: EncodingEffort = .fast
  ) throws -> (Table, TemporaryFolder) {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    let cluster = try encode(spellings, with: ClusterBuilder(effort: effort))
    try database.write { transaction in
      try transaction.createTable("t", columns: columns)
      try transaction.table("t").editor.append(cluster)
    }
    return (try database.snapshot().table("t"), folder)
  }

  @Test("Bounds that leave NaN out do not make NaN match")
  func boundsAndNaN() throws {
    let spellings = (0..<100).map { Array(($0 % 3 == 0 ? "NaN" : "\($0).5").utf8) as Spelling }
    let (table, folder) = try table([Column("d", .double)], [spellings])
    for predicate in [column("d") > 1000, column("d") < 0.25, column("d").isIn([-1, -2])] {
      #expect(try Query(predicate).count(in: table) == 0)
      #expect(try Query(!predicate).count(in: table) == 66)
    }
    #expect(try Query(column("d") >= 0).count(in: table) == 66)
    #expect(try Query(!column("d").isNaN).count(in: table) == 66)
    #expect(try Query(column("d").isNaN || column("d").isNull).count(in: table) == 34)
    withExtendedLifetime(folder) {}
  }

  @Test("Decimals are compared with integers exactly, and whole ones with doubles")
  func decimalsAndWholeNumbers() throws {
    let texts = [
      "-9223372036854775808", "-5", "-4", "0", "4", "5", "9007199254740992", "9007199254740993",
      "9007199254740994", "9223372036854775807",
    ]
    let doubles = [
      "-1e30", "-5", "4.5", "5", "9007199254740992", "9007199254740994", "1e30", "inf",
    ]
    let (ints, folder) = try table(
      [Column("n", .int)], [texts.map { Array($0.utf8) as Spelling }])
    let (other, otherFolder) = try table(
      [Column("d", .double)], [doubles.map { Array($0.utf8) as Spelling }])
    let literals = [
      "9007199254740993", "9007199254740993.5", "4.99999999999999999999", "-4.00000000000000000001",
      "5", "0", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
      "-9223372036854775809", "1000000000000000000000000000001", "-1000000000000000000000000000000",
    ]
    for text in literals {
      let literal = try #require(ExactDecimal(text))
      for (number, count) in [("equal", 0), ("less", -1), ("greater", 1)] {
        let expected = texts.count { SlowDecimal.compare($0, text).signum() == count }
        let test: Predicate =
          switch count {
          case 0: column("n") == literal
          case 1: column("n") > literal
          default: column("n") < literal
          }
        #expect(try Query(test).count(in: ints) == expected, "\(number) \(text)")
      }
      let atMost = texts.count { SlowDecimal.compare($0, text) <= 0 }
      #expect(try Query(column("n") <= literal).count(in: ints) == atMost, "\(text)")
      #expect(
        try Query(column("n") >= literal).count(in: ints)
          == texts.count { SlowDecimal.compare($0, text) >= 0 }, "\(text)")
      #expect(
        try Query(column("n") != literal).count(in: ints)
          == texts.count { SlowDecimal.compare($0, text) != 0 }, "\(text)")
      guard literal.scale == 0 else { continue }
      // No double is spelled like another number than it is here.
      let below = doubles.count { $0 != "inf" && SlowDecimal.compare(exact($0), text) < 0 }
      #expect(try Query(column("d") < literal).count(in: other) == below, "\(text)")
      let equal = doubles.count { $0 != "inf" && SlowDecimal.compare(exact($0), text) == 0 }
      #expect(try Query(column("d") == literal).count(in: other) == equal, "\(text)")
    }
    withExtendedLifetime((folder, otherFolder)) {}
  }

  /// All digits of a double.
  private func exact(_ spelling: String) -> String {
    guard let double = Double(spelling), double.magnitude >= 1e15 else { return spelling }
    return Int128(double).description
  }

  @Test("A table without objects, and one without a match")
  func empty() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    let table = try database.snapshot().table("t")
    var query = Query(column("a") == 1)
    query.sort = [.descending("a")]
    #expect(try query.rows(in: table).isEmpty)
    #expect(try query.count(in: table) == 0 && Query().count(in: table) == 0)
    #expect(try query.aggregates([.sum("a"), .count("a")], in: table) == [.null, .int(0)])
    #expect(try query.groups(by: ["a"], in: table).isEmpty)
    query.limit = -1
    #expect(throws: EngineError.self) { try query.count(in: table) }
  }

  @Test("Dates that text columns are stored as are compared as texts", arguments: [true, false])
  func textStoredAsNumbers(isThorough: Bool) throws {
    let spellings = (0..<900).map { Array("\($0 * 7919 % 100_003)".utf8) as Spelling }
    let (table, folder) = try table(
      [Column("t", .text)], [spellings], effort: isThorough ? .thorough : .fast)
    let texts = spellings.compactMap { $0.map { String(decoding: $0, as: UTF8.self) } }
    #expect(
      try Query(column("t") > "5").count(in: table)
        == texts.filter { Array("5".utf8).lexicographicallyPrecedes(Array($0.utf8)) }.count)
    #expect(
      try Query(column("t").contains("99")).count(in: table)
        == texts.filter { $0.contains("99") }.count)
    withExtendedLifetime(folder) {}
  }

  @Test("Letters that are several ones without case, and the letter for them")
  func lettersWithoutCase() throws {
    let texts = ["İstanbul", "Istanbul", "straße", "STRAẞE", "STRASSE", "ﬁn", "a", "Straßß"]
    let (table, folder) = try table([Column("s", .text)], [texts.map { Array($0.utf8) }])
    func found(_ expression: String) throws -> [String] {
      try Query(Predicate(expression)).rows(in: table).map { row in
        if case .text(let text) = row["s"] { text } else { "" }
      }
    }
    let street = ["straße", "STRAẞE", "STRASSE"]
    #expect(try found("s ==[c] 'straße'") == street)
    #expect(try found("s ==[c] 'STRAẞE'") == street)
    #expect(try found("s in ('x') or s ==[c] 'strasse'") == street)
    #expect(try found("s contains[c] 'ẞe'") == street)
    #expect(try found("s like[c] '_stanbul'") == ["İstanbul", "Istanbul"])
    #expect(try found("s like[c] 'stra_e'") == ["straße", "STRAẞE"])
    #expect(try found("s like[c] 'stra__e'") == ["STRASSE"])
    #expect(try found("s like[c] 'stras_e'") == street)
    #expect(try found("s like[c] '%a__'") == ["straße", "STRAẞE", "Straßß"])
    #expect(try found("s like[c] '%se'") == street)
    #expect(try found("s like[c] '_'") == ["a"])
    #expect(try found("s like[c] '_n'") == ["ﬁn"])
    #expect(try found("s like[c] 'f_n'") == ["ﬁn"])
    #expect(try found("s like 'stra_e'") == ["straße"])
    withExtendedLifetime(folder) {}
  }

  @Test("Date-times in units that the bounds do not fall on")
  func units() throws {
    // Minutes on both sides of 1970: the bounds lie between them.
    let spellings = (-50..<50).map { minute -> Spelling in
      DateTime(microsecondsSince1970: Int64(minute) * 60_000_000).map {
        Array($0.description.prefix(16).utf8)
      }
    }
    let (table, folder) = try table([Column("m", .dateTime)], [spellings])
    for second in stride(from: -190, through: 190, by: 7) {
      let moment = try #require(DateTime(microsecondsSince1970: Int64(second) * 1_000_000))
      let expected = (-50..<50).filter { $0 * 60 >= second }.count
      #expect(try Query(column("m") >= moment).count(in: table) == expected, "\(second)")
      #expect(try Query(column("m") < moment).count(in: table) == 100 - expected, "\(second)")
    }
    withExtendedLifetime(folder) {}
  }

  @Test("Every part of a long text is found, wherever it is")
  func parts() {
    var random = SplitMix64(seed: 7)
    let text = (0..<80).map { _ in UInt8.random(in: 97...99, using: &random) }
    for start in 0..<text.count {
      for end in start...min(text.count, start + 20) {
        let part = Array(text[start..<end])
        #expect(text.withUnsafeBytes { Bytes.contains($0, part) })
        let cut = Array(text[..<max(0, end - 1)])
        let isThere =
          part.isEmpty || cut.indices.contains { cut[$0...].starts(with: part) }
        #expect(cut.withUnsafeBytes { Bytes.contains($0, part) } == isThere)
      }
    }
  }

  @Test("A sorter with a limit keeps the first rows, in order", arguments: Effort.seeds(1..<5))
  func sorter(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for limit in [1, 3, 100, 700, 5000, nil] as [Int?] {
      var sorter = RowSorter(limit: limit)
      var all: [(key: [UInt8], row: Int32)] = []
      for row in 0..<6000 as Range<Int32> {
        let length = Int.random(in: 1...12, using: &random)
        let key = (0..<length).map { _ in UInt8.random(in: 0...2, using: &random) }
        all.append((key, row))
        sorter.add(key, RowSorter.RowPlace(leaf: 0, row: row))
      }
      all.sort { left, right in
        left.key == right.key
          ? left.row < right.row : left.key.lexicographicallyPrecedes(right.key)
      }
      #expect(
        sorter.places(dropping: 2).map(\.row)
          == all.prefix(limit ?? .max).dropFirst(2).map(\.row), "seed \(seed), limit \(limit ?? -1)"
      )
    }
  }

  @Test("A sorted result of long texts is read in windows of bounded memory")
  func windows() throws {
    var random = SplitMix64(seed: 3)
    let numbers = (0..<1750).shuffled(using: &random)
    let tail = [UInt8](repeating: 120, count: 40_000)
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    let columns = [Column("n", .int), Column("t", .text)]
    try database.write { try $0.createTable("t", columns: columns) }
    for start in stride(from: 0, to: numbers.count, by: 250) {
      let part = numbers[start..<start + 250]
      let cluster = try encode([
        part.map { Array("\($0)".utf8) }, part.map { Array("\($0)".utf8) + tail },
      ])
      try database.write { try $0.table("t").editor.append(cluster) }
    }
    let table = try database.snapshot().table("t")
    var query = Query()
    query.sort = [.ascending("n")]
    var next = 0
    var windows = 0
    try ResultReader(query, table).forEachWindow(withKeys: true) { window in
      windows += 1
      for row in 0..<window.count {
        let text = try #require(window.field(row, 1))
        let digits = Array("\(next)".utf8)
        #expect(text.starts(with: digits) && text.count == digits.count + tail.count)
        #expect(window.keys[row] == Int64(try #require(numbers.firstIndex(of: next))) + 1)
        next += 1
      }
    }
    #expect(next == numbers.count && windows > 1)
  }
}
