import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Command

/// A whole command, which is run again and again, each time with another system call failing.
struct FaultScenario: Sendable, CustomStringConvertible {
  /// What the command does, and what a failure may leave.
  enum Purpose: Sendable, Equatable {
    /// It prints something, and changes nothing.
    case answer
    /// It writes a file, which has the earlier contents or the new ones.
    case file(String)
    /// It writes a database, which is there as a whole or not at all.
    case copy(String)
    /// It adds a prefix of the input's rows, and goes on by `--resume`.
    case batches
    /// The same for rows that replace others.
    case replacements
    /// It replaces the earlier rows by all of its own, or does nothing.
    case whole
    /// It changes all rows, or none.
    case exchange
    /// It leaves the rows as they are.
    case same
  }

  let name: String
  let purpose: Purpose
  /// Makes the inputs in the first folder, the database and its surroundings in the second.
  let prepare: @Sendable (Workbench, Workbench) throws -> Void
  let words: @Sendable (Workbench, Workbench) -> [String]
  /// The file for standard input.
  var input: String?

  var description: String { name }
  /// Whether `--resume` continues after a failure.
  var goesOn: Bool { [.batches, .replacements, .whole].contains(purpose) }

  static let header = "id,text,number\n"

  /// Rows of several kinds; every fortieth is rejected.
  static func rows(_ range: Range<Int>, seed: UInt64, rejects: Bool = true) -> String {
    var random = SplitMix64(seed: seed)
    return range.map { id in
      let text = ["\"a,b\"", "\"two\nlines\"", "plain", "", "\"\""].randomElement(using: &random)
      let number = Int.random(in: 0..<1 << 40, using: &random)
      return "\(id),\(text ?? ""),\(number)\(rejects && id % 40 == 17 ? ",more" : "")\n"
    }.joined()
  }

  private static func input(_ source: Workbench) throws {
    try source.write("in.csv", header + rows(0..<600, seed: 1))
  }

  /// A database with rows of earlier days, and an input.
  private static func earlier(_ source: Workbench, _ start: Workbench) throws {
    try input(source)
    try source.write("old.csv", header + rows(10_000..<10_300, seed: 2, rejects: false))
    try start.run(["import", source.path("old.csv"), "--into", start.database, "--table", "t"])
  }

  /// A database with all rows.
  private static func filled(_ source: Workbench, _ start: Workbench) throws {
    try earlier(source, start)
    try start.run(words(source.path("in.csv"), start))
  }

  /// A database that keeps the version before its last import.
  private static func kept(_ source: Workbench, _ start: Workbench) throws {
    try earlier(source, start)
    try start.run(words(source.path("in.csv"), start, "--keep-versions", "3"))
  }

  private static func words(_ input: String, _ bench: Workbench, _ more: String...) -> [String] {
    [
      "import", input, "--into", bench.database, "--table", "t", "--max-rejects", "unlimited",
      "--rejects", bench.path("r.csv"), "--report", "json",
    ] + (more.contains("--truncate") ? [] : ["--batch-size", "100"]) + more
  }

  static let all: [FaultScenario] = imports + readers + others

