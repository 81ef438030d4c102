import Base
import Engine
import TestSupport
import Testing

@testable import Importer

/// Entries of imports: all their numbers, a bounded number of entries, and none from damaged bytes.
@Suite struct RunEntryTests {
  private func entry(_ number: Int) throws -> RunEntry {
    let moment = try #require(DateTime(microsecondsSince1970: Int64(number) * 1_000_000))
    var entry = RunEntry(begun: moment, noted: moment, table: "t \(number)", base: UInt64(number))
    entry.status = .complete
    (entry.version, entry.batches, entry.inputCount) = (7, 3, 250)
    entry.deleted = number + 3
    entry.counts = RunEntry.Counts(
      read: 21, imported: 6, updated: 5, skipped: 4, unchanged: 3, rejected: 3)
    entry.inputs = (0..<3).map {
      RunEntry.Input(
        path: "a\($0).csv", size: $0 == 1 ? nil : 1 << 40, bytes: 12, checksum: .max - UInt64($0),
        isComplete: $0 != 2, counts: entry.counts)
    }
    // What earlier imports did is stored until the import is complete.
    if number == 5 {
      entry.status = .interrupted
      entry.inputs[1].base = RunEntry.Counts(
        read: 66, imported: 16, updated: 15, skipped: 14, unchanged: 13, rejected: 8)
    }
    return entry
  }

  @Test("An entry of a run comes back from the table")
  func everythingComesBack() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    defer { try? database.close() }
    try database.write { transaction in
      let table = try #require(
        try transaction.ownTable(RunEntry.purpose, columns: RunEntry.columns))
      for number in 1...5 { #expect(try table.insert(entry(number).values) == Int64(number)) }
      try RunJournal.letGo(beyond: 3, table)
    }
    var expected = try (3...5).map(entry)
    for index in expected.indices { expected[index].number = Int64(index + 3) }
    #expect(try ImportRuns.list(database.snapshot()) == expected)
    #expect(try ImportRuns.list(database.snapshot(), table: "t 4") == [expected[1]])
    #expect(try database.snapshot().tableNames.isEmpty)
  }

  @Test("A damaged run is left out of the list, and reported by the deep check alone")
  func damageIsToldByTheDeepCheck() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    defer { try? database.close() }
    try database.write { transaction in
      let table = try #require(
        try transaction.ownTable(RunEntry.purpose, columns: RunEntry.columns))
      try table.insert(entry(1).values)
      try table.insert(entry(2).values)
      try table.update(2, ["inputs": .data([1, 255, 255, 255, 255])])
    }
    #expect(try ImportRuns.list(database.snapshot()).map(\.number) == [1])
    let snapshot = try database.snapshot()
    #expect(ImportNotes.problems(snapshot).isEmpty)
    #expect(
      ImportNotes.problems(snapshot, deep: true)
        == ["run 2 of what the file knows of its imports cannot be read"])
    #expect(try database.check(deep: true).isSound)
  }
}
