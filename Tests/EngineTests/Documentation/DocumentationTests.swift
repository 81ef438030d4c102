import Foundation
import Testing
import TestSupport

@testable import Engine

@Suite("The documentation's examples")
struct DocumentationTests {
  let folder = TemporaryFolder()
  let database: Database
  let examples = PageExamples()

  init() throws { database = try SessionTests.apps(folder) }

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static func pages() throws -> [URL] {
    let catalogue = root.appendingPathComponent("Sources/Engine/Engine.docc")
    return try FileManager.default.contentsOfDirectory(
      at: catalogue, includingPropertiesForKeys: nil
    ).filter { $0.pathExtension == "md" }
  }

  @Test("Every example is compiled, to the letter but for its indentation")
  func text() throws {
    let source = try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("PageExamples.swift"), encoding: .utf8)
    let indented = (0...6).map { String(repeating: " ", count: $0) }
    var count = 0
    for page in try Self.pages() {
      let text = try String(contentsOf: page, encoding: .utf8)
      for part in text.components(separatedBy: "```swift\n").dropFirst() {
        let example = try #require(part.components(separatedBy: "\n```").first)
        let isCompiled = indented.contains { spaces in
          let lines = example.components(separatedBy: "\n").map { $0.isEmpty ? "" : spaces + $0 }
          return source.contains("\n" + lines.joined(separator: "\n") + "\n")
        }
        #expect(isCompiled, "\(page.lastPathComponent): not in PageExamples.swift:\n\(example)")
        count += 1
      }
    }
    #expect(count >= 19)
  }

  @Test("Every page of the catalogue is named on the first one")
  func pages() throws {
    let pages = try Self.pages()
    let first = try #require(pages.first { $0.lastPathComponent == "Engine.md" })
    let text = try String(contentsOf: first, encoding: .utf8)
    for page in pages where page != first {
      let name = page.deletingPathExtension().lastPathComponent
      #expect(text.contains("- <doc:\(name)>"), "\(name)")
    }
    #expect(pages.count >= 5)
  }

  @Test("The first page's example")
  func first() throws { #expect(try examples.goodBooks(in: folder.path("books.sheaf")) == 2) }

  @Test("Threads")
  func threads() async throws {
    #expect(try examples.sessionThread(database) == 0)
    let told = Told<String>()
    let queue = examples.sessionQueue(database) { told.add($0) }
    #expect(told.wait(1) == ["10 apps"])
    withExtendedLifetime(queue) {}
    let worker = try SessionThread(database)
    let (count, best) = try await examples.tasks(database, worker)
    #expect(count == 10)
    #expect(try best?["App"] == .text("app 9"))
    let examples = examples
    let names = Told<String>()
    try await worker.perform { session in
      try examples.freezing(session) { names.add($0) }
      let app = try session.objects("apps")[1]
      let other = try SessionThread(session.database)
      try examples.reference(to: app, other)
      other.stop()
      try session.refresh()
      #expect(try app["Rating"] == .double(5))
    }
    #expect(names.wait(5).count == 5)
    worker.stop()
  }

  @Test("Transactions")
  func transactions() async throws {
    try examples.write(database)
    let table = try database.snapshot().table("apps")
    #expect(try table.row(forPrimaryKey: .text("app 1"))?["Installs"] == .int(2))
    #expect(try cancelled())
    let key = try await examples.asyncWrite(database)
    #expect(try database.snapshot().table("apps").row(forKey: key) != nil)
    #expect(try examples.connection(database) == [11, 11, 12])
    try database.close()
    let migrated = try examples.migrate(folder.path("t.sheaf"))
    let names = try migrated.snapshot().table("apps").columns.map(\.name)
    #expect(names == ["App", "Category", "Stars", "Installs", "Seen"])
    try migrated.close()
  }

  private func cancelled() throws -> Bool { try examples.cancel(try database.session()) }

  @Test("Notifications")
  func notifications() throws {
    let told = Told<[Value]>()
    let list = try examples.list(database) { told.add($0) }
    #expect(told.wait(1).last?.count == 5)
    try database.write { transaction in
      let apps = try transaction.table("apps")
      try apps.insert([
        "App": .text("best"), "Category": .text("GAME"), "Rating": .double(5),
      ])
      try apps.delete(1)
      try apps.update(3, ["Rating": .double(4.5)])
    }
    let wanted = ["best", "app 2", "app 8", "app 6", "app 4"].map { Value.text($0) }
    #expect(told.wait(2).last == wanted)
    list.stop()

    let worker = try SessionThread(database)
    let ratings = Told<[Value]>()
    let uploads = Told<[Value]>()
    let examples = examples
    try worker.perform { session in
      let app = try session.objects("apps")[0]
      let token = try examples.keyPaths(of: app) { ratings.add($0) }
      try session.keep(token)
      try session.keep(try examples.onQueue(session) { uploads.add($0) })
      try session.write { _ in try app.set("Rating", to: .double(2)) }
      try examples.silently(session, app, token)
    }
    try database.write { transaction in
      let apps = try transaction.table("apps")
      try apps.update(2, ["Rating": .double(3)])
    }
    // An observer's calls depend on when it was first called; its last call does not.
    let current = try worker.perform { session in
      try session.refresh()
      return try session.objects("apps")[0]["Rating"]
    }
    #expect(current == .double(3))
    #expect(ratings.all.allSatisfy { $0.count == 2 })
    worker.stop()
  }

  @Test("Queries")
  func queries() throws {
    let table = try database.snapshot().table("apps")
    #expect(try examples.query(table) == [.text("app 8")])
    #expect(try examples.text(table) == 7)
    var lines: [String] = []
    try examples.groups(table) { lines.append($0) }
    #expect(lines == ["text(\"GAME\"): 5, double(2.0)", "text(\"TOOL\"): 5, double(2.5)"])
  }

  @Test("Compaction")
  func compaction() throws {
    try examples.copy(database, to: folder.path("copy.sheaf"))
    var lines: [String] = []
    let version = try held { lines.append($0) }
    #expect(lines.count == 1 && lines[0].hasSuffix(" of \(version)"), "\(lines)")
    lines = []
    try examples.deleteAll(database) { lines.append($0) }
    #expect(lines.isEmpty)
    #expect(try database.isEmpty)
    try database.close()
    let copy = try examples.shouldCompact(folder.path("copy.sheaf")) { lines.append($0) }
    #expect(lines.isEmpty)
    #expect(try !copy.isEmpty)
    try copy.close()
  }

  /// The report on an old version that is held.
  private func held(_ report: (String) -> Void) throws -> UInt64 {
    // Enough rows for pages of their own: small blocks share pages with blocks that stay.
    try database.write { transaction in
      let apps = try transaction.table("apps")
      for number in 0..<2000 { try apps.insert(["App": .text("more \(number)")]) }
    }
    let snapshot = try database.snapshot()
    try database.write { try $0.deleteAll() }
    try examples.holders(database, report)
    return snapshot.version
  }
}
