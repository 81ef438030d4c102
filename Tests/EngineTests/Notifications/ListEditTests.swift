import TestSupport
import Testing

@testable import Engine

@Suite struct ListEditTests {
  @Test("An edit in place gives what a new list gives", arguments: Effort.seeds(1..<9))
  func sameAsANewList(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    func one(in count: UInt64) -> Bool { random.next(upperBound: count) == 0 }
    for _ in 0..<400 {
      let span = Int64(1 + random.next(upperBound: 60 as UInt64))
      let all = (0..<span).filter { _ in !one(in: 3) }
      let share = 1 + random.next(upperBound: 12 as UInt64)
      let removed = all.indices.filter { _ in one(in: share) }
      let staying = Set(all).subtracting(removed.map { all[$0] })
      // Also one that is removed, and comes again.
      let added = (-3..<span + 3).filter {
        !staying.contains($0) && one(in: share)
      }
      let expected = (staying.union(added)).sorted()
      let edit = ListEdit(all, removing: removed, adding: added)
      var list = all
      list.apply(edit)
      #expect(list == expected, "seed \(seed): \(all), without \(removed), with \(added)")
      #expect(edit.insertions.map { list[$0] } == added, "seed \(seed)")
    }
  }

  @Test("A list that nobody else has is edited where it is; one that others have stays as it was")
  func inPlace() {
    var list = Array(0..<1000 as Range<Int64>)
    let edit = ListEdit(list, removing: [10], adding: [2000])
    let address = list.withUnsafeBufferPointer { $0.baseAddress }
    list.apply(edit)
    #expect(list.withUnsafeBufferPointer { $0.baseAddress } == address)
    #expect(list.count == 1000 && list[10] == 11 && list.last == 2000)

    let before = list
    list.apply(ListEdit(list, removing: [0, 1], adding: []))
    #expect(before.count == 1000 && before[0] == 0 && list.count == 998 && list[0] == 2)
  }

  @Test("The list of results that are followed stays where it is when few objects come or go")
  func aTrackersList() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .init())
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("n", .int)])
      let table = try transaction.table("t")
      for number in 0..<1000 { try table.insert([.int(Int64(number % 2))]) }
    }
    func table() throws -> Table { try database.snapshot().table("t") }
    let tracker = ChangeSetTracker(Query(column("n") == 1), tableNumber: try table().number)
    _ = try tracker.advance(to: try table())
    let keys = try #require(tracker.keys)
    var expected = keys
    func address() -> UnsafePointer<Int64>? {
      tracker.keys?.withUnsafeBufferPointer { $0.baseAddress }
    }
    // The first change makes a list of its own, because this test has the one before.
    for (number, key) in keys.prefix(3).enumerated() {
      let before = address()
      try database.write { try $0.table("t").update(key, ["n": .int(0)]) }
      _ = try tracker.advance(to: try table())
      expected.removeFirst()
      #expect((address() == before) == (number > 0))
      #expect(tracker.keys == expected)
    }
    #expect(keys.count == 500)
    try database.close()
  }
}
