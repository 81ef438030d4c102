import TestSupport
import Testing

@testable import Engine

/// The memory of rows that a transaction changes or adds.
@Suite("Open rows")
struct OpenRowsTests {
  @Test("Rows that are changed often do not keep all they had", arguments: [false, true])
  func openRows(areAdded: Bool) throws {
    var options = Database.Options()
    options.limits.openRowBytes = 100_000
    options.limits.clusterBytes = 20_000
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable("a", columns: [Column("text", .text)])
      let table = try transaction.table("a")
      var most = 0
      for number in 0..<200 {
        let text = Value.text(String(repeating: "\(number % 10)", count: 5_000))
        if areAdded || number == 0 {
          _ = try table.insert([text])
        } else {
          try table.update(1, ["text": text])
        }
        most = max(most, table.editor.tree.openRowBytes)
      }
      #expect((50_000...110_000).contains(most), "\(most)")
    }
    let table = try database.snapshot().table("a")
    #expect(table.count == (areAdded ? 200 : 1))
    let last = try #require(try table.row(forKey: areAdded ? 200 : 1))
    #expect(last.values == [.text(String(repeating: "9", count: 5_000))])
    #expect(try database.check().problems == [])
    try database.close()
  }
}
