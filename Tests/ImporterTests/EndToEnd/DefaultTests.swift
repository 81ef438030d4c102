import Engine
import Testing

@testable import Importer

/// Columns that the input lacks: objects get their default.
@Suite("Imports into columns with defaults")
struct DefaultTests {
  private func folder(key: String? = nil) throws -> ImportFolder {
    let folder = try ImportFolder()
    let database = try Database.open(folder.database)
    try database.write {
      try $0.createTable(
        "t",
        columns: [
          Column("seen", .bool, nullable: false, default: .bool(false)), Column("id", .int),
          Column("tag", .text, default: .text("")), Column("note", .text),
          Column("stars", .double, default: .int(3)),
        ], key: key, indexes: ["stars"])
    }
    try database.close()
    return folder
  }

  /// Batches of one record fill shared clusters; a batch of a thousand is one cluster that the parser
  /// has encoded.
  @Test(arguments: [1, 1000])
  func appended(batch: Int) throws {
    let folder = try folder()
    let count = 1500
    let report = try folder.importCSV("id\n" + (0..<count).map { "\($0)\n" }.joined()) {
      $0.batchSize = .records(batch)
    }
    expectBalanced(report)
    try folder.importCSV("stars,id\n,1500\n4.50,1501\n") { $0.batchSize = .records(batch) }
    let text = try folder.exportText()
    #expect(
      text
        == "seen,id,tag,note,stars\n"
        + (0..<count).map { "false,\($0),\"\",,3.0\n" }.joined()
        + "false,1500,\"\",,\nfalse,1501,\"\",,4.50\n")
    let database = try Database.open(folder.database)
    try database.read {
      let table = try $0.table("t")
      #expect(try Query(column("stars") == 3).count(in: table) == count)  // through the index
      #expect(try Query(column("seen") == false && column("tag") == "").count(in: table) == 1502)
    }
    try database.close()
    try folder.expectSound()
  }

  @Test(
    "Columns that the input lacks get defaults in keyed imports", arguments: [1, 1000],
    ConflictPolicy.allCases)
  func withAKey(batch: Int, policy: ConflictPolicy) throws {
    let folder = try folder(key: "id")
    func add(_ csv: String) throws {
      expectBalanced(
        try folder.importCSV(csv) {
          $0.batchSize = .records(batch)
          $0.conflictPolicy = policy
          $0.maxRejects = .unlimited
        })
    }
    try add("id,seen,tag,note,stars\n1,true,a,x,5\n")
    try add("note,id\nnew,1\ny,2\n")
    let first =
      switch policy {
      case .error, .skip: "true,1,a,x,5\n"
      case .replace: "false,1,\"\",new,3.0\n"
      case .update: "true,1,a,new,5\n"
      }
    let text = try folder.exportText()
    #expect(text == "seen,id,tag,note,stars\n\(first)false,2,\"\",y,3.0\n")
    let again = try folder.importCSV("note,id\nnew,1\ny,2\n") {
      $0.batchSize = .records(batch)
      $0.conflictPolicy = policy
      $0.maxRejects = .unlimited
    }
    #expect(again.unchanged == (policy == .replace || policy == .update ? 2 : 0))
    try folder.expectSound()
  }

  /// A column without default that may not be null cannot be left out, nor can the key.
  @Test func whatCannotBeLeftOut() throws {
    let folder = try folder(key: "id")
    #expect(throws: ImportError.self) { try folder.importCSV("note\nx\n") }
    let database = try Database.open(folder.database)
    try database.write {
      try $0.table("t").addColumn(Column("must", .int, nullable: false))
      try $0.table("t").setDefault("id", .int(7))
    }
    try database.close()
    #expect(throws: ImportError.self) { try folder.importCSV("id\n5\n") }
    #expect(throws: ImportError.self) { try folder.importCSV("must\n5\n") }
    try folder.importCSV("id,must\n5,6\n")
    #expect(try folder.exportText() == "seen,id,tag,note,stars,must\nfalse,5,\"\",,3.0,6\n")
  }
}
