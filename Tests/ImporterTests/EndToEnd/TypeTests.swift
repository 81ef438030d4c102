import Engine
import Testing
import TestSupport

@testable import Importer

/// Types are found in the values, and depend on nothing else (I9).
@Suite struct TypeTests {
  /// A column of ints that becomes double at record `double` and text at record `text`.
  private static func widening(rows: Int, double: Int, text: Int) -> String {
    var csv = "n,b\n"
    for record in 1...rows {
      let value = record == double ? "2.5" : record == text ? "many" : String(record)
      csv += "\(value),x\n"
    }
    return csv
  }

  @Test(
    "A column that widens is reported with the line of the first value that did not fit",
    arguments: [1, 50, 300, 1000], [(1001, 1002), (1500, 2100), (1050, 2999), (2000, 1999)])
  func wideningIsReportedWithItsLine(batch: Int, rows: (double: Int, text: Int)) throws {
    if batch == 1, rows.text > 1100 { return }
    let count = batch == 1 ? 1100 : 3000
    let folder = try ImportFolder()
    let report = try folder.importCSV(
      Self.widening(rows: count, double: rows.double, text: rows.text)
    ) { $0.batchSize = .records(batch) }
    let widened = try #require(report.columns[0].widened)
    #expect(widened.from == .int)
    #expect(widened.to == .text)
    // The header is line 1.
    #expect(widened.line == min(rows.double, rows.text) + 1)
    #expect(report.columns[1].widened == nil)
    #expect(try folder.types() == "n text, b text")
  }

  @Test("Ints of earlier batches become doubles, and every spelling is kept")
  func intsWidenToDoubleAcrossBatches() throws {
    let folder = try ImportFolder()
    let csv = Self.widening(rows: 1800, double: 1700, text: -1)
    let report = try folder.importCSV(csv) { $0.batchSize = .records(100) }
    #expect(report.columns[0].widened == .init(from: .int, to: .double, line: 1701))
    #expect(try folder.types() == "n double, b text")
    #expect(try folder.export() == canonical(Array(csv.utf8)))
    let lines = try folder.exportText(.jsonl).split(separator: "\n")
    #expect(lines[1699] == #"{"n":2.5,"b":"x"}"#)
    #expect(lines[1700] == #"{"n":1701,"b":"x"}"#)
  }

  /// A guess by the sample is no widening; a column that begins late is guessed then.
  @Test func whatIsNotWidening() throws {
    let folder = try ImportFolder()
    let early = try folder.importCSV(Self.widening(rows: 1500, double: 900, text: 1000)) { _ in }
    #expect(early.columns[0].widened == nil)
    var csv = "n,b\n"
    for record in 1...3000 { csv += record < 1500 ? ",x\n" : record < 2500 ? "7,x\n" : "x,x\n" }
    let other = try ImportFolder()
    let late = try other.importCSV(csv) { $0.batchSize = .records(100) }
    #expect(late.columns[0].widened == .init(from: .int, to: .text, line: 2501))
    #expect(late.columns[0].nulls == 1499)
  }

  /// Whether a column with doubles becomes double depends on integers that came long before, which are
  /// searched only then.
  @Test(arguments: ["9007199254740993", "9007199254740992"], [ConflictPolicy.error, .update])
  func doublesAfterIntegers(integer: String, policy: ConflictPolicy) throws {
    let type = integer.hasSuffix("3") ? "text" : "double"
    func change(_ options: inout ImportOptions) {
      options.key = "id"
      options.conflictPolicy = policy
      options.batchSize = .records(2)
    }
    let first = "id,n\na,1\nb,\(integer)\nc,3\n"
    let second = "id,n\nd,4\ne,5\nf,6\ng,0.5\nh,7\n"
    // In one run, in two, and in an interrupted one.
    for way in 0..<3 {
      let folder = try ImportFolder()
      if way == 0 {
        try folder.write("u.csv", Array(second.utf8))
        try folder.importCSV(first) {
          change(&$0)
          $0.inputs.append(folder.path("u.csv"))
        }
      } else {
        try folder.importCSV(first, change)
        #expect(try folder.types() == "id text, n int")
        if way == 2 {
          let report = try folder.importCSV(second, as: "u.csv") {
            change(&$0)
            $0.shouldStop = { true }
          }
          #expect(report.isInterrupted)
        }
        try folder.importCSV(second, as: "u.csv") {
          change(&$0)
          $0.resume = way == 2
        }
      }
      #expect(try folder.types() == "id text, n \(type)", "\(way)")
      #expect(try folder.exportText() == first + second.dropFirst(5))
      try folder.expectSound()
    }
  }

