import Base
import Engine
import Foundation
import Testing

@testable import Importer

/// Batches that become one version: commits, counts and kept versions are those of batches that are
/// versions of their own.
@Suite struct JoinedBatchTests {
  /// Longer than any test, so that everything joins that may.
  private static let long: UInt64 = 3_600_000_000_000

  private static func csv(_ rows: Int, bad: Set<Int> = []) -> String {
    var text = "k,n\n"
    for row in 1...rows { text += bad.contains(row) ? "\(row)\n" : "\(row),\(row * 7)\n" }
    return text
  }

  private static func version(_ folder: ImportFolder) throws -> UInt64 {
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    defer { try? database.close() }
    return try database.snapshot().version
  }

  @Test(
    "Joined batches give the rows, rejects and counts of single ones, in fewer versions",
    arguments: [7, 300, 2000], [nil, "k"])
  func sameAsOneByOne(batch: Int, key: String?) throws {
    let csv = Self.csv(3000, bad: [1100, 1150])
    func imported(_ joining: UInt64, _ durability: Durability) throws -> (
      report: ImportReport, text: String, rejects: String, version: UInt64
    ) {
      let folder = try ImportFolder()
      let report = try folder.importCSV(csv) {
        $0.batchSize = .records(batch)
        $0.durability = durability
        $0.key = key
        if key != nil { $0.conflictPolicy = .replace }
        $0.maxRejects = .unlimited
        $0.joinsBatchesFor = joining
      }
      try folder.expectSound()
      let rejects = try folder.text("t.rejects.csv")
      return (report, try folder.exportText(), rejects, try Self.version(folder))
    }
    let single = try imported(0, .group)
    for durability in [Durability.full, .group, .none] {
      let joined = try imported(Self.long, durability)
      #expect(joined.text == single.text && joined.rejects == single.rejects)
      #expect(joined.report.batches == single.report.batches)
      #expect(joined.report.imported == 2998 && joined.report.rejected == 2)
      expectBalanced(joined.report)
      if durability == .full || single.report.batches < 20 {
        #expect(joined.version <= single.version)
        #expect(durability != .full || joined.version == single.version)
      } else {
        #expect(joined.version < single.version, "nothing has joined")
      }
    }
  }

  @Test("A batch that is refused takes none with it that was whole before", arguments: [nil, "k"])
  func refused(key: String?) throws {
    let folder = try ImportFolder()
    let error = #expect(throws: ImportError.self) {
      try folder.importCSV(Self.csv(4000, bad: [2555])) {
        $0.batchSize = .records(10)
        $0.key = key
        $0.maxRejects = .count(0)
        $0.joinsBatchesFor = Self.long
      }
    }
    #expect("\(try #require(error))".contains("255 batches"), "\(String(describing: error))")
    #expect(try folder.exportText() == Self.csv(2550))
    try folder.expectSound()
  }

  @Test("A key that is there already ends an import behind the batches before")
  func refusedKey() throws {
    let folder = try ImportFolder()
    try folder.importCSV("k,n\n2555,0\n") { $0.key = "k" }
    #expect(throws: ImportError.self) {
      try folder.importCSV(Self.csv(4000), as: "other.csv") {
        $0.batchSize = .records(10)
        $0.key = "k"
        $0.conflictPolicy = .error
        $0.maxRejects = .count(0)
        $0.joinsBatchesFor = Self.long
      }
    }
    #expect(try folder.exportText().split(separator: "\n").count == 1 + 1 + 2550)
    try folder.expectSound()
  }

  @Test("An import that is stopped has committed what it counts, and goes on behind it")
  func stopped() throws {
    let folder = try ImportFolder()
    let calls = CallCounter()
    func run(_ change: (inout ImportOptions) -> Void) throws -> ImportReport {
      try folder.importCSV(Self.csv(400)) {
        $0.batchSize = .records(10)
        $0.resume = true
        $0.joinsBatchesFor = Self.long
        change(&$0)
      }
    }
    let first = try run { $0.shouldStop = { calls.next() > 12 } }
    #expect(first.isInterrupted && first.batches > 1 && first.imported == first.batches * 10)
    #expect(try folder.exportText() == Self.csv(first.imported))
    let second = try run { _ in }
    #expect(first.imported + second.imported == 400)
    #expect(try folder.exportText() == Self.csv(400))
    try folder.expectSound()
  }

  @Test("What fails on the way to the writer comes behind the batches before it")
  func failing() throws {
    let folder = try ImportFolder()
    #expect(throws: ImportError.self) {
      try folder.importCSV(Self.csv(400) + String(repeating: "4", count: 200) + ",1\n") {
        $0.batchSize = .records(10)
        $0.limits = ChunkLimits(maximumRecordBytes: 64)
        $0.joinsBatchesFor = Self.long
      }
    }
    #expect(try folder.exportText() == Self.csv(400))
    try folder.expectSound()
  }

  #if os(Linux)
    @Test("While no more input comes, others see what has come", .timeLimit(.minutes(60)))
    func pausingPipe() throws {
      let folder = try ImportFolder()
      let pipe = folder.path("t.csv")
      #expect(mkfifo(pipe, 0o600) == 0)
      let rows = 12_000
      let (head, rest) = (Self.csv(rows), "\(rows + 1),1\n")
      let seen = Seen()
      let writer = try Thread(name: "pipe") { [database = folder.database] in
        guard let handle = FileHandle(forWritingAtPath: pipe) else { return }
        handle.write(Data(head.utf8))
        // No more comes until a reader has seen the batch. If none does, the test fails and ends.
        for _ in 0..<2000 where seen.count == 0 {
          System.sleep(milliseconds: 10)
          seen.count = (try? Self.count(database)) ?? 0
        }
        handle.write(Data(rest.utf8))
        try? handle.close()
      }
      var options = ImportOptions(inputs: [pipe], database: folder.database)
      options.table = "t"
      options.batchSize = .records(10)
      options.joinsBatchesFor = 700_000_000
      let report = try Importer.run(options)
      writer.join()
      #expect(seen.count > 0 && seen.count % 10 == 0)
      #expect(report.imported == rows + 1)
    }

    private static func count(_ path: String) throws -> Int {
      let database = try Database.open(path, options: .init(access: .readOnly))
      defer { try? database.close() }
      return try database.snapshot().table("t").count
    }

    private final class Seen: @unchecked Sendable {
      private let lock = Lock()
      private var value = 0
      var count: Int {
        get { lock.withLock { value } }
        set { lock.withLock { value = newValue } }
      }
    }
  #endif
}
