import Base
import Testing

@testable import Engine

/// Snapshots, commits, flushes and the reuse of pages, in every order with few deviations.
@Suite("Schedules: snapshots", .serialized)
struct SnapshotScheduleTests {
  /// A writer writes the number of the version that it makes into one row; a reader holds version after
  /// version, and reads all of them while the writer goes on.
  static func scenario(
    _ reader: ScheduledReader, commits: Int, _ durability: Durability
  ) throws -> Exploration.Scenario {
    let storage = MemoryStorage()
    let database = try Database.open(storage: storage, options: .init())
    try database.write(durability: .full) { transaction in
      try transaction.createTable("t", columns: [Column("version", .int)])
      let table = try transaction.table("t")
      try table.insert([.int(Int64(transaction.baseVersion) + 1)])
    }
    let problems = Problems()
    let read: @Sendable () -> Void = {
      problems.watch {
        var held: [Snapshot] = []
        for _ in 0..<commits {
          Scheduling.idle()
          let snapshot = try reader.snapshot(database, storage)
          if reader == .other, storage.flushedVersion < snapshot.version {
            problems.note("version \(snapshot.version) is shown to all, and may be lost yet")
          }
          held.append(snapshot)
        }
        for _ in 0..<2 {
          Scheduling.idle()
          for snapshot in held {
            let row = try snapshot.table("t").row(forKey: 1)
            if row?["version"] != .int(Int64(snapshot.version)) {
              problems.note("version \(snapshot.version) reads \(String(describing: row))")
            }
          }
        }
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        let thread = try Thread(name: "reader", read)
        for _ in 0..<commits {
          try database.write(durability: durability) { transaction in
            try transaction.table("t").update(
              1, ["version": .int(Int64(transaction.baseVersion) + 1)])
          }
          if durability == .full, try storage.flushedVersion < database.newestVersion {
            problems.note("a durable commit may be lost yet")
          }
          Scheduling.idle()
        }
        thread.join()
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [write]) { problems.first }
  }

  @Test(
    "A version that is held keeps its values", arguments: ScheduledReader.all,
    Durability.allCases)
  func held(reader: ScheduledReader, durability: Durability) throws {
    let failure = try Exploration.failure("A held version (\(reader), \(durability))", random: 80) {
      try Self.scenario(reader, commits: 3, durability)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// Memory of its own for the newest version.
  private final class Cell: @unchecked Sendable {
    // @unchecked: the pointer never changes; what it points at is atomic.
    private let memory = UnsafeMutableRawPointer.allocate(
      byteCount: VersionCell.encodedBytes, alignment: 64)
    let cell: VersionCell
    init() {
      memory.initializeMemory(as: UInt8.self, repeating: 0, count: VersionCell.encodedBytes)
      cell = VersionCell(memory)
    }
    deinit { memory.deallocate() }
  }

  @Test("The newest version is read whole, and never goes back")
  func readWhole() throws {
    let failure = try Exploration.failure(
      "The newest version, word by word", isFine: true, bound: 2, random: 100
    ) {
      let (cell, problems) = (Cell(), Problems())
      @Sendable func record(_ number: UInt64) -> VersionRecord {
        VersionRecord(
          version: number,
          root: BlockReference(
            offset: number << 12, length: UInt32(number), checksum: number &* 0x9E37_79B9),
          end: number << 13)
      }
      let read: @Sendable () -> Void = {
        var last: UInt64 = 0
        for _ in 0..<2 {
          guard let found = cell.cell.load() else { continue }
          if found != record(found.version) || found.version < last {
            problems.note("\(found) after \(last)")
          }
          last = found.version
        }
      }
      let write: @Sendable () -> Void = {
        for number in 1...3 as ClosedRange<UInt64> { cell.cell.store(record(number)) }
      }
      return Exploration.Scenario(threads: [write, read]) { problems.first }
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// A page that is freed too early must be written over before it is read, which takes some more
  /// commits.
  @Test("The flusher publishes versions while a writer looks for those that are held")
  func publishedMeanwhile() throws {
    let failure = try Exploration.failure("Versions published meanwhile", bound: 0, random: 700) {
      try Self.scenario(.other, commits: 8, .group)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
