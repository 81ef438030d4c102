import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// What becomes of a database's file that a compaction has replaced, and how many files a process may have
/// open.
@Suite("Replaced files")
struct ReplacedFileTests {
  /// The files of a folder that this process has open, without lock files.
  private func open(in folder: TemporaryFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }.filter { $0.hasPrefix(folder.path("")) && !$0.contains("-lock") }
  }

  private func isUnsupported() -> Bool { !FileManager.default.fileExists(atPath: "/proc/self/fd") }

  private func filled(_ path: String) throws -> Database {
    let database = try Database.open(path, options: .init(durability: .none))
    try database.write { try $0.createTable("t", columns: [Column("n", .int)]) }
    return database
  }

  private func add(_ database: Database, _ number: Int64) throws {
    try database.write { _ = try $0.table("t").insert([.int(number)]) }
  }

  @Test("A compaction closes the file that it replaces, once no snapshot reads it")
  func compaction() throws {
    if isUnsupported() { return }
    let folder = TemporaryFolder()
    let database = try filled(folder.path("a.sheaf"))
    for round in 1...4 {
      try add(database, Int64(round))
      #expect(try database.compact().decision == .compacted)
      #expect(try open(in: folder) == [folder.path("a.sheaf")])
    }
    var held: Snapshot? = try database.snapshot()
    try add(database, 5)
    let skipped = try database.compact()
    #expect(skipped.decision != .compacted)
    #expect(try held?.table("t").count == 4)
    held = nil
    try database.close()
    #expect(try open(in: folder) == [])
  }

  @Test("Opening with shouldCompact closes the file that it replaces; closing closes all")
  func compactionAtOpen() throws {
    if isUnsupported() { return }
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let first = try filled(path)
    for number in 0..<200 { try add(first, Int64(number)) }
    try first.close()
    #expect(try open(in: folder) == [])
    var options = Database.Options()
    options.shouldCompact = { _, _ in true }
    let database = try Database.open(path, options: options)
    #expect(database.compactionAtOpen?.decision == .compacted)
    #expect(try open(in: folder) == [path])
    // Snapshots stay readable, and with them the file.
    var snapshot: Snapshot? = try database.snapshot()
    try database.close()
    #expect(try snapshot?.table("t").count == 200)
    #expect(try open(in: folder) == [path])
    snapshot = nil
    #expect(try open(in: folder) == [])
  }

  @Test("Replaced parts stay while a thread may be about to use them", arguments: [false, true])
  func readers(another: Bool) throws {
    if isUnsupported() { return }
    let folder = TemporaryFolder()
    let database = try filled(folder.path("a.sheaf"))
    // As a thread that has loaded the pointer, and has not retained the object yet.
    let reader = database.current.enter()
    try add(database, 1)
    #expect(try database.compact().decision == .compacted)
    #expect(try open(in: folder).count == 2)
    if another {
      // A later reader, who has loaded the new pointer.
      let other = database.current.enter()
      #expect(other != reader)
      database.current.leave(reader)
      database.current.releaseReplaced()
      database.current.releaseReplaced()
      database.current.leave(other)
    } else {
      database.current.leave(reader)
    }
    // Tried again at the end of a transaction.
    try add(database, 2)
    #expect(try open(in: folder) == [folder.path("a.sheaf")])
    try database.close()
  }

  @Test("Threads read while compactions replace the file")
  func threads() throws {
    let folder = TemporaryFolder()
    let database = try filled(folder.path("a.sheaf"))
    let (done, failures) = (AtomicWord.allocate(), AtomicWord.allocate())
    defer {
      done.deallocate()
      failures.deallocate()
    }
    let threads = (0..<3).map { _ in
      Thread {
        var last = 0
        while done.load() & 1 == 0 {
          do {
            let count = try Int(database.snapshot().table("t").count)
            if count < last { _ = failures.increment() }
            last = count
            _ = try database.newestVersion
          } catch {
            _ = failures.increment()
          }
          System.sleep(milliseconds: 1)
        }
      }
    }
    for thread in threads { thread.start() }
    var compactions = 0
    for round in 0..<Effort.rounds(40, long: 2000) {
      try add(database, Int64(round))
      // Busy while a snapshot is held.
      compactions += try database.compact().decision == .compacted ? 1 : 0
    }
    done.store(1)
    while threads.contains(where: { !$0.isFinished }) { System.sleep(milliseconds: 1) }
    #expect(failures.load() == 0 && compactions > 0)
    #expect(try database.check(deep: true).problems == [])
    try database.close()
  }

  @Test("Closing waits for a compaction of another thread")
  func closing() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let first = try filled(path)
    try add(first, 1)
    try first.close()
    // It has written nothing, so that closing takes no turn among the writers.
    let database = try Database.open(path)
    let state = AtomicWord.allocate()
    defer { state.deallocate() }
    let thread = Thread {
      try? database.close()
      _ = state.raise(to: 2)
    }
    var wasClosed = false
    let result = try database.compact {
      if state.raise(to: 1) {
        thread.start()
        System.sleep(milliseconds: 200)
        wasClosed = state.load() == 2
      }
      return false
    }
    #expect(result.decision == .compacted && state.load() > 0 && !wasClosed)
    while state.load() < 2 { System.sleep(milliseconds: 1) }
    #expect(throws: EngineError.self) { try database.snapshot() }
    if !isUnsupported() { #expect(try open(in: folder) == []) }
  }

  /// The addresses that the process has reserved, in GiB; 0 where the system does not tell.
  private func reservedAddresses() throws -> Int {
    if isUnsupported() { return 0 }
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmSize:") }
    return (line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first)
      .flatMap { Int($0) }.map { $0 >> 20 } ?? 0
  }

  @Test("A process may have hundreds of files open, which leave addresses for others")
  func many() throws {
    let folder = TemporaryFolder()
    let before = try reservedAddresses()
    var databases: [Database] = []
    for number in 0..<180 {
      let database = try filled(folder.path("\(number).sheaf"))
      try add(database, Int64(number))
      databases.append(database)
    }
    for (number, database) in databases.enumerated() {
      #expect(try database.snapshot().table("t").count == 1, "\(number)")
      if number == 0 { #expect(try reservedAddresses() - before < 180 * 64) }
      try database.close()
    }
  }
}
