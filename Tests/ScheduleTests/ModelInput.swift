import Engine
import TestSupport

@testable import Importer

/// The input of a scenario's processes, and the table that results.
struct ModelInput: Sendable {
  let columns: [String]
  let rangeRecords: Int
  let records: [[String]]
  let policy: ConflictPolicy?
  /// Texts that the server refuses; for the second ones it does not name the line.
  let refused: (Set<String>, untold: Set<String>)
  /// The records, divided as an import divides them.
  let ranges: Result<[CopyRange], any Error>

  /// Records with one text each.
  static let plain = ModelInput(
    rangeRecords: 2, records: (1...8).map { ["record \($0)"] }, refused: ([], untold: []))
  /// The same, with two that the server refuses: one that it names, and one that has to be searched.
  static let refusing = ModelInput(
    rangeRecords: 4, records: (1...8).map { ["record \($0)"] },
    refused: (["record 2"], untold: ["record 7"]))

  /// Records whose keys repeat, within a range and across ranges; the table has some of them, and a
  /// further column.
  static func keyed(_ policy: ConflictPolicy) -> ModelInput {
    switch policy {
    case .error: keeping
    case .skip: skipping
    case .update: updating
    case .replace: replacing
    }
  }
  // The server refuses one, so that the rows of its range are searched, also among waiting ones.
  private static let keeping = ModelInput(
    rangeRecords: 3, records: repeated, policy: .error, refused: ([], untold: ["c"]))
  private static let skipping = ModelInput(rangeRecords: 3, records: repeated, policy: .skip)
  private static let updating = ModelInput(
    rangeRecords: 3, records: repeated, policy: .update, refused: ([], untold: ["c"]))
  private static let replacing = ModelInput(rangeRecords: 3, records: repeated, policy: .replace)
  // The last one changes nothing.
  private static let repeated = [
    ["a", "0"], ["b", "1"], ["b", "2"], ["c", "3"], ["b", "4"], ["b", "4"],
  ]

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

  /// All columns of the table.
  var tableColumns: [String] { policy == nil ? columns : columns + ["note"] }

  /// The table's earlier rows.
  var earlier: [ModelServer.Row] {
    policy == nil
      ? []
      : [
        ["text": .text("a"), "n": .text("7"), "note": .text("of a")],
        ["text": .text("d"), "n": .text("8"), "note": .text("of d")],
      ]
  }

  /// The result of importing some ranges.
  struct Outcome {
    /// The rows of the table.
    var rows: [[String]]
    /// Numbers of the records, from 1.
    var rejected: [Int] = []
    var counts: [String: ModelValue] = [:]
  }

  /// The result of importing as many ranges, computed record by record.
  func outcome(_ count: Int) -> Outcome {
    var outcome = Outcome(
      rows: earlier.map { row in tableColumns.map { row[$0]?.field ?? "" } })
    var counts = ["imported": 0, "updated": 0, "skipped": 0, "unchanged": 0, "rejected": 0]
    for (index, record) in records.prefix(count * rangeRecords).enumerated() {
      let place = policy == nil ? nil : outcome.rows.firstIndex { $0[0] == record[0] }
      let isRefused = refused.0.contains(record[0]) || refused.untold.contains(record[0])
      let became: String
      switch (policy, place) {
      case _ where isRefused, (.error?, .some): became = "rejected"
      case (.skip?, .some): became = "skipped"
      case (_, .some(let place)):
        let old = outcome.rows[place]
        outcome.rows[place] = record + (policy == .replace ? [""] : old.suffix(1))
        became = outcome.rows[place] == old ? "unchanged" : "updated"
      case (_, nil):
        outcome.rows.append(record + (policy == nil ? [] : [""]))
        became = "imported"
      }
      counts[became, default: 0] += 1
      if became == "rejected" { outcome.rejected.append(index + 1) }
    }
    counts["records"] = count * rangeRecords
    outcome.counts = counts.mapValues(ModelValue.int)
    return outcome
  }

  static func isLess(_ left: [String], _ right: [String]) -> Bool {
    left.lexicographicallyPrecedes(right)
  }
}
