import Base
import Engine
import Foundation
import Testing
import TestSupport

@testable import Command

/// Imports that are killed, interrupted or without room on the disk. What was committed stays, and
/// resuming gives what an uninterrupted import gives, to the byte.
@Suite(.serialized) struct CrashTests {
  struct Setting: Sendable, CustomStringConvertible {
    let batch: String
    let records: Int
    let durability: Durability
    let compacts: Bool
    /// The conflict policy of an import by a key that many records share; nil: without a key.
    let conflict: String?

    init(
      _ batch: String, _ records: Int, _ durability: Durability, compacts: Bool = false,
      conflict: String? = nil
    ) {
      self.conflict = conflict
      self.batch = batch
      self.records = records
      self.durability = durability
      self.compacts = compacts
    }

    var description: String {
      "batch \(batch), \(durability)\(compacts ? ", compacting" : "")"
        + (conflict.map { ", keys, \($0)" } ?? "")
    }
  }

  static let settings: [Setting] = [
    .init("1", 300, .full), .init("1", 600, .group), .init("7", 1500, .none),
    .init("7", 1200, .full), .init("100", 6000, .group, compacts: true),
    .init("1000", 12_000, .full), .init("1000", 12_000, .none, compacts: true),
    .init("all", 4000, .group), .init("7", 600, .group, conflict: "update"),
    .init("100", 4000, .none, compacts: true, conflict: "replace"),
    .init("300", 4000, .full, conflict: "skip"),
  ]

  /// Rows of several kinds; every fortieth is rejected.
  private static func input(records: Int, seed: UInt64, repeatsKeys: Bool = false) -> String {
    var random = SplitMix64(seed: seed)
    var csv = "id,text,number\n"
    for record in 1...records {
      let text = ["\"a,b\"", "\"two\nlines\"", "plain", "", "\"\""].randomElement(using: &random)
      let number = Int.random(in: 0..<1 << 62, using: &random)
      let id = repeatsKeys ? Int.random(in: 1...records / 2, using: &random) : record
      csv += "\(id),\(text ?? ""),\(number)\(record % 40 == 0 ? ",more" : "")\n"
    }
    return csv
  }

  /// What an undisturbed import leaves.
  private struct Outputs: Equatable {
    let table: [UInt8]
    let rejects: [UInt8]
    let reasons: [UInt8]

    init(_ bench: Workbench) throws {
      table = try bench.run(["export", bench.database]).output
      let name = bench.lastRejects("in.rejects")
      rejects = try bench.read(name)
      reasons = try bench.read(name + ".reasons.jsonl")
    }
  }

  private func words(_ setting: Setting, _ bench: Workbench, _ input: String) -> [String] {
    [
      "import", input, "--into", bench.database, "--table", "t", "--batch-size", setting.batch,
      "--durability", setting.durability.rawValue, "--max-rejects", "unlimited",
      "--compact", setting.compacts ? "always" : "never", "--truncate", "--resume",
    ] + (setting.conflict.map { ["--key", "id", "--on-conflict", $0] } ?? [])
  }

  /// The first run empties a table with other contents. Any run may be killed, also those that resume.
  @Test(arguments: settings)
  func killedAtRandomMoments(setting: Setting) throws {
    let rounds = Effort.isLong ? 12 : 1
    for round in 0..<rounds {
      let seed = UInt64(round) &* 1000 &+ UInt64(setting.records)
      var random = SplitMix64(seed: seed)
      let source = try Workbench()
      try source.write(
        "in.csv",
        Self.input(
          records: setting.records, seed: seed, repeatsKeys: setting.conflict != nil))
      let input = source.path("in.csv")
      let whole = try Workbench()
      let began = System.monotonicNanoseconds
      try whole.run(words(setting, whole, input))
      let milliseconds = Int((System.monotonicNanoseconds - began) / 1_000_000)

      var bench = try filled()
      let wanted = Effort.isLong ? 8 : 3
      var kills = 0
      // Each run that comes to its end makes this shorter: the undisturbed one may have taken unusually
      // long.
      var longest = max(2, milliseconds / 2)
      for _ in 0..<4 * wanted where kills < wanted {
        let process = try SheafProcess(words(setting, bench, input))
        System.sleep(milliseconds: UInt32(Int.random(in: 1...longest, using: &random)))
        process.signal(SIGKILL)
        let result = process.finish()
        if result.signal == SIGKILL {
          kills += 1
          // Between the runs the file is sound.
          let check = try SheafProcess.run(["check", bench.database])
          #expect(check.status == 0, "\(setting), seed \(seed): \(check.outputText)")
        } else {
          #expect(result.status == 0, "\(result.errorText)")
          #expect(try Outputs(bench) == Outputs(whole), "\(setting), seed \(seed)")
          bench = try filled()
          longest = max(1, longest / 2)
        }
      }
      #expect(kills == wanted, "\(setting)")
      try bench.run(words(setting, bench, input))
      let isEqual = try Outputs(bench) == Outputs(whole)
      #expect(isEqual, "\(setting), seed \(seed)")
      try bench.run(["check", bench.database])
      bench.expectNothingLeft()
    }
  }

