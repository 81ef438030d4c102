import Engine
import Foundation
import TestSupport
import Testing

@testable import Importer

/// Columns that are not spelled canonically: their notations, and every spelling back to the letter.
@Suite struct NotationImportTests {
  /// A kind of spelling: how values are written, and their canonical text.
  private struct Kind: Sendable {
    let name: String
    let write: @Sendable (inout SplitMix64) -> (spelling: String, canonical: String)
  }

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
  ]

  private static func date(_ random: inout SplitMix64, lastDay: UInt64 = 28) -> (Int, Int, Int) {
    (
      1970 + Int(random.next() % 90), 1 + Int(random.next() % 12),
      1 + Int(random.next() % lastDay)
    )
  }

  private static func iso(_ date: (Int, Int, Int)) -> String {
    String(format: "%04d-%02d-%02d", date.0, date.1, date.2)
  }

  private static let kinds: [Kind] = [
    Kind(name: "named month") { random in
      let date = date(&random)
      return ("\(months[date.1 - 1]) \(date.2), \(date.0)", iso(date))
    },
    Kind(name: "short month") { random in
      let date = date(&random)
      return ("\(date.2)-\(months[date.1 - 1].prefix(3))-\(date.0)", iso(date))
    },
    Kind(name: "year first") { random in
      let date = date(&random)
      return (String(format: "%04d/%02d/%02d", date.0, date.1, date.2), iso(date))
    },
    Kind(name: "points") { random in
      let date = date(&random)
      return (String(format: "%02d.%02d.%04d", date.2, date.1, date.0), iso(date))
    },
    Kind(name: "day first") { random in
      let date = date(&random)
      return (String(format: "%02d/%02d/%04d", date.2, date.1, date.0), iso(date))
    },
    Kind(name: "month first") { random in
      let date = date(&random)
      return (String(format: "%02d/%02d/%04d", date.1, date.2, date.0), iso(date))
    },
    Kind(name: "either") { random in
      let date = date(&random, lastDay: 12)
      return (String(format: "%02d/%02d/%04d", date.1, date.2, date.0), "")
    },
    Kind(name: "clock") { random in
      let date = date(&random)
      let (hour, minute) = (Int(random.next() % 24), Int(random.next() % 60))
      let half = hour < 12 ? "AM" : "PM"
      return (
        "\(months[date.1 - 1].prefix(3)) \(date.2), \(date.0) "
          + String(format: "%d:%02d ", (hour + 11) % 12 + 1, minute) + half,
        iso(date) + String(format: "T%02d:%02d:00Z", hour, minute)
      )
    },
    Kind(name: "thousands") { random in
      let (high, low) = (1 + random.next() % 999, random.next() % 1_000_000)
      return (
        "\(high),\(String(format: "%03d,%03d", low / 1000, low % 1000))",
        "\(high * 1_000_000 + low)"
      )
    },
    Kind(name: "comma") { random in
      let (whole, tenth) = (random.next() % 1000, 1 + random.next() % 9)
      return ("\(whole),\(tenth)", "\(whole).\(tenth)")
    },
    Kind(name: "yes") { random in
      let isTrue = random.next() % 2 == 0
      return (isTrue ? "Yes" : "no", "\(isTrue)")
    },
    Kind(name: "int") { random in
      let number = random.next() % 1000
      return ("\(number)", "\(number)")
    },
  ]

  /// The expected type of a column of one kind, with faults of another among its values: the slow rule.
  private static func expected(_ kind: String, faulty: Bool) -> String {
    if faulty { return "text" }
    return switch kind {
    case "either": "text"
    case "clock": "datetime"
    case "thousands", "int": "int"
    case "comma": "double"
    case "yes": "bool"
    default: "date"
    }
  }

  /// Every kind beside every other, with an early or late fault or none: the plain rule's types, every
  /// spelling back to the letter, and values with the right meaning.
  @Test(arguments: 0..<3 as Range<UInt64>)
  func everyKind(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let rows = 1150
    // No fault or one, in the sample or behind it.
    let faults = Self.kinds.map { _ in
      random.next() % 2 == 0 ? Int(random.next() % UInt64(rows)) : nil
    }
    var csv = Self.kinds.map(\.name).joined(separator: ";") + "\n"
    var canonical: [[String]] = []
    for row in 0..<rows {
      var spelled: [String] = []
      var values: [String] = []
      for (index, kind) in Self.kinds.enumerated() {
        let (spelling, value) = kind.write(&random)
        spelled.append(faults[index] == row ? "not so" : random.next() % 20 == 0 ? "" : spelling)
        values.append(spelled[index].isEmpty ? "" : value)
      }
      csv += spelled.joined(separator: ";") + "\n"
      canonical.append(values)
    }
    var types: String?
    for (batch, parsers) in [(1000, 1), (300, 3)] {
      let folder = try ImportFolder()
      let report = try folder.importCSV(csv) {
        $0.batchSize = .records(batch)
        $0.parsers = parsers
        $0.limits = .init(chunkBytes: batch == 300 ? 3000 : 1 << 20)
      }
      expectBalanced(report)
      #expect(report.rejected == 0)
      let expected = zip(Self.kinds, faults).map {
        "\($0.name) \(Self.expected($0.name, faulty: $1 != nil))"
      }.joined(separator: ", ")
      let found = try folder.types()
      #expect(found == expected, "seed \(seed), batches of \(batch)")
      #expect(types == nil || types == found)
      types = found
      for (index, fault) in faults.enumerated() {
        let widened = report.columns[index].widened
        let isLate = fault.map { $0 >= 1000 } ?? false
        let isTyped = Self.expected(Self.kinds[index].name, faulty: false) != "text"
        #expect((widened != nil) == (isLate && isTyped), "seed \(seed) \(Self.kinds[index].name)")
        if isLate, let fault { #expect(widened.map { $0.line == fault + 2 } ?? true) }
      }
      let exported = String(decoding: try folder.export(), as: UTF8.self)
      let wanted = csv.split(separator: "\n").map { line in
        line.split(separator: ";", omittingEmptySubsequences: false).map {
          $0.contains(",") ? "\"\($0)\"" : String($0)
        }.joined(separator: ",") + "\n"
      }.joined()
      #expect(firstDifference(Array(exported.utf8), Array(wanted.utf8)) == nil, "seed \(seed)")
      try expectValues(folder, canonical, faults)
      try folder.expectSound()
    }
  }

  /// Reads every typed column's values, and asks queries for some of them.
  private func expectValues(
    _ folder: ImportFolder, _ canonical: [[String]], _ faults: [Int?]
  ) throws {
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    defer { try? database.close() }
    let table = try database.snapshot().table("t")
    var row = 0
    try table.forEachRow { found in
      for (index, column) in table.columns.enumerated() where column.type != .text {
        let text = canonical[row][index]
        let expected: Value =
          text.isEmpty ? .null : Value(spelling: text, type: column.type) ?? .null
        if found.values[index] != expected {
          Issue.record("row \(row), \(column.name): \(found.values[index]), not \(expected)")
        }
      }
      row += 1
    }
    #expect(row == canonical.count)
    for (index, column) in table.columns.enumerated() where column.type == .date {
      let bound = "2015-06-15"
      let wanted = canonical.count { !$0[index].isEmpty && $0[index] >= bound }
      let query = Query(try Predicate("`\(column.name)` >= \(bound)"))
      #expect(try query.count(in: table) == wanted, "\(column.name)")
      var everything = Query()
      everything.sort = [.ascending(column.name)]
      everything.columns = [column.name]
      let sorted = try everything.rows(in: table)
      let order = canonical.map { $0[index] }.filter { !$0.isEmpty }.sorted()
      let dates = sorted.compactMap { row -> String? in
        if case .date(let date) = row.values[0] { return "\(date)" }
        return nil
      }
      #expect(dates == order, "\(column.name)")
    }
  }

  @Test(
    "The notation of a column is found",
    arguments: [
      ("03/08/2018\n04/08/2018", "text"), ("03/08/2018\n25/08/2018", "date %d/%m/%Y"),
      ("03/08/2018\n08/25/2018", "date %m/%d/%Y"), ("25/08/2018\n08/25/2018", "text"),
      ("25/08/2018\n2018-08-03", "date %d/%m/%Y"), ("25-08-2018\n01-02-2018", "date %d-%m-%Y"),
      ("7-Jan-18\n8-Feb-70", "date %d-%b-%y"), ("20180803\n20180804", "int"),
      ("03/08/18\n25/08/18", "date %d/%m/%y"),
      ("August 3, 2018\n3 August 2018", "date %B %d, %Y+%d %B %Y"),
      ("Aug 3 2018\nsep 4 2018", "date %B %d %Y"), ("2018-08-03\nAugust 3, 2018", "date %B %d, %Y"),
      ("2018-08-03\n25/08/2018 10:00", "datetime %d/%m/%Y %H:%M"),
      ("2018-02-30\nAugust 3, 2018", "text"),
      ("Fri Aug 03 2018\nSat Aug 4 2018", "date %a %b %d %Y"), ("Wed Aug 03 2018", "text"),
      ("Fri Aug  3 12:34:56 2018\nFri Aug 17 01:02:03 2018", "datetime %a %b %d %H:%M:%S %Y"),
      ("Fri Aug 03 12:34:56 +0000 2018", "datetime %a %b %d %H:%M:%S %z %Y"),
      ("3 августа 2018\n17 СЕНТЯБРЯ 2018", "date %d %B %Y"),
      ("2018-08-03 10:00:00 +0200\n2018-08-03 10:00:00 -0200", "datetime %Y-%m-%d %H:%M:%S %z"),
      ("yes\nno", "bool yes/no"), ("yes\nyes", "text"), ("y\nN", "bool y/n"), ("1\n0", "int"),
      ("yes\nfalse", "text"), ("t\nf", "bool t/f"), ("1,5\n2,25", "double 1,5"),
      ("1,234\n5,678", "text"), ("1,234\n1,234,567", "int 1,234"), ("1,234\n1,5", "double 1,5"),
      ("1,234.5\n7", "double 1,234.5"), ("1.234,5\n1.234", "double 1.234,5"),
      ("192.168.100.200\n100.200.100.200", "text"), ("1.234\n5.678", "double"),
      ("1 234\n5 678", "text"), ("007\n1,5", "text"), ("NA\n5", "int"), ("(555) 123\n2", "text"),
      ("09:30:00\n23:59:59.5", "time %H:%M:%S+%H:%M:%S.%f"),
      ("09:30\n10:00:00", "time %H:%M+%H:%M:%S"),
      ("9:30 AM\n11:45 pm", "time %I:%M %p"), ("3:45\n4:10", "text"), ("3:45:10\n4:10:00", "text"),
      ("23:10\n24:10", "text"),
      ("NA\n09:30", "time %H:%M"), ("09:30\n2018-08-03", "text"),
      ("1,234\n-1,234,567\n+5", "int 1,234"), ("1,234,567\n1,234,567.25", "double 1,234.5"),
      ("inf\n1.5\n-inf", "double"), ("inf\n7", "double"), ("inf\n-inf", "text"),
      ("inf\nx\n1", "text"), ("Inf\n1.5\n-Inf", "double"), ("Infinity\n7\n-Infinity", "double"),
      ("INF\n1.5", "text"), ("50.\n51.5\n3.", "double"), ("1.\n2.\n3.", "text"),
      ("1.\n2\n3", "text"),
      ("1.5\n2..\n3", "text"), ("50.\n0.12345678901234567891", "text"),
      ("inf\n0.12345678901234567891", "text"), ("1.5\nNaN\ninf", "double"),
      ("inf\n2018-08-03", "text"),
    ])
  func whatIsFound(values: String, type: String) throws {
    let folder = try ImportFolder()
    let lines = values.split(separator: "\n")
    try folder.importCSV("a;b\n" + lines.map { "\($0);x\n" }.joined()) {
      $0.header = .firstRecord
      $0.delimiter = ";"
    }
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    let column = try database.snapshot().table("t").columns[0]
    try database.close()
    let notation = column.notation.map { " " + $0.patterns.joined(separator: "+") } ?? ""
    #expect(column.type.name + notation == type, "\(values)")
  }

  /// Day and month have the same order whether the deciding value comes early or late, in one run or in
  /// two; a contradiction behind the sample is reported.
  @Test func theOrderOfDayAndMonth() throws {
    func csv(_ special: [Int: String]) -> String {
      "d;x\n" + (1...3000).map { "\(special[$0] ?? "0\(1 + $0 % 9)/08/2018");\($0)\n" }.joined()
    }
    let late = try ImportFolder()
    let report = try late.importCSV(csv([2500: "25/08/2018"])) { $0.batchSize = .records(100) }
    #expect(try late.types() == "d date, x int")
    #expect(report.columns[0].notation?.patterns == ["%d/%m/%Y"])
    #expect(report.columns[0].widened == nil && report.notes.isEmpty)

    let both = try ImportFolder()
    let widened = try both.importCSV(csv([1500: "25/08/2018", 2500: "08/25/2018"])) {
      $0.batchSize = .records(100)
    }
    #expect(try both.types() == "d text, x int")
    #expect(widened.columns[0].widened == .init(from: .date, to: .text, line: 2501))

    let neither = try ImportFolder()
    let noted = try neither.importCSV(csv([:]))
    #expect(try neither.types() == "d text, x int")
    #expect(noted.notes.contains { $0.contains("'%d/%m/%Y' or '%m/%d/%Y'") })

    // Interrupted before the order is known.
    let resumed = try ImportFolder()
    let text = csv([2500: "25/08/2018"])
    let stop = CallCounter()
    let first = try resumed.importCSV(text) {
      $0.batchSize = .records(100)
      $0.shouldStop = { stop.next() > 8 }
    }
    #expect(first.isInterrupted && first.imported < 2500)
    try resumed.importCSV(text) {
      $0.batchSize = .records(100)
      $0.resume = true
    }
    #expect(try resumed.types() == "d date, x int")
    #expect(try resumed.export() == late.export())
  }

  @Test("A second import reads dates and numbers in the notation that the column has")
  func aSecondImportReadsAsTheFirst() throws {
    let folder = try ImportFolder()
    try folder.importCSV("d;n;t\n25/08/2018;1,5;x\n")
    #expect(try folder.types() == "d date, n double, t text")
    // Values that would be ambiguous by themselves.
    try folder.importCSV("d;n;t\n03/08/2018;1,234;y\n")
    #expect(try folder.types() == "d date, n double, t text")
    #expect(
      try folder.exportText(.jsonl).split(separator: "\n").last
        == #"{"d":"2018-08-03","n":1.234,"t":"y"}"#)
    let report = try folder.importCSV("d;n;t\n08/25/2018;1.5;\"25/08/2018\"\n")
    #expect(try folder.types() == "d text, n text, t text")
    #expect(report.rejected == 0)
    // Columns that were made text stay text.
    try folder.importCSV("d;n;t\n25/08/2018;1,5;25/08/2018\n") { $0.truncate = true }
    #expect(try folder.types() == "d date, n double, t date")
    let text = try ImportFolder()
    try text.importCSV("d\n\"August 3, 2018\"\n") { $0.types = .text }
    try text.importCSV("d\n\"August 4, 2018\"\n")
    #expect(try text.types() == "d text")
    // Existing dates stay dates beside others in a notation.
    let dates = try ImportFolder()
    try dates.importCSV("d,x\n2018-08-03,1\n")
    try dates.importCSV("d,x\n\"August 4, 2018\",1\n")
    #expect(try dates.types() == "d date, x int")
    try dates.expectSound()
  }

  @Test("Given types reject values that do not fit")
  func strictTypes() throws {
    let folder = try ImportFolder()
    let csv =
      "d;n;b\n3 August 2018;1;yes\nsoon;2;1\n04/08/2018;1.5;maybe\n2018-08-05;3;N\n25.08.18;4;no\n"
    let reasons = Reasons()
    let report = try folder.importCSV(csv) {
      $0.types = .named(["d": .date, "n": .int, "b": .bool])
      $0.maxRejects = .unlimited
      $0.onReject = { reasons.add($0) }
    }
    #expect((report.imported, report.rejected) == (2, 3))
    #expect(reasons.all[2].hasSuffix("; --date-format '%d.%m.%y' reads it"), "\(reasons.all)")
    #expect(try folder.exportText() == "d,n,b\n3 August 2018,1,yes\n2018-08-05,3,N\n")
    #expect(reasons.all[0].contains("'soon' in column 'd' is not a date; expected a date like"))
    #expect(reasons.all[1].contains("'04/08/2018' in column 'd' is not a date"))
    #expect(reasons.all[1].contains("say which of %d/%m/%Y and %m/%d/%Y it is with --date-format"))

    let told = try ImportFolder()
    try told.importCSV("d;n\n03/08/2018;1.234\n04/08/18;5\n") {
      $0.types = .named(["n": .int])
      $0.dateFormats = [.init("%d/%m/%Y", column: "d"), .init("%d/%m/%y", column: "d")]
      $0.thousandsSeparator = 0x2E
    }
    #expect(try told.types() == "d date, n int")
    #expect(
      try told.exportText(.jsonl)
        == "{\"d\":\"2018-08-03\",\"n\":1234}\n{\"d\":\"2018-08-04\",\"n\":5}\n")
    // Formats that would change the meaning of existing values are refused.
    let error = try #require(throws: ImportError.self) {
      try told.importCSV("d;n\n03/08/2018;1\n") {
        $0.dateFormats = [.init("%m/%d/%Y", column: "d")]
      }
    }
    #expect("\(error)".contains("would be read as others"))
    try told.expectSound()
  }

  private final class Reasons: @unchecked Sendable {
    // @unchecked: called on the writer's thread, and read when it has ended.
    private(set) var all: [String] = []

    func add(_ reject: Reject) { all.append(reject.reason) }
  }

  /// Keys are compared by their spelling: they stay text, or canonical.
  @Test func keysHaveNoNotation() throws {
    let folder = try ImportFolder()
    try folder.importCSV("k,v\n\"August 3, 2018\",1\n\"August 4, 2018\",2\n") { $0.key = "k" }
    #expect(try folder.types() == "k text, v int")
    let report = try folder.importCSV("k,v\n\"August 3, 2018\",7\n\"August 5, 2018\",2\n") {
      $0.key = "k"
      $0.conflictPolicy = .update
    }
    #expect((report.updated, report.imported) == (1, 1))
  }

  /// Skipped rows do not influence the types.
  @Test func leftOutRowsDoNotWiden() throws {
    let folder = try ImportFolder()
    try folder.importCSV("k;d\n1;25/08/2018\n2;26/08/2018\n") { $0.key = "k" }
    let report = try folder.importCSV("k;d\n1;soon\n3;01/02/2018\n") {
      $0.key = "k"
      $0.conflictPolicy = .skip
    }
    #expect((report.skipped, report.imported) == (1, 1))
    #expect(try folder.types() == "k int, d date")
  }

  /// Indexes, changes through the library, and compactions use the notation.
  @Test func theLibraryReadsAndWrites() throws {
    let folder = try ImportFolder()
    var csv = "d;n\n"
    for row in 1...2000 { csv += "\(1 + row % 28)/\(1 + row % 12)/2018;\(row),5\n" }
    try folder.importCSV(csv)
    let database = try Database.open(folder.database)
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.addIndex("d")
      try table.addIndex("n")
      let date = try #require(CalendarDate(year: 2030, month: 2, day: 1))
      try table.insert(["d": .date(date), "n": .double(1.234)])
      try table.update(1, ["n": .double(-0.5)])
    }
    func check() throws {
      let table = try database.snapshot().table("t")
      #expect(try Query(Predicate("n == 1.234")).count(in: table) == 1)
      #expect(try Query(Predicate("d == \"2030-02-01\" and n > 1")).count(in: table) == 1)
      #expect(try Query(Predicate("n < 0")).count(in: table) == 1)
      #expect(
        try Query(Predicate("d > \"2018-12-01\" and d < \"2019-01-01\"")).count(in: table) > 50)
      #expect(try Query(Predicate("n == 1000.5")).count(in: table) == 1)
      #expect(try database.check().problems == [])
    }
    try check()
    _ = try database.compact()
    try check()
    try database.close()
    let lines = try folder.exportText().split(separator: "\n")
    #expect(lines.last == "2030-02-01,\"1,234\"" && lines[1] == "2/2/2018,\"-0,5\"")
  }
}
