import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

@Suite("The writers' queue when something goes wrong")
struct WriterQueueTests {
  @Test("A commit stays a success, and the next writer gets its turn")
  func failingUnlock() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    let asked = Guarded(0)
    for failing in [1, 2] {
      // The first unlocking of a write is that of the registration, the second that of the seat.
      asked.withLock { $0 = 0 }
      database.queue.refusesToUnlock = {
        asked.withLock { count in
          count += 1
          return count == failing
        }
      }
      let row: [Value] = [.int(Int64(failing))]
      if failing == 1 {
        #expect(throws: EngineError.self) {
          try database.write { _ = try $0.table("t").insert(row) }
        }
      } else {
        try database.write { _ = try $0.table("t").insert(row) }
      }
      database.queue.refusesToUnlock = nil
      // In another process's place: a handle of its own.
      let other = try Database.open(folder.path("a.sheaf"))
      try other.write { _ = try $0.table("t").insert([.int(9)]) }
      try other.close()
    }
    #expect(try database.snapshot().table("t").count == 3)
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("A seat whose unlocking failed is free again, however often that happens")
  func seatsComeBack() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let asked = Guarded(0)
    for _ in 0...Coordination.Offset.seatCount {
      asked.withLock { $0 = 0 }
      // The second unlocking is that of the seat.
      database.queue.refusesToUnlock = {
        asked.withLock { count in
          count += 1
          return count == 2
        }
      }
      database.queue.leave(try database.queue.enter())
      #expect(asked.withLock(\.self) == 2)
    }
    database.queue.refusesToUnlock = nil
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Nobody queues at another file that has just taken the lock file's name")
  func anotherFile() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let (lock, moved) = (folder.path("a.sheaf-lock"), folder.path("moved"))
    try System.rename(lock, to: moved)
    try FileManager.default.copyItem(atPath: moved, toPath: lock)
    // As after `checkLockFile`, which a transaction asks first.
    #expect(throws: CoordinationError.lockFileLost(database.coordination.path)) {
      _ = try database.queue.enter()
    }
    try System.rename(moved, to: lock)
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    try database.close()
  }
}
