import Base
import Engine
import Foundation
import Testing
import TestSupport

@testable import Command

/// Imports that are killed at random moments and run again by the same command, for every kind of
/// input: the result is that of one undisturbed run.
@Suite(.serialized) struct OnceTests {
  enum Kind: String, CaseIterable, Sendable {
    case file, standardInput, gzip, zstd, bzip2, xz, severalFiles, severalKinds, manyFiles, keyed
  }

  /// Rows of several kinds, some of them rejected.
  static func rows(_ range: Range<Int>, _ random: inout SplitMix64) -> String {
    range.map { id in
      let text = ["\"a,b\"", "\"two\nlines\"", "plain", "", "\"\""].randomElement(using: &random)
      let more = Int.random(in: 0..<40, using: &random) == 0 ? ",more" : ""
      return "\(id),\(text ?? ""),\(Int.random(in: 0..<1 << 40, using: &random))\(more)\n"
    }.joined()
  }

  static let header = "id,text,number\n"

  /// Writes the files for a kind of input. Returns nil, and prints the reason, if a program is missing.
  private func inputs(_ kind: Kind, _ source: Workbench, seed: UInt64) throws -> [String]? {
    var random = SplitMix64(seed: seed)
    let count = Effort.isLong ? 6000 : 2000
    func file(_ name: String, _ range: Range<Int>) throws -> String {
      try source.write(name, Self.header + Self.rows(range, &random))
      return source.path(name)
    }
    switch kind {
    case .file: return [try file("in.csv", 0..<count)]
    case .standardInput:
      _ = try file("in.csv", 0..<count)
      return ["-"]
    case .gzip, .zstd, .bzip2, .xz:
      let path = try file("in.csv", 0..<count)
      guard try Compressor.compress(path, kind.rawValue) else { return nil }
      return [path + "." + Compressor.extensions[kind.rawValue, default: ""]]
    case .severalFiles:
      let third = count / 3
      return try (0..<3).map { try file("in\($0).csv", $0 * third..<($0 + 1) * third) }
    case .severalKinds:
      let third = count / 3
      let packed = try file("in0.csv", 0..<third)
      guard try Compressor.compress(packed, "gzip") else { return nil }
      _ = try file("in.csv", third..<2 * third)
      return [packed + ".gz", "-", try file("in2.csv", 2 * third..<3 * third)]
    case .manyFiles:
      // The last two files have the same bytes.
      for index in 0..<30 { _ = try file("many\(index).csv", index * 60..<(index + 1) * 60) }
      try source.write("many99.csv", try source.text("many9.csv"))
      return [source.path("many*.csv")]
    case .keyed:
      try source.write(
        "in.csv",
        Self.header
          + (0..<count).map {
            "\(Int.random(in: 0..<count / 2, using: &random)),x,\($0)\n"
          }.joined())
      return [source.path("in.csv")]
    }
  }

  private struct Outputs: Equatable {
    let table: [UInt8]
    let rejects: [UInt8]?
    let reasons: [UInt8]?

    /// Which outputs are equal, for a message.
    func same(_ other: Outputs) -> String {
      "table \(table == other.table), rejects \(rejects == other.rejects), "
        + "reasons \(reasons == other.reasons)"
    }

    init(_ bench: Workbench) throws {
      table = try bench.run(["export", bench.database]).output
      let name = bench.lastRejects("all.rejects")
      rejects = try? bench.read(name)
      reasons = try? bench.read(name + ".reasons.jsonl")
    }
  }

