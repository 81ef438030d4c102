import Engine
import Foundation
import TestSupport
import Testing

@testable import Command

/// Whole commands in which one system call fails, is cut short, or is the last before a kill: the
/// command ends by itself with the status and text of the contract, earlier data stays, and running it
/// again completes the work.
@Suite(.timeLimit(.minutes(600))) struct SystemFaultTests {
  private static let seed =
    ProcessInfo.processInfo.environment["SHEAF_FAULT_SEED"].flatMap { UInt64($0) }
    ?? 1

  /// How many calls of each command fail.
  private static let runs = ProcessInfo.processInfo.environment["SHEAF_FAULT_RUNS"].flatMap {
    Int($0)
  }

  /// With `SHEAF_LONG=1` every call fails in every way; otherwise a few calls, or `SHEAF_FAULT_RUNS` of
  /// them, chosen by `SHEAF_FAULT_SEED`.
  @Test(arguments: FaultScenario.all)
  func eachCallFails(scenario: FaultScenario) throws {
    let stage = try FaultStage(scenario)
    let all = stage.calls
    #expect(all.count > 20)
    var calls = all
    if !Effort.isLong {
      var random = SplitMix64(seed: Self.seed)
      // Each kind of call is chosen equally often, however many calls it has.
      let kinds = Dictionary(grouping: all) { $0.kind }.values.sorted {
        $0[0].description < $1[0].description
      }
      calls = (0..<(Self.runs ?? 5)).compactMap { _ in
        kinds.randomElement(using: &random)?.randomElement(using: &random)
      }
    }
    var tally: [String: Int] = [:]
    for call in calls {
      let outcome = try stage.run(call)
      #expect(
        outcome.problems == [],
        "SHEAF_FAULT_SEED=\(Self.seed), \(scenario): \(call): status \(outcome.status): \(outcome.message)"
      )
      let status = outcome.hasFailed ? "\(outcome.status)" : "not reached"
      tally["\(call.kind.rawValue) \(call.how) \(status)", default: 0] += 1
    }
    guard Effort.isLong || Self.runs != nil else { return }
    var text = "\(scenario): \(calls.count) runs\n"
    for (line, count) in tally.sorted(by: { $0.key < $1.key }) {
      text += "|\(scenario)|\(line)|\(count)\n"
    }
    print(text)
  }

  /// `SHEAF_FAULT` itself: what it counts, what it makes fail, and that it does nothing otherwise.
  @Test func theSwitch() throws {
    let bench = try Workbench()
    let words = ["sample", "--rows", "3", "--output", bench.path("out.csv")]
    func run(_ fault: String) throws -> (status: Int32?, text: String, said: String) {
      let result = try SheafProcess.run(
        words, environment: ["SHEAF_FAULT": "\(fault):\(bench.path("calls"))"])
      defer { try? FileManager.default.removeItem(atPath: bench.path("calls")) }
      return (result.status, result.errorText, try bench.text("calls"))
    }
    let counted = try run("count")
    #expect(counted.status == 0 && counted.said.contains(" rename=1 "))
    let failed = try run("rename:1:EACCES")
    #expect(failed.status == 73 && failed.said.hasPrefix("rename:1:EACCES\n"))
    #expect(failed.text.contains("Permission denied"))
    let unreached = try run("rename:2:EACCES")
    #expect(unreached.status == 0 && !unreached.said.contains("EACCES"))
    let interrupted = try run("flush:1:EINTR")
    #expect(interrupted.status == 0 && interrupted.said.contains(" flush=3 "))
    let whole = try bench.text("out.csv")
    let short = try run("write:1:short")
    #expect(short.status == 0 && short.said.contains(" write=2 "))
    #expect(try bench.text("out.csv") == whole)
  }

  /// Blocks are written at an offset, by another function than a command's output.
  @Test func shortWritesOfBlocks() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n" + (1...300).map { "\($0),n\($0)\n" }.joined())
    func run(_ fault: String) throws -> String {
      try? FileManager.default.removeItem(atPath: bench.database)
      try? FileManager.default.removeItem(atPath: bench.path("calls"))
      let result = try SheafProcess.run(
        ["import", bench.path("in.csv"), "--into", bench.database],
        environment: ["SHEAF_FAULT": "\(fault):\(bench.path("calls"))"])
      #expect(result.status == 0, "\(fault): \(result.errorText)")
      return try bench.text("calls")
    }
    let counted = try #require(try run("count").split(separator: " write=").last)
    let writes = try #require(Int(counted.prefix(while: \.isNumber)))
    #expect(writes > 3)
    for number in 1...writes {
      #expect(try run("write:\(number):short").hasPrefix("write:\(number):short\n"))
      #expect(try bench.export() == bench.text("in.csv"), "write \(number)")
      try bench.run(["check", bench.database])
    }
  }
}
