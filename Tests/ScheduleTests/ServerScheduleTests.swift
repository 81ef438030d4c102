import Base
import TestSupport
import Testing

@testable import Importer

/// Imports into a model of a server, in every order of lanes, leases, processes and failures with few
/// deviations: each record is there once, what was reported done stays, a process that has lost an
/// input writes nothing of it, and nobody waits for ever.
@Suite("Schedules: servers", .serialized)
struct ServerScheduleTests {
  private static func check(
    _ name: String, bound: Int = 1, random: Int, _ make: @escaping () throws -> Exploration.Scenario
  ) throws {
    let seed = UInt64.random(in: 0..<1_000_000)
    let failure = try Exploration.failure(name, bound: bound, random: random, seed: seed, make)
    #expect(failure == nil, "seed \(seed): \(failure?.description ?? "")")
  }

  /// One process whose connections are cut at any moment, one that executes its late messages, and one
  /// that lets both begin.
  private static func cutting(
    _ fate: ModelServer.Fate, isSynchronous: Bool, _ input: ModelInput = .plain
  ) throws -> Exploration.Scenario {
    let model = try ModelImport(isSynchronous: isSynchronous, input)
    let client = ModelClient("first")
    let load: @Sendable () -> Void = {
      model.process(client)
      model.server.end()
    }
    let cut: @Sendable () -> Void = {
      // The last thread, unless the schedule says otherwise.
      System.sleep(milliseconds: 1)
      model.server.cut(client, fate)
    }
    return Exploration.Scenario(
      threads: [load, cut, { model.server.serveOrphans() }]
    ) {
      if model.endings != [.done] { return model.problem() ?? "ended with \(model.endings)" }
      return model.problem()
    }
  }

  @Test(
    "Connections that are cut at any moment lose nothing and double nothing",
    arguments: ModelServer.Fate.allCases)
  func cutConnections(_ fate: ModelServer.Fate) throws {
    for isSynchronous in Effort.isLong ? [true, false] : [fate == .lost] {
      try Self.check("Connections cut (\(fate))", random: 60) {
        try Self.cutting(fate, isSynchronous: isSynchronous)
      }
    }
  }

  private static let inputs: [(String, ModelInput)] = [
    ("refused rows", .refusing), ("keys kept", .keyed(.error)), ("keys skipped", .keyed(.skip)),
    ("keys updated", .keyed(.update)), ("keys replaced", .keyed(.replace)),
  ]

  @Test(
    "Refused rows, and rows with keys, are told and written once, whatever is cut, stopped or crashes"
  )
  func refusedAndKeyed() throws {
    for (name, input) in Self.inputs {
      for fate in ModelServer.Fate.allCases {
        try Self.check("Connections cut: \(name), \(fate)", bound: 0, random: 16) {
          try Self.cutting(fate, isSynchronous: true, input)
        }
      }
      try Self.check("Two processes: \(name)", bound: 0, random: 16) {
        try Self.sharing(isSynchronous: true, input)
      }
      try Self.check("A crash: \(name)", bound: 0, random: 16) {
        try Self.crashing(isSynchronous: false, flushes: true, input)
      }
    }
  }

  /// Two processes with the same command, each of which may stand still for longer than its lease.
  private static func sharing(
    isSynchronous: Bool, _ input: ModelInput = .plain
  ) throws -> Exploration.Scenario {
    let model = try ModelImport(isSynchronous: isSynchronous, input)
    return Exploration.Scenario(
      threads: ["first", "second"].map { owner in { model.process(ModelClient(owner)) } }
    ) {
      let endings = model.endings
      if !endings.contains(.done) { return "ended with \(endings)" }
      return model.problem()
    }
  }

  @Test("Who stands still past its lease is fenced, and another one goes on")
  func stoppedProcess() throws {
    // With `synchronous_commit` off a reconnected process is also fenced by its own queries.
    for isSynchronous in Effort.isLong ? [true, false] : [true] {
      try Self.check("Two processes", random: 100) {
        try Self.sharing(isSynchronous: isSynchronous)
      }
    }
  }

  /// A process that is killed at any moment, while its messages are under way, and another one.
  private static func killing(_ fate: ModelServer.Fate) throws -> Exploration.Scenario {
    let model = try ModelImport(isSynchronous: false)
    let client = ModelClient("killed")
    let kill: @Sendable () -> Void = {
      System.sleep(milliseconds: 1)
      model.server.cut(client, fate, isForEver: true)
    }
    let go: @Sendable () -> Void = {
      System.sleep(milliseconds: 2)
      model.process(ModelClient("other"))
      model.server.end()
    }
    return Exploration.Scenario(
      threads: [{ model.process(client) }, kill, go, { model.server.serveOrphans() }]
    ) {
      // The second process is fenced if the killed one had taken over while it stood still.
      let endings = Set(model.endings)
      if endings.isDisjoint(with: [.done, .fenced])
        || !endings.isSubset(of: [.done, .fenced, .killed])
      {
        return "ended with \(model.endings)"
      }
      return model.problem()
    }
  }

  @Test("What a killed process has begun is taken over")
  func killedProcess() throws {
    for fate in Effort.isLong ? ModelServer.Fate.allCases : [.late] {
      try Self.check("A process killed (\(fate))", random: 60) { try Self.killing(fate) }
    }
  }

  /// A server that crashes at any moment; with `synchronous_commit` off it may have flushed a part of
  /// the acknowledged commits, or none.
  private static func crashing(
    isSynchronous: Bool, flushes: Bool, _ input: ModelInput? = nil
  ) throws -> Exploration.Scenario {
    let model =
      try input.map { try ModelImport(isSynchronous: isSynchronous, $0) }
      ?? ModelImport(isSynchronous: isSynchronous, ranges: 3)
    let crash: @Sendable () -> Void = {
      System.sleep(milliseconds: 1)
      if flushes {
        model.server.flush()
        System.sleep(milliseconds: 1)
      }
      model.server.crash()
    }
    return Exploration.Scenario(threads: [{ model.process(ModelClient("first")) }, crash]) {
      if isSynchronous, model.endings != [.done] { return "ended with \(model.endings)" }
      return model.problem()
    }
  }

  @Test("A server that crashes at any moment loses nothing that was said to be done")
  func crash() throws {
    for (isSynchronous, flushes) in [(true, false), (false, false), (false, true)] {
      try Self.check("A crash (\(isSynchronous ? "on" : "off"))", random: 60) {
        try Self.crashing(isSynchronous: isSynchronous, flushes: flushes)
      }
    }
  }
}
