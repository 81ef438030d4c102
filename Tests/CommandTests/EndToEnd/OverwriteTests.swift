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

/// An output replaces the earlier file as a whole, at the end; if anything fails the earlier file
/// stays.
@Suite struct OverwriteTests {
  private func filled(_ rows: Int = 3) throws -> Workbench {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t"],
      input: "a,b\n" + (1...rows).map { "\($0),x\n" }.joined())
    return bench
  }

  private func mode(_ path: String) throws -> UInt32 { try System.status(path: path).permissions }

  @Test("No database is begun in the place of another one's own files")
  func databasesInPlaces() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a\n1\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database])
    for suffix in ["-lock", "-temporary"] {
      let result = try bench.run(
        ["import", bench.path("in.csv"), "--into", bench.database + suffix], status: .cannotCreate)
      #expect(result.errorText.contains("it is the place of "), "\(result.errorText)")
    }
    #expect(bench.names() == ["in.csv", "t.sheaf"])
  }

  @Test("An output replaces an earlier file, and keeps its permissions")
  func anEarlierFileKeepsItsPermissions() throws {
    let bench = try filled()
    try bench.write("o.csv", "old\n")
    chmod(bench.path("o.csv"), 0o600)
    try bench.run(["export", bench.database, "--output", bench.path("o.csv")])
    #expect(try bench.text("o.csv") == "a,b\n1,x\n2,x\n3,x\n")
    #expect(try mode(bench.path("o.csv")) == 0o600)
    try bench.run(["sample", "--rows", "2", "--output", bench.path("o.csv")])
    #expect(try bench.text("o.csv").hasPrefix("App,") && mode(bench.path("o.csv")) == 0o600)
    #expect(bench.names() == ["o.csv", "t.sheaf"])
  }

  /// An export that is killed leaves the old file or the new one; the next run removes its temporary
  /// file.
  @Test func killed() throws {
    let bench = try filled(200_000)
    try bench.write("o.csv", "old\n")
    let words = ["export", bench.database, "--output", bench.path("o.csv")]
    var kills = 0
    // The process may end before it can be stopped.
    for signal in [SIGKILL, SIGKILL, SIGTERM, SIGKILL, SIGTERM] where kills < 3 {
      // Removes those of the round before, so that only this round's is waited for.
      for name in bench.names() where name.hasPrefix(".sheaf-output-") {
        try System.remove(bench.path(name))
      }
      let process = try SheafProcess(words)
      process.waitWhile { !bench.names().contains { $0.hasPrefix(".sheaf-output-") } }
      // A stopped process cannot end meanwhile, however fast it is.
      process.signal(SIGSTOP)
      // A second export at the same time leaves the first one's temporary file.
      if kills == 0 {
        _ = try SheafProcess.run(["sample", "--rows", "1", "--output", bench.path("s.csv")])
      }
      process.signal(signal)
      process.signal(SIGCONT)
      let result = process.finish()
      guard result.status != 0 else { continue }
      kills += 1
      #expect(result.signal == SIGKILL || result.status == 143)
      // The new file may already be in place.
      let text = try bench.text("o.csv")
      #expect(text == "old\n" || text.split(separator: "\n").count == 200_001)
      // After a signal that can be handled nothing is left.
      if signal == SIGTERM { #expect(!bench.names().contains { $0.hasPrefix(".sheaf-output-") }) }
    }
    #expect(kills == 3)
    // A file with a similar name is not removed.
    try bench.write(".sheaf-output-mine", "mine\n")
    try bench.run(words)
    #expect(try bench.text("o.csv").split(separator: "\n").count == 200_001)
    #expect(Set(bench.names()) == [".sheaf-output-mine", "o.csv", "s.csv", "t.sheaf"])
  }

  #if os(Linux)
    @Test("A full disk leaves the earlier output file")
    func aFullDisk() throws {
      guard let disk = try SmallDisk(kilobytes: 600) else { return }
      let bench = try Workbench(root: disk.path)
      try bench.run(
        ["import", "-", "--into", bench.database, "--table", "t"],
        input: "a,b\n" + (1...100_000).map { "\($0),x\n" }.joined())
      try bench.write("o.csv", "old\n")
      for words in [
        ["export", bench.database], ["sample", "--rows", "100000"],
      ] {
        let result = try bench.run(
          words + ["--output", bench.path("o.csv")], status: .inputOutput)
        #expect(result.errorText.contains("o.csv: write: No space left on device"))
        #expect(try bench.text("o.csv") == "old\n")
        #expect(bench.names() == ["o.csv", "t.sheaf"])
      }
    }
  #endif

  @Test("Links, pipes and devices are not replaced by outputs")
  func whatIsNoFile() throws {
    let bench = try filled()
    let csv = "a,b\n1,x\n2,x\n3,x\n"
    try bench.write("mine.txt", "precious\n")
    for name in ["link", "dangling"] {
      try FileManager.default.createSymbolicLink(
        atPath: bench.path(name),
        withDestinationPath: bench.path(name == "link" ? "mine.txt" : "nothing"))
      for words in [["export", bench.database], ["sample"]] {
        let result = try bench.run(
          words + ["--output", bench.path(name)], status: .cannotCreate)
        #expect(result.errorText.contains("is a symbolic link"))
      }
      let copy = try bench.run(
        ["compact", bench.database, "--into", bench.path(name), "--force"], status: .cannotCreate)
      #expect(copy.errorText.contains("is no Sheaf database"))
    }
    #expect(try bench.text("mine.txt") == "precious\n" && !bench.names().contains("nothing"))
    try bench.run(
      ["export", bench.database, "--output", bench.folder.path("")], status: .cannotCreate)
    // Pipes and devices are written directly; descriptors that are open already are written at their
    // position.
    #expect(mkfifo(bench.path("pipe"), 0o600) == 0)
    let piped = try Shelled.run(
      "export \(bench.database) --output \(bench.path("pipe")) & cat \(bench.path("pipe")); wait")
    #expect(piped.outputText == csv, "\(piped.errorText)")
    try bench.run(["export", bench.database, "--output", "/dev/null"])
    if (try? System.status(path: "/dev/shm"))?.isDirectory == true {
      let shared = "/dev/shm/sheaf-tests-\(System.processIdentifier).csv"
      for _ in 0..<2 { try bench.run(["export", bench.database, "--output", shared]) }
      #expect(try System.textFile(shared) == csv)
      try System.remove(shared)
    }
    let appended = try SheafProcess.run(
      [
        "-c", "(echo a; \"$SHEAF\" export \"$0\" --output /dev/stdout; echo b) > \"$1\"",
        bench.database, bench.path("all"),
      ], program: "/bin/sh", environment: ["SHEAF": SheafProcess.program()])
    #expect(appended.status == 0, "\(appended.errorText)")
    #expect(try bench.text("all") == "a\n" + csv + "b\n")
  }

  @Test("A database is replaced only with --force and while unused; a copy replaces no other file")
  func databasesAreReplacedOnlyWhenAsked() throws {
    let bench = try filled()
    let other = bench.path("other.sheaf")
    try bench.run(["import", "-", "--into", other], input: "c\n1\n")
    let before = try bench.read("other.sheaf")
    let commands = [
      ["export", bench.database, "--output", other], ["sample", "--rows", "1", "--output", other],
      ["compact", bench.database, "--into", other],
    ]
    for words in commands {
      let refused = try bench.run(words, status: .cannotCreate)
      #expect(refused.errorText.contains("is a Sheaf database; name another file, or"))
      #expect(refused.errorText.contains("--force"))
      // A database that is in use is not replaced.
      let held = try Database.open(other, options: .init(access: .readOnly))
      let busy = try SheafProcess.run(words + ["--force"])
      #expect(busy.status == 75, "\(busy.errorText)")
      try held.close()
      #expect(try bench.read("other.sheaf") == before)
    }
    for words in commands.reversed() {
      try bench.run(words + ["--force"])
      #expect(bench.names() == ["other.sheaf", "t.sheaf"])
      if words[0] == "compact" {
        // A weekly backup.
        try bench.run(words + ["--force"])
        #expect(
          try bench.run(["export", other]).outputText == bench.export())
      }
      try Data(before).write(to: URL(fileURLWithPath: other))
    }
    // A copy never replaces a file that is no database, nor its own source.
    try bench.write("mine.txt", "precious\n")
    let foreign = try bench.run(
      ["compact", bench.database, "--into", bench.path("mine.txt"), "--force"],
      status: .cannotCreate)
    #expect(foreign.errorText.contains("is no Sheaf database; name another file"))
    #expect(try bench.text("mine.txt") == "precious\n")
    link(bench.database, bench.path("second.sheaf"))
    for name in ["t.sheaf", "second.sheaf"] {
      try bench.run(
        ["compact", bench.database, "--into", bench.path(name), "--force"], status: .usage)
    }
  }

  /// A copy that is killed leaves the earlier copy.
  @Test func aKilledCopy() throws {
    let bench = try filled(100_000)
    let copy = ["compact", bench.database, "--into", bench.path("copy.sheaf"), "--force"]
    try bench.run(copy)
    let before = try bench.read("copy.sheaf")
    try bench.run(["import", "-", "--into", bench.database, "--table", "t"], input: "a,b\n0,y\n")
    let process = try SheafProcess(copy)
    process.waitWhile { !bench.names().contains { $0.hasPrefix(".sheaf-output-") } }
    process.signal(SIGKILL)
    if process.finish().signal == SIGKILL {
      #expect(try bench.read("copy.sheaf") == before)
    }
    try bench.run(copy)
    #expect(try bench.read("copy.sheaf") != before)
    #expect(bench.names() == ["copy.sheaf", "t.sheaf"])
  }
}
