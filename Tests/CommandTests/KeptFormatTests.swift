import Engine
import Foundation
import Importer
import Testing
import TestSupport

/// The part of the file format's document that is about kept versions: `scripts/sheaf-dump`, which is written
/// from the document, reads what the engine reads.
@Suite("The document of the file format: kept versions")
struct KeptFormatTests {
  @Test("Kept versions, with what has changed since in every way, and compacted together")
  func keptVersions() throws {
    let folder = TemporaryFolder()
    let path = folder.path("kept.sheaf")
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable(
        "a", columns: [Column("id", .int), Column("text", .text)], key: "id", indexes: ["text"])
      for row in 0..<3000 {
        try transaction.table("a").insert([.int(Int64(row)), .text("text \(row * 31 % 700)")])
      }
    }
    for round in 0..<4 as Range<Int64> {
      try database.write { transaction in
        try transaction.keepBase(most: 3)
        try transaction.describe("round \(round)")
        let table = try transaction.table("a")
        for key in stride(from: round + 1, to: 3000, by: 401) {
          try table.update(key, ["text": .text("changed in \(round)")])
        }
        try table.delete(round * 100 + 50)
        try table.insert(["id": .int(10_000 + round)])
        if round == 1 { try transaction.tag("second") }
        if round == 2 { try table.addColumn(Column("more", .double)) }
      }
    }
    try database.restore(.tag("second"), .all)
    try database.write { try $0.table("a").update(3, ["text": .text("after going back")]) }
    func texts() throws -> [UInt64: String] {
      var texts: [UInt64: String] = [:]
      for kept in try database.keptVersions() {
        var bytes: [UInt8] = []
        let table = try database.snapshot(at: .number(kept.number)).table("a")
        try TableExporter().run(table) { bytes.append(contentsOf: $0) }
        texts[kept.number] = String(decoding: bytes, as: UTF8.self)
      }
      return texts
    }
    let before = try texts()
    #expect(before.count == 5 && Set(before.values).count >= 4)
    try database.flush()
    for isCompacted in [false, true] {
      if isCompacted { #expect(try database.compact().decision == .compacted) }
      #expect(try texts() == before)
      let walk = try Python.dump([path])
      #expect(walk.status == 0, "\(walk.errorText)")
      #expect(walk.outputText.split(separator: "\n").count { $0.hasPrefix("kept version ") } == 5)
      #expect(walk.outputText.contains("'second'") && walk.outputText.contains("made by 'round 0'"))
      for (version, text) in before {
        let dump = try Python.dump([path, "--at", "\(version)"])
        #expect(dump.outputText == text, "version \(version): \(dump.errorText)")
      }
    }
    try database.close()
  }

  @Test("The history of many kept versions, in parts; compacted, too")
  func manyKeptVersions() throws {
    let folder = TemporaryFolder()
    let path = folder.path("many.sheaf")
    let database = try Database.open(path)
    try database.write { try $0.createTable("a", columns: [Column("x", .int)]) }
    for round in 0..<75 as Range<Int64> {
      try database.write(durability: Durability.none) { transaction in
        try transaction.keepBase(most: 70)
        if round % 10 == 7 { try transaction.tag("round \(round)") }
        try transaction.table("a").insert([.int(round)])
      }
    }
    let kept = try database.keptVersions()
    // Those with a tag do not count.
    #expect(kept.count == 75)
    try database.flush()
    for isCompacted in [false, true] {
      if isCompacted { #expect(try database.compact().decision == .compacted) }
      let walk = try Python.dump([path])
      #expect(walk.status == 0, "\(walk.errorText)")
      let lines = walk.outputText.split(separator: "\n").filter { $0.hasPrefix("kept version ") }
      #expect(lines.count == kept.count)
      for (line, version) in zip(lines, kept) {
        #expect(line.hasPrefix("kept version \(version.number)"), "\(line)")
        #expect(version.tags.allSatisfy { line.contains("'\($0)'") }, "\(line)")
      }
      let dump = try Python.dump([path, "--at", "\(kept[40].number)"])
      #expect(dump.outputText.split(separator: "\n").count == Int(kept[40].number) - 1)
    }
    try database.close()
  }

  @Test("Parts of a history have formats of their own, as long as a kept version may have some")
  func formats() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("own.sheaf"))
    func format() throws -> UInt32 {
      try database.flush()
      let walk = try Python.dump([folder.path("own.sheaf")])
      #expect(walk.status == 0, "\(walk.errorText)")
      #expect(try database.check(deep: true).isSound)
      return try database.snapshot().record.format
    }
    func copied(_ name: String) throws -> UInt32 {
      _ = try database.backup(to: folder.path(name))
      let copy = try Database.open(folder.path(name), options: .init(access: .readOnly))
      #expect(try copy.check(deep: true).isSound)
      let format = try copy.snapshot().record.format
      try copy.close()
      return format
    }
    let columns = [Column("n", .int), Column("x", .int)]
    try database.write { try $0.createTable("a", columns: columns) }
    for round in 0..<32 as Range<Int64> {
      #expect(try database.snapshot().record.format == (round == 0 ? 1 : 2))
      if round == 31 { #expect(try copied("old.sheaf") == 2) }
      try database.write(durability: Durability.none) {
        try $0.keepBase(most: 90)
        try $0.table("a").insert(["n": .int(round)])
      }
    }
    #expect(try format() == 8)
    #expect(try copied("old.sheaf") == 8)
    #expect(try copied("new.sheaf") == 8)
    // A transaction that knows nothing of the history.
    try database.write { try $0.table("a").insert(["n": .int(100)]) }
    #expect(try format() == 8)
    try database.write { _ = try $0.beginPending("b", creating: columns, keys: ["n", "x"]) }
    #expect(try format() == 12)
    try database.write { try $0.publishPending("b") }
    #expect(try format() == 11)
    try database.write { try $0.deleteTable("b") }
    #expect(try database.compact().decision == .compacted)
    #expect(try format() == 11)
    // The kept versions still have histories with parts.
    try database.write { try $0.keepVersions(5) }
    #expect(try format() == 11)
    #expect(try database.compact().decision == .compacted)
    #expect(try format() == 5)
    try database.write { try $0.keepVersions(0) }
    #expect(try format() == 1)
    try database.close()
  }
}
