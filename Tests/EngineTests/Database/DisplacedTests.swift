import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// A database file that is removed, moved or replaced while it is open: no commit succeeds that nobody
/// would find.
@Suite("The file of that name", .timeLimit(.minutes(60)))
struct DisplacedTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("a.sheaf") }

  enum Event: String, CaseIterable, Sendable { case removed, moved, replaced }

  private func create(rows: Int = 3) throws -> Database {
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("apps", columns: [Column("name", .text)])
      let table = try transaction.table("apps")
      for row in 0..<rows { try table.insert([.text("app \(row)")]) }
    }
    return database
  }

  private func happen(_ event: Event) throws {
    switch event {
    case .removed: try System.remove(path)
    case .moved: try System.rename(path, to: folder.path("b.sheaf"))
    case .replaced:
      try Data("a backup".utf8).write(to: URL(fileURLWithPath: folder.path("backup")))
      try System.rename(folder.path("backup"), to: path)
    }
  }

  private func expectDisplaced(_ event: Event, _ body: () throws -> Void) {
    let error = #expect(throws: EngineError.self, "\(event)") { try body() }
    guard case .displaced(let named, let reason) = error else {
      Issue.record("\(event): \(String(describing: error))")
      return
    }
    #expect(named == path)
    switch event {
    case .removed: #expect(reason.contains("removed") && reason.contains("gone with it"))
    case .moved: #expect(reason.contains("moved to \(folder.path("b.sheaf"))"))
    case .replaced:
      #expect(reason.contains("removed") && reason.contains("another file has its name"))
    }
  }

  @Test("No transaction begins, and closing says so", arguments: Event.allCases)
  func before(event: Event) throws {
    let database = try create()
    var snapshot: Snapshot? = try database.snapshot()
    try happen(event)
    for durability in Durability.allCases {
      expectDisplaced(event) {
        _ = try database.write(durability: durability) {
          try $0.table("apps").insert([.text("new")])
        }
      }
    }
    // Snapshots from before stay readable.
    #expect(try snapshot?.table("apps").count == 3)
    snapshot = nil
    expectDisplaced(event) { try database.close() }
    if event == .moved {
      let moved = try Database.open(folder.path("b.sheaf"))
      #expect(try moved.snapshot().table("apps").count == 3)
      try moved.close()
    }
    if event == .replaced {
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("a backup".utf8))
    }
  }

  @Test(
    "Within a transaction: its commit says so, whatever the durability", arguments: Event.allCases)
  func during(event: Event) throws {
    for durability in Durability.allCases {
      let folder = DisplacedTests()
      let database = try folder.create()
      let transaction = try database.beginWrite()
      try transaction.table("apps").insert([.text("new")])
      try folder.happen(event)
      if durability == .group {
        // The failure comes when the result is asked for; `close` must fail, too.
        try transaction.commit(durability: .group)
        let error = #expect(throws: EngineError.self) { try database.flush() }
        #expect("\(String(describing: error))".contains("ed while it was open") || event == .moved)
        #expect(throws: EngineError.self) { try database.close() }
        continue
      }
      var failure: (any Error)?
      do {
        try transaction.commit(durability: durability)
      } catch {
        failure = error
      }
      folder.expectDisplaced(event) { if let failure { throw failure } }
      #expect(throws: EngineError.self) { try database.close() }
    }
  }

  @Test(
    "A file cut short from outside within a transaction: nothing is said to be committed",
    arguments: Durability.allCases)
  func cut(durability: Durability) throws {
    // Incompressible text: the part that is cut off has to be in use.
    var random = SplitMix64(seed: 1)
    func insert(_ rows: Int, into table: WritableTable) throws {
      for _ in 0..<rows {
        let words = (0..<5).map { _ in String(random.next(), radix: 36) }
        try table.insert([.text(words.joined())])
      }
    }
    for (before, after) in [(10, 20_000), (20_000, 20_000), (20_000, 0)] {
      let folder = DisplacedTests()
      let database = try folder.create()
      try database.write { try insert(20_000, into: $0.table("apps")) }
      let error = #expect(throws: EngineError.self, "\(before), \(after)") {
        try database.write(durability: durability) { transaction in
          let table = try transaction.table("apps")
          try insert(before, into: table)
          let descriptor = try System.open(folder.path, .readWrite)
          defer { System.close(descriptor) }
          let length = try System.status(descriptor, path: folder.path).size
          try System.resize(descriptor, to: length / 8192 * 4096, path: folder.path)
          try insert(after, into: table)
        }
        try database.flush()
      }
      let text = "\(String(describing: error))"
      #expect(text.contains("cut short") || text.contains("the file ends before"), "\(text)")
      #expect(throws: EngineError.self) { try database.close() }
    }
  }

  @Test("A handle that wrote says at its end that its file is gone", arguments: Event.allCases)
  func atTheEnd(event: Event) throws {
    let database = try create()
    try happen(event)
    expectDisplaced(event) { try database.close() }
    // A handle that has only read does not fail.
    if event == .moved { try System.rename(folder.path("b.sheaf"), to: path) }
    guard event == .moved else { return }
    let reader = try Database.open(path)
    try happen(event)
    try reader.close()
  }

  @Test("Who opens the file that has taken an open one's place is refused until that one is closed")
  func openedAfterwards() throws {
    try create().close()
    let backup = folder.path("backup")
    try FileManager.default.copyItem(atPath: path, toPath: backup)
    let reader = try Database.open(path)
    try System.rename(backup, to: path)
    for access in [Database.Options.Access.create, .existing, .readOnly] {
      let error = #expect(throws: EngineError.self) {
        _ = try Database.open(path, options: .init(access: access))
      }
      #expect("\(String(describing: error))".contains("was replaced while others have"))
    }
    #expect(try reader.snapshot().table("apps").count == 3)
    try reader.close()
    let opened = try Database.open(path)
    #expect(try opened.snapshot().table("apps").count == 3)
    try opened.close()
  }

  @Test("Where others have a removed file open, none is created and none is read in its place")
  func openedAfterRemoval() throws {
    try create().close()
    let reader = try Database.open(path)
    try System.remove(path)
    for isEmpty in [false, true] {
      if isEmpty { try Data().write(to: URL(fileURLWithPath: path)) }
      let error = #expect(throws: EngineError.self) { _ = try Database.open(path) }
      #expect("\(String(describing: error))".contains("was replaced while others have"))
      #expect(folder.names().contains("a.sheaf") == isEmpty)
    }
    try reader.close()
    try Database.open(path).close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test(
    "A compaction does not overwrite what was put in place meanwhile", arguments: Event.allCases)
  func compaction(event: Event) throws {
    let database = try create(rows: 1000)
    var isDone = false
    expectDisplaced(event) {
      _ = try database.compact {
        if !isDone { try? happen(event) }
        isDone = true
        return false
      }
    }
    #expect(isDone)
    #expect(!folder.names().contains("a.sheaf-temporary"))
    if event == .replaced {
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("a backup".utf8))
    }
    #expect(throws: EngineError.self) { try database.close() }
  }

  @Test(
    "A handle's first write makes the file's name durable before anything is acknowledged",
    arguments: Durability.allCases)
  func nameIsFlushed(durability: Durability) throws {
    let first = try Journal()
    try first.commit(.full) { transaction, model in
      try transaction.createTable("apps", columns: RandomChanges.fewColumns)
      model.tables["apps"] = Model.Table(columns: RandomChanges.fewColumns)
    }
    // The file as another process left it, which may have been killed after a rename.
    let storage = RecordingStorage(first.storage.content)
    let next = try Journal(
      reopening: storage, contents: [(first.model, first.model.digest)], options: .tiny)
    for round in 0..<3 {
      try next.commit(durability) { transaction, _ in
        try transaction.table("apps").editor.setNote("round", [UInt8(round)])
      }
    }
    try next.flush()
    // The slot that the other process wrote, perhaps without a flush, is flushed first of all.
    let operations = storage.log.filter(\.isOperation)
    if case .write(let offset, let bytes)? = operations.first,
      case .flushBegan? = operations.dropFirst().first
    {
      #expect([0, Layout.pageBytes].contains(offset))
      #expect(bytes[...] == first.storage.content[offset..<offset + Layout.pageBytes])
    } else {
      Issue.record("\(operations.prefix(2))")
    }
    var flushes = 0
    for entry in storage.log {
      if case .nameFlushed = entry { flushes += 1 }
      if case .acknowledged = entry { #expect(flushes == 1) }
    }
    #expect(flushes == 1)
  }
}
