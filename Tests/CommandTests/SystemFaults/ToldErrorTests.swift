import Base
import Engine
import Foundation
import Testing

@testable import Command

/// Errors that must not be taken for an answer: that a file is missing, is no database, or is no link.
/// Each call of a kind fails in turn, and what the answer protects stays as it was.
@Suite struct ToldErrorTests {
  /// Runs a command once for each of its calls of some kinds, which then fails.
  ///
  /// - Parameter body: called with each result, before the next run.
  private func eachCall(
    _ kinds: [CallKind], _ how: String, _ bench: Workbench, _ words: [String],
    input: String = "", _ body: (String, SheafProcess.Result) throws -> Void
  ) throws {
    for kind in kinds {
      var hasFailed = true
      var number = 0
      while hasFailed {
        number += 1
        try #require(number < 300)
        let calls = bench.path("calls")
        try? FileManager.default.removeItem(atPath: calls)
        let fault = FaultedCall(kind: kind, number: number, how: how)
        let process = try SheafProcess(
          words,
          environment: ["SHEAF_FAULT": fault.variable(calls), "SWIFT_BACKTRACE": "enable=no"])
        try process.send(input)
        let result = process.finish(within: 30)
        hasFailed = try bench.text("calls").hasPrefix(kind.rawValue + ":")
        #expect(result.signal == nil, "\(fault)")
        try body("\(fault): \(result.errorText)", result)
      }
      #expect(number > 1, "no call of \(kind)")
    }
  }

