import Engine
import Testing
import TestSupport

@testable import Importer

/// Imports into a table with secondary indexes keep these complete, whatever they do to objects and
/// types.
@Suite struct IndexImportTests {
  /// Records with a column that has one value in most, and another in those that widen it.
  private func csv(_ records: Int, from first: Int, odd: String) -> String {
    var text = "id,a,b\n"
    for record in first..<first + records {
      text += "k\(record),\(record % 50 == 49 ? odd : "\(record % 7)"),name \(record % 11)\n"
    }
    return text
  }

  @Test(
    "Every imported object is found by its indexes",
    arguments: [(7, 3), (300, 200), (5000, 4 << 20)], [false, true])
  func everyObjectIsFound(cut: (batch: Int, chunkBytes: Int), hasKey: Bool) throws {
    let folder = try ImportFolder()
    func importCSV(_ text: String) throws {
      try folder.importCSV(text) {
        $0.batchSize = .records(cut.batch)
        $0.limits = .init(chunkBytes: cut.chunkBytes)
        $0.ragged = .extend
        if hasKey {
          $0.key = "id"
          $0.conflictPolicy = .update
        }
      }
      try folder.expectSound()
    }
    let rows = cut.batch == 7 ? 150 : 1200
    try importCSV(csv(rows, from: 0, odd: "3"))
    let database = try Database.open(folder.database)
    try database.write { transaction in
      for name in ["a", "b"] { try transaction.table("t").addIndex(name) }
    }
    try database.close()
    // Existing objects change, others are added, and the column becomes a double, then a text.
    try importCSV(csv(rows, from: rows / 2, odd: "4.50"))
    try importCSV(csv(rows, from: rows, odd: "many") + "k0,9,surplus,one\n")
    let again = try Database.open(folder.database)
    let table = try again.snapshot().table("t")
    #expect(table.indexedColumns == ["a", "b"])
    #expect(table.columns.first { $0.name == "a" }?.type == .text)
    for predicate in [
      column("a") == "many", column("a") == "4.50", column("b") == "surplus",
      column("a").beginsWith("4"), column("a") == "6",
    ] {
      var expected: [Int64] = []
      try ResultReader(Query(predicate), table, indexUse: .never).forEachWindow(withKeys: true) {
        expected += $0.keys
      }
      var found: [Int64] = []
      try ResultReader(Query(predicate), table, indexUse: .always).forEachWindow(withKeys: true) {
        found += $0.keys
      }
      #expect(found == expected && !found.isEmpty, "\(predicate)")
    }
    try again.close()
  }

  /// Once a column has a moment, its days count as the moments when they begin: in clusters of days, of
  /// both, and with changed rows.
  @Test(arguments: [1, 300, 5000])
  func daysBecomeMoments(batch: Int) throws {
    let folder = try ImportFolder()
    func day(_ record: Int) -> String { "2018-0\(1 + record % 9)-1\(record % 7)" }
    func importCSV(_ lines: [String]) throws {
      try folder.importCSV("id,d\n" + lines.joined(separator: "\n") + "\n") {
        $0.batchSize = .records(batch)
        $0.key = "id"
        $0.conflictPolicy = .update
      }
      try folder.expectSound()
    }
    let records = batch == 1 ? 60 : 1500
    try importCSV((0..<records).map { "k\($0),\(day($0))" })
    #expect(try folder.types() == "id text, d date")
    let database = try Database.open(folder.database)
    try database.write { try $0.table("t").addIndex("d") }
    try database.close()
    // Some existing objects, and some new ones.
    let next = (records / 2..<records + 40).map {
      "k\($0),\(day($0))" + ($0 % 5 == 0 ? " 10:30" : $0 % 5 == 1 ? "T00:00:00Z" : "")
    }
    try importCSV(next)
    #expect(try folder.types() == "id text, d datetime")
    let again = try Database.open(folder.database, options: .init(access: .readOnly))
    let table = try again.snapshot().table("t")
    for filter in [
      "d == '2018-03-12'", "d == '2018-03-12T10:30:00Z'", "d between '2018-03-12' and '2018-03-13'",
      "d > '2018-09-14T10:29:59Z'",
    ] {
      let predicate = try Predicate(filter)
      var expected: [Int64] = []
      try table.forEachRow { row in
        guard case .dateTime(let moment)? = row["d"] else { return }
        let text = "\(moment)"
        let holds =
          switch filter {
          case "d == '2018-03-12'": text == "2018-03-12T00:00:00Z"
          case "d == '2018-03-12T10:30:00Z'": text == "2018-03-12T10:30:00Z"
          case "d > '2018-09-14T10:29:59Z'": text > "2018-09-14T10:29:59Z"
          default: text >= "2018-03-12T00:00:00Z" && text <= "2018-03-13T00:00:00Z"
          }
        if holds { expected.append(row.key) }
      }
      for use in [IndexPolicy.never, .always] {
        var found: [Int64] = []
        try ResultReader(Query(predicate), table, indexUse: use).forEachWindow(withKeys: true) {
          found += $0.keys
        }
        #expect(found == expected && !found.isEmpty, "\(filter)")
      }
    }
    try again.close()
  }