  private static let imports: [FaultScenario] = [
    FaultScenario(name: "import into a new file", purpose: .batches) { source, _ in
      try input(source)
    } words: {
      words($0.path("in.csv"), $1)
    },
    FaultScenario(name: "import into a file that is there, full", purpose: .batches) {
      try earlier($0, $1)
    } words: {
      words($0.path("in.csv"), $1, "--durability", "full")
    },
    FaultScenario(
      name: "import without flushes, compacted", purpose: .batches, prepare: earlier
    ) {
      words($0.path("in.csv"), $1, "--durability", "none", "--compact", "always")
    },
    FaultScenario(name: "import that keeps versions", purpose: .batches, prepare: earlier) {
      words($0.path("in.csv"), $1, "--keep-versions", "2")
    },
    FaultScenario(name: "import that tells its changes", purpose: .batches, prepare: earlier) {
      words($0.path("in.csv"), $1, "--changes", $1.path("changes.jsonl"))
    },
    FaultScenario(name: "import of some, with metrics", purpose: .batches, prepare: earlier) {
      words(
        $0.path("in.csv"), $1, "--where", "number > 100", "--metrics-file", $1.path("m.prom"))
    },
    FaultScenario(name: "import with a key", purpose: .replacements) { source, start in
      try source.write("old.csv", header + (0..<400).map { "\($0),old,\($0)\n" }.joined())
      try start.run([
        "import", source.path("old.csv"), "--into", start.database, "--table", "t", "--key", "id",
      ])
      try source.write(
        "in.csv", header + (0..<600).map { "\($0 * 7 % 800),new,\($0)\n" }.joined())
    } words: {
      words($0.path("in.csv"), $1, "--key", "id", "--on-conflict", "replace")
    },
    FaultScenario(name: "import that goes on after a kill", purpose: .batches) { source, start in
      try earlier(source, start)
      let killed = try SheafProcess.run(
        words(source.path("in.csv"), start, "--durability", "full"),
        environment: ["SHEAF_FAULT": "write:20:kill:\(source.path("calls"))"])
      guard killed.signal == System.killSignal else {
        throw SheafProcess.Failure(description: "it was not killed: \(killed.errorText)")
      }
    } words: {
      words($0.path("in.csv"), $1, "--resume")
    },
    FaultScenario(name: "import in place of the rows there", purpose: .whole, prepare: earlier) {
      words($0.path("in.csv"), $1, "--truncate")
    },
    FaultScenario(name: "import of a gzip file", purpose: .batches) { source, _ in
      try input(source)
      guard try Compressor.compress(source.path("in.csv"), "gzip") else {
        throw SheafProcess.Failure(description: "there is no gzip here")
      }
    } words: {
      words($0.path("in.csv.gz"), $1)
    },
    FaultScenario(
      name: "import of standard input", purpose: .batches,
      prepare: { source, _ in try input(source) }, words: { words("-", $1) }, input: "in.csv"),
    FaultScenario(name: "import of many files", purpose: .batches) { source, _ in
      for index in 0..<5 {
        try source.write(
          "m\(index).csv",
          header + rows(index * 60..<index * 60 + 60, seed: UInt64(index)))
      }
    } words: {
      words($0.path("m*.csv"), $1)
    },
    FaultScenario(name: "dry run with a key", purpose: .same, prepare: earlier) {
      words($0.path("in.csv"), $1, "--dry-run", "--key", "id")
    },
  ]

  private static let readers: [FaultScenario] = [
    FaultScenario(name: "export", purpose: .answer, prepare: filled) {
      ["export", $1.database]
    },
    FaultScenario(name: "export into a file", purpose: .file("out.csv")) { source, start in
      try filled(source, start)
      try start.write("out.csv", "earlier\n")
    } words: {
      ["export", $1.database, "--output", $1.path("out.csv")]
    },
    FaultScenario(name: "query", purpose: .answer, prepare: filled) {
      ["query", $1.database, "number > 100", "--sort", "number", "--format", "csv"]
    },
    FaultScenario(name: "check", purpose: .answer, prepare: filled) { ["check", $1.database] },
    FaultScenario(name: "deep check", purpose: .answer, prepare: filled) {
      ["check", $1.database, "--deep"]
    },
    FaultScenario(name: "info", purpose: .answer, prepare: filled) { ["info", $1.database] },
    FaultScenario(name: "versions", purpose: .answer, prepare: kept) {
      ["versions", $1.database]
    },
    FaultScenario(name: "log", purpose: .answer, prepare: kept) { ["log", $1.database] },
    FaultScenario(name: "verify", purpose: .answer, prepare: filled) {
      ["verify", $1.database, $0.path("in.csv"), "--rejects", $1.path("r.csv")]
    },
    FaultScenario(name: "diff", purpose: .answer, prepare: kept) {
      ["diff", $1.database, "--format", "csv"]
    },
  ]

  private static let others: [FaultScenario] = [
    FaultScenario(name: "compact", purpose: .same, prepare: filled) { ["compact", $1.database] },
    FaultScenario(name: "compact with kept versions", purpose: .same, prepare: kept) {
      ["compact", $1.database]
    },
    FaultScenario(name: "keep", purpose: .same, prepare: kept) {
      ["keep", $1.database, "--versions", "5"]
    },
    FaultScenario(name: "undo", purpose: .exchange, prepare: kept) { ["undo", $1.database] },
    FaultScenario(name: "delete", purpose: .exchange, prepare: kept) {
      ["delete", $1.database, "id < 10100 and id > 300"]
    },
    FaultScenario(name: "delete that says how many", purpose: .answer, prepare: kept) {
      ["delete", $1.database, "id < 10100 and id > 300", "--dry-run"]
    },
    FaultScenario(name: "alter", purpose: .same, prepare: kept) {
      ["alter", $1.database, "--type", "number:double,text:text", "--index", "number"]
    },
    FaultScenario(name: "compact into a copy", purpose: .copy("copy.sheaf"), prepare: filled) {
      ["compact", $1.database, "--into", $1.path("copy.sheaf"), "--force"]
    },
    FaultScenario(name: "sample into a file", purpose: .file("out.csv")) { _, start in
      try start.write("out.csv", "earlier\n")
    } words: {
      ["sample", "--rows", "500", "--output", $1.path("out.csv")]
    },
  ]
}
