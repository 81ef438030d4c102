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
    for failing in [1, 2, 3] {
      // For a writer that rests, and behind which another has come, the first unlocking is that of its
      // seat, the second that of the registration, and, if another comes again, the third that of its
      // new seat.
      asked.withLock { $0 = 0 }
      database.queue.refusesToUnlock = {
        asked.withLock { count in
          count += 1
          return count == failing
        }
      }
      let row: [Value] = [.int(Int64(failing))]
      Self.comes(to: database)
      if failing == 2 {
        #expect(throws: EngineError.self) {
          try database.write { _ = try $0.table("t").insert(row) }
        }
      } else {
        try database.write {
          _ = try $0.table("t").insert(row)
          Self.comes(to: database)
        }
      }
      #expect(asked.withLock(\.self) >= failing)
      database.queue.refusesToUnlock = nil
      // A handle of its own stands for another process.
      let other = try Database.open(folder.path("a.sheaf"))
      try other.write { _ = try $0.table("t").insert([.int(9)]) }
      try other.close()
      // Something rests then.
      try database.write { _ = try $0.table("t").insert([.int(10)]) }
    }
    #expect(try database.snapshot().table("t").count == 8)
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  /// Takes a ticket and leaves.
  private static func comes(to database: Database) {
    _ = database.coordination.word(Coordination.Offset.nextTicket).increment()
  }

  @Test("Who comes again alone needs no lock; who comes behind another waits for it")
  func resting() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let other = try Database.open(folder.path("a.sheaf"))
    let unlocked = Guarded(0)
    database.queue.refusesToUnlock = {
      unlocked.withLock { $0 += 1 }
      return false
    }
    for _ in 0..<5 { database.queue.leave(try database.queue.enter()) }
    // The first one's registration.
    #expect(unlocked.withLock(\.self) == 1)
    #expect(!database.othersWait && !other.othersWait)
    // The other does not wait for a writer that rests, and that one does not take its seat while the
    // other has its turn.
    let turn = try other.queue.enter(waiting: Waiting(seconds: 0.1))
    #expect(throws: CoordinationError.self) {
      _ = try database.queue.enter(waiting: Waiting(seconds: 0.1))
    }
    other.queue.leave(turn)
    let again = try database.queue.enter(waiting: Waiting(seconds: 0.1))
    #expect(throws: CoordinationError.self) {
      _ = try other.queue.enter(waiting: Waiting(seconds: 0.1))
    }
    database.queue.leave(again)
    other.queue.leave(try other.queue.enter(waiting: Waiting(seconds: 0.1)))
    try database.close()
    try other.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("However many have written something, there are seats for others")
  func restingSeatsAreLimited() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    var queues: [WriterQueue] = []
    for _ in 0...Coordination.Offset.seatCount {
      let queue = WriterQueue(database.coordination, waiting: Waiting(seconds: 1))
      queue.leave(try queue.enter())
      queues.append(queue)
    }
    for queue in queues { queue.leave(try queue.enter()) }
    try database.close()
  }

  @Test("A seat whose unlocking failed is free again, however often that happens")
  func seatsComeBack() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let asked = Guarded(0)
    for _ in 0...Coordination.Offset.seatCount {
      asked.withLock { $0 = 0 }
      // The second unlocking is that of the seat, which is given up because another writer has come.
      database.queue.refusesToUnlock = {
        asked.withLock { count in
          count += 1
          return count == 2
        }
      }
      let turn = try database.queue.enter()
      Self.comes(to: database)
      database.queue.leave(turn)
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
    // As after `checkLockFile`, which transactions call first.
    #expect(throws: CoordinationError.lockFileLost(database.coordination.path)) {
      _ = try database.queue.enter()
    }
    try System.rename(moved, to: lock)
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    try database.close()
  }
}
