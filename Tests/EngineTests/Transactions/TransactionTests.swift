import Foundation
import TestSupport
import Testing

@testable import Engine

@Suite("Transactions")
struct TransactionTests {
  let columns = [Column("name", .text), Column("stars", .int), Column("score", .double)]

  private func insert(_ database: Database, _ range: Range<Int>) throws {
    try database.write { transaction in
      let table = try transaction.table("apps")
      for index in range {
        try table.insert([.text("app \(index)"), .int(Int64(index)), .double(Double(index) / 4)])
      }
    }
  }

  @Test("What was committed is there after opening the file again")
  func reopen() throws {
    let folder = TemporaryFolder()
    do {
      let database = try Database.open(folder.path("a.sheaf"))
      try database.write { try $0.createTable("apps", columns: columns) }
      for start in stride(from: 0, to: 5000, by: 700) {
        try insert(database, start..<min(start + 700, 5000))
      }
      try database.close()
    }
    #expect(folder.names() == ["a.sheaf"])
    let database = try Database.open(folder.path("a.sheaf"), options: .init(access: .readOnly))
    let table = try database.snapshot().table("apps")
    #expect(table.count == 5000)
    for index in stride(from: 0, to: 5000, by: 61) {
      let row = try #require(try table.row(at: index))
      #expect(row["name"] == .text("app \(index)"))
      #expect(row["stars"] == .int(Int64(index)))
      #expect(row["score"] == .double(Double(index) / 4))
      #expect(try table.row(forKey: row.key) == row)
    }
    try database.close()
  }

  @Test("A reader does not wait for a writer")
  func readingMeanwhile() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("apps", columns: columns) }
    try insert(database, 0..<10)
    let counts = Shared<Int>()
    let transaction = try database.beginWrite()
    try transaction.table("apps").insert([.text("new"), .int(1), .double(1)])
    let reader = try Background {
      counts.append(try database.snapshot().table("apps").count)
      counts.append(try database.read { try $0.table("apps").count })
    }
    #expect(counts.wait(for: 2))
    try transaction.commit()
    try reader.join()
    #expect(counts.list == [10, 10])
    try database.close()
  }

  @Test("A snapshot does not see later commits, and keeps its pages")
  func isolation() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("apps", columns: columns) }
    try insert(database, 0..<300)
    let before = try database.snapshot()
    for round in 0..<50 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("apps")
        for key in 1...300 { try table.update(Int64(key), ["stars": .int(Int64(-round))]) }
      }
    }
    let old = try before.table("apps")
    for index in 0..<300 {
      #expect(try old.row(at: index)?["stars"] == .int(Int64(index)))
    }
    #expect(try database.snapshot().table("apps").row(at: 5)?["stars"] == .int(-49))
    try database.close()
    #expect(try old.row(at: 7)?["stars"] == .int(7))
  }

  @Test("An error in the closure rolls everything back")
  func rollback() throws {
    struct Oops: Error {}
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("apps", columns: columns) }
    try insert(database, 0..<10)
    #expect(throws: Oops.self) {
      try database.write { transaction in
        let table = try transaction.table("apps")
        try table.deleteAll()
        try table.insert([.text("x"), .int(1), .null])
        #expect(try table.count == 1)
        throw Oops()
      }
    }
    #expect(try database.snapshot().table("apps").count == 10)
    try insert(database, 10..<20)
    #expect(try database.snapshot().table("apps").count == 20)
    try database.close()
  }

  @Test("A bad value names table, column and value")
  func badValue() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("apps", columns: columns) }
    let error = try #require(throws: EngineError.self) {
      try database.write { try $0.table("apps").insert(["stars": .text("many")]) }
    }
    let text = "\(error)"
    #expect(text.contains("apps") && text.contains("stars") && text.contains("many"))
    #expect(try database.snapshot().table("apps").count == 0)
    try database.close()
  }

  @Test("A transaction inside a transaction throws")
  func nested() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    try database.write { transaction in
      #expect(throws: EngineError.nestedTransaction(path: database.path)) {
        try database.write { _ in }
      }
      #expect(throws: EngineError.nestedTransaction(path: database.path)) {
        try second.write { _ in }
      }
      try transaction.createTable("apps", columns: columns)
    }
    #expect(try second.snapshot().tableNames == ["apps"])
    try database.close()
    try second.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Using a table after its transaction throws")
  func escapedTable() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    var escaped: WritableTable?
    try database.write { transaction in
      try transaction.createTable("apps", columns: columns)
      escaped = try transaction.table("apps")
    }
    #expect(throws: EngineError.transactionEnded) { _ = try escaped?.count }
    try database.close()
  }
}
