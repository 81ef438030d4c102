import TestSupport
import Testing

@testable import Engine

/// Keys that a leaf has twice, or out of order, under right checksums: an observer is told of a change or
/// gets the engine's error, and its process goes on.
@Suite("Followed results over damaged keys")
struct DamagedKeysTests {
  private static func followed() -> [Query] {
    var sorted = Query(column("a") >= 100)
    sorted.sort = [.descending("a")]
    var limited = Query(column("a") >= 100)
    limited.limit = 7
    return [Query(), Query(column("a") >= 100), Query(column("b") < 20), sorted, limited]
  }

  /// A table whose keys have gaps, and so are stored.
  private static func file(changed: Bool) throws -> [UInt8] {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("a", .int), Column("b", .int)])
      let table = try transaction.table("t")
      for key in 1...40 { try table.insert([.int(Int64(key + 80)), .int(Int64(key))]) }
    }
    try database.write { transaction in
      for key in stride(from: 3, to: 40, by: 4) as StrideTo<Int64> {
        try transaction.table("t").delete(key)
      }
    }
    try database.write { transaction in
      // In the order of positions, some of those that do not change between the two files.
      for key in changed ? [2, 21, 22, 25, 34] : [22, 25] as [Int64] {
        try transaction.table("t").update(key, ["a": .int(changed ? 7 : 300)])
      }
    }
    try database.close()
    return storage.content
  }

  private static func table(_ bytes: [UInt8]) throws -> Table {
    let storage = RecordingStorage(bytes, isRecording: false)
    return try Database.open(storage: storage).snapshot().table("t")
  }

  @Test("From damaged keys to sound ones, and back")
  func damaged() throws {
    let sound = try Self.file(changed: true)
    let map = FieldMap(try Self.file(changed: false))
    var both = 0
    for field in map.fields where field.name.contains("keys byte") && field.size == 1 {
      for bit in 0..<8 as Range<UInt64> {
        let forged = map.forged(field, map.value(field) ^ 1 << bit)
        guard let old = try? Self.table(forged) else { continue }
        let new = try Self.table(sound)
        if let difference = try? TableDifference(from: old, to: new) {
          let changed = Set(difference.modified.map(\.key))
          both += changed.isDisjoint(with: difference.deleted.map(\.key)) ? 0 : 1
        }
        for query in Self.followed() {
          for (first, second) in [(old, new), (new, old)] {
            let tracker = ChangeSetTracker(query, tableNumber: old.number)
            do {
              _ = try tracker.advance(to: first)
              _ = try tracker.advance(to: second)
              // Goes on from there.
              _ = try tracker.advance(to: new)
            } catch let error as EngineError {
              guard case .damaged = error else { throw error }
            }
          }
        }
      }
    }
    #expect(both > 0, "no damage gave a key that is deleted and changed")
  }
}
