import Testing

@testable import Command

/// An import that ended in its middle and is resumed after something else has happened to the file:
/// what it has changed is written whole, and what is undone is the import.
@Suite struct ResumedAfterOthersTests {
  enum Other: CaseIterable, Sendable {
    case nothing
    case importIntoAnotherTable
    case importIntoTheTable
    case deletion
    case undoing
  }

  struct Expected {
    /// The entries of the import in the list.
    var entries = 1
    var inserted = 30
    var deleted = 0
    /// The numbers of objects after the import, and after it was undone.
    var objects = 31
    var undone = 1
  }

  private static func expected(_ other: Other) -> Expected {
    switch other {
    case .nothing, .importIntoAnotherTable: Expected()
    // Its first part stays, as the others have come behind it.
    case .importIntoTheTable: Expected(entries: 2, inserted: 35, objects: 36, undone: 26)
    case .deletion: Expected(entries: 2, deleted: 1, objects: 30, undone: 20)
    case .undoing: Expected(entries: 2)
    }
  }

  private func lines(_ ids: some Sequence<Int>) -> String {
    ids.map { "\($0),name \($0)\n" }.joined()
  }

  /// Twenty objects of the input are there, and the import has ended with an error.
  private func begun() throws -> (bench: Workbench, words: [String]) {
    let bench = try Workbench()
    let first = ["import", "-", "--into", bench.database, "--table", "t", "--key", "id"]
    try bench.run(first, input: "id,name\n" + lines(0...0))
    try bench.run(["keep", bench.database, "--versions", "14"])
    try bench.write("w.csv", "id,name\n" + lines(1...25) + "x\n" + lines(26...30))
    let words = [
      "import", bench.path("w.csv"), "--into", bench.database, "--table", "t", "--key", "id",
      "--on-conflict", "update", "--batch-size", "10", "--changes", bench.path("c.jsonl"),
    ]
    try bench.run(words, status: .dataRefused)
    #expect(try count(bench) == 21)
    return (bench, words)
  }

  private func count(_ bench: Workbench) throws -> Int? {
    try Int(bench.run(["query", bench.database, "--table", "t", "--count"]).outputText.dropLast())
  }

  private func happens(_ other: Other, _ bench: Workbench) throws {
    switch other {
    case .nothing: break
    case .importIntoAnotherTable:
      try bench.run(
        ["import", "-", "--into", bench.database, "--table", "other"], input: "a\n1\n2\n")
    case .importIntoTheTable:
      try bench.run(
        ["import", "-", "--into", bench.database, "--table", "t", "--key", "id"],
        input: "id,name\n" + lines(101...105))
    case .deletion: try bench.run(["delete", bench.database, "id == 0", "--table", "t"])
    case .undoing:
      try bench.run(["undo", bench.database])
      #expect(try count(bench) == 1)
      try bench.write("w.csv", "id,name\n" + lines(1...30))
    }
  }

  @Test(
    "What a resumed import has changed is written whole, and undone, whatever came in between",
    arguments: Other.allCases)
  func resumed(_ other: Other) throws {
    let (bench, words) = try begun()
    try happens(other, bench)
    try bench.run(words + ["--resume", "--max-rejects", "5"])
    let expected = Self.expected(other)
    #expect(try count(bench) == expected.objects)
    let changes = try bench.text("c.jsonl")
    #expect(changes.split(separator: "\n").count == expected.inserted + expected.deleted)
    #expect(changes.occurrences(of: #""change":"inserted""#) == expected.inserted)
    let log = try bench.run(["log", bench.database, "--report", "json"]).outputText
    #expect(log.occurrences(of: "w.csv") == expected.entries)
    let undo = ["undo", bench.database]
    if other == .importIntoAnotherTable { try bench.run(undo, status: .dataRefused) }
    try bench.run(undo + ["--table", "t"])
    #expect(try count(bench) == expected.undone)
    // And undoing that.
    try bench.run(undo + ["--table", "t"])
    #expect(try count(bench) == expected.objects)
  }

  @Test("A file of changes that was lost is written again, of all parts of the import")
  func lostFile() throws {
    let (bench, words) = try begun()
    try happens(.importIntoTheTable, bench)
    try bench.run(words + ["--resume", "--max-rejects", "5"])
    let changes = try bench.text("c.jsonl")
    try bench.run(words + ["--resume", "--max-rejects", "5"])
    #expect(try bench.text("c.jsonl") == changes)
  }

