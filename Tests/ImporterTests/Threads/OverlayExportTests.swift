import Engine
import TestSupport
import Testing

@testable import Importer

/// ThreadSanitizer looks at it: the threads of an export share the leaves of a table.
@Suite struct OverlayExportTests {
  @Test(
    "Several threads write one leaf with changed and deleted rows as one does", arguments: 0..<3)
  func sharedLeaf(seed: Int) throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let columns = (0..<12).map { Column("c\($0)", $0 % 3 == 0 ? .text : .int) }
    func values(_ row: Int, _ salt: Int) -> [Value] {
      (0..<12).map { column in
        let number = (row &* 31 &+ column &* 7 &+ salt) % 1000
        return column % 3 == 0 ? .text("text \(number)") : .int(Int64(number))
      }
    }
    try database.write { transaction in
      try transaction.createTable("t", columns: columns)
      let table = try transaction.table("t")
      for row in 0..<30_000 { _ = try table.insert(values(row, 0)) }
    }
    #expect(try database.compact().decision == .compacted)
    var random = SplitMix64(seed: UInt64(seed))
    try database.write { transaction in
      let table = try transaction.table("t")
      for _ in 0..<300 {
        let key = Int64.random(in: 0..<29_000, using: &random)
        guard try table.row(forKey: key) != nil else { continue }
        if Bool.random(using: &random) {
          let salt = Int.random(in: 1..<9, using: &random)
          try table.update(key, ["c0": values(Int(key), salt)[0], "c5": values(Int(key), salt)[5]])
        } else {
          _ = try table.delete(key)
        }
      }
    }
    func export(threads: Int) throws -> [UInt8] {
      var exporter = TableExporter()
      exporter.threads = threads
      var bytes: [UInt8] = []
      try exporter.run(database.snapshot().table("t")) { bytes += $0 }
      return bytes
    }
    let expected = try export(threads: 1)
    for _ in 0..<4 { #expect(try export(threads: 4) == expected, "seed \(seed)") }
    try database.close()
  }
}
