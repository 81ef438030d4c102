import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Copying, compacting and deleting database files, beside their users.
@Suite("Files and their users", .timeLimit(.minutes(60)))
struct FilesTests {
  private static let columns = [Column("name", .text), Column("stars", .int)]

  private static func create(_ path: String, rows: Int = 0) throws -> Database {
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("apps", columns: columns)
      let table = try transaction.table("apps")
      for row in 0..<rows { try table.insert([.text("app \(row &* 7919)"), .int(Int64(row))]) }
    }
    return database
  }

  private static func size(_ path: String) throws -> Int { try System.status(path: path).size }

  private static func rows(_ snapshot: Snapshot) throws -> [Row] {
    var rows: [Row] = []
    try snapshot.table("apps").forEachRow { rows.append($0) }
    return rows
  }

  // MARK: deleteFiles

  @Test(
    "deleteFiles removes the database, its lock file and a temporary; false where there is none")
  func delete() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    #expect(try !Database.deleteFiles(at: path))
    #expect(try !Database.deleteFiles(at: folder.path("no/such/folder.sheaf")))
    #expect(folder.names() == [])
    try Self.create(path, rows: 10).close()
    // Files that a killed process and a killed compaction leave.
    for (name, mark) in [("a.sheaf-lock", "SheafLck"), ("a.sheaf-temporary", "SheafTmp")] {
      try Data((mark + "123").utf8).write(to: URL(fileURLWithPath: folder.path(name)))
    }
    try Data([9]).write(to: URL(fileURLWithPath: folder.path("a.sheaf.txt")))
    #expect(try Database.deleteFiles(at: path))
    #expect(folder.names() == ["a.sheaf.txt"])
    #expect(try !Database.deleteFiles(at: path))
    let again = try Self.create(path)
    #expect(try again.snapshot().table("apps").count == 0)
    try again.close()
  }

  @Test("deleteFiles refuses a database in use, also by a snapshot that outlived its handle")
  func deleteInUse() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Self.create(path, rows: 10)
    var snapshot: Snapshot? = try database.snapshot()
    for _ in 0..<2 {
      let error = #expect(throws: EngineError.self) { try Database.deleteFiles(at: path) }
      guard case .busy = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(try snapshot.map { try Self.rows($0).count } == 10)
      try database.close()
    }
    snapshot = nil
    #expect(try Database.deleteFiles(at: path))
    #expect(folder.names() == [])
  }

  @Test("deleteFiles refuses a database that another process has open")
  func deleteInUseElsewhere() async throws {
    let folder = TemporaryFolder()
    let (path, ready, go) = (folder.path("a.sheaf"), folder.path("ready"), folder.path("go"))
    try Self.create(path, rows: 1).close()
    let parent = try Background {
      while !FileManager.default.fileExists(atPath: ready) { System.sleep(milliseconds: 2) }
      #expect(throws: EngineError.self) { try Database.deleteFiles(at: path) }
      _ = FileManager.default.createFile(atPath: go, contents: nil)
    }
    await #expect(processExitsWith: .success) {
      [path = path as String, ready = ready as String, go = go as String] in
      let database = try Database.open(path, options: .init(access: .readOnly))
      _ = FileManager.default.createFile(atPath: ready, contents: nil)
      while !FileManager.default.fileExists(atPath: go) { System.sleep(milliseconds: 2) }
      guard try database.snapshot().table("apps").count == 1 else { exit(3) }
      // The process may be killed or end: its locks end with it.
      exit(0)
    }
    try parent.join()
    #expect(try Database.deleteFiles(at: path))
    #expect(folder.names() == ["go", "ready"])
  }

  @Test("deleteFiles leaves what is no database alone")
  func deleteForeign() throws {
    let folder = TemporaryFolder()
    let path = folder.path("letters.txt")
    try Data(repeating: 65, count: 100_000).write(to: URL(fileURLWithPath: path))
    #expect(throws: EngineError.self) { try Database.deleteFiles(at: path) }
    #expect(throws: EngineError.self) { try Database.deleteFiles(at: folder.url.path) }
    #expect(folder.names() == ["letters.txt"])
    #expect(try Self.size(path) == 100_000)
  }

  @Test("Opening and deleting in a hurry: each who opens has a database of its own")
  func openWhileDeleting() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let problems = Shared<String>()
    let opened = Shared<Bool>()
    let threads = try (0..<3).map { who in
      try Thread(name: "opener") {
        for _ in 0..<60 {
          do {
            if who == 0 {
              try Database.deleteFiles(at: path)
              continue
            }
            let database = try Database.open(path)
            try database.write { transaction in
              if transaction.tableNames.isEmpty {
                try transaction.createTable("apps", columns: Self.columns)
              }
              try transaction.table("apps").insert([.text("x"), .int(1)])
            }
            opened.append(true)
            try database.close()
          } catch EngineError.busy {
          } catch {
            problems.append("\(error)")
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(problems.list == [])
    #expect(opened.list.count == 120)
  }

  // MARK: Compaction

  @Test("Compaction at open happens when the policy says so and nobody else is there")
  func compactionAtOpen() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let first = try Self.create(path, rows: 3000)
    for _ in 0..<5 {
      try first.write { transaction in
        for key in 1...3000 {
          try transaction.table("apps").update(Int64(key), ["stars": .int(Int64(key &* 31))])
        }
      }
    }
    let asked = Shared<[Int]>()
    var options = Database.Options()
    options.shouldCompact = { total, used in
      asked.append([total, used])
      return true
    }
    let second = try Database.open(path, options: options)
    #expect(second.compactionAtOpen?.decision == .skippedInUse)
    #expect(second.compactionAtOpen?.reason?.contains("has the file open") == true)
    try second.close()
    try first.close()
    let before = try Self.size(path)
    let third = try Database.open(path, options: options)
    #expect(third.compactionAtOpen?.decision == .compacted)
    #expect(third.compactionAtOpen?.before == before)
    #expect(try third.compactionAtOpen?.after == Self.size(path))
    #expect(try Self.size(path) < before)
    #expect(try third.check().problems == [])
    #expect(asked.list.allSatisfy { $0[0] >= $0[1] && $0[1] > 0 } && asked.list.count == 2)
    try third.close()
    options.shouldCompact = { _, _ in false }
    let fourth = try Database.open(path, options: options)
    #expect(fourth.compactionAtOpen == nil)
    try fourth.close()
  }

  @Test("All deleted, then compacted: next to nothing is left")
  func deletedAndCompacted() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Self.create(path)
    // In one transaction, which grew a file of 6 MB to 76 MB in other databases.
    try database.write { transaction in
      let table = try transaction.table("apps")
      for row in 0..<20_000 {
        try table.insert([.text("app \(row &* 7919) \(row &* 104_729)"), .int(Int64(row))])
      }
    }
    let full = try Self.size(path)
    #expect(full > 200_000)
    try database.write { try $0.table("apps").deleteAll() }
    let use = try database.fileUse()
    #expect(use.used <= 6 * Layout.pageBytes && use.free > use.total / 2)
    let result = try database.compact()
    #expect(result.decision == .compacted && result.before >= full)
    // Two slots; the catalogue and a schema.
    #expect(result.after <= 4 * Layout.pageBytes)
    #expect(try Self.size(path) == result.after)
    #expect(try database.check().problems == [])
    // Keys are not given twice.
    let key = try database.write { try $0.table("apps").insert([.text("new"), .int(1)]) }
    #expect(key == 20_001)
    try database.close()
    #expect(try Self.size(path) <= 8 * Layout.pageBytes)
  }

  // MARK: Copies

  @Test("Copies made while others read and write are whole versions", arguments: [3 as UInt64, 4])
  func copies(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let database = try Self.create(folder.path("a.sheaf"), rows: 500)
    let problems = Shared<String>()
    let isOver = Shared<Bool>()
    let threads = try (0..<3 as Range<UInt64>).map { who in
      try Thread(name: "user") {
        var random = SplitMix64(seed: seed << 8 | who)
        do {
          while isOver.list.isEmpty {
            if who == 0 {
              // The sum of the stars never changes.
              if try Self.rows(database.snapshot()).count != 500 { problems.append("rows") }
              continue
            }
            try database.write(durability: .group) { transaction in
              let table = try transaction.table("apps")
              let key = Int64.random(in: 1...250, using: &random)
              for (key, change) in [(key, 1), (key + 250, -1)] as [(Int64, Int64)] {
                guard case .int(let stars)? = try table.row(forKey: key)?["stars"] else { continue }
                try table.update(key, ["stars": .int(stars + change)])
              }
            }
          }
        } catch {
          problems.append("\(error)")
        }
      }
    }
    for number in 0..<6 {
      let destination = folder.path("copy\(number).sheaf")
      if number % 2 == 0 {
        try database.writeCopy(to: destination)
      } else {
        let snapshot = try database.snapshot()
        try snapshot.writeCopy(to: destination)
        let copy = try Database.open(destination, options: .init(access: .readOnly))
        #expect(try Self.rows(copy.snapshot()) == Self.rows(snapshot), "seed \(seed)")
        #expect(try copy.newestVersion == snapshot.version + 1)
        try copy.close()
      }
      let copy = try Database.open(destination)
      #expect(try copy.check().problems == [], "seed \(seed)")
      let stars = try Self.rows(copy.snapshot()).reduce(into: Int64(0)) {
        if case .int(let value)? = $1["stars"] { $0 += value }
      }
      #expect(stars == 500 * 499 / 2, "seed \(seed)")
      try copy.write { try $0.table("apps").insert([.text("on"), .int(0)]) }
      try copy.close()
    }
    isOver.append(true)
    for thread in threads { thread.join() }
    #expect(problems.list == [], "seed \(seed)")
    try database.close()
  }

  @Test("Outputs that are written into one folder at once leave each other alone")
  func outputsAtOnce() throws {
    let folder = TemporaryFolder()
    let first = try ReplacementFile(for: folder.path("a"), like: nil)
    let second = try ReplacementFile(for: folder.path("b"), like: nil)
    #expect(folder.names().count == 2)
    try first.putInPlace(replacing: false)
    try second.putInPlace(replacing: false)
    #expect(folder.names() == ["a", "b"])
  }

  @Test("A copy does not replace a file, and a failed one leaves none")
  func copyRefused() throws {
    let folder = TemporaryFolder()
    let database = try Self.create(folder.path("a.sheaf"), rows: 10)
    try Data([7]).write(to: URL(fileURLWithPath: folder.path("b.sheaf")))
    for name in ["b.sheaf", "a.sheaf"] {
      let error = #expect(throws: EngineError.self) {
        try database.writeCopy(to: folder.path(name))
      }
      let text = error.map { "\($0)" } ?? ""
      #expect(text.contains(name) && text.hasSuffix("(it was left as it is; choose another path)"))
    }
    #expect(throws: EngineError.self) { try database.writeCopy(to: folder.path("no/b.sheaf")) }
    #expect(try Self.size(folder.path("b.sheaf")) == 1)
    #expect(try database.check().problems == [])
    try database.close()
    #expect(folder.names() == ["a.sheaf", "b.sheaf"])
  }

  @Test(
    "A new file has the path that it has when it is there, with the links of its folder resolved")
  func newBehindLink() throws {
    let folder = TemporaryFolder()
    let files = FileManager.default
    for name in ["one", "two"] {
      try files.createDirectory(atPath: folder.path(name), withIntermediateDirectories: false)
    }
    try files.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: "one")
    let database = try Self.create(folder.path("link/a.sheaf"), rows: 10)
    #expect(database.path == (try System.resolved(folder.path("one/a.sheaf"))))
    #expect(database.path.hasSuffix("/one/a.sheaf") && database.path.hasPrefix("/"))
    // Where the link leads now does not matter.
    try files.removeItem(atPath: folder.path("link"))
    try files.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: "two")
    try database.write { _ = try $0.createTable("later", columns: [Column("a", .int)]) }
    try database.close()
    #expect(try files.contentsOfDirectory(atPath: folder.path("two")).isEmpty)
    // Names without a folder that is there stay.
    #expect(try System.resolved(folder.path("no/a")) == folder.path("no/a"))
    #expect(try System.resolved(folder.path("no/..")) == folder.path("no/.."))
  }
}
