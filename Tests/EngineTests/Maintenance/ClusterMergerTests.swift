import Testing
import TestSupport

@testable import Engine

/// Merging clusters, as compactions do.
@Suite struct ClusterMergerTests {
  /// A merged cluster has the rows of all its sources, and its digest is that of the stored rows.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func mergedRows(seed: UInt64) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    let folder = TemporaryFolder()
    let columns = (0..<ColumnGenerator.kinds).map { Column("c\($0)", .data) }
    let path = folder.path("a.sheaf")
    let database = try Database.open(path)
    try database.write { try $0.createTable("t", columns: columns) }
    for _ in 0..<3 {
      let rows = Int.random(in: 1...300, using: &generator.random)
      let fields = (0..<ColumnGenerator.kinds).map { generator.column(kind: $0, rows: rows) }
      try database.write { transaction in
        let table = try transaction.table("t")
        for row in 0..<rows {
          var values: [String: Value] = [:]
          for (index, column) in fields.enumerated() {
            values["c\(index)"] = column[row].map { .data($0) } ?? .null
          }
          try table.insert(values)
        }
      }
    }
    try database.write { transaction in
      let table = try transaction.table("t")
      for key in stride(from: 3, to: 60, by: 7) { _ = try table.delete(Int64(key)) }
    }
    let before = try Model.digest(database.snapshot())
    let copies = try ["b.sheaf", "c.sheaf"].map { name in
      let copy = folder.path(name)
      try database.writeCopy(to: copy)
      return copy
    }
    for copy in copies {
      let opened = try Database.open(copy)
      #expect(try opened.tableUse("t").clusters == 1, "seed \(seed)")
      #expect(try Model.digest(opened.snapshot()) == before, "seed \(seed)")
      try opened.close()
    }
    try database.close()
  }
}
