import Engine
import Testing

@testable import Importer

/// Deep checks of the notes of imports: no problem after imports, and one for each contradiction.
@Suite("Deep checks of notes")
struct NotesCheckTests {
  private static func problems(
    _ change: (borrowing WriteTransaction, Checkpoint) throws -> Void
  ) throws -> [String] {
    let folder = try ImportFolder()
    _ = try folder.importCSV("a,b\n1,2\n3,4\n")
    try folder.expectSound()
    let database = try Database.open(folder.database)
    try database.write { transaction in
      let note = try #require(transaction.table("t").editor.note(Checkpoint.completeNote))
      try change(transaction, try #require(Checkpoint.decode(note)?.first))
    }
    let snapshot = try database.snapshot()
    let plain = ImportNotes.problems(snapshot)
    #expect(plain == [])
    let problems = ImportNotes.problems(snapshot, deep: true)
    try database.close()
    return problems
  }

  @Test("An input that came to its end among those that go on, and the other way round")
  func lists() throws {
    let problems = try Self.problems { transaction, checkpoint in
      var begun = checkpoint
      begun.isComplete = false
      let editor = try transaction.table("t").editor
      try editor.setNote(Checkpoint.note, Checkpoint.encode([checkpoint]))
      try editor.setNote(Checkpoint.completeNote, Checkpoint.encode([begun]))
    }
    #expect(problems.count == 2, "\(problems)")
    #expect(problems.first?.hasPrefix("table 't': its note 'imports' has the input '/") == true)
    #expect(problems.first?.hasSuffix("t.csv', which did come to its end") == true)
    #expect(problems.last?.hasSuffix("which did not come to its end") == true)
  }

  @Test(
    "Columns that the table has never had",
    arguments: [GuessedColumns.note, SurplusColumns.note])
  func columns(note: String) throws {
    let problems = try Self.problems { transaction, _ in
      try transaction.table("t").editor.setNote(note, ColumnNumbers.encode([1, 77]))
    }
    #expect(problems == ["table 't': its note '\(note)' does not list columns of it"])
  }

  @Test("Inputs under the key of others")
  func companion() throws {
    let problems = try Self.problems { transaction, checkpoint in
      var begun = checkpoint
      begun.isComplete = false
      let companion = try #require(
        try transaction.companion(
          InputMemory.purpose, of: transaction.table("t"), columns: InputMemory.columns))
      let digits = "0123456789abcdef"
      for (key, checkpoint) in [
        ("b" + digits, begun), ("p" + digits, checkpoint), ("c\(digits).12", checkpoint),
        ("x" + digits, checkpoint),
      ] {
        try companion.insert([
          "key": .text(key), "checkpoint": .data(Checkpoint.encode([checkpoint])),
        ])
      }
    }
    #expect(problems.count == 4, "\(problems)")
    #expect(problems.first?.contains("object 1 of what it remembers of inputs") == true)
  }
}