  @Test(
    "The narrowest type for all values is chosen",
    arguments: [
      ("1\n2", "int"), ("1\n2.5", "double"), ("1\n\n2", "int"), ("NaN\n4.1", "double"),
      ("1\nnan\n2", "double"), ("nan\nNan", "text"),
      ("true\nfalse", "bool"), ("true\n1", "text"), ("2018-08-03\n2019-01-01", "date"),
      ("2018-08-03\n2018-08-03T10:00:00", "datetime"), ("2018-08-03T10:00:00\n\n", "datetime"),
      ("007\n8", "text"), ("+5\n6", "int"), ("9223372036854775807\n1", "int"),
      ("9223372036854775808\n1", "text"), ("9007199254740993\n0.5", "text"),
      ("12345678901234567890123\n1", "text"), ("\"\"\n1", "text"), ("x\n1", "text"), ("\n", "text"),
      ("1e3\n2", "double"), ("-0\n0", "double"), ("\"1\"\n2", "int"),
    ])
  func theNarrowestType(values: String, type: String) throws {
    let folder = try ImportFolder()
    let csv =
      "a,b\n"
      + values.split(separator: "\n", omittingEmptySubsequences: false)
      .map { "\($0),x\n" }.joined()
    try folder.importCSV(csv) { $0.header = .firstRecord }
    #expect(try folder.types() == "a \(type), b text")
  }

  /// Parsers, chunk and read sizes, batches, queue and durability do not matter.
  @Test func resultsDependOnTheInputAlone() throws {
    var generator = OddCSV(seed: 5)
    let csv = generator.make(rows: 400, isMixed: false)
    let wanted = canonical(csv)
    var random = SplitMix64(seed: 17)
    var types: String?
    var lines: [UInt8]?
    for round in 0..<16 {
      let batch = [1, 3, 100, 256, 500, 1000].randomElement(using: &random) ?? 1
      let chunk = [1, 50, 700, 20_000, 4 << 20].randomElement(using: &random) ?? 1
      let read = [1, 13, 4096, 1 << 18].randomElement(using: &random) ?? 1
      let durability = Durability.allCases.randomElement(using: &random) ?? .none
      let folder = try ImportFolder()
      let report = try folder.importCSV(csv) {
        $0.header = .firstRecord
        $0.delimiter = ","
        $0.parsers = round % 4 + 1
        $0.queue = round % 3 + 1
        $0.batchSize = round % 8 == 7 ? .all : .records(max(batch, chunk == 1 ? 50 : 1))
        $0.limits = .init(chunkBytes: chunk, readBytes: read)
        $0.durability = batch == 1 ? .none : durability
      }
      let setting = "round \(round): batch \(batch), chunk \(chunk), read \(read), \(durability)"
      #expect(report.imported == 400, "\(setting)")
      #expect(firstDifference(try folder.export(), wanted) == nil, "\(setting)")
      let found = try folder.types()
      #expect(found == types ?? found, "\(setting)")
      types = found
      let json = try folder.export(.jsonl)
      #expect(json == lines ?? json, "\(setting)")
      lines = json
      try folder.expectSound()
    }
  }
}
