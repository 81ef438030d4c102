import Engine
import Testing
import TestSupport

@testable import Importer

/// Imports into a table with secondary indexes fill them, whatever they do to its objects and types.
@Suite struct IndexImportTests {
  /// The value of a column in most records, and in the few that widen it.
  private func csv(_ records: Int, from first: Int, odd: String) -> String {
    var text = "id,a,b\n"
    for record in first..<first + records {
      text += "k\(record),\(record % 50 == 49 ? odd : "\(record % 7)"),name \(record % 11)\n"
    }
    return text
  }

  @Test(arguments: [(7, 3), (300, 200), (5000, 4 << 20)], [false, true])
  func everyObjectIsFound(cut: (batch: Int, chunkBytes: Int), hasKey: Bool) throws {
    let folder = try ImportFolder()
    func importCSV(_ text: String) throws {
      try folder.importCSV(text) {
        $0.batchSize = .records(cut.batch)
        $0.limits = .init(chunkBytes: cut.chunkBytes)
        $0.ragged = .extend
        if hasKey {
          $0.key = "id"
          $0.conflictPolicy = .update
        }
      }
      try folder.expectSound()
    }
    let rows = cut.batch == 7 ? 150 : 1200
    try importCSV(csv(rows, from: 0, odd: "3"))
    let database = try Database.open(folder.database)
    try database.write { transaction in
      for name in ["a", "b"] { try transaction.table("t").addIndex(name) }
    }
    try database.close()
    // Objects that are there change, others come, and the column becomes a double, then a text.
    try importCSV(csv(rows, from: rows / 2, odd: "4.50"))
    try importCSV(csv(rows, from: rows, odd: "many") + "k0,9,surplus,one\n")
    let again = try Database.open(folder.database)
    let table = try again.snapshot().table("t")
    #expect(table.indexedColumns == ["a", "b"])
    #expect(table.columns.first { $0.name == "a" }?.type == .text)
    for predicate in [
      column("a") == "many", column("a") == "4.50", column("b") == "surplus",
      column("a").beginsWith("4"), column("a") == "6",
    ] {
      var expected: [Int64] = []
      try ResultReader(Query(predicate), table, indexUse: .never).forEachWindow(withKeys: true) {
        expected += $0.keys
      }
      var found: [Int64] = []
      try ResultReader(Query(predicate), table, indexUse: .always).forEachWindow(withKeys: true) {
        found += $0.keys
      }
      #expect(found == expected && !found.isEmpty, "\(predicate)")
    }
    try again.close()
  }
}
