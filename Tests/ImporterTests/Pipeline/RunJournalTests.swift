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
    killed.note(Self.checkpoint(1000, isComplete: false), of: "a", isFirst: true)
    try database.write { try killed.write(.unfinished, $0) }
    // Committed with later batches, which did not write the entry again.
    killed.note(Self.checkpoint(2500, isComplete: true), of: "a", isFirst: false)
    #expect(try ImportRuns.list(database.snapshot()).map(\.counts.read) == [1000])
    let next = RunJournal(options, inputs: ["a", "b"], table: "t")
    next.passOver(Self.checkpoint(2500, isComplete: true), of: "a")
    next.note(Self.checkpoint(10, isComplete: true), of: "b", isFirst: true)
    try database.write { try next.write(.complete, $0) }
    let runs = try ImportRuns.list(database.snapshot())
    #expect(runs.map(\.counts.read) == [2510])
    #expect(runs.first?.inputs.map(\.counts.read) == [2500, 10])
    #expect(runs.first?.inputs.map(\.isComplete) == [true, true])
  }
}
