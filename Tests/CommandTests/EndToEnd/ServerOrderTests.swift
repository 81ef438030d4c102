import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Several processes run the same command, and the order of its inputs decides what is in the table.
@Suite(.serialized) struct ServerOrderTests {
  private static func more(_ policy: String) -> [String] {
    [
      "--table", "t", "--batch-size", "50", "--resume", "--lease", "2", "--wait", "60", "--key",
      "id",
      "--on-conflict", policy,
    ]
  }

  /// A table that keeps batches waiting until `openGate`, once it has a number of rows.
  private static func makeTable(_ bench: ServerBench, _ count: Int) throws {
    try bench.makeGatedTable(count)
    _ = try bench.query("ALTER TABLE t ADD PRIMARY KEY (id)")
  }

  private static func rows(_ ids: ClosedRange<Int>, _ text: String) -> String {
    "id,text\n" + ids.map { "\($0),\(text)\n" }.joined()
  }

  /// The rows by the words of three inputs: the ids 1 to 3000, 2001 to 2200 and 2101 to 3100.
  private static func expect(_ bench: ServerBench, _ policy: String) throws {
    let found = try bench.query("SELECT text, count(*) FROM t GROUP BY text ORDER BY text")
    #expect(
      found
        == (policy == "skip"
          ? [["1", "3000"], ["3", "100"]] : [["1", "2000"], ["2", "100"], ["3", "1000"]]),
      "\(policy)")
  }

  private static func write(_ bench: ServerBench) throws -> [String] {
    try bench.bench.write("1.csv", rows(1...3000, "1"))
    try bench.bench.write("2.csv", rows(2001...2200, "2"))
    try bench.bench.write("3.csv", rows(2101...3100, "3"))
    return ["1.csv", "2.csv", "3.csv"]
  }

  @Test(
    "With a key the inputs come into the table in the order of the command, whoever loads them",
    arguments: ["update", "replace", "skip"], [false, true])
  func order(_ policy: String, _ isKilled: Bool) throws {
    guard let bench = try ServerBench() else { return }
    let names = try Self.write(bench)
    try Self.makeTable(bench, 500)
    let words = bench.words(names, Self.more(policy))
    let first = try SheafProcess(words)
    try bench.awaitGate(500)
    let others = try (0..<2).map { _ in try SheafProcess(words) }
    // Both have met the claim of the first one.
    System.sleep(milliseconds: 700)
    #expect(try bench.value("SELECT count(*) FROM sheaf_input WHERE name NOT LIKE '%1.csv'") == "0")
    if isKilled { first.signal(SIGKILL) }
    try bench.openGate()
    for other in others {
      let result = other.finish()
      #expect(result.status == 0, "\(result.errorText)")
    }
    let result = first.finish()
    #expect(isKilled || result.status == 0, "\(result.errorText)")
    try Self.expect(bench, policy)
    #expect(try bench.value("SELECT count(*) FROM sheaf_input WHERE done") == "3")
  }

  @Test(
    "Commands with the inputs in other orders, or with some of them, do not wait for each other for ever"
  )
  func otherOrders() throws {
    guard let bench = try ServerBench() else { return }
    let names = try Self.write(bench)
    _ = try bench.query("CREATE TABLE t (id int PRIMARY KEY, text text)")
    let lists = [names, names.reversed(), [names[1], names[0]], [names[2], names[1]]]
    let processes = try lists.map {
      try SheafProcess(bench.words($0, Self.more("update")))
    }
    for process in processes {
      let result = process.finish()
      #expect(result.status == 0, "\(result.errorText)")
    }
    #expect(try bench.value("SELECT count(*) FROM t") == "3100")
    #expect(try bench.value("SELECT count(*) FROM sheaf_input WHERE done") == "3")
  }

  @Test("Where the order decides nothing, another process loads the next input at once")
  func unordered() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("1.csv", Self.rows(1...3000, "1"))
    try bench.bench.write("2.csv", Self.rows(3001...3100, "2"))
    try Self.makeTable(bench, 500)
    let words = bench.words(["1.csv", "2.csv"], Self.more("error"))
    let first = try SheafProcess(words)
    try bench.awaitGate(500)
    let second = try SheafProcess(words)
    try bench.await("SELECT count(*) FROM sheaf_input WHERE name LIKE '%2.csv'")
    try bench.openGate()
    for process in [first, second] {
      let result = process.finish()
      #expect(result.status == 0, "\(result.errorText)")
    }
    #expect(try bench.value("SELECT count(*) FROM t") == "3100")
  }
}
