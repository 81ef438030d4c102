import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Parts of the file that the disk cannot read.
@Suite("Unreadable files", .timeLimit(.minutes(60)))
struct UnreadableTests {
  /// Reads of bad sectors fail; an access through a mapping would end the process.
  private final class BadDisk: Storage, @unchecked Sendable {
    // @unchecked: `bad` is set before others read.
    let inner: RecordingStorage
    var bad = 0..<0
    var path: String { inner.path }
    init(_ inner: RecordingStorage) { self.inner = inner }
    func length() -> Int { inner.length() }
    func resize(to length: Int) throws(SystemError) { try inner.resize(to: length) }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      try inner.write(bytes, at: offset)
    }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int
    {
      if bad.overlaps(offset..<(offset + buffer.count)) {
        throw SystemError(operation: "read", path: path, code: 5)
      }
      return inner.read(into: buffer, at: offset)
    }
    func flush() { inner.flush() }
    func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
      if bad.overlaps(offset..<(offset + count)) { Issue.record("it would have died at \(offset)") }
      return inner.view(at: offset, count: count)
    }
  }

  @Test("check names each block that cannot be read, and goes on")
  func check() throws {
    let journal = try Journal()
    var changes = RandomChanges(seed: 11)
    for name in ["a", "b"] {
      try journal.commit(.full) { transaction, model in
        try changes.createTable(name, RandomChanges.columns, transaction, &model)
        try changes.insert(60, into: name, transaction, &model)
      }
    }
    let content = journal.storage.content
    var found = 0
    for page in 2..<(content.count / 4096) {
      let disk = BadDisk(RecordingStorage(content, isRecording: false))
      let database = try Database.open(storage: disk, options: .tiny)
      disk.bad = page * 4096..<page * 4096 + 512
      let snapshot = try? database.snapshot()
      // Taking a snapshot reads the catalogue.
      guard let snapshot,
        !disk.bad.overlaps(
          Int(snapshot.record.root.offset)..<Int(snapshot.record.root.offset)
            + Int(snapshot.record.root.length))
      else { continue }
      let report = try database.check()
      guard !report.problems.isEmpty else { continue }
      found += 1
      let reason = SystemError(operation: "", path: "", code: 5).reason
      #expect(report.unreadable > 0)
      #expect(
        report.problems.contains { $0.contains("offset") && $0.contains(reason) },
        "page \(page): \(report.problems)")
    }
    #expect(found > 3)
    #expect(try journal.database.check().unreadable == 0)
  }

  @Test("What cannot be asked for at one moment is no damage")
  func unanswered() throws {
    let journal = try Journal()
    var changes = RandomChanges(seed: 12)
    try journal.commit(.full) { transaction, model in
      try changes.createTable("a", RandomChanges.columns, transaction, &model)
      try changes.insert(60, into: "a", transaction, &model)
    }
    let disk = FailingStorage(RecordingStorage(journal.storage.content, isRecording: false))
    let database = try Database.open(storage: disk, options: .tiny)
    // An older version that is held, and a newer one.
    let held = try database.snapshot()
    try database.write { try $0.table("a").delete(1) }
    var failed: Set<FailingStorage.Kind> = []
    for kind in [FailingStorage.Kind.length, .read, .view] {
      // All of the first sectors, then some: the check of a held version takes a while.
      for number in (0...).lazy.map({ $0 < 12 ? $0 : 12 + ($0 - 12) * 11 }) {
        disk.fail(after: number, code: 5, kinds: [kind])
        guard let report = try? database.check(deep: true) else { continue }
        guard disk.failure != nil else { break }
        failed.insert(kind)
        #expect(report.isSound || report.unreadable > 0, "\(kind) \(number): \(report.problems)")
      }
      disk.fail(after: .max / 2, code: 5)
    }
    #expect(failed == [.length, .read, .view])
    let report = try database.check(deep: true)
    #expect(report.isSound && report.olderVersions == [held.version])
  }

  private static func create(_ path: String) throws -> Int {
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("apps", columns: [Column("name", .text)])
      let table = try transaction.table("apps")
      for row in 0..<20_000 { try table.insert([.text("app \(row &* 7919)")]) }
    }
    try database.close()
    return try System.status(path: path).size
  }

  @Test("A file that is cut short while it is read: the process says where, and ends with 74")
  func cutShort() async throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    #expect(try Self.create(path) > 40_000)
    let result = await #expect(
      processExitsWith: .exitCode(74), observing: [\.standardErrorContent]
    ) { [path = path as String] in
      guard Database.reportBusErrors() else { exit(3) }
      let database = try Database.open(path, options: .init(access: .readOnly))
      let table = try database.snapshot().table("apps")
      truncate(path, 12_288)
      var count = 0
      try table.forEachRow { _ in count += 1 }
      exit(4)
    }
    let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(text.contains("a.sheaf: at byte ") && text.contains("run 'sheaf check'"), "\(text)")
  }

  @Test("A program's own handler stays, and a fault elsewhere ends the process as before")
  func others() async {
    await #expect(processExitsWith: .exitCode(5)) {
      signal(SIGBUS) { _ in _exit(5) }
      guard !Database.reportBusErrors() else { exit(3) }
      raise(SIGBUS)
      exit(4)
    }
    await #expect(processExitsWith: .signal(SIGBUS)) {
      guard Database.reportBusErrors() else { exit(3) }
      raise(SIGBUS)
      exit(4)
    }
  }

  @Test("check of a file that was cut short after it was opened says so")
  func checkCut() async throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    _ = try Self.create(path)
    await #expect(processExitsWith: .exitCode(0)) { [path = path as String] in
      let database = try Database.open(path, options: .init(access: .readOnly))
      let snapshot = try database.snapshot()
      truncate(path, 12_288)
      let problems = try database.check().problems
      withExtendedLifetime(snapshot) {}
      exit(problems.contains { $0.contains("the file ends before it does") } ? 0 : 3)
    }
  }
}
