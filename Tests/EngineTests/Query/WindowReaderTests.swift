import Base
import TestSupport
import Testing

@testable import Engine

/// Rows of a leaf that are read some at a time.
@Suite struct WindowReaderTests {
  private static let rows = 20_000

  /// Rows of a text of many entries, one of few, a number and a text of its own, with one change at the end.
  private static func spelled(_ row: Int) -> [String] {
    [
      "name \(row % 3001) of many", row % 5 == 0 ? "" : "kind \(row % 7)", "\(row * 3)",
      "row \(row)",
    ]
  }

  private static func database(_ path: String) throws -> Database {
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable(
        "t",
        columns: [
          Column("name", .text), Column("kind", .text), Column("number", .int),
          Column("row", .text),
        ])
      let table = try transaction.table("t")
      for row in 0..<rows {
        let spelled = spelled(row)
        _ = try table.insert([
          .text(spelled[0]), .text(spelled[1]), .int(Int64(row * 3)), .text(spelled[3]),
        ])
      }
    }
    return database
  }

  /// The chosen rows of some leaves in some ranges, in order.
  private static func read(
    _ reader: WindowReader, _ leaf: Leaf, _ chosen: RowBits, _ ranges: [Range<Int>]
  ) throws -> [[String]] {
    var found: [[String]] = []
    for range in ranges {
      try reader.read(leaf, chosen, in: range, withKeys: true) { window, first in
        for row in 0..<window.count {
          found.append(
            (0..<reader.columnCount).map { column in
              window.field(row, column).map { String(decoding: $0, as: UTF8.self) } ?? "null"
            })
          // Objects are numbered from 1.
          #expect(window.keys[row] == Int64(first + Int(window.rows[row]) + 1))
        }
      }
    }
    return found
  }

  @Test("A sorted result of one leaf with a long text in each row is read in small windows")
  func sortedLongTexts() throws {
    let folder = TemporaryFolder()
    let database = try Self.database(folder.path("d.sheaf"))
    let long = String(repeating: "long ", count: 200)
    try database.write { transaction in
      try transaction.table("t").addColumn(Column("long", .text, default: .text(long)))
    }
    _ = try database.compact()
    let table = try database.snapshot().table("t")
    var query = Query()
    query.columns = ["number", "long"]
    query.sort = [.descending("number")]
    let reader = try ResultReader(query, table)
    reader.sortedLimits = .init(windowBytes: 50_000, mostBytes: 200_000)
    var numbers: [Int] = []
    try reader.forEachWindow { window in
      var bytes = 0
      for row in 0..<window.count {
        let number = try #require(window.field(row, 0))
        numbers.append(try #require(Int(String(decoding: number, as: UTF8.self))))
        bytes += try #require(window.field(row, 1)).count
      }
      #expect(bytes <= 51_000)
    }
    #expect(numbers == (0..<Self.rows).reversed().map { $0 * 3 })
    try database.close()
  }

  @Test(
    "Parts of a leaf, some or all rows of them, are what the whole leaf has", arguments: [1, 3, 90])
  func parts(everyNth: Int) throws {
    let folder = TemporaryFolder()
    let database = try Self.database(folder.path("d.sheaf"))
    _ = try database.compact()
    let table = try database.snapshot().table("t")
    let reader = WindowReader(columnIDs: table.schema.columnIDs)
    var leaves: [Leaf] = []
    try table.walkLeaves { leaf in
      leaves.append(leaf)
      return true
    }
    let leaf = try #require(leaves.first)
    #expect(leaves.count == 1 && leaf.rowCount == Self.rows)
    let chosen = RowBits(count: leaf.rowCount) { $0 % everyNth == 0 }
    let all = (0..<Self.rows).filter { $0 % everyNth == 0 }
    let ranges = [0..<Self.rows, 512..<4608, 4608..<4609, 100..<9000, 19_999..<30_000, 7..<7]
    for range in ranges {
      let expected = all.filter { range.contains($0) }.map(Self.spelled)
      let found = try Self.read(reader, leaf, chosen, [range])
      #expect(found == expected, "\(range)")
      let parts = range.lowerBound..<min(range.upperBound, Self.rows)
      let pieces = stride(from: parts.lowerBound, to: parts.upperBound, by: 777).map {
        $0..<min($0 + 777, parts.upperBound)
      }
      #expect(try Self.read(reader, leaf, chosen, pieces) == expected, "\(range) in pieces")
      #expect(chosen.population(range) == expected.count)
    }
    try database.close()
  }

  @Test("A reader goes from one leaf to another, to the same one of a later version, and back")
  func leaves() throws {
    let folder = TemporaryFolder()
    let database = try Self.database(folder.path("d.sheaf"))
    _ = try database.compact()
    let before = try database.snapshot()
    try database.write { transaction in
      try transaction.table("t").update(5, ["name": .text("another, \"odd\" one")])
      _ = try transaction.table("t").delete(9)
    }
    let after = try database.snapshot()
    func leaf(_ snapshot: Snapshot) throws -> Leaf {
      var found: Leaf?
      try snapshot.table("t").walkLeaves { leaf in
        found = leaf
        return false
      }
      return try #require(found)
    }
    let (old, new) = (try leaf(before), try leaf(after))
    let reader = WindowReader(columnIDs: try before.table("t").schema.columnIDs)
    for _ in 0..<2 {
      for (leaf, isNew) in [(old, false), (new, true)] {
        let chosen = RowBits(count: leaf.rowCount, all: true)
        var found: [String] = []
        for range in [0..<10, 10..<600] {
          try reader.read(leaf, chosen, in: range, withKeys: false) { window, _ in
            for row in 0..<window.count {
              found.append(
                window.field(row, 0).map { String(decoding: $0, as: UTF8.self) } ?? "null")
            }
          }
        }
        var expected = (0..<601).map { Self.spelled($0)[0] }
        if isNew {
          expected[4] = "another, \"odd\" one"
          expected.remove(at: 8)
        }
        #expect(found == Array(expected.prefix(600)))
      }
    }
    try database.close()
  }
}

