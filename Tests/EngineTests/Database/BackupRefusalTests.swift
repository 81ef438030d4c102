import Foundation
import TestSupport
import Testing

@testable import Engine

/// What a backup or its restoration must not replace stays as it is.
@Suite("Backups refused")
struct BackupRefusalTests {
  @Test("A copy of the same number that went another way is left alone")
  func anotherWay() throws {
    let folder = TemporaryFolder()
    let (path, one, other) = (
      folder.path("a.sheaf"), folder.path("one.sheaf"), folder.path("other.sheaf")
    )
    let database = try Database.open(path)
    try database.write { try $0.createTable("t", columns: [Column("n", .int)]) }
    _ = try database.backup(to: one)
    _ = try database.backup(to: other)
    try database.write { _ = try $0.table("t").insert([.int(1)]) }
    _ = try database.backup(to: one)
    try database.close()
    _ = try Database.restore(other, to: path, replacing: true)
    let again = try Database.open(path)
    #expect(try again.backup(to: other).decision == .unchanged)
    try again.write { _ = try $0.table("t").insert([.int(2)]) }
    let before = try Data(contentsOf: URL(fileURLWithPath: one))
    #expect {
      _ = try again.backup(to: one)
    } throws: { error in
      guard case EngineError.otherDatabase(_, let why)? = error as? EngineError else {
        return false
      }
      return why.contains("different ways")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: one)) == before)
    #expect(try again.backup(to: other).decision == .updated)
    try again.close()
  }

  @Test("What is no copy of it, or was written to, or is newer, is left alone")
  func refused() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let copyPath = folder.path("copy.sheaf")
    let database = try Database.open(path)
    try database.write { try $0.createTable("t", columns: [Column("n", .int)]) }
    func isRefused(_ reason: String, _ body: () throws -> BackupResult) throws {
      let before = try Data(contentsOf: URL(fileURLWithPath: copyPath))
      #expect {
        _ = try body()
      } throws: { error in
        guard case EngineError.otherDatabase(_, let why)? = error as? EngineError else {
          return false
        }
        return why.contains(reason)
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: copyPath)) == before)
    }
    try database.writeCopy(to: copyPath)
    try isRefused("another database") { try database.backup(to: copyPath) }
    #expect(try database.backup(to: copyPath, replacing: true).decision == .copied)
    let copy = try Database.open(copyPath)
    try copy.write { _ = try $0.table("t").insert([.int(1)]) }
    try copy.close()
    try isRefused("written to since") { try database.backup(to: copyPath) }
    // An open database is not replaced, nor one that is newer.
    #expect {
      _ = try Database.restore(copyPath, to: path, replacing: true)
    } throws: { error in
      if case EngineError.busy? = error as? EngineError { return true }
      return false
    }
    _ = try database.backup(to: copyPath, replacing: true)
    try database.write { _ = try $0.table("t").insert([.int(2)]) }
    try database.close()
    #expect {
      _ = try Database.restore(copyPath, to: path)
    } throws: { error in
      if case EngineError.otherDatabase(_, let why)? = error as? EngineError {
        return why.contains("would be lost")
      }
      return false
    }
    _ = try Database.restore(copyPath, to: path, replacing: true)
    let back = try Database.open(path)
    #expect(try back.snapshot().table("t").count == 0)
    // The database gives the number of the copy's version to other contents: the backup must notice.
    try back.write { _ = try $0.table("t").insert([.int(3)]) }
    _ = try back.backup(to: copyPath)
    let former = try Database.open(copyPath, options: Database.Options(access: .readOnly))
    #expect(try former.snapshot().table("t").count == 1)
    try former.close()
    try back.close()
    try Data("something else".utf8).write(to: URL(fileURLWithPath: folder.path("x")))
    #expect(throws: (any Error).self) {
      _ = try Database.restore(copyPath, to: folder.path("x"), replacing: true)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("x"))).count == 14)
  }
}
