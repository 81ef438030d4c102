import Engine
import TestSupport
import Testing

@testable import Importer

/// Types found without encoding are those found with it.
@Suite struct ColumnClassifierTests {
  /// The readings of all columns, chunk by chunk.
  private static func readings(
    _ csv: String, _ change: (inout ImportOptions) -> Void, encoding: Bool
  ) throws -> [Reading] {
    var options = ImportOptions(inputs: ["a.csv"], database: "")
    options.batchSize = .records(7)
    (options.delimiter, options.quote, options.header) = (",", 0x22, .firstRecord)
    change(&options)
    let opened = try InputPlanner(options: options, path: "a.csv").open(
      MemorySource(Array(csv.utf8)))
    let match = try TableMatch(opened, options, table: nil)
    let plan = ImportPlan(InputFile(table: "a.csv", in: nil), opened, match, options, encodes: true)
    var types = match.types
    let (classifier, builder) = (ColumnClassifier(plan), ColumnBatchBuilder(plan))
    while let chunk = try opened.splitter.next(recordLimit: 7) {
      types.add(try encoding ? builder.build(chunk).columns : classifier.build(chunk))
    }
    return types.states.map(\.reading)
  }

  private static let values: [[String]] = [
    ["1", "2", "30", ""], ["1", "2.5", "1e9", "NaN"], ["1", "nan", "2.5"], ["true", "false", ""],
    ["2018-08-03", "2018-08-03T12:00:00Z"], ["August 3, 2018", "May 1, 2020"],
    ["3/4/2018", "25/4/2018"],
    ["NA", "1", "2"], ["x", "\"y,z\"", "\"a \"\"q\"\"\"", "\"\""], ["09:05", "23:59:59"],
    ["$1.50", "$-3"], ["007", "12345678901234567890", "1234567890.12345678901234567890"],
    ["12.5", "1,234.5", "7"], ["F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"],
  ]

  @Test("A value in a record that is rejected for another one hides no later value")
  func rejected() throws {
    for (usual, odd) in [("25/4/2018", "hello"), ("$1.50", "none"), ("7", "x"), ("1,5", "x")] {
      for (bad, way) in [
        ("", { $0.requiredColumns = ["c1"] } as (inout ImportOptions) -> Void),
        ("bad", { $0.types = .named(["c1": .int]) }),
      ] {
        var csv = "c0,c1\n"
        for record in 0..<8000 {
          csv +=
            record == 7000 ? "\(odd),\(bad)\n" : record == 7500 ? "\(odd),1\n" : "\"\(usual)\",1\n"
        }
        let found = try Self.readings(csv, way, encoding: false)
        #expect(found[0].type == .text, "\(usual), \(bad)")
        #expect(try found == Self.readings(csv, way, encoding: true), "\(usual), \(bad)")
      }
    }
  }

  @Test("Tables of any columns have the types that an import gives them", arguments: 0..<40)
  func types(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let count = Int.random(in: 1...5, using: &random)
    let columns = (0..<count).map { _ in Self.values.randomElement(using: &random) ?? [] }
    var csv = (0..<count).map { "c\($0)" }.joined(separator: ",") + "\n"
    let late = Int.random(in: 0..<60, using: &random)
    for record in 0..<60 {
      var fields = columns.map { $0.randomElement(using: &random) ?? "" }
      // A late value is of another kind, or a record is too long.
      if record == late { fields[0] = Self.values.randomElement(using: &random)?.first ?? "" }
      if record % 13 == 12, seed % 3 == 0 { fields += ["5", record % 2 == 0 ? "x" : "6"] }
      csv += fields.joined(separator: ",") + "\n"
    }
    let ways: [(inout ImportOptions) -> Void] = [
      { _ in }, { $0.ragged = .extend }, { $0.types = .named(["c0": .int]) },
      { $0.requiredColumns = ["c0"] }, { $0.nulls = ["x", "1"] },
      // Records are rejected after their first columns were looked at.
      { $0.types = .named(["c\(count - 1)": .int]) }, { $0.requiredColumns = ["c\(count - 1)"] },
    ]
    for (number, way) in ways.enumerated() {
      let own = try Self.readings(csv, way, encoding: false)
      let expected = try Self.readings(csv, way, encoding: true)
      #expect(own == expected, "way \(number) of seed \(seed):\n\(csv)")
    }
  }
}
