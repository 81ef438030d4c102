import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Nobody waits for ever for what another process holds and does not release.
@Suite("Waiting for others", .timeLimit(.minutes(60)))
struct WaitingTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("a.sheaf") }

  private func options(_ seconds: Double, _ access: Database.Options.Access = .create)
    -> Database.Options
  {
    var options = Database.Options(access: access)
    options.waiting = Waiting(seconds: seconds)
    return options
  }

  private func create() throws -> Database {
    let database = try Database.open(path, options: options(0.2))
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    return database
  }

  /// A lock of another process.
  private final class ForeignLock: Sendable {
    private let descriptor: Int32

    init(_ path: String, _ kind: System.LockKind, _ byte: Int) throws {
      descriptor = try System.openRegular(path, writable: kind == .exclusive)
      #expect(
        try System.lock(descriptor, kind, at: byte, length: 1, wait: false, path: path))
    }

    func end() { System.close(descriptor) }
  }

  private func expectBusy(
    _ parts: String..., atLeast: Double = 0.15, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let began = System.monotonicNanoseconds
    let error = #expect(throws: EngineError.self, sourceLocation: sourceLocation) { try body() }
    let seconds = Double(System.monotonicNanoseconds - began) / 1e9
    #expect(seconds > atLeast && seconds < 10, sourceLocation: sourceLocation)
    guard case .busy(let named, let reason) = error else {
      Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
    #expect(named == path, sourceLocation: sourceLocation)
    for part in parts {
      #expect(reason.contains(part), "\(reason)", sourceLocation: sourceLocation)
    }
  }

  @Test(
    "Opening, writing and closing end while somebody is stuck in opening the file",
    arguments: [System.LockKind.exclusive, .shared])
  func registration(kind: System.LockKind) throws {
    let database = try create()
    let other = try Database.open(path, options: options(0.2))
    let lock = try ForeignLock(path + "-lock", kind, Coordination.LockByte.registration)
    for access in [Database.Options.Access.create, .existing, .readOnly] {
      expectBusy(
        "is just opening the file", "it was waited for 0.2 seconds", "fuser", "a.sheaf-lock"
      ) {
        _ = try Database.open(path, options: options(0.2, access))
      }
    }
    expectBusy("is just opening the file") { try other.write { _ in } }
    // Readers do not notice it, nor a writer that writes again before anybody else.
    try database.write { _ in }
    #expect(try database.snapshot().table("t").count == 0)
    // Nor does closing wait for it: another handle will cut off the file's end.
    try other.close()
    lock.end()
    try database.write { try $0.table("t").insert([.int(1)]) }
    try Database.open(path, options: options(0)).close()
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Opening ends while a compaction has the file, and says whose it is")
  func presence() throws {
    let database = try create()
    #expect(try database.coordination.becomeAlone())
    let own = "process \(System.processIdentifier), which has the file for itself alone"
    for access in [Database.Options.Access.create, .existing, .readOnly] {
      expectBusy(own, "wait longer") {
        _ = try Database.open(path, options: options(0.2, access))
      }
    }
    // The system does not say who holds a lock: no message may name a process that has ended.
    database.coordination.word(Coordination.Offset.alone).store(UInt64(Int32.max))
    expectBusy("a process that has the file for itself alone") {
      _ = try Database.open(path, options: options(0.2))
    }
    #expect(throws: EngineError.self) { try Database.deleteFiles(at: path) }
    try database.coordination.shareAgain()
    try Database.open(path, options: options(0)).close()
    #expect(database.coordination.word(Coordination.Offset.alone).load() == 0)
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Who waits is told after a second, once, and can stop")
  func notice() throws {
    let database = try create()
    #expect(try database.coordination.becomeAlone())
    let told = Shared<String>()
    let began = System.monotonicNanoseconds
    var options = options(30)
    options.waiting.notice = { told.append($0) }
    options.waiting.shouldStop = { System.monotonicNanoseconds - began > 1_300_000_000 }
    #expect(throws: EngineError.cancelled) { _ = try Database.open(path, options: options) }
    #expect(told.list.count == 1)
    #expect(told.list.first?.hasPrefix("process \(System.processIdentifier), which has") == true)
    // The wait ends as soon as the lock is free.
    options.waiting.shouldStop = nil
    let waiter = try Background { [path, options] in
      try Database.open(path, options: options).close()
    }
    System.sleep(milliseconds: 200)
    try database.coordination.shareAgain()
    try waiter.join()
    #expect(told.list.count == 1)
    try database.close()
  }

  @Test("What somebody has for a moment is waited for, however little is to be waited")
  func moment() throws {
    let database = try create()
    for seconds in [0, -1, .nan, -.infinity] as [Double] {
      let lock = try ForeignLock(path + "-lock", .exclusive, Coordination.LockByte.registration)
      let owner = try Background {
        System.sleep(milliseconds: 30)
        lock.end()
      }
      try Database.open(path, options: options(seconds)).close()
      try owner.join()
    }
    try database.close()
  }

  @Test("Closing and trimming do not wait for ever for another handle's transaction")
  func closing() throws {
    let database = try create()
    try database.write { try $0.table("t").insert([.int(1)]) }
    let other = try Database.open(path, options: options(0.2))
    let isIn = Shared<Bool>()
    let mayEnd = Shared<Bool>()
    let writer = try Background {
      try other.write { transaction in
        try transaction.table("t").insert([.int(2)])
        isIn.append(true)
        #expect(mayEnd.wait(for: 1))
      }
    }
    #expect(isIn.wait(for: 1))
    let began = System.monotonicNanoseconds
    #expect(try !database.trim())
    try database.close()
    #expect(System.monotonicNanoseconds - began < 5_000_000_000)
    // Declaring a schema takes a transaction, for which opening has the same limit.
    var declared = options(0.2)
    declared.schema = Schema(version: 1, tables: [.init("u", columns: [Column("b", .int)])])
    expectBusy("process \(System.processIdentifier), which is in a write transaction") {
      _ = try Database.open(path, options: declared)
    }
    mayEnd.append(true)
    try writer.join()
    #expect(try other.snapshot().table("t").count == 2)
    #expect(try other.check().problems == [])
    try other.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("An import's or a compaction's lock on the file leaves others to their transactions")
  func job() throws {
    var patience = Patience(seconds: 0)
    let job = try JobLock(path, creates: true, &patience)
    try create().close()
    withExtendedLifetime(job) {}
  }

  // MARK: Who may open the lock file

  private func permissions(_ path: String) throws -> UInt32 {
    try System.status(path: path).permissions
  }

  @Test(
    "The lock file has the database's permissions, and gets them when they have changed",
    arguments: [0o600, 0o640, 0o660, 0o644, 0o666, 0o604, 0o400, 0o444] as [UInt32])
  func permissions(wanted: UInt32) throws {
    try create().close()
    #expect(chmod(path, wanted) == 0)
    let first = try Database.open(path, options: options(1, .readOnly))
    #expect(try permissions(path + "-lock") == wanted | 0o600)
    for other in [0o644, 0o600, wanted] {
      #expect(chmod(path, other) == 0)
      try Database.open(path, options: options(1, .readOnly)).close()
      #expect(try permissions(path + "-lock") == other | 0o600)
      // Or a lock file of an earlier Sheaf.
      #expect(chmod(path + "-lock", 0o644) == 0)
      try Database.open(path, options: options(1, .readOnly)).close()
      #expect(try permissions(path + "-lock") == other | 0o600)
    }
    try first.close()
  }

  @Test(
    "Who may not read a database cannot lock its lock file; its owner can while root has it open",
    .enabled(
      if: getuid() == 0 && TemporaryFolder.canBeEnteredByOthers,
      "only root can become another user, who must be able to enter the folder"))
  func otherUser() async throws {
    #expect(chmod(folder.path(""), 0o777) == 0)
    try create().close()
    #expect(chmod(path, 0o600) == 0)
    let database = try Database.open(path)
    await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
      guard setgid(65534) == 0, setuid(65534) == 0 else { exit(2) }
      let lockFile = path + "-lock"
      do throws(SystemError) {
        System.close(try System.open(lockFile, .readOnly))
      } catch {
        exit(error.isReadOnly ? 7 : 3)
      }
      exit(4)
    }
    #expect(chown(path, 65534, 65534) == 0)
    try Database.open(path).close()
    let status = try System.status(path: path + "-lock")
    #expect((status.owner, status.group, status.permissions) == (65534, 65534, 0o600))
    await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
      guard setgid(65534) == 0, setuid(65534) == 0 else { exit(2) }
      let database = try Database.open(path)
      try database.write { try $0.table("t").insert([.int(2)]) }
      try database.close()
      exit(7)
    }
    #expect(try database.snapshot().table("t").count == 1)
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }
}
