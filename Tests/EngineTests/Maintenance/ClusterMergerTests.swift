import Testing
import TestSupport

@testable import Engine

/// Merging clusters, as compactions do.
@Suite struct ClusterMergerTests {
  /// A merged cluster has the rows of all its sources, and its digest is that of the stored rows.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func mergedRows(seed: UInt64) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    let folder = TemporaryFolder()
    let columns = (0..<ColumnGenerator.kinds).map { Column("c\($0)", .data) }
    let path = folder.path("a.sheaf")
    let database = try Database.open(path)
    try database.write { try $0.createTable("t", columns: columns) }
    for _ in 0..<3 {
      let rows = Int.random(in: 1...300, using: &generator.random)
      let fields = (0..<ColumnGenerator.kinds).map { generator.column(kind: $0, rows: rows) }
      try database.write { transaction in
        let table = try transaction.table("t")
        for row in 0..<rows {
          var values: [String: Value] = [:]
          for (index, column) in fields.enumerated() {
            values["c\(index)"] = column[row].map { .data($0) } ?? .null
          }
          try table.insert(values)
        }
      }
    }
    try database.write { transaction in
      let table = try transaction.table("t")
      for key in stride(from: 3, to: 60, by: 7) { _ = try table.delete(Int64(key)) }
    }
    let before = try Model.digest(database.snapshot())
    let copies = try ["b.sheaf", "c.sheaf"].map { name in
      let copy = folder.path(name)
      try database.writeCopy(to: copy)
      return copy
    }
    for copy in copies {
      let opened = try Database.open(copy)
      #expect(try opened.tableUse("t").clusters == 1, "seed \(seed)")
      #expect(try Model.digest(opened.snapshot()) == before, "seed \(seed)")
      try opened.close()
    }
    try database.close()
  }

  /// The digest of a text is the same wherever it lies, also at the very end of its memory; with one byte
  /// changed, cut by one, or in another row it is another one.
  @Test func digestsOfTexts() throws {
    /// - Parameter behind: how many bytes of the memory follow the text.
    func digest(_ text: [UInt8], behind: Int = 0, row: Int = 0) throws -> ClusterMerger.Digest {
      let memory = try GuardedBytes([9] + text + [UInt8](repeating: 7, count: behind))
      defer { withExtendedLifetime(memory) {} }
      let span = TextSpan(offset: 1, length: UInt32(text.count))
      let spans = [TextSpan](repeating: .null, count: row) + [span]
      return ClusterMerger.digest(memory.readOnly, spans, count: row + 1)
    }
    for length in Array(0...40) + [63, 64, 65, 66, 200] {
      let text = (0..<length).map { UInt8(97 + ($0 * 7 + length) % 26) }
      let expected = try digest(text)
      for behind in [1, 7, 8, 40] {
        #expect(try digest(text, behind: behind) == expected, "\(length) bytes")
      }
      for place in 0..<length {
        var other = text
        other[place] ^= 1
        #expect(try digest(other) != expected, "byte \(place) of \(length)")
      }
      #expect(try digest(text + [0]) != expected, "\(length) bytes")
      #expect(try digest(text, row: 1) != expected, "\(length) bytes")
      #expect(try digest(text, row: 1) != digest(text, row: 2), "\(length) bytes")
    }
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    let empty = [TextSpan(offset: 0, length: 0)]
    #expect(try ClusterMerger.digest(nothing, empty, count: 1) == digest([]))
    #expect(try ClusterMerger.digest(nothing, [.null], count: 1) != digest([]))
  }
}
