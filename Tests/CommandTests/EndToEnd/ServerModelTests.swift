import Foundation
import TestSupport
import Testing

@testable import Command

/// A table that `--create` makes on a server has what an import into a file has.
@Suite struct ServerModelTests {
  /// Spellings of a column, by the rows of `docs/types.md`.
  private typealias Column = @Sendable (inout SplitMix64) -> String

  private static func pick(_ words: [String]) -> Column {
    { words[Int($0.next() % UInt64(words.count))] }
  }

  private static func number(_ random: inout SplitMix64, _ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(random.next() % UInt64(range.count))
  }

  /// A format with `%` and a number of digits, which are filled from the ranges.
  private static func form(_ format: String, _ ranges: ClosedRange<Int>...) -> Column {
    { random in
      String(format: format, arguments: ranges.map { number(&random, $0) })
    }
  }

  private static let kinds: [Column] = [
    form("%d", 0...99_999), form("-%d", 1...99), form("%d.%d", 0...99, 0...99),
    form("%d,%d", 0...999, 1...99), form("%d.%03d", 1...999, 0...999),
    form("%d,%03d", 1...999, 0...999), form("%d,%03d,%03d", 1...9, 0...999, 0...999),
    form("%d.%03d,%d", 1...9, 0...999, 1...9), form("%d,%03d.%d", 1...9, 0...999, 1...9),
    form("%02d.%02d.%02d", 1...28, 1...12, 17...18), form("%d/%d/%02d", 1...12, 1...28, 17...18),
    form("%d/%d/%02d %d:%02d PM", 1...12, 1...28, 17...18, 1...12, 0...59),
    form("%02d/%02d/%02d", 17...18, 1...12, 1...28),
    form("%02d.%02d.%d", 1...28, 1...12, 1990...2030),
    form("%02d/%02d/%d", 1...12, 1...28, 1990...2030),
    form("%d/%d/%d %02d:%02d", 1...28, 1...12, 1990...2030, 0...23, 0...59),
    form("August %d, %d", 1...28, 1990...2030), form("%d-Jan-%02d", 1...28, 10...30),
    form("%d. März %d", 1...28, 1990...2030), form("%d-%02d-%02d", 1990...2030, 1...12, 1...28),
    form("%d-%02d-%02dT%02d:00:00Z", 1990...2030, 1...12, 1...28, 0...23),
    form("%d-%02d-%02d %02d:00", 1990...2030, 1...12, 1...28, 0...23),
    form("%02d:%02d", 0...23, 0...59), form("%d:%02d AM", 1...12, 0...59),
    form("$%d,%03d.%02d", 1...9, 0...999, 0...99), form("%d,%02d €", 1...99, 0...99),
    form("$%d,%03d", 1...9, 0...999), form("%d,%03d €", 1...9, 0...999),
    form("%d.%d%%", 0...99, 0...9),
    form("%d,%d %%", 0...99, 0...9), form("0.%09d%010d1", 1...999_999_999, 1...999_999_999),
    form("f81d4fae-7dec-11d0-a765-%012d", 1...999_999), pick(["yes", "no"]), pick(["y", "n"]),
    pick(["1", "0"]), pick(["true", "false"]), pick(["inf", "1.5", "-inf", "2"]),
    pick(["50.", "51.5"]),
    form("+493012345%d", 1...9), form("%03d", 0...9), form("%d e", 1...9),
    form("%de%d", 1...9, 0...9),
  ]

  /// What stands in some rows instead of the column's own spelling.
  private static let others: [Column] = [
    pick(["NA"]), pick(["-"]), pick(["NULL", "N/A"]), pick([""]), pick(["None"]), pick(["\"\""]),
    form("%d", 0...99), form("%d-%02d-%02d", 1990...2030, 1...12, 1...28), form("%d.5", 0...99),
  ]

  private static func table(_ random: inout SplitMix64) -> String {
    let count = number(&random, 1...4)
    let columns = (0..<count).map { _ in
      (
        kinds[number(&random, 0...kinds.count - 1)], others[number(&random, 0...others.count - 1)],
        number(&random, 0...2) == 0
      )
    }
    var csv = (["id"] + (0..<count).map { "c\($0)" }).joined(separator: ";") + "\n"
    for id in 1...number(&random, 2...30) {
      let fields = columns.map { own, other, isMixed in
        isMixed && number(&random, 0...3) == 0 ? other(&random) : own(&random)
      }
      csv += (["\(id)"] + fields).joined(separator: ";") + "\n"
    }
    return csv
  }

  private static func notes(_ report: Report) -> [String] {
    (0..<report["notes"].count).compactMap { report["notes"][$0].text }.sorted()
  }

  @Test("Random tables have the same types, values, rejects and notes as in a file")
  func random() throws {
    guard let bench = try ServerBench() else { return }
    for seed in Effort.seeds(0..<80) {
      var random = SplitMix64(seed: seed)
      let csv = Self.table(&random)
      try bench.bench.write("a.csv", csv)
      let more = [
        "--table", "t", "--delimiter", ";", "--header", "yes", "--max-rejects", "unlimited",
      ]
      let report = try bench.report(["a.csv"], more + ["--create"])
      let file = bench.bench.path("\(seed).sheaf")
      let model = try bench.bench.report(
        [
          "import", bench.bench.path("a.csv"), "--into", file, "--rejects",
          bench.bench.path("m.csv"),
        ]
          + more)
      try bench.bench.run(["export", file, "--into", bench.address(), "--as", "u", "--create"])
      #expect(report["rejected"].int == model["rejected"].int, "seed \(seed):\n\(csv)")
      #expect(Self.notes(report) == Self.notes(model), "seed \(seed):\n\(csv)")
      let types = try ["t", "u"].map { table in
        try bench.query(
          "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '\(table)' "
            + "ORDER BY ordinal_position")
      }
      #expect(types[0] == types[1], "seed \(seed):\n\(csv)")
      if types[0] == types[1] {
        let other = try bench.query(
          "(TABLE t EXCEPT ALL TABLE u) UNION ALL (TABLE u EXCEPT ALL TABLE t)")
        #expect(other == [], "seed \(seed):\n\(csv)")
      }
      _ = try bench.query("DROP TABLE t, u, sheaf_input, sheaf_lease, sheaf_range, sheaf_reject")
    }
  }
}
