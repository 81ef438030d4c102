import Base
import Engine
import Foundation
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@testable import Command

/// The system's limits, files of other kinds, and child processes after their parent's end.
@Suite struct ResourceTests {
  /// Nothing writes into the pipe: opening it for reading would wait for ever.
  @Test func aPipeInPlaceOfADatabase() throws {
    let bench = try Workbench()
    let pipe = bench.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    try bench.write("in.csv", "a,b\n1,2\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database])
    let commands = [
      ["info", pipe], ["export", pipe], ["query", pipe, "a > 0"], ["compact", pipe],
      ["compact", pipe, "--into", bench.path("copy.sheaf")],
      ["import", bench.path("in.csv"), "--into", pipe],
      ["import", bench.path("in.csv"), "--into", pipe, "--dry-run", "--key", "a"],
      ["info", "/dev/zero"],
    ]
    for words in commands {
      let result = try SheafProcess(words).finish(within: 10)
      #expect(result.status == 65, "\(words): \(result.errorText)")
      #expect(result.errorText.contains("it is a pipe or a device, no file"))
    }
    let check = try SheafProcess(["check", pipe]).finish(within: 10)
    #expect(check.status == 65 && check.outputText.contains("it is a pipe or a device, no file"))
    let copied = try SheafProcess(
      ["compact", bench.database, "--into", pipe, "--force"]
    ).finish(within: 10)
    #expect(copied.status == 73)
    #expect(bench.names() == ["in.csv", "pipe", "t.sheaf"])
    // The library refuses it too, also behind a link.
    try FileManager.default.createSymbolicLink(
      atPath: bench.path("link"), withDestinationPath: pipe)
    for access in [Database.Options.Access.readOnly, .existing, .create] {
      #expect(throws: EngineError.self) {
        try Database.open(bench.path("link"), options: .init(access: access))
      }
    }
  }