  private func database(_ bench: Workbench) throws {
    try bench.write("in.csv", "id,name\n1,a\n2,b\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"])
  }

  /// When one thread could not be started, the estimate was missing and called unknown.
  @Test(.enabled(if: System.processorCount > 1)) func fewerThreads() throws {
    let bench = try Workbench()
    try database(bench)
    let words = ["info", bench.database]
    // The output also has the time that the estimate took.
    func told(_ result: SheafProcess.Result) -> String {
      result.outputText.replacing(/in \d+\.\d+ s\b/, with: "in some time")
    }
    let whole = told(try bench.run(words))
    #expect(whole.contains("in some time"))
    try eachCall([.thread], "EAGAIN", bench, words) { what, result in
      #expect(result.status == 0 && told(result) == whole, "\(what)")
    }
    try eachCall([.thread], "EAGAIN", bench, ["compact", bench.database]) { what, result in
      #expect(result.status == 0, "\(what)")
    }
  }

  /// A file that could not be looked at was left out, with its rows.
  @Test func filesOfAPattern() throws {
    let bench = try Workbench()
    for index in 0..<3 { try bench.write("m\(index).csv", "id\n\(index)\n") }
    let words = [
      "import", bench.path("m*.csv"), "--into", bench.database, "--table", "t", "--truncate",
    ]
    try eachCall([.seek, .stat, .folder], "EIO", bench, words) { what, result in
      guard result.status == 0 else { return }
      let rows = try bench.export()
      #expect(rows == "id\n0\n1\n2\n", "\(what)")
    }
  }

  /// An input under another name counted as new and was imported twice.
  @Test func namesBehindLinks() throws {
    let bench = try Workbench()
    // A link in the folder's path: a link in the file's own name is followed separately.
    let folder = bench.path("real")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try bench.write("real/in.csv", "id,name\n1,a\n2,b\n")
    try FileManager.default.createSymbolicLink(
      atPath: bench.path("link"), withDestinationPath: folder)
    let link = bench.path("link/in.csv")
    let words = ["import", link, "--into", bench.database, "--table", "t", "--resume"]
    try eachCall([.path], "EIO", bench, words) { what, result in
      try bench.run(words)
      let rows = try bench.export()
      #expect(rows == "id,name\n1,a\n2,b\n", "\(what)")
      try FileManager.default.removeItem(atPath: bench.database)
    }
  }

  /// An unreadable file counted as no database and was replaced.
  @Test func databasesInTheWay() throws {
    let bench = try Workbench()
    try database(bench)
    let copy = bench.path("copy.sheaf")
    try bench.run(["compact", bench.database, "--into", copy])
    let before = try bench.read("copy.sheaf")
    for words in [["export", bench.database, "--output", copy], ["sample", "--output", copy]] {
      try eachCall([.open, .read, .stat], "EIO", bench, words) { what, result in
        #expect(result.status != 0, "\(what)")
        let present = try bench.read("copy.sheaf")
        #expect(present == before, "\(what)")
      }
    }
  }

  /// So was a file beside the place of a database, or a link.
  @Test func companionsAndLinksInTheWay() throws {
    let bench = try Workbench()
    try database(bench)
    let held = try Database.open(bench.database, options: .init(access: .readOnly))
    let lock = bench.path("other-lock")
    try FileManager.default.copyItem(atPath: bench.database + "-lock", toPath: lock)
    try held.close()
    try bench.write("kept.csv", "kept\n")
    let link = bench.path("link.csv")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: bench.path("kept.csv"))
    let before = try bench.read("other-lock")
    for output in [lock, link] {
      let words = ["export", bench.database, "--output", output]
      try eachCall([.open, .read, .seek, .stat], "EIO", bench, words) { what, result in
        #expect(result.status != 0, "\(what)")
        let (present, kept) = (try bench.read("other-lock"), try bench.text("kept.csv"))
        #expect(present == before && kept == "kept\n", "\(what)")
        #expect(System.target(ofLink: link) == bench.path("kept.csv"))
      }
    }
  }

  /// A report was appended to somebody's data, as if the file were empty or held reports.
  @Test func filesThatAreNoReports() throws {
    let bench = try Workbench()
    try database(bench)
    try bench.write("data.csv", "a\n1\n")
    let words = ["compact", bench.database, "--report-file", bench.path("data.csv")]
    try eachCall([.open, .read, .stat], "EIO", bench, words) { what, result in
      #expect(result.status != 0, "\(what)")
      let present = try bench.text("data.csv")
      #expect(present == "a\n1\n", "\(what)")
    }
  }

  /// A compressed file whose first bytes could not be read counted as text.
  @Test func compressedFiles() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,name\n1,a\n2,b\n")
    guard try Compressor.compress(bench.path("in.csv"), "gzip") else { return }
    try FileManager.default.moveItem(atPath: bench.path("in.csv.gz"), toPath: bench.path("packed"))
    let words = [
      "import", bench.path("packed"), "--into", bench.database, "--table", "t", "--truncate",
    ]
    // A block that cannot be read ahead is read when it is needed.
    var refused = 0
    try eachCall([.read], "EIO", bench, words) { what, result in
      guard result.status == 0 else {
        refused += 1
        #expect([66, 74].contains(result.status), "\(what)")
        return
      }
      let rows = try bench.export()
      #expect(rows == "id,name\n1,a\n2,b\n", "\(what)")
    }
    #expect(refused >= 4)
  }

  /// A database that could not be looked at counted as missing: all rows would have been new.
  @Test func dryRuns() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,name\n1,a\n2,b\n")
    try bench.run([
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--key", "id",
    ])
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--dry-run",
      "--on-conflict", "skip", "--report", "json",
    ]
    try eachCall([.seek, .stat], "EIO", bench, words) { what, result in
      guard result.status == 0 else { return }
      let report = try Report(result.output)
      #expect(report["imported"].int == 0 && report["skipped"].int == 2, "\(what)")
    }
  }

  /// A job whose file could not be looked at was repeated without a pause and without an end; a thread
  /// that could not be stopped was waited for.
  @Test(arguments: ["stat", "write"]) func failuresThatStay(kind: String) throws {
    let bench = try Workbench()
    try database(bench)
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--durability",
      "none", "--compact", "always",
    ]
    let counted = try SheafProcess.run(
      words, environment: ["SHEAF_FAULT": "count:\(bench.path("calls"))"])
    #expect(counted.status == 0)
    let count = try bench.text("calls").split(separator: " ").first { $0.hasPrefix(kind + "=") }
      .flatMap { Int($0.dropFirst(kind.utf8.count + 1)) }
    for number in stride(from: 1, through: try #require(count), by: 3) {
      let process = try SheafProcess(
        words,
        environment: ["SHEAF_FAULT": "\(kind):\(number)+:EIO:\(bench.path("calls"))"])
      let result = process.finish(within: 20)
      #expect(result.signal == nil, "\(kind), from \(number) on")
    }
    // A temporary file that cannot be looked at may be somebody else's: the next compaction removes it.
    try bench.run(["compact", bench.database])
    try bench.run(["check", bench.database])
  }

  /// A file that the compaction could not open was reported as a missing input.
  @Test func afterTheLastCommit() throws {
    let bench = try Workbench()
    try database(bench)
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--compact",
      "always",
    ]
    var told = 0
    try eachCall([.open], "EMFILE", bench, words) { what, result in
      guard result.errorText.contains("everything is committed") else { return }
      told += 1
      #expect(result.status == 74, "\(what)")
    }
    #expect(told > 0)
  }

  /// A signal may interrupt any call, also a flush.
  @Test func interruptedCalls() throws {
    for kind in [CallKind.open, .write, .flush, .resize, .lock, .access] {
      let bench = try Workbench()
      try database(bench)
      // Enough rows that the file has to grow.
      try bench.write("in.csv", "id,name\n" + (1...3000).map { "\($0 * 7919),a\($0)\n" }.joined())
      let words = ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"]
      try eachCall([kind], "EINTR", bench, words) { what, result in
        #expect(result.status == 0, "\(what)")
      }
    }
  }
}
