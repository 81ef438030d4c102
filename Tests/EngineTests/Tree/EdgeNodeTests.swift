import TestSupport
import Testing

@testable import Engine

/// Every commit that appends writes the last node of level 1 again: it is kept short, and hands its leaves on
/// to the node before it.
@Suite("The node at the right edge")
struct EdgeNodeTests {
  private static var options: Database.Options {
    var options = Database.Options()
    options.limits.nodeCapacity = 16
    options.limits.clusterRows = 32
    options.limits.tailRows = 2
    options.limits.smallRows = 8
    options.limits.edgeLeaves = 3
    return options
  }

  /// The leaves of each node of level 1, in order.
  private func leaves(_ database: Database) throws -> [[NodeEntry]] {
    let tree = try database.snapshot().table("t").tree
    if tree.root.level == 0 { return [] }
    var nodes = [tree.root.entry]
    for level in stride(from: tree.root.level, to: 1, by: -1) {
      nodes = try nodes.flatMap { try tree.entries($0, level: level) }
    }
    return try nodes.map { try tree.entries($0, level: 1) }
  }

  /// - Parameter sizes: the numbers of rows of transactions, repeated.
  private func fill(_ sizes: [Int], rows: Int) throws -> (Database, [[[NodeEntry]]]) {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: Self.options)
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    var states: [[[NodeEntry]]] = []
    var count = 0
    while count < rows {
      let size = sizes[states.count % sizes.count]
      try database.write(durability: Durability.none) { transaction in
        for _ in 0..<size {
          _ = try transaction.table("t").insert([.int(Int64(count) &* 7919)])
          count += 1
        }
      }
      states.append(try leaves(database))
    }
    var keys: [Int64] = []
    try database.snapshot().table("t").forEachRow { keys.append($0.key) }
    #expect(keys == Array(1...Int64(count)))
    #expect(try database.check(deep: true).problems == [])
    return (database, states)
  }

  @Test(
    "It has few leaves, and all nodes but the last two are full",
    arguments: [[1], [3], [7], [8], [9], [32], [1, 32], [2, 9, 40], [5, 700]])
  func short(sizes: [Int]) throws {
    let limits = Self.options.limits
    let (_, states) = try fill(sizes, rows: 3000)
    for (number, nodes) in states.enumerated() {
      guard let edge = nodes.last else { continue }
      let settled = (edge.dropLast().lastIndex { $0.count > limits.clusterRows / 4 } ?? -1) + 1
      #expect(settled < limits.edgeLeaves, "commit \(number): \(edge.map(\.count))")
      // A node whose former neighbour is below another node of level 2 has the leaves of one handing on.
      let short = nodes.dropLast(2).count { $0.count < limits.nodeCapacity }
      #expect(
        short <= nodes.count / limits.nodeCapacity, "commit \(number): \(nodes.map(\.count))")
      // Those that wait for others to be joined with them are all here.
      let waiting = nodes.dropLast().last?.last.map { $0.count > limits.clusterRows / 4 } ?? true
      #expect(waiting, "commit \(number): \(nodes.map { $0.map(\.count) })")
    }
    #expect((states.last?.count ?? 0) > 3, "\(sizes)")
  }

  /// Full nodes are not written again.
  @Test("A node stays where it is when others are added behind it")
  func unchanged() throws {
    let (database, states) = try fill([32], rows: 4000)
    let tree = try database.snapshot().table("t").tree
    let before = try tree.entries(tree.root.entry, level: tree.root.level)
    #expect(tree.root.level == 2 && states.last?.count == before.count)
    for _ in 0..<2 * Self.options.limits.edgeLeaves {
      try database.write { transaction in
        for row in 0..<32 as Range<Int64> { _ = try transaction.table("t").insert([.int(row)]) }
      }
    }
    let after = try database.snapshot().table("t").tree
    let now = try after.entries(after.root.entry, level: after.root.level)
    #expect(Array(now.prefix(before.count - 2)) == Array(before.dropLast(2)))
    #expect(now.count <= before.count + 1)
  }

  @Test("The leaves of a compacted table are below one node, while they fit, until the next commit")
  func compacted() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    var rows = RowBuffer(columnIDs: [1])
    for row in 0..<60_000 as Range<Int64> { try rows.append(key: row, values: [.int(row % 2)]) }
    let cluster = try rows.encode(with: ClusterBuilder())
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("a", .int)])
      let table = try transaction.table("t")
      for _ in 0..<45 { try table.editor.append(cluster) }
    }
    _ = try database.compact()
    let limits = TreeEditor.Limits()
    let count = try leaves(database).map(\.count)
    #expect(count.count == 1 && count[0] > limits.edgeLeaves + limits.newLeaves, "\(count)")
    try database.write { _ = try $0.table("t").insert([.int(1)]) }
    #expect(try leaves(database).map(\.count).last == 1)
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test("Deletions at the edge, and then more rows")
  func deletions() throws {
    let (database, _) = try fill([5, 32], rows: 2000)
    var random = SplitMix64(seed: 11)
    var (last, deleted) = (try database.snapshot().table("t").count, 0)
    for round in 0..<60 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("t")
        if round % 3 < 2 {
          // Whole nodes disappear now and then.
          let end = Int64(last) - Int64.random(in: 0...40, using: &random)
          for key in stride(from: end, to: max(end - 200, 0), by: -1) where try table.delete(key) {
            deleted += 1
          }
        } else {
          for row in 0..<Int64.random(in: 1...70, using: &random) {
            _ = try table.insert([.int(row)])
            last += 1
          }
        }
      }
      #expect(try database.check(deep: true).problems == [], "round \(round)")
      #expect(try database.snapshot().table("t").count == last - deleted, "round \(round)")
    }
  }
}