  /// The system's limit of a file's size is an error like a full disk, and committed batches stay.
  @Test func theLimitOfAFilesSize() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n" + (1...100_000).map { "\($0),\($0 &* 7919)\n" }.joined())
    for words in [
      "import \(bench.path("in.csv")) --into \(bench.database)",
      "sample --rows 10000 --output \(bench.path("out.csv"))",
    ] {
      // Blocks of 512 bytes.
      let result = try SheafProcess.run(
        ["-c", "ulimit -f 300; \"$SHEAF\" \(words)"], program: "/bin/sh",
        environment: ["SHEAF": SheafProcess.program()])
      #expect(result.status == 74, "\(String(describing: result.signal)) \(result.errorText)")
      #expect(result.errorText.contains("File too large"), "\(result.errorText)")
      #expect(result.errorText.contains("allow larger files (ulimit -f)"))
    }
    #expect(!bench.names().contains("out.csv"))
    try bench.run(["check", bench.database])
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--resume"])
    #expect(try bench.export("--no-header").split(separator: "\n").count == 100_000)
  }

  @Test("Too many open files are named, wherever the limit is met", arguments: 4..<10)
  func theLimitOfOpenFiles(limit: Int) throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,2\n")
    let words = "import \(bench.path("in.csv")) --into \(bench.database) --quiet"
    let result = try SheafProcess.run(
      ["-c", "ulimit -n \(limit); \"$SHEAF\" \(words)"], program: "/bin/sh",
      environment: ["SHEAF": SheafProcess.program()])
    if result.status != 0 {
      #expect([66, 73, 74].contains(result.status), "\(result.status): \(result.errorText)")
      #expect(result.errorText.contains("Too many open files"), "\(result.errorText)")
      #expect(
        result.status == 74 || result.errorText.contains("allow more open files (ulimit -n)"),
        "\(result.errorText)")
    } else {
      #expect(try bench.export() == "a,b\n1,2\n")
    }
  }

  @Test("Numbers of threads and chunks beyond the limits are refused")
  func numbersBeyondReason() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,2\n")
    let words = ["import", bench.path("in.csv"), "--into", bench.database]
    for more in [
      ["--parsers", "1025"], ["--queue", "1025"], ["--parsers", "9223372036854775807"],
      ["--queue", "1000000000000"], ["--parsers", "0"],
    ] {
      let result = try bench.run(words + more, status: .usage)
      #expect(result.errorText.contains("expected a whole number from 1 to 1024"))
    }
    for more in [["--repeat", "9223372036854775807"], ["--max-seconds", "1000000000000"]] {
      try bench.run(["tune", bench.path("in.csv")] + more, status: .usage)
    }
    #expect(bench.names() == ["in.csv"])
    try bench.run(words + ["--parsers", "64", "--queue", "1024", "--quiet"])
    let most = "9223372036854775807"
    for more in [
      ["--batch-size", most], ["--limit", most], ["--skip-lines", "0", "--wait", most],
    ] {
      try bench.run(words + more + ["--quiet", "--max-rejects", most])
    }
    // A footer as long as that leaves nothing.
    let footer = ["--skip-footer", most]
    try bench.run(words + footer + ["--quiet"], status: .dataRefused)
    try bench.run(["sniff", bench.path("in.csv")] + footer, status: .dataRefused)
    try bench.run(["verify", bench.database, bench.path("in.csv")] + footer, status: .dataRefused)
    for more in [["--limit", most, "--offset", most], ["--limit", most, "--offset", "1"]] {
      try bench.run(["query", bench.database, "a > 0", "--sort", "a"] + more)
    }
  }

  @Test("An import that cannot open a new database leaves no file of its name")
  func noFileIsLeft() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,2\n")
    let words = ["import", bench.path("in.csv"), "--table", "t", "--into"]
    // The name of its lock file is taken.
    try FileManager.default.createDirectory(
      atPath: bench.path("new.sheaf-lock"), withIntermediateDirectories: true)
    let obstructed = try SheafProcess.run(words + [bench.path("new.sheaf")])
    #expect(
      obstructed.status == 73 && !bench.names().contains("new.sheaf"), "\(obstructed.errorText)")
    try FileManager.default.removeItem(atPath: bench.path("new.sheaf-lock"))
    // Others have the file open that had the name.
    try bench.run(words + [bench.database, "--quiet"])
    let reader = try Database.open(bench.database, options: .init(access: .readOnly))
    try System.remove(bench.database)
    let refused = try SheafProcess.run(words + [bench.database])
    #expect(refused.status == 75, "\(refused.errorText)")
    #expect(refused.errorText.contains("was replaced while others have the earlier one open"))
    #expect(!bench.names().contains("t.sheaf"))
    try reader.close()
    try bench.run(words + [bench.database, "--quiet"])
  }

  /// A dry run that is refused leaves no file beside the database.
  @Test func aRefusedDryRun() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,2\n")
    let words = ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"]
    try bench.run(words + ["--key", "a"])
    for more in [["--key", "b"], ["--key", "nope"]] {
      try bench.run(words + ["--dry-run"] + more, status: .usage)
      #expect(bench.names() == ["in.csv", "t.sheaf"])
      try bench.run(words + more, status: .usage)
      #expect(bench.names() == ["in.csv", "t.sheaf"])
    }
  }

  #if os(Linux)
    /// The processes that name a path, and their command lines.
    private func processes(naming path: String) -> [Int32: String] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
      var found: [Int32: String] = [:]
      for number in names.compactMap({ Int32($0) }) {
        guard let data = FileManager.default.contents(atPath: "/proc/\(number)/cmdline") else {
          continue
        }
        let text = String(decoding: data, as: UTF8.self)
        if text.contains(path) { found[number] = text }
      }
      return found
    }

    @Test("No import goes on after sheaf tune is killed")
    func aKilledTuneLeavesNoImportBehind() throws {
      let bench = try Workbench()
      try bench.run(["sample", "--rows", "100000", "--output", bench.path("in.csv")])
      let process = try SheafProcess([
        "tune", bench.path("in.csv"), "--output", bench.path("results"), "--batch-sizes", "1",
        "--max-seconds", "600",
      ])
      // A stopped child cannot end by itself, as a fast one would.
      var child: Int32 = 0
      process.waitWhile {
        let children = processes(naming: bench.path("in.csv")).filter {
          $0.value.contains("tune-run")
        }
        guard let found = children.keys.first, kill(found, SIGSTOP) == 0 else { return true }
        // The child may not have asked for its parent's signal yet, or may have ended.
        guard isStopped(found), hasOpened(found, bench.path("in.csv")) else {
          kill(found, SIGCONT)
          return true
        }
        child = found
        return false
      }
      process.signal(SIGKILL)
      for _ in 0..<200 where !processes(naming: bench.path("in.csv")).isEmpty {
        System.sleep(milliseconds: 10)
      }
      let left = processes(naming: bench.path("in.csv"))
      #expect(left == [:])
      // A stopped child would keep the output open that the test waits for.
      if left[child] != nil { kill(child, SIGKILL) }
      #expect(process.finish().signal == SIGKILL)
    }

    private func isStopped(_ process: Int32) -> Bool {
      (try? System.textFile("/proc/\(process)/stat"))?.contains(") T ") == true
    }

    private func hasOpened(_ process: Int32, _ path: String) -> Bool {
      let folder = "/proc/\(process)/fd"
      return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).contains {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path
      }
    }

    /// A decompressor ends with the import that reads from it.
    @Test func aKilledImportLeavesNoProgramBehind() throws {
      guard try Tools.run("gzip", ["--version"]) != nil else { return }
      let bench = try Workbench()
      try bench.run(["sample", "--rows", "100000", "--output", bench.path("in.csv")])
      #expect(try Tools.run("gzip", [bench.path("in.csv")])?.status == 0)
      let process = try SheafProcess([
        "import", bench.path("in.csv.gz"), "--into", bench.database, "--batch-size", "1",
        "--durability", "full",
      ])
      process.waitWhile { ((try? System.status(path: bench.database).size) ?? 0) < 20_000 }
      let children =
        (try? System.textFile("/proc/\(process.identifier)/task/\(process.identifier)/children"))
        ?? ""
      process.signal(SIGKILL)
      #expect(process.finish().signal == SIGKILL)
      for child in children.split(separator: " ").compactMap({ Int32($0) }) {
        for _ in 0..<200 where isGzip(child) { System.sleep(milliseconds: 10) }
        #expect(!isGzip(child))
      }
    }

    private func isGzip(_ process: Int32) -> Bool {
      (try? System.textFile("/proc/\(process)/comm"))?.hasPrefix("gzip") == true
    }
  #endif
}