/// Memory of a large file that is given back while the file is read.
@Suite struct ReleasedMemoryTests {
  /// Counts the bytes that are forgotten.
  private final class ForgettingStorage: Storage, @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let storage: FileStorage
    private let lock = Lock()
    private var sum = 0
    var forgotten: Int { lock.withLock { sum } }
    var path: String { storage.path }

    init(path: String) throws { storage = try FileStorage(path: path, mode: .createNew) }

    func length() throws(SystemError) -> Int { try storage.length() }
    func resize(to length: Int) throws(SystemError) { try storage.resize(to: length) }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      try storage.write(bytes, at: offset)
    }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int
    {
      try storage.read(into: buffer, at: offset)
    }
    func flush() {}
    func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
      storage.view(at: offset, count: count)
    }
    func forget(_ range: Range<Int>) { lock.withLock { sum += range.count } }
  }

  @Test("A query whose results are written once gives a large file's pages back, others do not")
  func onlyWhereItIsAskedFor() throws {
    let folder = TemporaryFolder()
    let storage = try ForgettingStorage(path: folder.path("large.sheaf"))
    let database = try Database.open(storage: storage)
    try database.write { try $0.createTable("t", columns: [Column("text", .text)]) }
    // Of bytes that no code makes shorter; 68 MB together.
    var random = SplitMix64(seed: 1)
    var text: [UInt8] = []
    while text.count < 1 << 22 {
      let word = random.next()
      for shift in stride(from: 0 as UInt64, to: 64, by: 8) {
        text.append(33 + UInt8(truncatingIfNeeded: word >> shift) % 94)
      }
    }
    let value = Value.text(String(decoding: text, as: UTF8.self))
    for _ in 0..<17 { try database.write { _ = try $0.table("t").insert([value]) } }
    let table = try database.snapshot().table("t")
    #expect(table.tree.end > MappedRange.largeFile)
    let before = storage.forgotten
    for releases in [false, true] {
      let reader = try ResultReader(Query(), table)
      reader.releasesMemory = releases
      var rows = 0
      try reader.walkChosenLeaves { _, chosen in
        rows += chosen.population
        return true
      }
      #expect(rows == 17)
      // All but the last ones.
      #expect(releases ? storage.forgotten - before > 48 << 20 : storage.forgotten == before)
    }
    try database.close()
  }
}
