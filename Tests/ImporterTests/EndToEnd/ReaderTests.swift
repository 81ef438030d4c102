import Base
import Engine
import Synchronization
import Testing

@testable import Importer

/// I10, and imports that share a file with readers and with each other.
@Suite struct ReaderTests {
  private static func input(_ records: Int, _ text: String = "x") -> String {
    "a,b\n" + (1...records).map { "\($0),\(text)\n" }.joined()
  }

  private final class Watch: @unchecked Sendable {
    // @unchecked: guarded by the lock.
    private let lock = Lock()
    private var found: [String] = []
    private var counts = Set<Int>()
    let isOver = Atomic<Bool>(false)

    func note(_ count: Int) { lock.withLock { _ = counts.insert(count) } }
    func problem(_ text: String) { lock.withLock { found.append(text) } }
    var problems: [String] { lock.withLock { found } }
    var distinct: Int { lock.withLock { counts.count } }
  }

  /// Readers with a handle of their own see whole batches, and exactly their rows.
  @Test(arguments: [(1, 400), (7, 1500), (100, 3000), (1000, 6000)], Durability.allCases)
  func readersSeeWholeBatches(sizes: (batch: Int, records: Int), durability: Durability) throws {
    let folder = try ImportFolder()
    let database = try Database.open(folder.database)
    let watch = Watch()
    let readers = try (0..<2).map { _ in
      try Thread(name: "reader") {
        var last = 0
        while !watch.isOver.load(ordering: .acquiring) {
          do {
            let snapshot = try database.snapshot()
            guard snapshot.tableNames.contains("t") else { continue }
            let table = try snapshot.table("t")
            let count = table.count
            watch.note(count)
            if count % sizes.batch != 0 && count != sizes.records {
              watch.problem("\(count) objects")
            }
            if count < last { watch.problem("\(count) after \(last)") }
            last = count
            if count > 0 {
              let row = try table.row(at: count - 1)
              if row?["a"].map({ "\($0)" })?.contains("\(count)") != true {
                watch.problem("row \(count): \(String(describing: row))")
              }
              if try table.row(at: count) != nil { watch.problem("a row beyond \(count)") }
            }
          } catch {
            watch.problem("\(error)")
          }
        }
      }
    }
    try folder.importCSV(Self.input(sizes.records)) {
      $0.batchSize = .records(sizes.batch)
      $0.durability = durability
    }
    watch.isOver.store(true, ordering: .releasing)
    for reader in readers { reader.join() }
    #expect(watch.problems.prefix(3) == [])
    #expect(try database.snapshot().table("t").count == sizes.records)
    try database.close()
    try folder.expectSound()
  }

  private final class Outcome: @unchecked Sendable {
    // @unchecked: written by one thread, read after it has ended.
    var result: Result<ImportReport, any Error>?
  }

  /// Runs imports at once, each on a thread of its own.
  private func together(_ all: [ImportOptions]) throws -> [Result<ImportReport, any Error>] {
    let outcomes = all.map { _ in Outcome() }
    let threads = try zip(all, outcomes).map { options, outcome in
      try Thread(name: "import", stackBytes: 4 << 20) {
        outcome.result = Result { try Importer.run(options) }
      }
    }
    for thread in threads { thread.join() }
    return outcomes.compactMap(\.result)
  }

  private func options(_ folder: ImportFolder, _ name: String, _ batch: Int) throws
    -> ImportOptions
  {
    try folder.write(name + ".csv", Array(Self.input(900, name).utf8))
    var options = ImportOptions(inputs: [folder.path(name + ".csv")], database: folder.database)
    options.batchSize = .records(batch)
    return options
  }

  @Test(
    "Two imports into tables of one file both succeed", arguments: [20, 300], Durability.allCases)
  func twoTablesAtOnce(batch: Int, durability: Durability) throws {
    let folder = try ImportFolder()
    let all = try ["x", "y"].map { name in
      var options = try options(folder, name, batch)
      options.durability = durability
      return options
    }
    for result in try together(all) { #expect(try result.get().imported == 900) }
    for name in ["x", "y"] {
      #expect(try folder.exportText(table: name) == Self.input(900, name))
    }
    try folder.expectSound()
  }

  /// Into one table both take turns, or one ends as busy and resumes later: nothing is lost or imported
  /// twice.
  @Test(arguments: [20, 300], 0..<3)
  func oneTableAtOnce(batch: Int, round: Int) throws {
    let folder = try ImportFolder()
    var all = try ["x", "y"].map { name in
      var options = try options(folder, name, batch)
      options.table = "t"
      return options
    }
    var rounds = 0
    while !all.isEmpty, rounds < 10 {
      var unfinished: [ImportOptions] = []
      for (index, result) in try together(all).enumerated() {
        switch result {
        case .success(let report): expectBalanced(report)
        case .failure(EngineError.busy(_, let reason)):
          #expect(reason.contains("was changed by somebody else during the import"))
          unfinished.append(all[index])
          unfinished[unfinished.count - 1].resume = true
        case .failure(let error): Issue.record("\(error)")
        }
      }
      all = unfinished
      rounds += 1
    }
    let lines = try folder.exportText().split(separator: "\n").dropFirst()
    #expect(lines.count == 1800)
    for name in ["x", "y"] {
      let own = lines.filter { $0.hasSuffix(name) }.map { $0 + "\n" }.joined()
      #expect("a,b\n" + own == Self.input(900, name))
    }
    try folder.expectSound()
  }
}