  @Test("Killed and resumed imports have every record once", arguments: Kind.allCases)
  func killedAtRandomMoments(kind: Kind) throws {
    for round in 0..<(Effort.isLong ? 8 : 1) {
      let seed = UInt64(round) &* 100 &+ 7
      let source = try Workbench()
      guard let inputs = try inputs(kind, source, seed: seed) else { return }
      var random = SplitMix64(seed: seed)
      let fed = inputs.contains("-") ? try source.read("in.csv") : []
      func words(_ bench: Workbench, _ batch: String) -> [String] {
        ["import"] + inputs + [
          "--into", bench.database, "--table", "t", "--batch-size", batch, "--max-rejects",
          "unlimited", "--rejects", bench.path("all.rejects.csv"), "--durability",
          ["full", "group", "none"][round % 3], "--compact", round % 2 == 0 ? "never" : "always",
        ] + (kind == .keyed ? ["--key", "id", "--on-conflict", "replace"] : [])
      }
      let batch = ["7", "100", "1000", "all"][Int.random(in: 0..<4, using: &random)]
      let whole = try Workbench()
      let began = System.monotonicNanoseconds
      let all = try Report(
        SheafProcess.run(words(whole, batch) + ["--report", "json"], input: fed).output)
      let milliseconds = Int((System.monotonicNanoseconds - began) / 1_000_000)
      let expected = try Outputs(whole)

      let bench = try Workbench()
      // The first run does not resume; later ones do.
      var again: [String] = []
      var kills = 0
      for _ in 0..<(Effort.isLong ? 8 : 3) {
        let process = try SheafProcess(words(bench, batch) + again)
        again = ["--resume"]
        let wait = UInt32(Int.random(in: 0...max(2, milliseconds * 2 / 3), using: &random))
        let number = process.identifier
        let killer = try Thread(name: "killer") {
          System.sleep(milliseconds: wait)
          kill(number, SIGKILL)
        }
        try process.send(fed)
        killer.join()
        if process.finish().signal != SIGKILL { break }
        kills += 1
        if (try? System.status(path: bench.database).size) ?? 0 > 0 {
          let check = try SheafProcess.run(["check", bench.database])
          // A file that was killed before anything was written is not a database yet.
          #expect(
            check.status == 0 || check.outputText.contains("(it is empty)"),
            "\(kind), seed \(seed): \(check.outputText)\(check.errorText)")
        }
      }
      let last = try SheafProcess.run(words(bench, batch) + ["--resume"], input: fed)
      #expect(last.status == 0, "\(kind), seed \(seed): \(last.errorText)")
      let outputs = try Outputs(bench)
      #expect(
        outputs == expected,
        "\(kind), batch \(batch), seed \(seed), \(kills) kills: \(outputs.same(expected))")
      // One more run has nothing to do, and says so.
      let nothing = try SheafProcess.run(words(bench, batch) + ["--resume"], input: fed)
      #expect(nothing.status == 0 && nothing.outputText.hasPrefix("nothing to do: "))
      #expect(try Outputs(bench) == expected)
      let counted = ["imported", "rejected", "updated", "unchanged"].compactMap { all[$0].int }
      #expect(counted.count == 4)
      #expect(all["read"].int == counted.reduce(0, +))
      bench.expectNothingLeft()
    }
  }

  /// Files that are imported a second time on purpose, with kills: all records are added once more.
  @Test func filesThatWereImportedBefore() throws {
    let bench = try Workbench()
    var names: [String] = []
    for index in 0..<3 {
      names.append(bench.path("f\(index).csv"))
      try bench.write("f\(index).csv", "a\n" + (0..<400).map { "\(index)\($0)\n" }.joined())
    }
    let words =
      ["import"] + names + ["--into", bench.database, "--table", "t", "--batch-size", "1"]
    try bench.run(words)
    let once = try bench.export("--no-header")
    let process = try SheafProcess(words + ["--durability", "full"])
    process.waitWhile {
      ((try? SheafProcess.run(["query", bench.database, "a >= 0", "--count"]))?.outputText
        .split(separator: "\n").first.flatMap { Int($0) } ?? 0) < 1250
    }
    process.signal(SIGKILL)
    _ = process.finish()
    try bench.run(words + ["--resume"])
    #expect(try bench.export("--no-header") == once + once)
  }

  // MARK: What was committed must be there again

  @Test("Standard input is resumed only if its committed part has not changed")
  func standardInputThatIsAnother() throws {
    let bench = try Workbench()
    var random = SplitMix64(seed: 3)
    let csv = Self.header + Self.rows(0..<500, &random)
    let words = [
      "import", "-", "--into", bench.database, "--batch-size", "100", "--max-rejects", "unlimited",
    ]
    try bench.run(words + ["--limit", "200"], input: csv)
    let other = csv.replacing("\n3,", with: "\n4,")
    let refused = try bench.run(words + ["--resume"], input: other, status: .dataRefused)
    #expect(refused.errorText.contains("standard input: cannot resume: it has changed"))
    #expect(refused.errorText.contains("without --resume"))
    let short = try bench.run(
      words + ["--resume"], input: String(csv.prefix(100)), status: .dataRefused)
    #expect(short.errorText.contains("it has 100 bytes now"))
    let rest = try bench.report(words + ["--resume"], input: csv)
    #expect(rest["resumedAt"]["record"].int == 200 && rest["read"].int == 300)
    #expect(rest["files"][0]["resumedAt"]["complete"].bool == false)
    let nothing = try bench.report(words + ["--resume"], input: csv)
    #expect(nothing["resumedAt"]["complete"].bool == true && nothing["read"].int == 0)
  }

  /// A file that has grown: its new records are imported. A file that has changed is refused, or
  /// imported anew where that adds nothing twice.
  @Test func filesThatChange() throws {
    let bench = try Workbench()
    let base = "id,name\n" + (1...1500).map { "\($0),n\($0)\n" }.joined()
    try bench.write("n.csv", base)
    let words = ["import", bench.path("n.csv"), "--into", bench.database]
    try bench.run(words)
    try bench.write("n.csv", base + "1501,new\n")
    let grown = try bench.report(words + ["--resume"])
    #expect(grown["read"].int == 1 && grown["resumedAt"]["record"].int == 1500)
    // The change is far behind the first 64 KB, and the size is the same.
    let changed = (base + "1501,new\n").replacing("1499,n1499", with: "1499,m1499")
    try bench.write("n.csv", changed)
    let refused = try bench.run(words + ["--resume"], status: .dataRefused)
    #expect(refused.errorText.contains("n.csv: cannot resume: it has changed since"))
    let before = try bench.export()
    let updated = try bench.report(
      words + ["--resume", "--key", "id", "--on-conflict", "update"])
    #expect(updated["updated"].int == 1 && updated["unchanged"].int == 1500)
    #expect(try bench.export() == before.replacing("1499,n1499", with: "1499,m1499"))
    // A last record without a record end may be incomplete.
    try bench.write("n.csv", changed + "1502,cut")
    try bench.run(words + ["--resume", "--key", "id"])
    try bench.write("n.csv", changed + "1502,cut off\n")
    let cut = try bench.run(words + ["--resume", "--key", "id"], status: .dataRefused)
    #expect(cut.errorText.contains("may have been cut off"))
    let anew = try bench.report(words + ["--resume", "--truncate"])
    #expect(anew["imported"].int == 1502 && anew["resumedAt"].isNull)
    #expect(try bench.export() == changed + "1502,cut off\n")
  }

  /// A full export in several files replaces that of the night before.
  @Test func severalFilesInPlaceOfTheOldOnes() throws {
    let bench = try Workbench()
    for name in ["a", "b"] { try bench.write("\(name).csv", "k,v\n\(name),1\n") }
    let words = [
      "import", bench.path("a.csv"), bench.path("b.csv"), "--into", bench.database, "--table", "t",
      "--truncate", "--resume",
    ]
    try bench.run(words)
    #expect(try bench.run(words).outputText.hasPrefix("nothing to do: all 2 inputs"))
    try bench.write("b.csv", "k,v\nb,2\n")
    try bench.run(words)
    #expect(try bench.export() == "k,v\na,1\nb,2\n")
  }

  // MARK: Two jobs at once

  @Test("A second import into the same file waits for the first")
  func oneWaits() throws {
    let bench = try Workbench()
    var random = SplitMix64(seed: 5)
    try bench.write("in.csv", Self.header + Self.rows(0..<200, &random))
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "unlimited",
    ]
    let first = try SheafProcess([
      "import", "-", "--into", bench.database, "--table", "slow", "--batch-size", "1",
    ])
    // More records than are sampled before the first batch.
    try first.send("a\n" + (1...30_000).map { "\($0)\n" }.joined())
    first.waitWhile { ((try? System.status(path: bench.database).size) ?? 0) < 8192 }
    let busy = try SheafProcess.run(words + ["--wait", "0"])
    #expect(busy.status == 75)
    #expect(busy.errorText.contains("another import or compaction is using it; run the command"))
    let waited = try SheafProcess.run(words + ["--wait", "1"])
    #expect(waited.status == 75 && waited.errorText.contains("was for 1 second;"))
    let compact = try SheafProcess.run(["compact", bench.database, "--wait", "0"])
    #expect(compact.status == 75 && compact.errorText.contains("another import or compaction"))
    // Readers do not wait.
    #expect(try SheafProcess.run(["info", bench.database]).status == 0)
    #expect(try SheafProcess.run(words + ["--dry-run"]).status == 0)
    let patient = try SheafProcess(words + ["--wait", "30"])
    let compaction = try SheafProcess(["compact", bench.database, "--wait", "30"])
    System.sleep(milliseconds: 200)
    #expect(patient.isRunning && compaction.isRunning)
    // When the first job is killed the waiting one goes on; a signal ends a wait.
    let given = try SheafProcess(words + ["--wait", "30"])
    System.sleep(milliseconds: 300)
    given.signal(SIGINT)
    #expect(given.finish().status == 130)
    first.signal(SIGKILL)
    #expect(first.finish().signal == SIGKILL)
    #expect(patient.finish().status == 0)
    #expect(compaction.finish().status == 0)
    try bench.run(["check", bench.database])
    #expect(try bench.export("--table", "slow", "--no-header").hasPrefix("1\n"))
  }

  /// With `--wait` a compaction waits for a reader.
  @Test func aCompactionWaitsForAReader() throws {
    let bench = try Workbench()
    try bench.run(["import", "-", "--into", bench.database], input: "a\n1\n")
    let reader = try Database.open(bench.database, options: .init(access: .readOnly))
    #expect(try SheafProcess.run(["compact", bench.database]).status == 75)
    #expect(try SheafProcess.run(["compact", bench.database, "--wait", "1"]).status == 75)
    let patient = try SheafProcess(["compact", bench.database, "--wait", "30"])
    System.sleep(milliseconds: 300)
    #expect(patient.isRunning)
    try reader.close()
    #expect(patient.finish().outputText.contains("compacted: "))
  }

  /// A nightly job that is started twice.
  @Test func theSameJobTwiceAtOnce() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n" + (1...3000).map { "\($0),x\n" }.joined())
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--batch-size", "50", "--resume",
    ]
    let jobs = try (0..<3).map { _ in try SheafProcess(words) }
    let results = jobs.map { $0.finish() }
    #expect(results.allSatisfy { $0.status == 0 }, "\(results.map(\.errorText))")
    #expect(results.filter { $0.outputText.hasPrefix("nothing to do") }.count == 2)
    #expect(try bench.export("--no-header").split(separator: "\n").count == 3000)
    bench.expectNothingLeft()
  }

  // MARK: Signals

  /// The terminal's interrupt key in `producer | sheaf import -`: both get the signal, and the pipe's
  /// end does not count as the end of the input.
  @Test func aProducerThatIsInterruptedToo() throws {
    let bench = try Workbench()
    let process = try SheafProcess([
      "import", "-", "--into", bench.database, "--batch-size", "100", "--report", "json",
    ])
    let sent = "a\n" + (1...30_050).map { "\($0)\n" }.joined()
    try process.send(sent)
    process.waitWhile { ((try? System.status(path: bench.database).size) ?? 0) < 8192 }
    System.sleep(milliseconds: 300)
    process.signal(SIGTERM)
    let result = process.wait()
    #expect(result.status == 143)
    let report = try Report(result.output)
    #expect(report["interrupted"].bool == true && report["read"].int.map { $0 % 100 } == 0)
    let rest = try bench.report(
      ["import", "-", "--into", bench.database, "--batch-size", "100", "--resume"],
      input: sent + "more\n")
    #expect(rest["resumedAt"]["record"].int == report["read"].int)
    #expect(try bench.export("--no-header").split(separator: "\n").count == 30_051)
  }
}

/// Compression programs of the system.
enum Compressor {
  static let extensions = ["gzip": "gz", "zstd": "zst", "bzip2": "bz2", "xz": "xz"]

  /// Makes the compressed file beside `path`. Returns false, and prints the reason, if the program is
  /// missing.
  static func compress(_ path: String, _ program: String) throws -> Bool {
    let result = try SheafProcess.run(
      ["-c", "command -v \(program) >/dev/null || exit 99; \(program) -kf '\(path)' 2>/dev/null"],
      program: "/bin/sh")
    if result.status == 99 { print("skipped: there is no \(program) here") }
    return result.status == 0
  }
}
