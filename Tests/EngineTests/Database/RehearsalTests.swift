import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// A rehearsal may change anything; the file stays as it is, whoever writes to it meanwhile.
@Suite struct RehearsalTests {
  private static let columns = [Column("id", .int), Column("s", .text)]

  private func filled(_ folder: TemporaryFolder) throws -> Database {
    let database = try Database.open(folder.path("t.sheaf"), options: .tiny)
    try database.write { transaction in
      try transaction.createTable("t", columns: Self.columns, key: "id")
      let table = try transaction.table("t")
      for id in 0..<600 as Range<Int64> { try table.insert([.int(id), .text("row \(id)")]) }
    }
    return database
  }

  private func rows(_ database: Database) throws -> [String] {
    var rows: [String] = []
    try database.snapshot().table("t").forEachRow { rows.append("\($0.key) \($0.values)") }
    return rows
  }

  @Test("A rehearsal sees its version while the file is written", arguments: Effort.seeds(1..<6))
  func besidesAWriter(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let folder = TemporaryFolder()
    let file = try filled(folder)
    let before = try rows(file)
    let reader = try Database.open(folder.path("t.sheaf"), options: .init(access: .readOnly))
    let rehearsal: Database
    var version: Snapshot?
    (rehearsal, version) = try Database.rehearsal(
      of: reader, path: folder.path("t.sheaf"), options: .tiny, folder: folder.path("."))
    #expect(try rows(rehearsal) == before)
    var model = Dictionary(
      uniqueKeysWithValues: (0..<600 as Range<Int64>).map { ($0, "row \($0)") })
    for round in 0..<12 {
      // Both change independently; the file's writer would use free pages again and again.
      for database in [rehearsal, file] {
        try database.write { transaction in
          let table = try transaction.table("t")
          for _ in 0..<30 {
            let id = Int64.random(in: 0..<600, using: &random)
            let text = "\(database === file ? "file" : "rehearsed") \(round) \(id)"
            let (_, isNew) = try table.upsert(["id": .int(id), "s": .text(text)])
            #expect(!isNew)
            if database === rehearsal { model[id] = text }
          }
        }
      }
      if round == 6 { try file.write { try $0.table("t").deleteAll(where: Predicate("id >= 0")) } }
      if round == 6 {
        try file.write { transaction in
          for id in 0..<600 as Range<Int64> {
            try transaction.table("t").insert([.int(id), .null])
          }
        }
      }
      // Until the flush nothing that the version reaches is written over.
      if round % 2 == 1 { try rehearsal.flush() }
      #expect(try rehearsal.check(deep: true).isSound)
      let table = try rehearsal.snapshot().table("t")
      for (id, text) in model {
        #expect(try table.row(forPrimaryKey: .int(id))?["s"] == .text(text), "seed \(seed)")
      }
    }
    let after = try rows(file)
    try rehearsal.close()
    #expect(version?.version == 2)
    version = nil
    try reader.close()
    #expect(try rows(file) == after && file.check(deep: true).isSound)
    try file.close()
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path(".")) == ["t.sheaf"])
  }

  /// Their pages may be behind the newest version's end, and come free in the file meanwhile.
  @Test func keptVersions() throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    let file = try Database.open(path)
    var random = SplitMix64(seed: 9)
    let blob = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    for name in ["hole", "last"] {
      try file.write { transaction in
        try transaction.createTable(name, columns: [Column("blob", .data)])
        _ = try transaction.table(name).insert([.data(blob)])
      }
    }
    try file.write { try $0.deleteTable("hole") }
    let kept = try file.write { transaction in
      try transaction.keepBase(most: 2)
      try transaction.deleteTable("last")
      return transaction.baseVersion
    }
    #expect(
      try file.snapshot(at: .number(kept)).record.end > file.snapshot().record.end + 200_000)
    let (rehearsal, version) = try Database.rehearsal(
      of: file, path: path, options: .tiny, folder: folder.path("."))
    try file.write { try $0.keepVersions(0) }
    let other = blob.map { $0 ^ 0x5A }
    for database in [file, rehearsal] {
      for round in 0..<4 {
        try database.write { transaction in
          try transaction.createTable("t\(round)", columns: [Column("blob", .data)])
          _ = try transaction.table("t\(round)").insert([.data(other)])
        }
      }
    }
    let old = try rehearsal.snapshot(at: .number(kept)).table("last").row(forKey: 1)
    #expect(old?["blob"] == .data(blob))
    #expect(try rehearsal.check(deep: true).problems == [])
    withExtendedLifetime(version) {}
    try rehearsal.close()
    try file.close()
  }

  @Test("A rehearsal of a missing file begins empty")
  func ofNothing() throws {
    let folder = TemporaryFolder()
    let (rehearsal, version) = try Database.rehearsal(
      of: nil, path: folder.path("t.sheaf"), options: .tiny, folder: folder.path("."))
    #expect(version == nil)
    try rehearsal.write { try $0.createTable("t", columns: Self.columns) }
    #expect(try rehearsal.snapshot().tableNames == ["t"])
    try rehearsal.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path(".")).isEmpty)
    #expect(throws: EngineError.self) {
      try Database.rehearsal(
        of: nil, path: folder.path("t.sheaf"), options: .tiny, folder: folder.path("no"))
    }
  }
}
