import Base
import Engine
import Foundation
import Importer
import Testing

@testable import Command

/// What every command promises: errors of one line, quiet ends of pipes, signals, full disks.
@Suite struct ContractTests {
  /// A command of each name that prints something and ends with 0.
  private func commands(_ bench: Workbench) throws -> [[String]] {
    try bench.write("in.csv", "id,n\n" + (1...3000).map { "\($0),x\($0)\n" }.joined())
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--quiet"])
    let file = bench.database
    try bench.run(["tag", file, "first"])
    try bench.run(["import", "-", "--into", file, "--table", "in"], input: "id,n\n0,more\n")
    try bench.run(["backup", file, "--to", bench.path("copy.sheaf")])
    return [
      ["import", bench.path("in.csv"), "--into", file, "--resume"], ["compact", file],
      ["sniff", bench.path("in.csv")], ["info", file], ["check", file], ["export", file],
      ["verify", file, bench.path("in.csv")],
      ["query", file], ["versions", file], ["diff", file], ["log", file],
      ["watch", file, "--since", "first", "--idle", "0"],
      ["keep", file, "--versions", "5"],
      ["tag", file, "first", "--at", "first"], ["undo", file],
      ["delete", file, "id < 3"], ["alter", file, "--index", "n"],
      ["backup", file, "--to", bench.path("copy.sheaf")],
      ["restore", bench.path("copy.sheaf"), "--to", bench.path("restored.sheaf"), "--force"],
      ["sample", "--rows", "2000"], ["completions", "bash"], ["help"], ["help", "--man"],
      ["help", "import"],
    ]
  }

  /// The list above has every command, except those that report only after minutes.
  @Test func allCommandsAreTried() throws {
    let tried = Set(try commands(Workbench()).map { $0[0] })
    #expect(Set(CommandTable.all.map(\.name)).subtracting(["tune", "torture"]) == tried)
  }

  @Test("Every command ends quietly when its output is closed")
  func closedPipes() throws {
    let bench = try Workbench()
    for words in try commands(bench) {
      let line = words.map { ShellWord.quoted($0) }.joined(separator: " ")
      // The reader ends before anything is written, or after a line.
      for reader in ["sleep 0.01 | exec 0<&-", "head -n 1 > /dev/null"] {
        let result = try Shelled.run("\(line) | \(reader)")
        #expect(result.error.isEmpty, "\(words): \(result.errorText)")
      }
      let status = try SheafProcess.run(
        ["-c", "(\"$SHEAF\" \(line); echo $? >&2) | :"], program: "/bin/sh",
        environment: ["SHEAF": SheafProcess.program()])
      #expect(status.errorText == "0\n", "\(words): \(status.errorText)")
      bench.expectNothingLeft()
    }
  }

  #if os(Linux)
    @Test("Every command reports an output without room")
    func aFullDisk() throws {
      let bench = try Workbench()
      for words in try commands(bench) {
        let line = words.map { ShellWord.quoted($0) }.joined(separator: " ")
        let result = try Shelled.run("\(line) > /dev/full")
        // A command whose work is committed must not be repeated because of its report.
        let isDone = [
          "import", "compact", "keep", "tag", "undo", "delete", "alter", "backup", "restore",
        ].contains(words[0])
        #expect(result.status == (isDone ? 73 : 74), "\(words)")
        #expect(result.errorText.hasPrefix("sheaf \(words[0]): standard output: write: "))
        #expect(result.errorText.split(separator: "\n").count == 1)
        bench.expectNothingLeft()
      }
    }
  #endif

  @Test("Every command refuses unknown options and surplus arguments")
  func unknownOptionsAndArguments() throws {
    let bench = try Workbench()
    for words in try commands(bench) where words != ["help"] {
      try bench.run(words + ["--nonsense"], status: .usage)
      if !["import", "verify"].contains(words[0]) {
        try bench.run(words + ["x", "y"], status: .usage)
      }
    }
  }

  @Test("Every command names a database that is missing")
  func aMissingDatabase() throws {
    let bench = try Workbench()
    for command in ["compact", "info", "check", "export", "query", "versions", "diff", "undo"] {
      let result = try bench.run([command, bench.path("no.sheaf")], status: .inputMissing)
      #expect(result.errorText.contains(bench.path("no.sheaf")))
    }
  }

