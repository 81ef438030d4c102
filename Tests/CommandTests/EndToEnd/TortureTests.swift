import Base
import Engine
import Foundation
import Testing

@testable import Command

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// `sheaf torture` for a short time: on a disk that keeps its promises, and on one that does not.
@Suite struct TortureTests {
  @Test("On a disk that holds, sheaf torture finds nothing and leaves nothing behind")
  func aDiskThatHolds() throws {
    let bench = try Workbench()
    let report = try bench.report([
      "torture", "--in", bench.path(""), "--seconds", "1", "--seed", "7",
    ])
    #expect(report["command"].text == "torture" && report["ok"].bool == true)
    #expect(report["seed"].int == 7 && report["interrupted"].bool == false)
    #expect((report["rounds"].int ?? 0) >= 1 && (report["seconds"].double ?? 0) >= 1)
    #expect((report["records"].int ?? 0) >= 4000)
    // At least one import is measured; each round has one that is complete, and one that finds nothing
    // to do.
    #expect((report["imports"].int ?? 0) >= 3 && (report["comparisons"].int ?? 0) >= 3)
    #expect((report["checks"].int ?? 0) >= 3 && (report["compactions"].int ?? 0) >= 2)
    #expect(bench.names() == [])
  }

  /// After each kill of an import, all blocks of the database are written over.
  @Test func aDiskThatDoesNot() throws {
    let bench = try Workbench()
    let words = [
      // It ends at the first problem; on a busy machine many imports are killed before their first
      // commit.
      "torture", "--in", bench.path(""), "--seconds", "900", "--seed", "11", "--report", "json",
    ]
    let result = try SheafProcess.run(words, environment: ["SHEAF_TORTURE_DAMAGE": "1"])
    #expect(result.status == ExitStatus.dataRefused.rawValue, "\(result.errorText)")
    let report = try Report(result.output)
    #expect(report["ok"].bool == false && report["seed"].int == 11)
    let kept = try #require(report["folder"].text)
    #expect(kept.contains("/sheaf-torture-"))
    let round = (report["rounds"].int ?? 0) + 1
    #expect(
      result.errorText.hasPrefix(
        "sheaf torture: seed 11, round \(round): sheaf check --deep ended with status 65: "),
      "\(result.errorText)")
    #expect(result.errorText.contains("the files are kept in \(kept)"))
    let names = try FileManager.default.contentsOfDirectory(atPath: kept)
    #expect(names.contains("t.sheaf") && names.contains("input.csv"))
  }

  @Test("An interrupted torture removes its files and no others")
  func anInterrupt() throws {
    let bench = try Workbench()
    try bench.write("mine.txt", "not to be touched")
    let process = try SheafProcess([
      "torture", "--in", bench.path(""), "--seconds", "600", "--seed", "3",
    ])
    for _ in 0..<2000 where bench.names().count < 2 { System.sleep(milliseconds: 5) }
    System.sleep(milliseconds: 300)
    process.signal(SIGINT)
    let result = process.finish()
    #expect(result.status == ExitStatus.interrupted.rawValue, "\(result.errorText)")
    #expect(result.outputText.hasPrefix("interrupted: ") && result.outputText.contains("seed 3\n"))
    #expect(result.errorText == "")
    #expect(bench.names() == ["mine.txt"])
  }

  /// What an export may have during an import, and what it may not.
  @Test func whatMayBeSeen() throws {
    let bench = try Workbench()
    let folder = try TortureFolder(in: bench.path(""))
    defer { #expect(throws: Never.self) { try folder.remove() } }
    func write(_ path: String, _ text: String) throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }
    try write(folder.input, "id\n1\n22\n333\n")
    try write(folder.second, "id\n9\n99\n999\n")
    var random = RandomSource(seed: 1)
    var plan = TorturePlan(records: 1000, &random)
    func expect(
      _ state: inout TortureState, _ text: String, isWhole: Bool = false, fails words: String?
    ) throws {
      try write(folder.exported, text)
      do {
        try state.take(folder.exported, isWhole: isWhole)
        #expect(words == nil, "\(text)")
      } catch let failure as TortureFailure {
        #expect(failure.status == .dataRefused)
        #expect(words.map { failure.what.contains($0) } == true, "\(failure.what)")
      }
    }
    var state = TortureState(folder, plan)
    #expect(throws: Never.self) { try state.takeNothing(isWhole: false) }
    #expect(throws: TortureFailure.self) { try state.takeNothing(isWhole: true) }
    try expect(&state, "id\n1\n22\n", fails: nil)
    #expect(throws: TortureFailure.self) { try state.takeNothing(isWhole: false) }
    try expect(&state, "id\n1\n", fails: "ends at byte 5, and 8 had been seen")
    try expect(&state, "id\n1\n22\n", isWhole: true, fails: "records are missing")
    try expect(&state, "id\n1\n23\n", fails: "from byte 6 on")
    try expect(&state, "id\n1\n22\n333\n4\n", fails: "from byte 12 on")
    try expect(&state, "id\n1\n22\n33", fails: "in the middle of a record")
    try expect(&state, "id\n1\n22\n333\n", isWhole: true, fails: nil)

    // The second input replaces the first: an export has all of the first, and later none of it.
    while plan.isOneTransaction || !plan.replaces {
      plan = TorturePlan(records: 1000, &random)
    }
    for isOne in [false, true] {
      while plan.isOneTransaction != isOne || !plan.replaces {
        plan = TorturePlan(records: 1000, &random)
      }
      var state = TortureState(folder, plan)
      try expect(&state, "id\n1\n22\n333\n", isWhole: true, fails: nil)
      state.replaces = true
      try expect(&state, "id\n1\n22\n333\n", fails: nil)
      try expect(&state, "id\n9\n99\n", fails: isOne ? "records are missing" : nil)
      try expect(&state, "id\n9\n99\n999\n", fails: nil)
      try expect(&state, "id\n1\n22\n333\n", fails: "from byte 3 on")
    }
  }

  #if os(Linux)
    @Test("Torture refuses a disk without room")
    func aDiskWithoutRoom() throws {
      guard let disk = try SmallDisk(kilobytes: 4096) else { return }
      let result = try SheafProcess.run(["torture", "--in", disk.path, "--seconds", "1"])
      #expect(result.status == ExitStatus.inputOutput.rawValue, "\(result.errorText)")
      #expect(result.errorText.contains("are free there"), "\(result.errorText)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
    }

    @Test("A killed torture leaves no children behind")
    func childrenEndWithIt() throws {
      let bench = try Workbench()
      let process = try SheafProcess([
        "torture", "--in", bench.path(""), "--seconds", "600", "--seed", "4",
      ])
      let child = "\(ChildWord.first) \(process.identifier) "
      func children() throws -> [Int32] {
        try System.names(in: "/proc").compactMap { Int32($0) }.filter {
          (try? System.textFile("/proc/\($0)/cmdline"))?.split(separator: "\0").joined(
            separator: " "
          ).contains(child) ?? false
        }
      }
      /// The child has asked to end with its parent before it opens anything.
      func isAtWork(_ number: Int32) -> Bool {
        let files = (try? System.names(in: "/proc/\(number)/fd")) ?? []
        return files.contains {
          (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(number)/fd/\($0)"))?
            .hasPrefix(bench.path("")) ?? false
        }
      }
      var found: [Int32] = []
      for _ in 0..<20_000 where found.isEmpty {
        found = try children().filter(isAtWork)
        System.sleep(milliseconds: 1)
      }
      #expect(!found.isEmpty)
      // A stopped process cannot end by itself.
      for number in found { kill(number, SIGSTOP) }
      process.signal(SIGKILL)
      _ = process.finish()
      for _ in 0..<1000 {
        if try children().isEmpty { break }
        System.sleep(milliseconds: 5)
      }
      let left = try children()
      #expect(left == [])
      for number in left { kill(number, SIGKILL) }
    }
  #endif

  @Test("Wrong options and folders are refused")
  func wrongWords() throws {
    let bench = try Workbench()
    try bench.write("file", "")
    let cases: [([String], Command.ExitStatus)] = [
      ([], .usage), (["--in", bench.path(""), "--seconds", "0"], .usage),
      (["--in", bench.path("") + "/none"], .inputMissing),
      (["--in", bench.path("file")], .inputMissing),
    ]
    for (words, status) in cases {
      let result = try SheafProcess.run(["torture"] + words)
      #expect(result.status == status.rawValue, "\(words): \(result.errorText)")
      #expect(result.errorText.split(separator: "\n").count == 1 && result.output == [])
      if words.last?.hasSuffix("/none") == true {
        #expect(result.errorText.contains("check the path"))
      }
    }
    #expect(bench.names() == ["file"])
  }
}