  /// A database whose table has other contents.
  private func filled() throws -> Workbench {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t"], input: "id,text,number\n-1,x,y\n")
    return bench
  }

  /// The import is killed as soon as the compaction's temporary file exists.
  @Test func killedInsideCompaction() throws {
    let setting = Setting("100", 4000, .none, compacts: true)
    let whole = try Workbench()
    try whole.write("in.csv", Self.input(records: setting.records, seed: 1))
    let input = whole.path("in.csv")
    try whole.run(words(setting, whole, input))
    var kills = 0
    for round in 0..<(Effort.isLong ? 40 : 4) {
      let bench = try Workbench()
      let process = try SheafProcess(words(setting, bench, input))
      let temporary = bench.database + "-temporary"
      process.waitWhile { (try? System.status(path: temporary)) == nil }
      System.sleep(milliseconds: UInt32(round % 4 * 2))
      process.signal(SIGKILL)
      if process.finish().signal == SIGKILL { kills += 1 }
      let rest = try bench.report(words(setting, bench, input))
      #expect(rest["read"].int == 0)
      #expect(try Outputs(bench) == Outputs(whole), "round \(round)")
      try bench.run(["check", bench.database])
    }
    #expect(kills > 0)
  }

  // MARK: Interrupted

  @Test(
    "An interrupted import reports what it committed, and can be resumed",
    arguments: [
      (SIGINT, Command.ExitStatus.interrupted), (SIGTERM, .terminated), (SIGHUP, .hungUp),
    ])
  func interrupted(signal: Int32, status: Command.ExitStatus) throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.input(records: 12_000, seed: 2))
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--batch-size", "100",
      "--max-rejects", "unlimited", "--durability", "full", "--compact", "always",
    ]
    for format in ["text", "json"] {
      let before = (try? System.status(path: bench.database).size) ?? 40_000
      let process = try SheafProcess(words + ["--report", format, "--resume"])
      // Signals come only after the first batches.
      process.waitWhile { ((try? System.status(path: bench.database).size) ?? 0) <= before }
      System.sleep(milliseconds: 30)
      process.signal(signal)
      let result = process.finish()
      #expect(result.status == status.rawValue)
      #expect(result.error.isEmpty, "\(result.errorText)")
      bench.expectNothingLeft()
      if format == "text" {
        #expect(
          result.outputText.contains("interrupted after a whole batch; to go on: sheaf import"))
        #expect(result.outputText.hasSuffix(" --resume\n"))
        #expect(result.outputText.contains("compaction  left out: interrupted"))
      } else {
        let report = try Report(result.output)
        #expect(report["interrupted"].bool == true)
        #expect(report["read"].int.map { $0 % 100 } == 0)
        #expect(report["resume"].text?.hasSuffix(" --resume") == true)
      }
    }
    // The printed command, split as by a shell.
    let process = try SheafProcess(words + ["--resume"])
    System.sleep(milliseconds: 60)
    process.signal(signal)
    let text = process.finish().outputText
    if let command = text.split(separator: "\n").last?.components(separatedBy: "to go on: sheaf ")
      .last, text.contains("to go on: ")
    {
      #expect(try Shelled.run(command).status == 0)
    }
    try bench.run(words + ["--resume"])
    let whole = try Workbench()
    try whole.run([
      "import", bench.path("in.csv"), "--into", whole.database, "--max-rejects", "unlimited",
    ])
    #expect(try Outputs(bench) == Outputs(whole))
  }

  #if os(Linux)
    /// `timeout` sends its signal to the child and to their common group.
    @Test func endedByTimeout() throws {
      guard (try? System.status(path: "/usr/bin/timeout")) != nil else {
        print("skipped: there is no timeout")
        return
      }
      let bench = try Workbench()
      let process = try SheafProcess(
        ["2", try SheafProcess.program(), "import", "-", "--into", bench.database],
        program: "/usr/bin/timeout")
      // More records than are sampled before the first batch.
      try process.send("a,b\n" + (1...30_000).map { "\($0),x\n" }.joined())
      let result = process.wait()
      #expect(result.outputText.contains("interrupted after a whole batch; to go on"))
      #expect(result.errorText.isEmpty && (result.status == 124 || result.status == 143))
      bench.expectNothingLeft()
    }
  #endif

  /// A transaction that cannot be completed is undone. `InterruptTests` has the second signal, for
  /// which no other job has to wait.
  @Test func interruptedInOneTransaction() throws {
    let bench = try Workbench()
    let process = try SheafProcess([
      "import", "-", "--into", bench.database, "--batch-size", "all",
    ])
    try process.send("a,b\n" + (1...30_000).map { "\($0),x\n" }.joined())
    System.sleep(milliseconds: 300)
    process.signal(SIGINT)
    // Standard input is still open: only the signal can have ended the process.
    let result = process.wait()
    #expect(result.status == 130)
    #expect(result.outputText.contains("interrupted before anything was committed"))
    bench.expectNothingLeft()
  }

  /// The pipe gives no more bytes, so the batch cannot be completed.
  @Test func interruptedWaitingForAPipe() throws {
    let bench = try Workbench()
    let process = try SheafProcess([
      "import", "-", "--into", bench.database, "--batch-size", "1000", "--report", "json",
    ])
    try process.send("a,b\n" + (1...30_000).map { "\($0),x\n" }.joined())
    process.waitWhile { ((try? System.status(path: bench.database).size) ?? 0) < 8192 }
    System.sleep(milliseconds: 100)
    process.signal(SIGINT)
    let result = process.wait()
    #expect(result.status == 130)
    let report = try Report(result.output)
    let read = report["read"].int ?? -1
    #expect(read % 1000 == 0 && report["interrupted"].bool == true)
    #expect(report["resume"].text?.hasSuffix("--resume") == true)
    #expect(try bench.export("--no-header").split(separator: "\n").count == read)
    // The same before anything was read.
    let early = try SheafProcess(["import", "-", "--into", bench.path("e.sheaf")])
    System.sleep(milliseconds: 200)
    early.signal(SIGTERM)
    let nothing = early.wait()
    #expect(nothing.status == 143)
    #expect(nothing.errorText == "sheaf import: interrupted before the first record\n")
    #expect(!bench.names().contains("e.sheaf"))
    bench.expectNothingLeft()
  }

  // MARK: Other processes

  /// I10: a reader in another process (this one) sees whole batches, in order.
  @Test(arguments: [("7", Durability.full), ("100", .group), ("1000", .none)])
  func aReaderInAnotherProcess(batch: String, durability: Durability) throws {
    let bench = try Workbench()
    let records = batch == "7" ? 1500 : 12_000
    try bench.write("in.csv", "a,b\n" + (1...records).map { "\($0),x\n" }.joined())
    let size = Int(batch) ?? 1
    let process = try SheafProcess([
      "import", bench.path("in.csv"), "--into", bench.database, "--batch-size", batch,
      "--durability", durability.rawValue, "--table", "t",
    ])
    var counts = Set<Int>()
    var last = 0
    let deadline = System.monotonicNanoseconds + 240_000_000_000
    while process.isRunning, System.monotonicNanoseconds < deadline {
      guard let database = try? Database.open(bench.database, options: .init(access: .readOnly))
      else { continue }
      for _ in 0..<200 {
        let snapshot = try database.snapshot()
        guard snapshot.tableNames.contains("t") else { continue }
        let table = try snapshot.table("t")
        #expect(table.count % size == 0 || table.count == records)
        #expect(table.count >= last)
        last = table.count
        counts.insert(last)
        if last > 0 {
          #expect(try table.row(at: last - 1)?["a"] == .int(Int64(last)))
          #expect(try table.row(at: last) == nil)
        }
      }
      try database.close()
    }
    #expect(process.finish().status == 0)
    #expect(try bench.export("--no-header").split(separator: "\n").count == records)
    try bench.run(["check", bench.database])
  }

  /// Two imports into one file at once. Into two tables, both complete. Into one table, they take
  /// turns, or one ends as busy and is resumed.
  @Test(arguments: [true, false])
  func twoImportsAtOnce(intoOneTable: Bool) throws {
    let bench = try Workbench()
    let names = ["x", "y"]
    for name in names {
      try bench.write(name + ".csv", "a,b\n" + (1...5000).map { "\($0),\(name)\n" }.joined())
    }
    func words(_ name: String) -> [String] {
      ["import", bench.path(name + ".csv"), "--into", bench.database, "--batch-size", "100"]
        + (intoOneTable ? ["--table", "t"] : []) + ["--resume"]
    }
    let processes = try names.map { try SheafProcess(words($0)) }
    for (name, process) in zip(names, processes) {
      let result = process.finish()
      if intoOneTable, result.status == Command.ExitStatus.busy.rawValue {
        #expect(result.errorText.contains("was changed by somebody else during the import"))
        try bench.run(words(name))
      } else {
        #expect(result.status == 0, "\(result.errorText)")
      }
    }
    bench.expectNothingLeft()
    try bench.run(["check", bench.database])
    for name in names {
      let table = try bench.export("--no-header", "--table", intoOneTable ? "t" : name)
      let own = table.split(separator: "\n").filter { $0.hasSuffix(name) }
      #expect(own.map { $0 + "\n" }.joined() == (1...5000).map { "\($0),\(name)\n" }.joined())
    }
  }

  // MARK: No room

  #if os(Linux)
    @Test("Without room on the disk the import fails, and can be resumed after")
    func noRoomOnTheDisk() throws {
      guard let disk = try SmallDisk(kilobytes: 384) else { return }
      let bench = try Workbench(root: disk.path)
      let source = try Workbench()
      try source.write("in.csv", Self.input(records: 30_000, seed: 4))
      let words = [
        "import", source.path("in.csv"), "--into", bench.database, "--max-rejects", "unlimited",
        "--rejects", source.path("rejects.csv"), "--table", "t",
      ]
      let full = try bench.run(words, status: .inputOutput)
      #expect(full.errorText.contains("No space left"))
      #expect(full.errorText.contains("batches are committed; free some space, then to go on: "))
      #expect(full.errorText.contains("--resume"))
      let info = try bench.report(["info", bench.database])
      let objects = info["tables"][0]["objects"].int ?? 0
      #expect(objects > 0 && objects % 975 == 0)
      // The disk is full to the last byte: reading works, writing says why it does not.
      try disk.fill()
      try bench.run(["check", bench.database])
      #expect(
        try bench.export("--no-header", "--columns", "id").split(separator: "\n").count == objects)
      try bench.run(words + ["--resume"], status: .inputOutput)
      try bench.run(["compact", bench.database], status: .inputOutput)
      #expect(
        try bench.export("--no-header", "--columns", "id").split(separator: "\n").count == objects)

      try disk.grow(kilobytes: 8192)
      let rest = try bench.report(words + ["--resume"])
      #expect(rest["resumedAt"]["record"].int == objects / 975 * 1000)
      let whole = try Workbench()
      try whole.run([
        "import", source.path("in.csv"), "--into", whole.database, "--max-rejects", "unlimited",
        "--table", "t",
      ])
      #expect(try bench.export() == whole.export())
      #expect(try source.read("rejects.csv") == whole.read("in.rejects.csv"))
      try bench.run(["check", bench.database])
    }

    @Test("An import of which nothing was committed leaves the file as long as it was")
    func nothingInVainStays() throws {
      guard let disk = try SmallDisk(kilobytes: 300) else { return }
      let bench = try Workbench(root: disk.path)
      let source = try Workbench()
      try source.write("a.csv", "a\n1\n")
      try source.write("in.csv", Self.input(records: 30_000, seed: 4))
      try bench.run(["import", source.path("a.csv"), "--into", bench.database, "--quiet"])
      let before = try System.status(path: bench.database).size
      let full = try bench.run(
        [
          "import", source.path("in.csv"), "--into", bench.database, "--table", "other",
          "--batch-size", "all", "--max-rejects", "unlimited", "--rejects",
          source.path("rejects.csv"),
        ], status: .inputOutput)
      #expect(full.errorText.contains("nothing was committed; free some space, and run the"))
      #expect(try System.status(path: bench.database).size == before)
      try bench.run(["check", bench.database])
    }

    @Test("Without room for rejects the import fails and can be resumed")
    func noRoomForRejects() throws {
      guard let disk = try SmallDisk(kilobytes: 8) else { return }
      let bench = try Workbench()
      try bench.write("in.csv", Self.input(records: 20_000, seed: 5))
      let words = [
        "import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "unlimited",
        "--rejects", disk.path + "/r.csv",
      ]
      let result = try bench.run(words, status: .inputOutput)
      #expect(result.errorText.contains(disk.path) && result.errorText.contains("No space left"))
      try disk.grow(kilobytes: 4096)
      try bench.run(words + ["--resume"])
      let whole = try Workbench()
      try whole.run([
        "import", bench.path("in.csv"), "--into", whole.database, "--max-rejects", "unlimited",
      ])
      #expect(try bench.export() == whole.export())
      // Nothing was committed that refers to the first rejects file: it stays as it is.
      let rejects = try Array(Data(contentsOf: URL(fileURLWithPath: disk.path + "/r.2.csv")))
      #expect(rejects == (try whole.read("in.rejects.csv")))
    }
  #endif
}