  /// Keys as people spell them: with a plus or as a decimal they are two keys of one value.
  private static let spellings = [
    "5", "+5", "-7", "0", "+0", "12", "999999999999999999", "1000000000000000000",
    "-1000000000000000000", "+1000000000000000000", "9223372036854775807", "-9223372036854775808",
    "-999999999999999999", "6", "+11",
  ]

  private enum Keys: CaseIterable {
    case integers, doubles, texts
    var spellings: [String] {
      switch self {
      case .integers: IndexImportTests.spellings
      case .doubles: ["5", "5.0", "-7.25", "0", "6.50", "1e3", "12"]
      case .texts: IndexImportTests.spellings + ["", "5.0", "a", "A", "á", "05", "a b"]
      }
    }
  }

  /// The primary key's index finds the objects with a value that a look at each object finds: in a
  /// version, and in a transaction that has changed them.
  @Test(arguments: Keys.allCases)
  private func primaryKeysAreFound(keys: Keys) throws {
    let folder = try ImportFolder()
    let spelled = keys.spellings.filter { !$0.isEmpty }
    try folder.importCSV("id,n\n" + spelled.map { "\"\($0)\",1\n" }.joined()) { $0.key = "id" }
    let database = try Database.open(folder.database)
    var used = 0
    func compare(_ source: any LeafSource, _ predicate: Predicate) throws {
      func keys(_ use: IndexPolicy) throws -> [Int64] {
        var keys: [Int64] = []
        try ResultReader(Query(predicate), source, indexUse: use).forEachWindow(withKeys: true) {
          keys += $0.keys
        }
        return keys
      }
      #expect(try keys(.always) == keys(.never), "\(predicate)")
      if try Query(predicate).explanation(of: source).contains("index on 'id'") { used += 1 }
    }
    func compareAll(_ source: any LeafSource) throws {
      let id = column("id")
      for text in keys.spellings {
        if keys == .texts {
          for predicate in [
            id == text, id.isEqual(to: text, ignoringCase: true), id >= text,
            id.isIn([text, "12", "x"]),
            id.beginsWith(text), id == text && column("n") == 1, id == text || id == "6",
            id != text,
          ] { try compare(source, predicate) }
        } else if let value = Double(text) {
          for predicate in [id == value, id > value, id.isBetween(value - 1...value + 1)] {
            try compare(source, predicate)
          }
        }
        guard keys == .integers, let value = Int(text) else { continue }
        for predicate in [
          id == value, id != value, id < value, id <= value, id > value, id >= value,
          id.isIn([value, 12, 4]), id.isBetween(min(value, value / 2)...max(value, value / 2)),
          !(id == value),
          id == value && column("n") == 1, id == value || id == 12, id == value || column("n") == 2,
        ] { try compare(source, predicate) }
      }
    }
    try compareAll(database.snapshot().table("t"))
    #expect(used > 10 || keys == .doubles)
    try database.write { transaction in
      let table = try transaction.table("t")
      for key in [1, 4, 6] as [Int64] { try table.delete(key) }
      switch keys {
      case .texts: try table.insert([.text("12 and more"), .int(1)])
      case .integers: try table.insert([.int(77), .int(2)])
      case .doubles: try table.insert([.double(77), .int(2)])
      }
      try compareAll(table.editor)
    }
    try compareAll(database.snapshot().table("t"))
    try database.close()
  }
}
