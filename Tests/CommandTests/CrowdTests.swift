import Base
import Engine
import TestSupport
import Testing

/// Several processes read and write one file at once, and some are killed now and then: nothing is lost
/// or torn. It takes a few seconds; with SHEAF_LONG=1, minutes.
@Suite("Crowd of processes", .serialized)
struct CrowdTests {
  private static var seconds: Double {
    Effort.isLong ? 90 : 2.5
  }

  private func verify(_ folder: TemporaryFolder, _ promises: [String]) throws {
    let said = try CrowdMember.join(
      CrowdMember.start(["verify", folder.path("a.sheaf")] + promises.map { folder.path($0) }))
    #expect(said.problem == nil, "\(said.problem ?? "")")
    if System.environment("SHEAF_FIGURES") != nil { print(said.output) }
    #expect(try System.names(in: folder.path("")).filter { $0.hasPrefix("a.") } == ["a.sheaf"])
  }

  @Test("Two writers and two readers in four processes")
  func crowd() throws {
    let folder = TemporaryFolder()
    let (path, time) = (folder.path("a.sheaf"), "\(Self.seconds)")
    let members = [
      try CrowdMember.start(["writer", path, time, "1", folder.path("p1")]),
      try CrowdMember.start(["writer", path, time, "2", folder.path("p2")]),
      try CrowdMember.start(["reader", path, time, "3"]),
      try CrowdMember.start(["reader", path, time, "4"]),
    ]
    for member in members {
      let problem = CrowdMember.join(member).problem
      #expect(problem == nil, "\(problem ?? "")")
    }
    try verify(folder, ["p1", "p2"])
  }

  @Test("The same, with a writer and a reader killed at random and started again")
  func killed() throws {
    let folder = TemporaryFolder()
    let (path, time) = (folder.path("a.sheaf"), "\(Self.seconds)")
    let seed = System.monotonicNanoseconds
    var random = SplitMix64(seed: seed)
    let members = [
      try CrowdMember.start(["writer", path, time, "1", folder.path("p1")]),
      try CrowdMember.start(["reader", path, time, "3"]),
    ]
    let end = System.monotonicNanoseconds + UInt64(Self.seconds * 1e9)
    var kills = 0
    while System.monotonicNanoseconds < end {
      let victims = [
        try CrowdMember.start(["writer", path, "600", "2", folder.path("p2")]),
        try CrowdMember.start(["reader", path, "600", "4"]),
      ]
      for victim in victims {
        System.sleep(milliseconds: UInt32.random(in: 5...200, using: &random))
        victim.signal(9)
        let result = victim.finish()
        #expect(result.signal == 9 && result.error == [], "seed \(seed): \(result.errorText)")
        kills += 1
      }
    }
    for member in members {
      let problem = CrowdMember.join(member).problem
      #expect(problem == nil, "seed \(seed), \(kills) kills: \(problem ?? "")")
    }
    #expect(kills > 4)
    try verify(folder, ["p1", "p2"])
  }

  /// How long eight processes run: some seconds; with SHEAF_LONG=1 an hour, or SHEAF_SECONDS.
  private static var longSeconds: Double {
    guard Effort.isLong else { return 5 }
    return System.environment("SHEAF_SECONDS").flatMap { Double($0) } ?? 3600
  }

  @Test(
    "Eight processes: writers, imports, compactions and readers of all kinds, killed and stopped")
  func eight() throws {
    let folder = TemporaryFolder()
    let seed = UInt64(truncatingIfNeeded: System.monotonicNanoseconds)
    let crowd = try EightProcesses(folder, seed: seed, seconds: Self.longSeconds)
    let problems = try crowd.run()
    #expect(problems.isEmpty, "seed \(seed): \(problems.prefix(5))")
    if System.environment("SHEAF_FIGURES") != nil { print("seed \(seed): \(crowd.figures)") }
    try verify(folder, ["p1", "p2", "p3"])
  }
}
