import Base
import Dispatch
import Foundation
import Testing
import TestSupport

@testable import Engine

/// Threads read, write, observe, freeze and pass references at random. Every version has the same sum;
/// every observer's list, kept up to date by change sets alone, is right.
@Suite("Sessions at random")
struct InterleavingTests {
  /// A list that change sets keep up to date.
  final class Mirror: @unchecked Sendable {
    // @unchecked: used by one observer; read by the test after it has ended, or with the lock.
    private let lock = Lock()
    private var keys: [Int64] = []
    private var problems: [String] = []
    private var updates = 0

    func take(_ changes: ChangeSet?, _ truth: () throws -> [Int64]) {
      lock.withLock {
        do {
          let truth = try truth()
          guard let changes else { return keys = truth }
          updates += 1
          let kept = changes.deletions.reversed().reduce(into: keys) { keys, position in
            keys.remove(at: position)
          }
          keys = changes.insertions.reduce(into: kept) { keys, position in
            keys.insert(truth[position], at: position)
          }
          if keys != truth {
            problems.append("after update \(updates): \(keys) is not \(truth), by \(changes)")
          }
        } catch {
          problems.append("\(error)")
        }
      }
    }

    func fail(_ problem: String) { lock.withLock { problems.append(problem) } }
    var state: (keys: [Int64], problems: [String]) { lock.withLock { (keys, problems) } }
  }

  @Test("Sums, lists and frozen values agree", arguments: 1...(Effort.isLong ? 40 : 2))
  func random(seed: UInt64) throws {
    let folder = TemporaryFolder()
    var options = Database.Options(durability: .none)
    options.limits.clusterRows = 8
    options.limits.nodeCapacity = 4
    let database = try Database.open(folder.path("t.sheaf"), options: options)
    try database.write { transaction in
      try transaction.createTable(
        "accounts", columns: [Column("Name", .text), Column("Sum", .int)])
      let accounts = try transaction.table("accounts")
      for number in 0..<40 { try accounts.insert([.text("account \(number)"), .int(100)]) }
    }
    let mirrors = (0..<8).map { _ in Mirror() }
    let workers = try (0..<3).map { _ in try SessionThread(database) }
    for (number, worker) in workers.enumerated() {
      try worker.perform { session in
        try Self.observe(session, mirrors[2 * number], mirrors[2 * number + 1])
      }
    }
    let queue = SessionQueue(database, DispatchQueue(label: "queue"))
    try queue.perform { try Self.observe($0, mirrors[6], mirrors[7]) }
    let failure = Failure()
    let threads = try (0..<2).map { number in
      try Thread(name: "plain") {
        var random = SplitMix64(seed: seed &* 100 &+ UInt64(number))
        do {
          let session = try database.session()
          for _ in 0..<(Effort.isLong ? 400 : 60) {
            try session.refresh()
            try Self.step(session, workers, &random)
          }
        } catch {
          failure.set(error)
        }
      }
    }
    var random = SplitMix64(seed: seed)
    for _ in 0..<(Effort.isLong ? 800 : 100) {
      let own = random.next()
      let step: @Sendable (Session) -> Void = { session in
        var random = SplitMix64(seed: own)
        do { try Self.step(session, [], &random) } catch { failure.set(error) }
      }
      switch Int.random(in: 0..<4, using: &random) {
      case 0: queue.async { if let session = try? $0.get() { step(session) } }
      case let number: try workers[number - 1].async(step)
      }
    }
    for thread in threads { thread.join() }
    for worker in workers { try worker.perform { try $0.refresh() } }
    try queue.perform { try $0.refresh() }
    try failure.check()
    let snapshot = try database.snapshot()
    let filter = Query(column("Sum") > 100)
    let end = Date().addingTimeInterval(60)
    for (number, mirror) in mirrors.enumerated() {
      var query = filter
      if number % 2 == 1 { query.sort = [.descending("Sum")] }
      let truth = try query.keys(in: snapshot.table("accounts"))
      // Observers on other queues are called in their own time.
      while mirror.state.keys != truth, Date() < end { System.sleep(milliseconds: 5) }
      #expect(mirror.state.keys == truth, "seed \(seed), mirror \(number)")
      #expect(mirror.state.problems.isEmpty, "seed \(seed), mirror \(number)")
    }
    for worker in workers { worker.stop() }
    #expect(try database.check().isSound)
  }

