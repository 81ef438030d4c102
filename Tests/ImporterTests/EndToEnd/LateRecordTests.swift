import Engine
import Testing
import TestSupport

@testable import Importer

/// Records that arrive late, and records with blanks: what they change in existing objects.
@Suite struct LateRecordTests {
  /// Ids, ages and values; some without an age, and some repeated at once.
  private static func input(_ random: inout SplitMix64, header: String, records: Int) -> [UInt8] {
    func pick(_ words: [String]) -> String { words.randomElement(using: &random) ?? "" }
    var text = header + "\n"
    for _ in 0..<records {
      let fields = header.split(separator: ",").map { name in
        switch name {
        case "id": "k\(Int.random(in: 0..<40, using: &random))"
        case "age":
          Int.random(in: 0..<9, using: &random) == 0 ? "" : pick(["-3", "7", "12", "100", "99"])
        default: pick(["x", "x", "x", "", "", "\"\"", "4.10"])
        }
      }
      text += fields.joined(separator: ",") + "\n"
    }
    return Array(text.utf8)
  }

  @Test(
    "They give what a dictionary gives",
    arguments: [
      ConflictRule(policy: .update, newerThan: "age"),
      ConflictRule(policy: .replace, newerThan: "age"),
      ConflictRule(policy: .update, ignoresBlanks: true),
      ConflictRule(policy: .replace, ignoresBlanks: true),
      ConflictRule(policy: .update, ignoresBlanks: true, newerThan: "age"),
      ConflictRule(policy: .replace, ignoresBlanks: true, newerThan: "age"),
    ], Effort.some([1, 2, 3, 4] as [UInt64]))
  func twin(rule: ConflictRule, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let inputs = [
      Self.input(&random, header: "id,age,a,b", records: 200),
      Self.input(&random, header: "c,age,id,a", records: 300),
      Self.input(&random, header: "b,id,age", records: 300),
    ]
    var twin = KeyTwin(columns: ["id", "age", "a", "b"], key: "id")
    for input in inputs { twin.apply(input, rule) }
    #expect(
      twin.updated > 0 && twin.unchanged > 0 && (rule.newerThan == nil) == (twin.skipped == 0))
    for cut in KeyedTableTests.cuts {
      let note: Comment = "\(rule), \(cut), seed \(seed)"
      let folder = try ImportFolder()
      var sum = [0, 0, 0, 0]
      for (index, input) in inputs.enumerated() {
        let report = try folder.importCSV(input, as: "\(index).csv") {
          cut.change(&$0, rule.policy)
          $0.table = "t"
          $0.ignoresBlanks = rule.ignoresBlanks
          $0.newerThan = rule.newerThan
        }
        expectBalanced(report)
        let counts = [report.imported, report.updated, report.skipped, report.unchanged]
        sum = zip(sum, counts).map(+)
      }
      #expect(sum == [twin.imported, twin.updated, twin.skipped, twin.unchanged], note)
      let difference = firstDifference(try folder.export(), Array(twin.csv.utf8))
      #expect(difference == nil, "\(difference ?? ""): \(note)")
      try folder.expectSound()
    }
  }

  @Test("Ages whose type the first records do not tell have to be given one")
  func unknownAges() throws {
    let empty = (0..<1100).map { "\($0),,x\n" }.joined()
    let words = (0..<1100).map { "\($0),NA,x\n" }.joined()
    for front in [empty, words] {
      let input = Array(("id,age,a\n" + front + "5000,12,NEW\n5000,4,OLD\n").utf8)
      func run(_ types: ImportOptions.TypeRule) throws -> ImportFolder {
        let folder = try ImportFolder()
        _ = try folder.importCSV(input, as: "a.csv") {
          ($0.table, $0.key, $0.conflictPolicy) = ("t", "id", .update)
          ($0.newerThan, $0.types) = ("age", types)
          if front == words { $0.nulls = ["NA"] }
        }
        return folder
      }
      let error = #expect(throws: ImportError.self) { _ = try run(.infer) }
      #expect("\(String(describing: error))".contains("--types 'age:TYPE'"))
      let folder = try run(.named(["age": .int]))
      #expect(String(decoding: try folder.export(), as: UTF8.self).contains("5000,12,NEW"))
    }
    // All of the input has no age: nothing is compared.
    let folder = try ImportFolder()
    _ = try folder.importCSV(Array("id,age,a\n1,,x\n1,,y\n".utf8), as: "b.csv") {
      ($0.table, $0.key, $0.conflictPolicy, $0.newerThan) = ("t", "id", .update, "age")
    }
    #expect(String(decoding: try folder.export(), as: UTF8.self) == "id,age,a\n1,,x\n")
  }

  @Test("A type that was guessed without a value is no order", arguments: ["", "k,,x\n"])
  func emptyColumn(first: String) throws {
    for (older, newer) in [("4", "12"), ("July 4, 2018", "August 3, 2018")] {
      let folder = try ImportFolder()
      _ = try folder.importCSV(Array(("id,age,a\n" + first).utf8), as: "a.csv") {
        ($0.table, $0.key, $0.allowsEmpty) = ("t", "id", true)
      }
      let report = try folder.importCSV(
        Array("id,age,a\nk,\"\(newer)\",NEW\nk,\"\(older)\",OLD\n".utf8), as: "b.csv"
      ) {
        ($0.table, $0.conflictPolicy, $0.newerThan) = ("t", .update, "age")
      }
      #expect(report.skipped == 1)
      _ = try folder.importCSV(Array("id,age,a\nk,\"\(older)\",LATE\n".utf8), as: "c.csv") {
        ($0.table, $0.conflictPolicy, $0.newerThan) = ("t", .update, "age")
      }
      let text = String(decoding: try folder.export(), as: UTF8.self)
      #expect(text.contains("NEW") && !text.contains("OLD") && !text.contains("LATE"), "\(text)")
      try folder.expectSound()
    }
  }

  @Test(
    "Ages are compared as their column is typed, however they are spelled",
    arguments: [
      ("9", "10", true), ("10", "9", false), ("1.5", "1.50", false), ("-1", "-2", false),
      ("2020-01-02", "2020-01-10", true), ("2020-01-02T10:00:00", "2020-01-02T09:59:59", false),
      ("31.12.2019", "01.02.2020", true), ("23:59:59", "00:00:01", false),
      ("$9.00", "$10.00", true),
      ("a", "b", true), ("b", "a", false), ("7", "", false), ("", "7", true), ("NaN", "1.5", true),
      ("1.5", "NaN", false),
    ])
  func types(present: String, late: String, changes: Bool) throws {
    let folder = try ImportFolder()
    let other = present.isEmpty ? late : present
    for (name, age) in [("a", present), ("b", late)] {
      let text = "id,v,age\n1,\(name),\(age)\n2,x,\(other)\n3,x,\(other)\n"
      let report = try folder.importCSV(Array(text.utf8), as: "\(name).csv") {
        $0.table = "t"
        $0.key = "id"
        $0.conflictPolicy = .update
        $0.newerThan = "age"
      }
      if name == "b" {
        #expect([report.updated, report.skipped] == (changes ? [1, 0] : [0, 1]))
      }
    }
    let first = String(decoding: try folder.export(), as: UTF8.self).split(separator: "\n")[1]
    #expect(first == (changes ? "1,b,\(late)" : "1,a,\(present)"))
  }

  @Test("What makes no sense is refused before anything is written")
  func refusals() throws {
    let cases: [(String, (inout ImportOptions) -> Void)] = [
      ("give --key and --on-conflict", { $0.conflictPolicy = .skip }),
      ("the key is the same", { $0.newerThan = "id" }),
      ("has no column 'date'", { $0.newerThan = "date" }),
      ("needs a key", { $0.key = nil }),
    ]
    for (reason, change) in cases {
      let folder = try ImportFolder()
      let error = #expect(throws: ImportError.self) {
        try folder.importCSV(Array("id,age\n1,2\n".utf8)) {
          $0.key = "id"
          $0.conflictPolicy = .update
          $0.newerThan = "age"
          change(&$0)
        }
      }
      #expect(
        error.map { "\($0)".contains(reason) } == true, "\(reason): \(String(describing: error))")
    }
  }

  @Test("A later value of another type is rejected: it has no place in the order")
  func otherTypes() throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV(Array("id,age\n1,2020-01-01\n2,soon\n".utf8)) {
      $0.key = "id"
      $0.conflictPolicy = .update
      $0.newerThan = "age"
      $0.maxRejects = .unlimited
    }
    // The type of the first values is text then.
    #expect(report.rejected == 0)
    let again = try folder.importCSV(Array("id,age\n1,3\n".utf8), as: "u.csv") {
      $0.key = "id"
      $0.conflictPolicy = .update
      $0.newerThan = "age"
    }
    #expect(again.updated + again.skipped == 1)
  }
}
