import Engine
import Testing

@testable import Importer

/// Rows that are few in their batch or chunk, but many in all, fill clusters of a usual size.
@Suite("Clusters of small batches") struct SharedClusterTests {
  /// Enough for several chunks, and for parsers that encode.
  private static let rows = 20_000

  private static func row(_ number: Int) -> String {
    "key \(number),\(number % 100),\(number &* 7919 % 1_000_003),some words of row \(number)\n"
  }

  private static func csv(_ numbers: some Sequence<Int>) -> String {
    numbers.reduce(into: "k,g,n,words\n") { $0 += row($1) }
  }

  private static func leaves(_ folder: ImportFolder) throws -> (count: Int, rows: Int) {
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    defer { try? database.close() }
    let table = try database.snapshot().table("t")
    return (try table.leafCount(), table.count)
  }

  /// A few leaves wait for others of their size.
  private static func expectShared(
    _ folder: ImportFolder, rows: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let leaves = try leaves(folder)
    #expect(leaves.rows == rows, sourceLocation: sourceLocation)
    #expect(
      leaves.count <= rows / 500 + 12, "\(leaves.count) leaves of \(rows) rows",
      sourceLocation: sourceLocation)
    try folder.expectSound()
  }

  @Test(
    "Batches, also where several are one transaction", arguments: [40, 100, 255],
    [0, 3_600_000_000_000])
  func batches(size: Int, joining: UInt64) throws {
    let folder = try ImportFolder()
    try folder.importCSV(Self.csv(0..<Self.rows)) {
      $0.batchSize = .records(size)
      $0.durability = .group
      $0.joinsBatchesFor = joining
    }
    try Self.expectShared(folder, rows: Self.rows)
  }

  @Test("What a filter leaves of batches", arguments: [40, 100, 255])
  func filtered(size: Int) throws {
    let folder = try ImportFolder()
    try folder.importCSV(Self.csv(0..<5 * Self.rows)) {
      $0.batchSize = .records(size)
      $0.filter = try RecordRule("g = 3 or g = 61 or g = 99")
    }
    try Self.expectShared(folder, rows: 5 * Self.rows * 3 / 100)
  }

  @Test("New rows among known ones, in one transaction", arguments: [30, 100, 200])
  func fresh(ofThousand fresh: Int) throws {
    let folder = try ImportFolder()
    let isNew = { (number: Int) in number % 1000 < fresh }
    try folder.importCSV(Self.csv((0..<4 * Self.rows).filter { !isNew($0) })) {
      $0.key = "k"
      $0.batchSize = .all
    }
    let before = try Self.leaves(folder)
    try folder.importCSV(Self.csv(0..<4 * Self.rows), as: "more.csv") {
      $0.key = "k"
      $0.conflictPolicy = .replace
      $0.batchSize = .all
    }
    let after = try Self.leaves(folder)
    let added = after.rows - before.rows
    #expect(added == 4 * Self.rows * fresh / 1000)
    #expect(
      after.count - before.count <= added / 500 + 12,
      "\(after.count - before.count) leaves of \(added) rows")
    try folder.expectSound()
  }
}
