import Engine
import TestSupport
import Testing

@testable import Importer

/// Which imports are undone, compared with a history that is replayed.
@Suite struct UndoneRunsTests {
  @Test(
    "Exactly the runs that a replayed history of the tables has lost are undone",
    arguments: Effort.seeds(1..<30))
  func againstAHistory(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let moment = try #require(DateTime(microsecondsSince1970: 0))
    var runs: [RunEntry] = []
    var restores: [RestoreNote] = []
    // The valid runs of each version, by table.
    var versions: [[String: Set<Int64>]] = [[:]]
    for step in 1...60 {
      let table = ["a", "b"].randomElement(using: &random) ?? "a"
      var now = versions[versions.count - 1]
      let version = UInt64(versions.count)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        var run = RunEntry(begun: moment, noted: moment, table: table, base: version - 1)
        (run.number, run.version) = (Int64(step), version)
        runs.append(run)
        now[table, default: []].insert(Int64(step))
      case 6, 7:
        let restored = Int.random(in: 0..<versions.count, using: &random)
        restores.append(RestoreNote(table: table, restored: UInt64(restored), version: version))
        now[table] = versions[restored][table] ?? []
      default: break
      }
      versions.append(now)
    }
    let counting = versions[versions.count - 1].values.reduce(into: Set<Int64>()) {
      $0.formUnion($1)
    }
    let expected = Set(runs.map(\.number)).subtracting(counting)
    #expect(UndoneRuns.find(runs.shuffled(using: &random), restores) == expected, "seed \(seed)")
  }

  @Test("Damaged numbers of versions undo nothing")
  func damagedNumbers() throws {
    let moment = try #require(DateTime(microsecondsSince1970: 0))
    var run = RunEntry(begun: moment, noted: moment, table: "t", base: .max)
    (run.number, run.version) = (1, .max)
    let notes = [
      RestoreNote(table: "t", restored: .max, version: 0),
      RestoreNote(table: "t", restored: 0, version: .max),
    ]
    #expect(UndoneRuns.find([run, run], notes).isSubset(of: [1]))
    #expect(UndoneRuns.find([], notes).isEmpty && UndoneRuns.find([run], []).isEmpty)
  }
}
