import Engine
import TestSupport
import Testing

@testable import Importer

/// The commit that merges others' changes: its duration, and its interruption.
@Suite struct InterruptedMergeTests {
  private static func csv(_ rows: [[String]]) -> String {
    ([["id", "a"]] + rows).map { $0.joined(separator: ",") + "\n" }.joined()
  }

  private static let night = csv((0..<30).map { ["x\($0)", "new"] })

  /// A table of ten objects, and a night of three batches that was interrupted after the first.
  private static func begin() throws -> ImportFolder {
    let folder = try ImportFolder()
    try folder.importCSV(csv((0..<10).map { ["k\($0)", "a"] }), as: "first.csv") {
      ($0.key, $0.header) = ("id", .firstRecord)
    }
    #expect(try run(folder, resume: false) { true }.isInterrupted)
    return folder
  }

  private static func run(
    _ folder: ImportFolder, resume: Bool = true, _ shouldStop: @escaping @Sendable () -> Bool
  ) throws -> ImportReport {
    try folder.importCSV(night, as: "night.csv") {
      ($0.key, $0.conflictPolicy) = ("id", .update)
      ($0.batchSize, $0.publication) = (.records(10), .end)
      ($0.resume, $0.shouldStop, $0.header) = (resume, shouldStop, .firstRecord)
    }
  }

  /// Another writer changes, deletes and adds objects.
  private static func write(_ folder: ImportFolder, adding count: Int) throws {
    let database = try Database.open(folder.database)
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.update(table.row(forPrimaryKey: .text("k1"))?.key ?? 0, ["a": .text("theirs")])
      try table.delete(table.row(forPrimaryKey: .text("k2"))?.key ?? 0)
      for number in 0..<count { try table.insert([.text("y\(number)"), .text("theirs")]) }
    }
    try database.close()
  }

  /// The numbers of the night's objects.
  private static func numbers(_ folder: ImportFolder) throws -> [Int64] {
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    defer { try? database.close() }
    var numbers: [Int64] = []
    try database.snapshot().table("t").forEachRow { row in
      if case .text(let id)? = row["id"], id.hasPrefix("x") { numbers.append(row.key) }
    }
    return numbers
  }

  @Test("Few objects of its own beside many of somebody else's")
  func manyOfOthers() throws {
    let folder = try Self.begin()
    let others = 20_000
    try Self.write(folder, adding: others)
    let asked = CallCounter()
    let report = try Self.run(folder) {
      _ = asked.next()
      return false
    }
    #expect(report.isPublished && report.merged?.inserted == others)
    #expect(report.objects == 9 + others + 30)
    // It asks once for some hundred objects, and moves none twice.
    #expect(asked.next() < others / 100)
    #expect(try Self.numbers(folder).allSatisfy { $0 > Int64(others + 10) })
    try folder.expectSound()
  }

  @Test("Interrupted at any moment, it leaves all pending, and goes on")
  func interrupted() throws {
    var ends = 0
    for moment in 1... {
      let folder = try Self.begin()
      try Self.write(folder, adding: 600)
      let left = try folder.exportText()
      let asked = CallCounter()
      let report = try Self.run(folder) { asked.next() > moment }
      if report.isPublished { break }
      ends += 1
      #expect(report.isInterrupted && report.merged == nil)
      #expect(try folder.exportText() == left)
      let rest = try Self.run(folder) { false }
      #expect(rest.isPublished && rest.merged?.inserted == 600, "\(moment)")
      #expect(rest.merged?.changed == 1 && rest.merged?.deleted == 1 && rest.objects == 639)
      try folder.expectSound()
    }
    // Two batches, and some steps of the merge.
    #expect(ends > 5)
  }
}
