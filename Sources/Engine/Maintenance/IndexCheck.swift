/// Looks every object of a table up in its index.
///
/// Thread rule: confined, while the version is held.
struct IndexCheck {
  private let tree: TreeReader
  private let runs: [IndexRun]
  private let schema: TableSchema
  private let column: UInt32
  /// Objects that are looked up together.
  private static let batch = 1 << 16

  init(_ tree: TreeReader, _ runs: [IndexRun], _ schema: TableSchema, _ column: Int) {
    self.tree = tree
    self.runs = runs
    self.schema = schema
    self.column = schema.columnIDs[column]
  }

  /// What is wrong, in words.
  ///
  /// - Complexity: O(n log n).
  /// - Throws: `BlockError`, `ClusterError` when a block is damaged.
  func run() throws -> [String] {
    var problems: [String] = []
    var entries: [IndexEntry] = []
    var leaves = tree.clusters()
    let decoded = DecodedColumn()
    while let location = try leaves.next() {
      let leaf = try Leaf(location.entry, tree.blocks, end: tree.end)
      let keys = try leaf.keys()
      try leaf.column(id: column).decode(rows: 0..<leaf.rowCount, into: decoded)
      for row in 0..<leaf.rowCount {
        // Null in the key is said by those who check the columns.
        guard let spelling = decoded[row] else { continue }
        entries.append(
          IndexEntry(code: schema.keyCode.code(spelling), object: keys.key(row)))
      }
      tree.blocks.forget(location.entry, end: tree.end)
      if entries.count >= Self.batch { try lookUp(&entries, &problems) }
    }
    try lookUp(&entries, &problems)
    return problems
  }

  private func lookUp(_ entries: inout [IndexEntry], _ problems: inout [String]) throws {
    entries.sort()
    var isFound = [Bool](repeating: false, count: entries.count)
    var shared: [(Int64, Int64)] = []
    let blocks = IndexBlocks(tree.blocks, end: tree.end)
    for run in runs {
      try run.find(entries.lazy.map(\.code), blocks) { position, object in
        if object == entries[position].object {
          isFound[position] = true
        } else if object < entries[position].object {
          // Each pair once.
          shared.append((object, entries[position].object))
        }
      }
    }
    for (entry, isFound) in zip(entries, isFound) where !isFound {
      problems.append("object \(entry.object) is not found by its key")
    }
    for (first, second) in shared {
      if let key = try spelling(of: first), try key == spelling(of: second) {
        problems.append(
          "the objects \(first) and \(second) have the same key, "
            + "'\(String(decoding: key, as: UTF8.self))'")
      }
    }
    entries.removeAll(keepingCapacity: true)
  }

  /// Removes the entries whose objects are gone or have another key.
  func removeOutdated(_ entries: inout [IndexEntry]) throws {
    var isCurrent = [Bool](repeating: false, count: entries.count)
    for place in entries.indices.sorted(by: { entries[$0].object < entries[$1].object }) {
      guard let key = try spelling(of: entries[place].object) else { continue }
      isCurrent[place] = key.withUnsafeBytes { schema.keyCode.code($0) } == entries[place].code
    }
    var place = 0
    entries.removeAll { _ in
      defer { place += 1 }
      return !isCurrent[place]
    }
  }

  private func spelling(of object: Int64) throws -> [UInt8]? {
    guard let place = try tree.location(ofKey: object) else { return nil }
    let leaf = try Leaf(place.entry, tree.blocks, end: tree.end)
    guard let row = try leaf.keys().row(ofKey: object) else { return nil }
    return try leaf.column(id: column).withSpelling(row) { $0.map { Array($0) } }
  }
}
