import Base
import Engine
import Testing

@testable import Importer

/// Notes of imports as an earlier version of Sheaf wrote them (version 3): without paths and without
/// the numbers and checksums of rejects files, all inputs in one note.
@Suite struct EarlierNotesTests {
  private static func earlier(_ checkpoints: [Checkpoint]) -> [UInt8] {
    var writer = ByteWriter(capacity: 256)
    func append(_ number: Int) {
      var rest = UInt64(number)
      while rest >= 0x80 {
        writer.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      writer.append(UInt8(rest))
    }
    writer.append(3 as UInt8)
    writer.append(UInt32(checkpoints.count))
    for checkpoint in checkpoints {
      writer.append(checkpoint.input.name)
      writer.append(checkpoint.checksum)
      writer.append(checkpoint.options)
      writer.append(UInt8((checkpoint.isComplete ? 1 : 0) | (checkpoint.endsWithReject ? 2 : 0)))
      for number in [
        checkpoint.input.size.map { $0 + 1 } ?? 0, checkpoint.byteOffset, checkpoint.line,
        checkpoint.records, checkpoint.rejected, checkpoint.updated, checkpoint.skipped,
        checkpoint.unchanged, checkpoint.rejects.records, checkpoint.rejects.reasons,
        checkpoint.classes.count,
      ] { append(number) }
      for classes in checkpoint.classes { writer.append(classes.rawValue) }
    }
    return writer.bytes
  }

  /// Rewrites a table's notes as the earlier version wrote them, with all complete inputs in one note.
  private func makeEarlier(_ folder: ImportFolder) throws {
    let database = try Database.open(folder.database)
    try database.write { transaction in
      let table = try transaction.table("t")
      var complete: [Checkpoint] = []
      let snapshot = try database.snapshot()
      if let companion = try snapshot.companion(InputMemory.purpose, of: snapshot.table("t")) {
        try companion.forEachRow { row in
          guard case .text(let key)? = row["key"], key.hasPrefix("p"),
            case .data(let bytes)? = row["checkpoint"]
          else { return }
          complete += Checkpoint.decode(bytes) ?? []
        }
        try transaction.companion(InputMemory.purpose, of: table, columns: nil)?.deleteAll()
      }
      for note in [Checkpoint.note, Checkpoint.completeNote] {
        let noted = try #require(table.editor.note(note).map(Checkpoint.decode) ?? [])
        let all = (note == Checkpoint.completeNote ? complete : []) + noted
        try table.editor.setNote(note, all.isEmpty ? nil : Self.earlier(all))
      }
    }
    try database.close()
  }

  private func expectPresentNotes(_ folder: ImportFolder) throws {
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    defer { try? database.close() }
    let snapshot = try database.snapshot()
    #expect(ImportNotes.problems(snapshot) == [])
    for note in [Checkpoint.note, Checkpoint.completeNote] {
      if let bytes = try snapshot.table("t").note(note) {
        #expect(bytes.first == (note == Checkpoint.note ? 4 : 6))
      }
    }
  }

  private func write(_ folder: ImportFolder, _ numbers: Range<Int>) throws {
    for number in numbers {
      try folder.write("\(1000 + number).csv", Array("n,text\n\(number),x\n".utf8))
    }
  }

  private func importAll(
    _ folder: ImportFolder, _ numbers: Range<Int>,
    _ change: (inout ImportOptions) -> Void = { _ in }
  ) throws -> ImportReport {
    var options = ImportOptions(
      inputs: numbers.map { folder.path("\(1000 + $0).csv") }, database: folder.database)
    options.table = "t"
    options.durability = .none
    options.resume = true
    change(&options)
    return try Importer.run(options)
  }

  private func numbers(_ folder: ImportFolder) throws -> [String] {
    try folder.exportText().split(separator: "\n").dropFirst().map(String.init)
  }

  /// A few inputs stay in the note, many move to their own table; none is imported twice.
  @Test(arguments: [3, 16, 17, 100])
  func nothingComesInTwice(count: Int) throws {
    let folder = try ImportFolder()
    try write(folder, 0..<count + 5)
    _ = try importAll(folder, 0..<count)
    try makeEarlier(folder)
    let rows = (0..<count).map { "\($0),x" }
    #expect(try importAll(folder, 0..<count).read == 0)
    #expect(try numbers(folder) == rows)
    // The first commit moves all of them.
    let more = try importAll(folder, 0..<count + 5)
    #expect(more.read == 5 && more.notes == [])
    #expect(try importAll(folder, 0..<count + 5).read == 0)
    #expect(try numbers(folder) == rows + (count..<count + 5).map { "\($0),x" })
    try expectPresentNotes(folder)
    try folder.expectSound()
  }

  /// An equal file under another path is a new input; with contents as the criterion it is a known one.
  @Test func contentsAreKnown() throws {
    let folder = try ImportFolder()
    try write(folder, 0..<30)
    _ = try importAll(folder, 0..<30)
    try makeEarlier(folder)
    try folder.write("1030.csv", folder.read("1003.csv"))
    #expect(try importAll(folder, 30..<31) { $0.sameInput = .contents }.read == 0)
    let report = try importAll(folder, 30..<31)
    #expect(report.read == 1)
    #expect(report.notes.contains { $0.contains("same contents") })
    try folder.expectSound()
  }

  /// An import that was interrupted under the earlier version resumes where it stopped. Its rejects go
  /// into a file of their own, since nothing vouches for the contents of the first.
  @Test func goesOn() throws {
    let folder = try ImportFolder()
    let csv =
      "a,b\n" + (1...400).map { $0 % 50 == 7 ? "\($0)\n" : "\($0),x\n" }.joined()
    let left = BatchCount(4)
    let first = try folder.importCSV(csv) {
      $0.batchSize = .records(50)
      $0.maxRejects = .unlimited
      $0.shouldStop = { left.isReached() }
    }
    #expect(first.isInterrupted && first.read < 400)
    try makeEarlier(folder)
    let rejects = try folder.text("t.rejects.csv")
    let second = try folder.importCSV(csv) {
      $0.batchSize = .records(50)
      $0.maxRejects = .unlimited
      $0.resume = true
    }
    #expect(first.read + second.read == 400)
    let rows = try folder.exportText().split(separator: "\n").dropFirst().map(String.init)
    #expect(rows == (1...400).filter { $0 % 50 != 7 }.map { "\($0),x" })
    #expect(try folder.text("t.rejects.csv") == rejects)
    let rest = try folder.text("t.rejects.2.csv").split(separator: "\n").dropFirst()
    #expect(
      rejects.split(separator: "\n").dropFirst() + rest
        == ArraySlice((1...400).filter { $0 % 50 == 7 }.map { Substring("\($0)") }))
    try folder.expectSound()
  }

  private final class BatchCount: Sendable {
    private let batches: Int
    private let lock = Lock()
    nonisolated(unsafe) private var asked = 0
    init(_ batches: Int) { self.batches = batches }
    func isReached() -> Bool {
      lock.withLock {
        asked += 1
        return asked > batches
      }
    }
  }
}
