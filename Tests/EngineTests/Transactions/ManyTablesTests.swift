import Foundation
import TestSupport
import Testing

@testable import Engine

/// Work on many tables in one transaction grows with their number, not with its square.
@Suite("Many tables")
struct ManyTablesTests {
  /// Processor time of this thread, in seconds.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static let columns = [Column("a", .int)]

  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    let began = Self.processorTime
    try body()
    return Self.processorTime - began
  }

  /// The seconds of each part.
  private func measure(_ count: Int) throws -> [Double] {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    var times: [Double] = []
    times.append(
      try seconds {
        try database.write { transaction in
          for number in 0..<count {
            try transaction.createTable("table \(number)", columns: Self.columns)
          }
          for number in 0..<count {
            try transaction.table("table \(number)").insert([.int(Int64(number))])
          }
        }
      })
    times.append(
      try seconds {
        try database.write { transaction in
          for number in 0..<count {
            try transaction.table("table \(number)").update(1, ["a": .int(-1)])
            try transaction.renameTable("table \(number)", to: "other \(number)")
          }
        }
      })
    times.append(
      try seconds {
        let snapshot = try database.snapshot()
        for number in 0..<count {
          let table = try snapshot.table("other \(number)")
          #expect(table.count == 1 && table.number == UInt32(number + 1))
        }
      })
    times.append(
      try seconds {
        let schema = Schema(
          version: 1,
          tables: (0..<count).map { TableDefinition("other \($0)", columns: Self.columns) })
        let snapshot = try database.snapshot()
        let found = try snapshot.tablePlaces.map { place in
          let table = try snapshot.table(at: place)
          return FoundTable(table.definition, table.schema, note: nil)
        }
        #expect(try SchemaComparison(schema, file: found).differences == [])
      })
    return times
  }

  @Test("Created, found, changed, renamed and compared with what is declared")
  func linear() throws {
    // The first run pays for what is made once.
    _ = try measure(20)
    let (few, many) = (try measure(250), try measure(4000))
    // Sixteen times the tables; quadratic work would take 256 times as long.
    for (few, many) in zip(few, many) { #expect(many < max(few, 0.002) * 70, "\(few), \(many)") }
  }

  @Test("What has which name and number, against a list", arguments: 0..<20 as Range<UInt64>)
  func names(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    // In the order of creation.
    var model: [(name: String, number: UInt32)] = []
    for round in 0..<12 {
      var next = model
      let transaction = try database.beginWrite()
      for _ in 0..<Int.random(in: 1...12, using: &random) {
        let name = "t\(Int.random(in: 0..<25, using: &random))"
        let place = next.firstIndex { $0.name == name }
        switch Int.random(in: 0..<4, using: &random) {
        case 0..<2:
          if place == nil {
            try transaction.createTable(name, columns: Self.columns)
            next.append((name, try transaction.table(name).editor.number))
          } else {
            #expect(throws: EngineError.tableExists(name: name)) {
              try transaction.createTable(name, columns: Self.columns)
            }
          }
        case 2:
          guard let place else { continue }
          let other = "t\(Int.random(in: 0..<25, using: &random))"
          if other == name || !next.contains(where: { $0.name == other }) {
            try transaction.renameTable(name, to: other)
            next[place].name = other
          } else {
            #expect(throws: EngineError.tableExists(name: other)) {
              try transaction.renameTable(name, to: other)
            }
          }
        default:
          guard let place else { continue }
          try transaction.deleteTable(name)
          next.remove(at: place)
        }
        #expect(transaction.tableNames == next.map(\.name), "seed \(seed), round \(round)")
        for (name, number) in next {
          #expect(try transaction.table(name).editor.number == number, "seed \(seed)")
        }
      }
      if Int.random(in: 0..<4, using: &random) == 0 {
        transaction.rollBack()
      } else {
        try transaction.commit()
        model = next
      }
      let snapshot = try database.snapshot()
      #expect(snapshot.tableNames == model.map(\.name), "seed \(seed), round \(round)")
      for (name, number) in model {
        #expect(try snapshot.table(name).number == number)
        #expect(try snapshot.table(number: number)?.name == name)
      }
      for number in 0..<25 where !model.contains(where: { $0.name == "t\(number)" }) {
        #expect(throws: EngineError.self) { try snapshot.table("t\(number)") }
      }
    }
    #expect(try database.check().problems == [])
  }
}