  @Test("What is made beside a pending import is gone back to")
  func besidePending() throws {
    let bench = try Workbench()
    try bench.run(["import", "-", "--into", bench.database, "--table", "t"], input: "id\n0\n")
    try bench.run(["keep", bench.database, "--versions", "14"])
    try bench.write("w.csv", "id\n" + (1...25).map { "\($0)\n" }.joined() + "x,y\n")
    let words = [
      "import", bench.path("w.csv"), "--into", bench.database, "--table", "t", "--batch-size", "10",
      "--publish", "end",
    ]
    try bench.run(words, status: .dataRefused)
    let other = ["import", "-", "--into", bench.database, "--table", "other"]
    for input in ["a\n1\n", "a\n2\n"] { try bench.run(other, input: input) }
    // A second part of the pending import, so that its entry lies around the others.
    try bench.write("w.csv", "id\n" + (1...45).map { "\($0)\n" }.joined() + "x,y\n")
    try bench.run(words + ["--resume"], status: .dataRefused)
    try bench.run(["undo", bench.database])
    #expect(
      try bench.run(["query", bench.database, "--table", "other", "--count"]).outputText == "1\n")
  }

  @Test("What others have changed in a table while an import was pending for it is gone back to")
  func sameTableBesidePending() throws {
    let bench = try Workbench()
    let into = ["--into", bench.database, "--table", "t", "--key", "id", "--on-conflict", "update"]
    try bench.run(["import", "-"] + into, input: "id,name\n" + lines(0...3))
    try bench.run(["keep", bench.database, "--versions", "14"])
    let words =
      ["import", bench.path("w.csv")] + into + ["--batch-size", "2", "--publish", "end"]
    try bench.write("w.csv", "id,name\n" + lines(11...15) + "x,y,z\n")
    try bench.run(words, status: .dataRefused)
    for id in [101, 102] {
      try bench.run(["import", "-"] + into, input: "id,name\n" + lines(id...id))
    }
    // Now its entry lies around those of the others.
    try bench.write("w.csv", "id,name\n" + lines(11...25) + "x,y,z\n")
    try bench.run(words + ["--resume"], status: .dataRefused)
    try bench.run(["undo", bench.database])
    let ids = try bench.run(
      ["query", bench.database, "id > 100", "--columns", "id", "--format", "csv"])
    #expect(ids.outputText == "id\n101\n")
  }

  @Test("A version is gone back to if the import around it had not changed anything by then")
  func besideNothing() throws {
    let bench = try Workbench()
    func lines(_ ids: ClosedRange<Int>, _ value: String) -> String {
      ids.map { "\($0),\(value)\n" }.joined()
    }
    let into = ["--into", bench.database, "--table", "t", "--key", "id"]
    try bench.run(["import", "-"] + into, input: "id,v\n" + lines(1...20, "a"))
    try bench.run(["keep", bench.database, "--versions", "14"])
    try bench.write("w.csv", "id,v\n" + lines(1...10, "a") + "x,y,z\n" + lines(11...20, "b"))
    let words =
      ["import", bench.path("w.csv")] + into + ["--batch-size", "5", "--on-conflict", "update"]
    try bench.run(words, status: .dataRefused)
    let other = ["import", "-", "--into", bench.database, "--table", "other"]
    for input in ["a\n1\n", "a\n2\n"] { try bench.run(other, input: input) }
    try bench.run(words + ["--resume", "--max-rejects", "1"])
    try bench.run(["undo", bench.database, "--all"])
    #expect(
      try bench.run(["query", bench.database, "--table", "other", "--count"]).outputText == "1\n")
  }

  @Test("What half an import has left is not what is compared by itself")
  func difference() throws {
    let (bench, words) = try begun()
    try happens(.importIntoAnotherTable, bench)
    try bench.run(words + ["--resume", "--max-rejects", "5"])
    let diff = try bench.run(["diff", bench.database, "--table", "t", "--format", "jsonl"])
    #expect(diff.outputText.occurrences(of: #""change":"inserted""#) == 30)
  }
}

extension String {
  /// How often a text occurs.
  fileprivate func occurrences(of text: String) -> Int {
    split(separator: text, omittingEmptySubsequences: false).count - 1
  }
}
