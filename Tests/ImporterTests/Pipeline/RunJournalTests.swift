import Engine
import TestSupport
import Testing

@testable import Importer

/// The entry of an import that was killed and resumed.
@Suite struct RunJournalTests {
  private static func checkpoint(_ records: Int, isComplete: Bool) -> Checkpoint {
    var checkpoint = Checkpoint(
      input: Checkpoint.Origin(name: 1), options: 0, byteOffset: records, checksum: 0, line: 1)
    (checkpoint.records, checkpoint.isComplete) = (records, isComplete)
    return checkpoint
  }

  @Test(
    "An input that had come to its end counts as the checkpoint has it, however old the note is")
  func endedBehindTheNote() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    defer { try? database.close() }
    var options = ImportOptions(inputs: ["a", "b"], database: "t.sheaf")
    options.resume = true
    let killed = RunJournal(options, inputs: ["a", "b"], table: "t")
    killed.note(Self.checkpoint(1000, isComplete: false), of: "a", isFirst: true, from: nil)
    try database.write { try killed.write(.unfinished, $0) }
    // Committed with later batches, which did not write the entry again.
    killed.note(Self.checkpoint(2500, isComplete: true), of: "a", isFirst: false, from: nil)
    #expect(try ImportRuns.list(database.snapshot()).map(\.counts.read) == [1000])
    let next = RunJournal(options, inputs: ["a", "b"], table: "t")
    next.passOver(Self.checkpoint(2500, isComplete: true), of: "a")
    next.note(Self.checkpoint(10, isComplete: true), of: "b", isFirst: true, from: nil)
    try database.write { try next.write(.complete, $0) }
    let runs = try ImportRuns.list(database.snapshot())
    #expect(runs.map(\.counts.read) == [2510])
    #expect(runs.first?.inputs.map(\.counts.read) == [2500, 10])
    #expect(runs.first?.inputs.map(\.isComplete) == [true, true])
  }

  @Test("A publication that fails moves no counts")
  func publicationThatFails() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    defer { try? database.close() }
    let options = ImportOptions(inputs: ["a", "b"], database: "t.sheaf")
    let journal = RunJournal(options, inputs: ["a", "b"], table: "t")
    for name in ["a", "b"] {
      journal.note(Self.checkpoint(10, isComplete: true), of: name, isFirst: true, from: nil)
    }
    try database.write { try journal.write(.unfinished, $0) }
    journal.commit()
    func last() throws -> RunEntry? { try ImportRuns.list(database.snapshot()).last }
    let before = try last()
    let move = MergeOutcome.Move(from: .imported, to: .updated)
    for isCommitted in [false, true] {
      let transaction = try database.beginWrite()
      if !isCommitted {
        journal.note(Self.checkpoint(20, isComplete: true), of: "b", isFirst: false, from: nil)
        journal.note(Self.checkpoint(30, isComplete: true), of: "c", isFirst: true, from: nil)
        journal.endBatch()
      }
      journal.rebase(on: 77)
      journal.count([move: 55])
      try journal.complete(transaction)
      if isCommitted {
        try transaction.commit()
        journal.commit()
      } else {
        transaction.rollBack()
        journal.rollBack()
        try journal.close(.unfinished, database, .none)
        #expect(try last()?.counts == before?.counts && last()?.base == before?.base)
        #expect(try last()?.inputs == before?.inputs && last()?.status == .unfinished)
      }
    }
    #expect(try last()?.counts.updated == 20 && last()?.counts.imported == 0)
    #expect(try last()?.base == 77 && last()?.status == .complete)
  }
}
