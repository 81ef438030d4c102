import Engine
import TestSupport

@testable import Importer

/// What a process of a scenario imports into the model of a server, and what the table has then.
struct ModelInput: Sendable {
  let columns: [String]
  let rangeRecords: Int
  let records: [[String]]
  let policy: ConflictPolicy?
  /// Texts that the server does not take; of the second ones it does not say in which line they are.
  let refused: (Set<String>, untold: Set<String>)
  /// The records, cut as an import cuts them.
  let ranges: Result<[CopyRange], any Error>

  /// Records with a text each.
  static let plain = ModelInput(
    rangeRecords: 2, records: (1...8).map { ["record \($0)"] }, refused: ([], untold: []))
  /// The same, some of which the server refuses: one that it names, and one that has to be found.
  static let refusing = ModelInput(
    rangeRecords: 4, records: (1...8).map { ["record \($0)"] },
    refused: (["record 2"], untold: ["record 7"]))

  /// Records whose keys come more than once in a range and in several.
  static func keyed(_ policy: ConflictPolicy) -> ModelInput {
    policy == .skip ? skipping : updating
  }
  private static let skipping = ModelInput(rangeRecords: 3, records: repeated, policy: .skip)
  private static let updating = ModelInput(rangeRecords: 3, records: repeated, policy: .update)
  private static let repeated = ["a", "b", "a", "c", "b", "b"].enumerated().map {
    ["\($1)", "\($0)"]
  }

  private init(
    rangeRecords: Int, records: [[String]], policy: ConflictPolicy? = nil,
    refused: (Set<String>, untold: Set<String>) = ([], untold: [])
  ) {
    self.columns = policy == nil ? ["text"] : ["text", "n"]
    self.rangeRecords = rangeRecords
    self.records = records
    self.policy = policy
    self.refused = refused
    let columns = self.columns
    ranges = Result { try Self.cut(columns, records, rangeRecords) }
  }

  private static func cut(_ columns: [String], _ records: [[String]], _ rangeRecords: Int) throws
    -> [CopyRange]
  {
    let csv = ([columns] + records).map { $0.joined(separator: ",") + "\n" }.joined()
    var options = ImportOptions(inputs: ["a.csv"], database: "")
    options.batchSize = .records(rangeRecords)
    options.types = .text
    let opened = try InputPlanner.open(
      MemorySource(Array(csv.utf8)), types: columns.map { _ in .text }, path: "a.csv", options)
    let match = try TableMatch(opened, options, table: nil)
    let plan = ImportPlan(InputFile(table: "a.csv", in: nil), opened, match, options, encodes: true)
    let builder = CopyPieceBuilder(plan)
    var ranges: [CopyRange] = []
    while let chunk = try opened.splitter.next(recordLimit: rangeRecords) {
      let piece = try builder.build(chunk)
      var range = CopyRange(firstRecord: piece.firstRecord, byteStart: chunk.byteOffset)
      range.append(piece)
      ranges.append(range)
    }
    return ranges
  }

  /// Numbers of the records, from 1, that are rejected of so many ranges.
  func rejected(_ count: Int) -> [Int] {
    records.prefix(count * rangeRecords).indices.filter {
      refused.0.contains(records[$0][0]) || refused.untold.contains(records[$0][0])
    }.map { $0 + 1 }
  }

  /// What the table has once so many ranges are there.
  func rows(_ count: Int) -> [[String]] {
    var rows: [[String]] = []
    for record in records.prefix(count * rangeRecords)
    where !refused.0.contains(record[0]) && !refused.untold.contains(record[0]) {
      switch (policy, rows.firstIndex { $0[0] == record[0] }) {
      case (.skip?, .some): break
      case (.some, .some(let place)): rows[place] = record
      default: rows.append(record)
      }
    }
    return rows
  }

  static func isLess(_ left: [String], _ right: [String]) -> Bool {
    left.lexicographicallyPrecedes(right)
  }
}
