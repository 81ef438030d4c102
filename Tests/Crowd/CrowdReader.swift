import Base
import Engine
import TestSupport

/// Reads version after version, keeps some of them, and compares each with the rules.
struct CrowdReader {
  private let path: String
  private let mayWrite: Bool
  private var random: SplitMix64
  private var database: Database
  private var last: UInt64 = 0
  private var held: [(Snapshot, CrowdRules.State)] = []
  private var numbers: [Int64: Int64] = [:]

  init(_ path: String, seed: UInt64, mayWrite: Bool) throws {
    self.path = path
    self.mayWrite = mayWrite
    random = SplitMix64(seed: seed &+ System.monotonicNanoseconds)
    database = try Self.open(path, isReadOnly: !mayWrite || seed % 2 == 0)
  }

  private static func open(_ path: String, isReadOnly: Bool) throws -> Database {
    // No writer may have created the file yet.
    while true {
      do {
        let database = try Database.open(
          path, options: .init(access: isReadOnly ? .readOnly : .existing))
        _ = database.listeners.add { [weak database] in _ = try? database?.newestVersion }
        if try database.snapshot().tableNames.count >= 3 { return database }
        try database.close()
      } catch EngineError.missing {
      } catch EngineError.notADatabase(_, reason: "it is empty") {
      }
      System.sleep(milliseconds: 2)
    }
  }

  mutating func step() throws {
    let snapshot = try database.snapshot()
    guard snapshot.version >= last else {
      throw Crowd.Problem(description: "version \(snapshot.version) after \(last)")
    }
    last = snapshot.version
    let state = try CrowdRules.check(snapshot)
    for (writer, number) in numbers where state.last[writer] ?? 0 < number {
      throw Crowd.Problem(description: "writer \(writer) went back from \(number)")
    }
    numbers = state.last
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<4: held.append((snapshot, state))
    case 4:
      try database.close()
      database = try Self.open(path, isReadOnly: !mayWrite || .random(using: &random))
      last = 0
    case 5:
      let problems = try database.check().problems
      guard problems.isEmpty else { throw Crowd.Problem(description: "\(problems)") }
    case 6: _ = try database.activeVersions()
    default: break
    }
    if held.count > 4 { try letGo(of: held.remove(at: .random(in: 0..<5, using: &random))) }
  }

  mutating func finish() throws {
    for entry in held { try letGo(of: entry) }
    held = []
    try database.close()
  }

  private func letGo(of entry: (snapshot: Snapshot, state: CrowdRules.State)) throws {
    guard try CrowdRules.check(entry.snapshot) == entry.state else {
      throw Crowd.Problem(description: "the held version \(entry.snapshot.version) has changed")
    }
  }
}