  private static func observe(_ session: Session, _ local: Mirror, _ queued: Mirror) throws {
    let rich = try session.objects("accounts").filter(column("Sum") > 100)
    try session.keep(
      rich.observe { change in
        switch change {
        case .initial(let results): local.take(nil) { try results.keys() }
        case .update(let results, let changes): local.take(changes) { try results.keys() }
        case .deleted: local.fail("deleted")
        case .failed(let error): local.fail("\(error)")
        }
      })
    let sorted = try rich.sorted(by: .descending("Sum"))
    try session.keep(
      sorted.observe(on: DispatchQueue.global()) { change in
        switch change {
        case .initial(let results): queued.take(nil) { try results.keys() }
        case .update(let results, let changes): queued.take(changes) { try results.keys() }
        case .deleted: queued.fail("deleted")
        case .failed(let error): queued.fail("\(error)")
        }
      })
  }

  private struct Refused: Error {}

  private static func step(
    _ session: Session, _ workers: [SessionThread], _ random: inout SplitMix64
  ) throws {
    let accounts = try session.objects("accounts")
    switch Int.random(in: 0..<8, using: &random) {
    case 0, 1, 2:
      try session.write { _ in try transfer(session, &random) }
    case 3:
      // Rolled back, whatever it has changed.
      do {
        try session.write { _ in
          try session.insert(["Name": .text("no"), "Sum": .int(1)], into: "accounts")
          try accounts.first?.delete()
          throw Refused()
        }
      } catch is Refused {}
    case 4:
      // An account is split in two, or merged with another.
      try session.write { _ in
        let count = try accounts.count
        let one = try accounts[Int.random(in: 0..<count, using: &random)]
        guard case .int(let sum) = try one["Sum"] else { return }
        if count < 60 {
          try one.set("Sum", to: .int(sum / 2))
          try session.insert(
            ["Name": .text("half"), "Sum": .int(sum - sum / 2)], into: "accounts")
        } else {
          try one.delete()
          let other = try accounts[Int.random(in: 0..<count - 1, using: &random)]
          guard case .int(let rest) = try other["Sum"] else { return }
          try other.set("Sum", to: .int(rest + sum))
        }
      }
    case 5:
      let frozen = try accounts.freeze()
      let before = try frozen.rows()
      if let worker = workers.randomElement(using: &random) {
        let same = try worker.perform { _ in try frozen.rows() == before }
        #expect(same)
      }
      #expect(try sum(before) == 4000)
    case 6:
      guard let worker = workers.randomElement(using: &random) else { return }
      let count = try accounts.count
      let account = try accounts[Int.random(in: 0..<count, using: &random)]
      let name = try account["Name"]
      let reference = try ThreadSafeReference(to: account)
      try worker.perform { session in
        if let account = try session.resolve(reference) {
          let found = try account["Name"]
          #expect(found == name)
        }
      }
    default:
      #expect(try accounts.aggregates(.sum("Sum")) == [.int(4000)])
    }
  }

  private static func transfer(_ session: Session, _ random: inout SplitMix64) throws {
    let accounts = try session.objects("accounts")
    let count = try accounts.count
    let (from, to) = (
      try accounts[Int.random(in: 0..<count, using: &random)],
      try accounts[Int.random(in: 0..<count, using: &random)]
    )
    guard case .int(let one) = try from["Sum"] else { return }
    let amount = Int64.random(in: 0...max(0, min(one, 50)), using: &random)
    try from.set("Sum", to: .int(one - amount))
    // Read after the change: both may be the same account.
    guard case .int(let other) = try to["Sum"] else { return }
    try to.set("Sum", to: .int(other + amount))
    #expect(try accounts.aggregates(.sum("Sum")) == [.int(4000)])
  }

  private static func sum(_ rows: [Row]) throws -> Int64 {
    rows.reduce(0) { sum, row in
      if case .int(let value)? = row["Sum"] { return sum + value }
      return sum
    }
  }
}
