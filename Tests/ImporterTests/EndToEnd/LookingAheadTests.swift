import Engine
import Synchronization
import TestSupport
import Testing

@testable import Importer

/// Imports whose parsers look rows up in the table, compared with imports whose writer does that alone:
/// the same rows, rejects and counts, whatever happens meanwhile.
@Suite struct LookingAheadTests {
  /// One import of a history.
  private struct Step {
    var csv: [UInt8]
    var policy: ConflictPolicy
    var batch: ImportOptions.BatchSize?
    var parsers: Int
    var chunkBytes: Int
    var truncates: Bool
    /// It stops after as many records, and is resumed.
    var stopsAt: Int?
    /// After as many records another program changes the table.
    var disturbedAt: Int?
    var seed: UInt64
  }

  /// Writes inputs that have much in common, in about the same order.
  private struct Writer {
    private var records: [[String]] = []
    private var next = 0

    private mutating func record(_ random: inout SplitMix64) -> [String] {
      next += 1
      let key =
        switch random.next() % 8 {
        case 0: "\(next * 3)"
        case 1: "0\(next)"
        default: "k\(next)"
        }
      return [
        key, "\(random.next() % 50)",
        ["x", "y", "", "\"a,b\""].randomElement(using: &random) ?? "",
      ]
    }

    mutating func input(_ random: inout SplitMix64) -> [UInt8] {
      if random.next() % 3 > 0 || records.isEmpty {
        for _ in 0..<Int.random(in: 1...150, using: &random) { records.append(record(&random)) }
      }
      var changed = records
      if random.next() % 2 == 0 { changed.removeAll { _ in random.next() % 20 == 0 } }
      var lines: [String] = []
      let changes = [0, 0, 30, 3].randomElement(using: &random) ?? 0
      for index in changed.indices {
        if changes > 0, random.next() % UInt64(changes) == 0 {
          changed[index][1] = random.next() % 9 == 0 ? "1.5" : "\(random.next() % 50)"
        }
        lines.append(changed[index].joined(separator: ","))
        switch random.next() % 60 {
        case 0: lines.append(",5,no key")
        case 1: lines.append(lines.randomElement(using: &random) ?? "")
        case 2: lines.append((changed.randomElement(using: &random) ?? ["z"])[0] + ",77,again")
        case 3: lines.append("\"n\(random.next() % 200)\",8,new,surplus")
        default: break
        }
      }
      if random.next() % 5 == 0 { lines.shuffle(using: &random) }
      return Array(("id,a,b\n" + lines.map { $0 + "\n" }.joined()).utf8)
    }
  }

  private static func steps(_ random: inout SplitMix64) -> [Step] {
    var writer = Writer()
    return (0..<6).map { number in
      let size = [1, 7, 20, 300, 1000].randomElement(using: &random) ?? 1
      let isLucky = random.next() % 3 == 0
      return Step(
        csv: writer.input(&random),
        policy: number == 0
          ? .update : ConflictPolicy.allCases.randomElement(using: &random) ?? .error,
        batch: random.next() % 8 == 0 ? .all : .records(size),
        parsers: Int.random(in: 1...4, using: &random),
        chunkBytes: [120, 900, 4 << 20].randomElement(using: &random) ?? 120,
        truncates: number > 0 && random.next() % 8 == 0,
        stopsAt: isLucky ? size * Int.random(in: 1...9, using: &random) : nil,
        disturbedAt: !isLucky && random.next() % 2 == 0
          ? size * Int.random(in: 1...9, using: &random) : nil,
        seed: random.next())
    }
  }

  /// Changes by another program between two batches.
  private static func disturb(_ path: String, _ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let database = try Database.open(path, options: sizes)
    try database.write { transaction in
      let table = try transaction.table("t")
      for _ in 0..<Int.random(in: 1...12, using: &random) {
        let count = try table.count
        guard count > 0,
          let row = try table.row(at: Int.random(in: 0..<count, using: &random))
        else { continue }
        switch random.next() % 4 {
        case 0: try table.update(row.key, ["b": .text("theirs")])
        case 1: try table.update(row.key, ["id": .text("moved \(random.next() % 10_000_000)")])
        default: try table.delete(row.key)
        }
      }
    }
    try database.close()
  }

  private static var sizes: Database.Options {
    var options = Database.Options()
    options.indexLimits.leafEntries = 4
    options.indexLimits.nodeCapacity = 4
    options.indexLimits.recentEntries = 24
    options.indexLimits.smallestRun = 4
    options.indexLimits.smallFanout = 2
    options.indexLimits.largeFanout = 3
    return options
  }

  private struct Outcome: Equatable {
    var counts: [[Int]] = []
    var errors: [String] = []
    var rows = ""
    var types = ""
    var rejects = ""
  }

