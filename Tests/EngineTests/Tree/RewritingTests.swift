import Testing
import TestSupport

@testable import Engine

/// How clusters are encoded anew when a few of their rows change, night after night.
@Suite("Clusters that are rewritten") struct RewritingTests {
  private static let columns = [Column("n", .int), Column("stars", .int), Column("text", .text)]

  /// Text that only a thorough encoding makes much smaller.
  private static func text(_ row: Int) -> Value {
    .text("the \(row * 7919 % 104_729)th of many applications, free of charge")
  }

  private static func database(_ rows: Int, _ options: Database.Options = .init()) throws
    -> Database
  {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable("t", columns: columns)
      for row in 0..<rows {
        try transaction.table("t").insert([.int(Int64(row)), .int(Int64(row % 7)), text(row)])
      }
    }
    return database
  }

  private func leaves(_ database: Database) throws -> [Int] {
    var counts: [Int] = []
    try database.snapshot().table("t").forEachLeaf { counts.append($0.rowCount) }
    return counts
  }

  @Test("A large cluster stays as well encoded, and falls into few")
  func large() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    do {
      let database = try Database.open(path)
      try database.write { transaction in
        try transaction.createTable("t", columns: Self.columns)
        for row in 0..<4000 {
          try transaction.table("t").insert([
            .int(Int64(row)), .int(Int64(row % 7)), Self.text(row),
          ])
        }
      }
      #expect(try database.compact().decision == .compacted)
      try database.close()
    }
    var options = Database.Options()
    options.limits.rewrittenRows = 2048
    // As records, so that they outgrow the cluster soon.
    options.limits.columnsPercent = 0
    let database = try Database.open(path, options: options)
    #expect(try leaves(database) == [4000])
    let compact = try database.tableUse("t").clusterBytes
    var random = SplitMix64(seed: 5)
    var nights = 0
    while try leaves(database).count == 1, nights < 200 {
      nights += 1
      try database.write(durability: Durability.none) { transaction in
        for _ in 0..<80 {
          let row = Int.random(in: 0..<4000, using: &random)
          try transaction.table("t").update(Int64(row + 1), ["stars": .int(Int64(nights % 7))])
        }
      }
    }
    // In an import's encodings they would take three times as much.
    #expect(try leaves(database) == [2000, 2000])
    #expect(nights > 3)
    let bytes = try database.tableUse("t").clusterBytes
    #expect(bytes * 10 < compact * 14, "\(compact) bytes, and \(bytes) after \(nights) nights")
    #expect(try database.check(deep: true).problems == [])
    try database.close()
  }

  @Test("A change to a small cluster does not write all of it")
  func small() throws {
    let database = try Self.database(50)
    let length = try database.tableUse("t").clusterBytes
    #expect(length > 1024 && length < 4096)
    let before = database.bytesWritten
    try database.write { try $0.table("t").update(17, ["stars": .int(6)]) }
    #expect(try database.tableUse("t").overlayBytes > 0)
    #expect(database.bytesWritten - before < length)
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test("Encoded objects that are added a few at a time are put together")
  func appended() throws {
    let database = try Self.database(5000)
    let before = try leaves(database).count
    for night in 0..<40 {
      try database.write(durability: Durability.none) { transaction in
        let editor = try transaction.table("t").editor
        // Several changes in one transaction do not encode it twice.
        for part in 0..<2 {
          var buffer = RowBuffer(columnIDs: editor.schema.columnIDs)
          for row in 0..<50 {
            try buffer.append(
              key: Int64(row),
              values: [.int(Int64(night)), .int(Int64(part)), Self.text(night * 100 + row)])
          }
          try editor.append(try buffer.encode(with: ClusterBuilder()))
        }
      }
    }
    // 4,000 objects in clusters of some 800, and those of the last nights.
    #expect(try leaves(database).count - before <= 5 + 20)
    #expect(try database.snapshot().table("t").count == 9000)
    #expect(try database.check(deep: true).problems == [])
    try database.close()
  }
}