  /// Commands that have nothing to finish end at once, with the signal's status.
  @Test func signals() throws {
    for (number, status) in [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)] {
      let process = try SheafProcess(["sample", "--rows", "1000000000", "--output", "/dev/null"])
      System.sleep(milliseconds: 100)
      process.signal(number)
      let result = process.finish(within: 20)
      #expect(result.status == status && result.signal == nil)
      #expect(result.error.isEmpty)
    }
    // A command that a script has put into the background ignores the terminal's interrupts.
    let ignoring = try SheafProcess.run(
      [
        "-c",
        "trap '' INT; \"$SHEAF\" sample --rows 30000 > /dev/null & sleep 0.05; kill -INT $!; wait $!",
      ], program: "/bin/sh", environment: ["SHEAF": SheafProcess.program()])
    #expect(ignoring.status == 0)
  }

  /// An interrupted compaction leaves the file as it was, and nothing beside it.
  @Test func anInterruptedCompaction() throws {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--compact", "never"],
      input: "a,b\n" + (1...200_000).map { "\($0),\($0 &* 7919 % 100_003)\n" }.joined())
    let before = try bench.read("t.sheaf")
    for (words, number, status) in [
      ([], SIGINT, 130), (["--into", bench.path("copy.sheaf")], SIGTERM, 143),
    ] as [([String], Int32, Int32)] {
      let process = try SheafProcess(
        ["compact", bench.database, "--report-file", bench.path("runs.jsonl")] + words)
      let beside = words.isEmpty ? "t.sheaf-temporary" : ".sheaf-output-"
      process.waitWhile { !bench.names().contains { $0.hasPrefix(beside) } }
      process.signal(number)
      let result = process.finish()
      #expect(result.status == status, "\(result.errorText)")
      #expect(result.errorText.contains("interrupted; the file is as it was"))
      #expect(result.errorText.split(separator: "\n").count == 1)
      #expect(try bench.read("t.sheaf") == before)
      #expect(bench.names() == ["runs.jsonl", "t.sheaf"])
      #expect(
        try bench.text("runs.jsonl").hasSuffix(
          "the file is as it was, run the command again to compact it\"}\n"))
    }
    try bench.run(["check", bench.database])
  }

  /// Progress without a terminal: plain lines every two seconds and at the end, only if asked for.
  @Test func plainProgress() throws {
    let bench = try Workbench()
    let records = (1...3000).map { "\($0),x\n" }.joined()
    for mode in ["always", "auto", "never"] {
      let process = try SheafProcess([
        "import", "-", "--into", bench.database, "--table", mode, "--progress", mode,
      ])
      try process.send("a,b\n")
      for _ in 0..<(mode == "always" ? 9 : 1) {
        try process.send(records)
        if mode == "always" { System.sleep(milliseconds: 300) }
      }
      let result = process.finish()
      #expect(result.status == 0)
      let lines = result.errorText.split(separator: "\n")
      if mode != "always" {
        #expect(lines.isEmpty, "\(result.errorText)")
        continue
      }
      #expect((2...3).contains(lines.count), "\(result.errorText)")
      #expect(!result.errorText.contains("\u{1B}") && !result.errorText.contains("\r"))
      #expect(lines.last?.contains("  27,000 rows  ") == true, "\(result.errorText)")
      #expect(lines.allSatisfy { $0.contains(" rows/s  file ") })
    }
    // Several inputs have one progress line.
    try bench.write("1.csv", "a,b\n" + records)
    try bench.write("2.csv", "a,b\n" + records)
    let both = try SheafProcess.run([
      "import", bench.path("1.csv"), bench.path("2.csv"), "--into", bench.database, "--table",
      "two",
      "--progress", "always",
    ])
    let last = both.errorText.split(separator: "\n").last ?? ""
    #expect(last.hasPrefix("100%  ") && last.contains("  6,000 rows  "), "\(both.errorText)")
    let quiet = try bench.run(
      ["import", "-", "--into", bench.database, "--table", "q", "--progress", "always", "--quiet"],
      input: "a\n1\n")
    #expect(quiet.output.isEmpty && quiet.error.isEmpty)
  }

  /// Progress on a terminal is redrawn, fits its width and is gone at the end. Plain terminals get
  /// plain lines or none.
  @Test func progressOnATerminal() throws {
    guard let python = Tools.path("python3") else { return print("skipped: no python3") }
    let bench = try Workbench()
    let sample = try SheafProcess.run(["sample", "--rows", "20000"])
    try bench.write("in.csv", sample.outputText)
    // Connects standard error to a terminal of the given width, and prints what arrives there. The
    // input comes in two parts, so that even a fast import shows its progress.
    let driver = """
      import os, pty, sys, fcntl, termios, struct, subprocess, threading, time
      columns, path, words = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
      master, slave = pty.openpty()
      fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
      null = subprocess.DEVNULL
      child = subprocess.Popen(words, stderr=slave, stdin=subprocess.PIPE, stdout=null)
      os.close(slave)
      def feed():
          text = open(path, 'rb').read()
          child.stdin.write(text[:len(text) // 2])
          child.stdin.flush()
          time.sleep(1)
          child.stdin.write(text[len(text) // 2:])
          child.stdin.close()
      feeder = threading.Thread(target=feed)
      feeder.start()
      data = b''
      while True:
          try: piece = os.read(master, 65536)
          except OSError: break
          if not piece: break
          data += piece
      child.wait()
      feeder.join()
      sys.stdout.buffer.write(data)
      sys.exit(child.returncode)
      """
    func shown(_ columns: Int, _ more: [String], _ environment: [String: String]) throws -> String {
      let words = try [
        "-c", driver, "\(columns)", bench.path("in.csv"), SheafProcess.program(), "import", "-",
        "--into", bench.database, "--table", "apps", "--truncate", "--batch-size", "1000",
      ]
      let result = try SheafProcess.run(
        words + more, program: python,
        environment: ["TERM": "xterm", "NO_COLOR": ""].merging(environment) { $1 })
      #expect(result.status == 0, "\(result.errorText)")
      return result.outputText
    }
    for columns in [20, 40, 120] {
      let text = try shown(columns, ["--quiet"], [:])
      #expect(text.isEmpty)
      let drawn = try shown(columns, [], [:])
      let frames = drawn.split(separator: "\r").filter { $0.hasSuffix("\u{1B}[K") }
      #expect(frames.count >= 2, "\(drawn.debugDescription)")
      #expect(frames.allSatisfy { $0.count - 3 < columns }, "\(drawn.debugDescription)")
    }
    #expect(try !shown(80, [], ["NO_COLOR": "1"]).contains("\u{1B}"))
    #expect(try !shown(80, [], ["TERM": "dumb"]).contains("\u{1B}"))
  }
}