  private static func run(
    _ steps: [Step], looksAhead: Bool
  ) throws -> Outcome {
    let folder = try ImportFolder()
    var outcome = Outcome()
    for (number, step) in steps.enumerated() {
      func change(_ options: inout ImportOptions, resumes: Bool, stopsAt: Int?) {
        options.engine = sizes
        options.looksAhead = looksAhead
        options.key = "id"
        options.conflictPolicy = step.policy
        options.batchSize = step.truncates && step.policy == .replace ? nil : step.batch
        options.parsers = step.parsers
        options.limits = .init(chunkBytes: step.chunkBytes)
        options.ragged = .extend
        options.maxRejects = .unlimited
        options.truncate = step.truncates
        options.resume = resumes
        let stops = Flag()
        let (path, at, seed) = (folder.database, step.disturbedAt, step.seed)
        let disturbed = Flag()
        options.progress = { progress in
          if let stopsAt, progress.records >= stopsAt { stops.raise() }
          if let at, progress.records == at, case .records? = step.batch, !step.truncates,
            disturbed.raise()
          {
            do { try disturb(path, seed) } catch { Issue.record("\(error)") }
          }
        }
        options.shouldStop = { stops.isRaised }
      }
      do {
        var report = try folder.importCSV(step.csv, as: "s\(number).csv") {
          change(&$0, resumes: false, stopsAt: step.stopsAt)
        }
        outcome.counts.append(counts(report))
        if report.isInterrupted {
          report = try folder.importCSV(step.csv, as: "s\(number).csv") {
            change(&$0, resumes: true, stopsAt: nil)
          }
          outcome.counts.append(counts(report))
        }
        expectBalanced(report)
      } catch {
        outcome.errors.append("\(number): \(error)".replacing(folder.database, with: "FILE"))
      }
    }
    for name in folder.names() where name.contains("rejects") {
      outcome.rejects += name + "\n" + (try folder.text(name)).replacing(folder.path(""), with: "")
    }
    outcome.rows = try folder.exportText()
    outcome.types = try folder.types()
    try folder.expectSound()
    return outcome
  }

  private static func counts(_ report: ImportReport) -> [Int] {
    [
      report.read, report.imported, report.updated, report.skipped, report.unchanged,
      report.rejected, report.batches,
    ]
  }

  private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isRaised: Bool { value.load(ordering: .acquiring) }
    /// False if it was raised before.
    @discardableResult
    func raise() -> Bool { !value.exchange(true, ordering: .acquiringAndReleasing) }
  }

  @Test("Looking ahead changes nothing", arguments: Effort.seeds(0..<10))
  func twins(seed: UInt64) throws {
    for seed in seed..<(Effort.isLong ? seed + 200 : seed + 1) {
      var random = SplitMix64(seed: seed &* 7919)
      let steps = Self.steps(&random)
      let slow = try Self.run(steps, looksAhead: false)
      let fast = try Self.run(steps, looksAhead: true)
      let note: Comment = "seed \(seed)"
      #expect(fast.counts == slow.counts, note)
      #expect(fast.errors == slow.errors, note)
      #expect(fast.types == slow.types, note)
      for (fast, slow) in [(fast.rejects, slow.rejects), (fast.rows, slow.rows)] {
        let difference = firstDifference(Array(fast.utf8), Array(slow.utf8))
        #expect(difference == nil, "\(difference ?? ""): seed \(seed)")
      }
    }
  }

  /// A row equals what its parser has seen, but an earlier row of the input has changed that meanwhile.
  @Test(arguments: [ConflictPolicy.update, .replace], [1, 4])
  func changedAndChangedBack(policy: ConflictPolicy, parsers: Int) throws {
    let folder = try ImportFolder()
    let rows = (0..<3000).map { "k\($0),\($0)\n" }
    func change(_ options: inout ImportOptions) {
      options.key = "id"
      options.conflictPolicy = policy
      options.parsers = parsers
      options.limits = .init(chunkBytes: 700)
      options.batchSize = .records(50)
    }
    try folder.importCSV("id,a\n" + rows.joined(), change)
    // Each row changed, then restored.
    let changed = rows.map { $0.dropLast() + "7\n" }
    let twice = zip(changed, rows).map { $0 + $1 }.joined()
    let report = try folder.importCSV(
      "id,a\n" + changed.joined() + rows.joined(), as: "u.csv", change)
    #expect(report.updated == 6000 && report.unchanged == 0)
    let again = try folder.importCSV("id,a\n" + twice, as: "v.csv", change)
    #expect(again.updated == 6000 && again.unchanged == 0)
    #expect(try folder.exportText() == "id,a\n" + rows.joined())
    try folder.expectSound()
  }
}
