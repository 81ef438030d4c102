import Foundation
import TestSupport
import Testing

@testable import Engine

/// Files with the names of a database's lock file and temporary file that are not Sheaf's stay as they
/// are.
@Suite("Files beside the database", .timeLimit(.minutes(60)))
struct CompanionTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("a.sheaf") }

  private func create(rows: Int = 3) throws {
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("apps", columns: [Column("name", .text)])
      let table = try transaction.table("apps")
      for row in 0..<rows { try table.insert([.text("app \(row)")]) }
    }
    try database.close()
  }

  private func put(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path(name)))
  }

  private func text(_ name: String) -> String? {
    FileManager.default.contents(atPath: folder.path(name)).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  private func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: folder.path(name), withDestinationPath: folder.path(target))
  }

  private func expectObstructed(_ what: String, _ body: () throws -> Void) {
    let error = #expect(throws: EngineError.self) { try body() }
    guard case .obstructed(let named, let reason) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(named == path && reason.contains(what) && reason.contains("move it away"))
  }

  @Test(
    "A link, a folder or a user's own file in the lock file's place is refused and left",
    arguments: ["a symbolic link", "a folder", "a file of somebody else's", "a database", "zeros"])
  func lockFile(kind: String) throws {
    try create()
    switch kind {
    case "a symbolic link":
      try put("precious", "precious text")
      try link("a.sheaf-lock", to: "precious")
    case "a folder":
      try FileManager.default.createDirectory(
        atPath: folder.path("a.sheaf-lock"), withIntermediateDirectories: false)
    case "a database": try FileManager.default.copyItem(atPath: path, toPath: path + "-lock")
    case "zeros":
      // A file longer than a new lock file: the beginning of a disk image, for example.
      try Data(count: Coordination.Offset.bytes + 1).write(
        to: URL(fileURLWithPath: path + "-lock"))
    default: try put("a.sheaf-lock", "key to the front door")
    }
    let before = (text("precious"), text("a.sheaf-lock"), folder.names())
    let what = ["a database", "zeros"].contains(kind) ? "a file of somebody else's" : kind
    for access in [Database.Options.Access.create, .existing, .readOnly] {
      expectObstructed(what) { _ = try Database.open(path, options: .init(access: access)) }
    }
    expectObstructed(what) { try Database.deleteFiles(at: path) }
    #expect((text("precious"), text("a.sheaf-lock"), folder.names()) == before)
  }

  @Test("A lock file with nothing in it yet, or left by a killed process, is used again")
  func ownLockFile() throws {
    try create()
    for left in [
      [], Array("SheafLck".utf8), [UInt8](repeating: 0, count: 100), Array("SheafLckxyz".utf8),
    ] {
      try Data(left).write(to: URL(fileURLWithPath: path + "-lock"))
      let database = try Database.open(path)
      let first = try Array(Data(contentsOf: URL(fileURLWithPath: path + "-lock")).prefix(8))
      #expect(first == Array("SheafLck".utf8))
      #expect(try database.snapshot().table("apps").count == 3)
      try database.close()
      #expect(folder.names() == ["a.sheaf"])
    }
  }

  @Test("What a compaction left is removed; a user's own file or database of that name is not")
  func temporary() throws {
    try create(rows: 500)
    try put("a.sheaf-temporary", "SheafTmp and half a copy")
    try Database.open(path).close()
    #expect(folder.names() == ["a.sheaf"])
    for kind in ["text", "database", "pipe", "link"] {
      let temporary = path + "-temporary"
      switch kind {
      case "text": try put("a.sheaf-temporary", "temporary notes")
      case "database": try FileManager.default.copyItem(atPath: path, toPath: temporary)
      case "pipe": #expect(mkfifo(temporary, 0o600) == 0)
      default:
        try put("precious", "SheafTmp is what I call it")
        try link("a.sheaf-temporary", to: "precious")
      }
      // Reading from a pipe would wait.
      let before = kind == "pipe" ? nil : text("a.sheaf-temporary")
      let database = try Database.open(path)
      expectObstructed("is not what a compaction left") { _ = try database.compact() }
      #expect(folder.names().contains("a.sheaf-temporary"))
      if kind != "pipe" { #expect(text("a.sheaf-temporary") == before) }
      #expect(try database.snapshot().table("apps").count == 500)
      try database.close()
      let copy = folder.path("b.sheaf")
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      try FileManager.default.removeItem(atPath: temporary)
      #expect(try Database.deleteFiles(at: copy))
    }
    #expect(text("precious") == "SheafTmp is what I call it")
  }

  @Test(
    "A copy bears its mark from the first write until it is in place, and then both slots are written"
  )
  func marks() throws {
    let source = RecordingStorage()
    let database = try Database.open(storage: source, options: .tiny)
    try database.write { try $0.createTable("apps", columns: [Column("name", .text)]) }
    let snapshot = try database.snapshot()
    let target = RecordingStorage()
    let record = try Compactor.copy(
      snapshot.record, snapshot.blocks, to: target, identity: .random(), isMarked: true)
    guard case .resize(Layout.pageBytes)? = target.log.first,
      case .write(0, CommitSlot.temporaryPage)? = target.log.dropFirst().first,
      case .flushBegan? = target.log.dropFirst(2).first
    else {
      Issue.record("\(target.log.prefix(3))")
      return
    }
    #expect(target.content.starts(with: Array("SheafTmp".utf8)))
    // A file that was left between rename and second slot is a database like any other.
    let found = try Recovery.run(target)
    #expect(found.record == record && found.slot == 1 && found.fallback == nil)
    #expect(try Database.open(storage: target, options: .tiny).check().problems == [])
    try create()
    let compacted = try Database.open(path)
    #expect(try compacted.compact().decision == .compacted)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(bytes[0..<4096].elementsEqual(bytes[4096..<8192]))
    try compacted.close()
  }

  @Test("A database made through a link to a file that is not there yet is one with it")
  func danglingLink() throws {
    try link("link.sheaf", to: "a.sheaf")
    let first = try Database.open(folder.path("link.sheaf"))
    let second = try Database.open(path)
    #expect(first.path == second.path)
    #expect(folder.names() == ["a.sheaf", "a.sheaf-lock", "link.sheaf"])
    try first.close()
    try second.close()
  }

  @Test("No output goes where a database has its lock file or temporary")
  func outputs() throws {
    try create()
    for suffix in ["-lock", "-temporary"] {
      #expect(try Database.refusal(ofOutput: path + suffix) != nil)
      #expect(try Database.refusal(ofOutput: folder.path("b" + suffix)) == nil)
      #expect(
        try Database.refusal(ofOutput: folder.path("b" + suffix), own: folder.path("b")) != nil)
    }
    try put("stray", "SheafLck")
    #expect(try Database.refusal(ofOutput: folder.path("stray")) != nil)
    try link("other", to: "stray")
    #expect(try Database.refusal(ofOutput: folder.path("other")) != nil)
    try put("report", "text")
    #expect(try Database.refusal(ofOutput: folder.path("report-lock")) == nil)
  }
}
