import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Command

/// `sheaf compact --online`, beside other users of the file, and killed at any moment.
@Suite struct OnlineCompactionCommandTests {
  private func rows(_ suffix: String, _ ids: some Sequence<Int> = 1...600) -> String {
    "id,name\n" + ids.map { "\($0),name \($0 &* 7919 % 1000) \(suffix)\n" }.joined()
  }

  /// A file with many small clusters, changed rows and free pages.
  private func filled(rows count: Int = 600) throws -> Workbench {
    let bench = try Workbench()
    func load(_ text: String) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "users", "--key", "id",
          "--on-conflict", "update", "--quiet", "--batch-size", "40", "--compact", "never",
        ], input: text)
    }
    try load(rows("a", 1...count))
    try load(rows("b", stride(from: 1, through: count, by: 3)))
    // Emptying a table leaves free pages before those of the other.
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "users", "--truncate", "--key", "id",
        "--quiet", "--batch-size", "40", "--compact", "never",
      ], input: rows("a", 1...count))
    return bench
  }

  @Test(
    "A disk without room for the first transaction is told of, and the file is no longer than before"
  )
  func fullDisk() throws {
    #if os(Linux)
      // Clusters that are small, and no free page.
      let filled = try Workbench()
      var random = SplitMix64(seed: 3)
      let text =
        "id,t\n"
        + (1...6000).map { "\($0),\(UInt64.random(in: 0 ... .max, using: &random))\n" }.joined()
      try filled.run(
        [
          "import", "-", "--into", filled.database, "--batch-size", "300", "--compact", "never",
          "--quiet",
        ], input: text)
      let bytes = try filled.read("t.sheaf")
      let before = try filled.report(["info", filled.database])["version"].int
      var refused = 0
      // The lock file takes 140.
      for spare in stride(from: 144, through: 400, by: 32) {
        guard let disk = try SmallDisk(kilobytes: bytes.count / 1024 + spare) else { return }
        let bench = try Workbench(root: disk.path)
        try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
        let result = try SheafProcess.run([
          "compact", bench.database, "--online", "--report", "json",
        ])
        let size = try System.status(path: bench.database).size
        let version = try bench.report(["info", bench.database])["version"].int
        #expect((result.status == 74) == (version == before), "\(spare): \(result)")
        #expect(size <= bytes.count, "\(spare): \(result.outputText)")
        #expect([0, 74].contains(result.status), "\(spare): \(result)")
        if result.status == 74 { refused += 1 }
        try bench.run(["check", bench.database])
      }
      #expect(refused > 0)
    #endif
  }

  @Test("A compaction in use leaves a reader its version")
  func besideAReader() throws {
    let bench = try filled()
    let text = try bench.export()
    let database = try Database.open(bench.database)
    let size = try System.status(path: bench.database).size
    // An open handle that holds no version does not prevent a compaction.
    let report = try whileOpen(bench, ["compact", bench.database, "--online", "--report", "json"])
    #expect(report["decision"].text == "compacted" && report["online"].bool == true)
    #expect(report["before"].int == size && report["after"].int ?? .max < size)
    #expect(report["held"].count == 0 && report["interrupted"].bool == false)
    #expect(try System.status(path: bench.database).size == report["after"].int)
    try delete(below: 400, database)
    let snapshot = try database.snapshot()
    try delete(below: 500, database)
    try database.trim()
    let held = try whileOpen(
      bench, ["compact", bench.database, "--online", "--wait", "0", "--report", "json"])
    #expect(held["decision"].text == "compacted" && held["held"].count == 1)
    #expect(held["held"][0]["version"].int == Int(snapshot.version))
    #expect(held["held"][0]["readers"][0].int == Int(System.processIdentifier))
    #expect(held["held"][0]["bytes"].int ?? 0 > 0)
    #expect(try snapshot.table("users").count == 201)
    try database.close()
    #expect(text.split(separator: "\n").count == 601)
    withExtendedLifetime(snapshot) {}
  }

  private func delete(below key: Int64, _ database: Database) throws {
    try database.write { transaction in
      let table = try transaction.table("users")
      // Deletes the objects that were imported first.
      for key in 601..<key + 600 { _ = try table.delete(key) }
    }
  }

  /// Runs a command while the file is open here, so that its lock file exists.
  private func whileOpen(_ bench: Workbench, _ arguments: [String]) throws -> Report {
    let result = try SheafProcess.run(arguments)
    #expect(result.status == 0, "\(result.errorText)")
    return try Report(result.output)
  }

  @Test("--if-above applies, and options that contradict --online are refused")
  func conditionsAndWords() throws {
    let bench = try filled()
    let report = try bench.report(["compact", bench.database, "--online", "--if-above", "70MB"])
    #expect(report["decision"].text == "notNeeded" && report["online"].bool == false)
    for other in [["--into", bench.path("b.sheaf")], ["--drop-versions"], ["--force"]] {
      try bench.run(["compact", bench.database, "--online"] + other, status: .usage)
    }
    let text = try bench.run(["compact", bench.database, "--online"]).outputText
    #expect(text.hasPrefix("\(bench.database): compacted: "))
    try bench.run(["check", bench.database, "--deep"])
  }

  /// A file with several names cannot be replaced, but it can be compacted in use.
  @Test func otherNames() throws {
    let bench = try filled()
    let text = try bench.export()
    try FileManager.default.linkItem(atPath: bench.database, toPath: bench.path("other.sheaf"))
    try bench.run(["compact", bench.database], status: .cannotCreate)
    try bench.run(["compact", bench.database, "--online"])
    #expect(try bench.run(["export", bench.path("other.sheaf")]).outputText == text)
  }

  @Test("An import whose file is also open elsewhere compacts it online, and it becomes smaller")
  func anImportThatFindsReaders() throws {
    let bench = try filled()
    let database = try Database.open(bench.database)
    let result = try SheafProcess.run(
      [
        "import", "-", "--into", bench.database, "--table", "users", "--key", "id", "--report",
        "json", "--on-conflict", "update", "--compact-above", "0", "--compact-used-below", "100%",
      ], input: Array(rows("c").utf8))
    #expect(result.status == 0, "\(result.errorText)")
    let report = try Report(result.output)["compaction"]
    #expect(report["decision"].text == "compacted" && report["online"].bool == true)
    #expect(report["after"].int ?? .max < report["before"].int ?? 0)
    #expect(try database.snapshot().table("users").count == 600)
    try database.close()
    #expect(try bench.export() == rows("c"))
  }

  /// A signal ends its wait for a reader; it reports what it has done.
  @Test func interrupted() throws {
    let bench = try filled()
    let database = try Database.open(bench.database)
    var snapshot: Snapshot? = try database.snapshot()
    try delete(below: 500, database)
    let process = try SheafProcess(
      ["compact", bench.database, "--online", "--wait", "600", "--report", "json"])
    #expect(process.waitForError(containing: "waiting for readers of version"))
    process.signal(SIGINT)
    let result = process.finish()
    #expect(result.status == ExitStatus.interrupted.rawValue)
    let report = try Report(result.output)
    #expect(report["decision"].text == "compacted" && report["held"].count == 1)
    #expect(report["interrupted"].bool == true)
    #expect(try snapshot?.table("users").count == 600)
    snapshot = nil
    try database.close()
    try bench.run(["check", bench.database, "--deep"])
  }

  #if DEBUG
    @Test("A killed compaction in use leaves every row", arguments: ["write", "flush", "resize"])
    func kills(call: String) throws {
      let bench = try filled(rows: 300)
      let bytes = try bench.read("t.sheaf")
      let text = try bench.export()
      var number = 1
      while number < 400 {
        try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
        let result = try SheafProcess.run(
          ["compact", bench.database, "--online"],
          environment: ["SHEAF_FAULT": "\(call):\(number):kill:\(bench.path("calls"))"])
        let wasKilled = result.signal == System.killSignal
        #expect(wasKilled || result.status == 0, "\(call) \(number): \(result.errorText)")
        let check = try bench.report(["check", bench.database, "--deep"])
        #expect(check["ok"].bool == true, "\(call) \(number)")
        #expect(try bench.export() == text, "\(call) \(number)")
        if !wasKilled { break }
        try bench.run(["compact", bench.database, "--online"])
        #expect(try bench.export() == text, "\(call) \(number)")
        number += 2
      }
      #expect(number > 1 && number < 400, "\(call) \(number)")
    }
  #endif
}
