import TestSupport
import Testing

@testable import Engine

/// States of the file that a power cut at any moment of the record could leave.
extension Journal {
  private struct Found: Error {}

  /// Builds states from the record and verifies each.
  ///
  /// - Parameters:
  ///   - states: at least as many; more with `SHEAF_LONG=1`.
  ///   - start: the first entry of the record after which the power is cut.
  func verifyCuts(seed: UInt64, states: Int, exhaustive: Int = 4, from start: Int = 0) throws {
    #expect(storage.viewsOutside.isEmpty)
    let log = storage.log
    let wanted = Effort.rounds(states, long: states * 20)
    let each = max(1, (wanted + log.count - start - 1) / max(1, log.count - start))
    let digests = digests
    var cut = PowerCut(log, seed: seed)
    var count = 0
    let all = Effort.isShort ? min(exhaustive, 2) : exhaustive
    try cut.forEachState(from: start, each: each, exhaustive: all) { state in
      count += 1
      let problem: String?
      do {
        problem = try Self.problem(state, digests, goOn: count % 50 == 0)
      } catch {
        problem = "\(error)"
      }
      if let problem {
        Issue.record("seed \(seed), \(state.description): \(problem)")
        throw Found()
      }
    }
    #expect(count >= wanted || log.count <= start)
  }

  /// What is wrong with a state; nil if nothing is.
  private static func problem(_ state: PowerCut.State, _ digests: [UInt64], goOn: Bool) throws
    -> String?
  {
    let storage = RecordingStorage(state.image, isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    let report = try database.check(deep: goOn)
    guard report.problems.isEmpty else { return "check: \(report.problems)" }
    let found = try Model.digest(database.snapshot())
    guard state.allowed.contains(where: { digests[$0] == found }) else {
      let which = digests.firstIndex(of: found).map { "contents \($0)" } ?? "unknown contents"
      return "\(which) instead of one of \(state.allowed.sorted()), version \(report.version)"
    }
    if goOn {
      // The survivor is a database like any other: a commit succeeds and stays.
      try database.write { try $0.createTable("after", columns: [Column("x", .int)]) }
      try database.close()
      let again = try Database.open(storage: storage, options: .tiny)
      let problems = try again.check().problems
      guard problems.isEmpty, try again.snapshot().tableNames.contains("after") else {
        return "after going on: \(problems)"
      }
    }
    return storage.viewsOutside.first
  }
}
