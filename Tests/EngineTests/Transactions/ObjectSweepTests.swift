import TestSupport
import Testing

@testable import Engine

/// Objects read in batches, compared with each read by itself.
@Suite struct ObjectSweepTests {
  private static func row(_ key: Int, _ random: inout SplitMix64) -> [Value] {
    [
      .text("key \(key)"), .int(Int64(bitPattern: random.next()) >> Int64(random.next() % 60)),
      random.next() % 4 == 0 ? .null : .text(["few", "values", "", "here"][key % 4]),
      .double(Double(random.next() % 1000) / 8),
    ]
  }

  private static let columns = [
    Column("id", .text), Column("n", .int), Column("few", .text), Column("d", .double),
  ]

  /// Ascending lists of objects: neighbours, a few far apart, some that do not exist, and all of these.
  private static func objects(_ count: Int64, _ random: inout SplitMix64) -> [Int64] {
    var objects: [Int64] = []
    var next = Int64.random(in: 1...count, using: &random)
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let step = [0, 1, 2, 15, 200, 5000].randomElement(using: &random) ?? 1
      for _ in 0..<Int.random(in: 1...400, using: &random) {
        objects.append(next)
        next += Int64.random(in: 0...Int64(step), using: &random)
      }
    }
    return objects
  }

  @Test(
    "What a sweep gives is what a reader finds", arguments: Effort.seeds(1..<7), [false, true])
  func twins(seed: UInt64, isTiny: Bool) throws {
    var random = SplitMix64(seed: seed)
    let folder = TemporaryFolder()
    let database = try Database.open(
      folder.path("t.sheaf"), options: isTiny ? .tiny : Database.Options())
    let count = isTiny ? 700 : 6000
    try database.write { try $0.createTable("t", columns: Self.columns, key: "id") }
    for start in stride(from: 0, to: count, by: count / 4) {
      try database.write { transaction in
        let table = try transaction.table("t")
        for key in start..<start + count / 4 { try table.insert(Self.row(key, &random)) }
      }
    }
    for round in 0..<6 {
      if round == 3 { _ = try database.compact() }
      try database.write { transaction in
        let table = try transaction.table("t")
        for _ in 0..<30 {
          let key = Int64.random(in: 1...Int64(count), using: &random)
          guard try table.row(forKey: key) != nil else { continue }
          if random.next() % 3 == 0 {
            try table.delete(key)
          } else {
            try table.update(key, ["n": .int(Int64(round)), "few": .text("changed")])
          }
        }
        // Some leaves are open.
        for _ in 0..<8 {
          let list = Self.objects(Int64(count), &random)
          let columns = (0..<Int.random(in: 1...4, using: &random)).map { _ in
            Int.random(in: 0..<4, using: &random)
          }
          let first = Int.random(in: 0..<list.count, using: &random)
          let last = Int.random(in: first..<list.count, using: &random)
          var next = first
          try ObjectSweep(table.editor, columns: columns).run(list, from: first) { place, fields in
            #expect(place == next, "seed \(seed), round \(round)")
            next += 1
            var reader = ObjectReader(table.editor)
            let isThere = try reader.go(to: list[place])
            #expect(isThere == (fields != nil), "seed \(seed), round \(round), \(list[place])")
            if let fields {
              for (index, column) in columns.enumerated() {
                let expected = try reader.withSpelling(column) { $0.map(Array.init) }
                #expect(
                  fields.field(index).map(Array.init) == expected,
                  "seed \(seed), round \(round), object \(list[place]), column \(column)")
              }
            }
            return place < last
          }
          #expect(next == last + 1, "seed \(seed), round \(round)")
        }
      }
    }
    try database.close()
  }
}
