extension Checker {
  /// Checks the primary key's index: its blocks, that every object is found by its key, and that no two
  /// objects have the same.
  mutating func checkIndex(_ table: Catalogue.Table, _ schema: TableSchema) throws {
    guard let column = schema.keyColumn else {
      if !table.index.isEmpty {
        report.problems.append("table '\(table.name)': it has an index without a key")
      }
      return
    }
    let before = report.problems.count
    for run in table.index { checkRun(run, table) }
    // What cannot be read has been said: looking objects up in it would say so for each.
    guard report.problems.count == before else { return }
    do {
      try checkKeys(table, schema, column)
    } catch {
      report.problems.append(Self.describe(error, "the keys of table '\(table.name)'"))
    }
  }

  /// Visits a run block by block; a damaged part does not keep the rest from being checked.
  private mutating func checkRun(_ run: IndexRun, _ table: Catalogue.Table) {
    let index = IndexBlocks(blocks, end: record.end)
    var pending = [(entry: run.root.entry, level: run.root.level)]
    var budget = record.end
    var last: IndexEntry?
    while let (entry, level) = pending.popLast() {
      let what = "table '\(table.name)', the index at offset \(entry.reference.offset)"
      guard budget >= UInt64(entry.reference.length) else {
        report.problems.append("\(what): it refers to more bytes than the file has")
        return
      }
      budget -= UInt64(entry.reference.length)
      note(entry.reference, "the index of table '\(table.name)'")
      do {
        if level > 0 {
          let node = try index.node(entry, level: level)
          for child in (0..<node.entryCount).reversed() {
            pending.append((node.entry(child), level - 1))
          }
          continue
        }
        let leaf = try index.leaf(entry)
        if let problem = leaf.inconsistency() { report.problems.append("\(what): \(problem)") }
        if let last, leaf[0].code <= last.code {
          report.problems.append("\(what): its codes are not above those of the leaf before")
        }
        for row in 0..<leaf.rowCount where !(1..<max(table.nextKey, 1)).contains(leaf[row].object) {
          report.problems.append("\(what): row \(row) names an object that was never there")
          break
        }
        last = leaf[leaf.rowCount - 1]
      } catch {
        report.problems.append(Self.describe(error, what))
      }
    }
    if let last, last.code != run.lastCode {
      report.problems.append("table '\(table.name)': the last code of an index is not as it says")
    }
  }

  // MARK: Keys

  private mutating func checkKeys(
    _ table: Catalogue.Table, _ schema: TableSchema, _ column: Int
  ) throws {
    let tree = TreeReader(blocks: blocks, root: table.root, end: record.end)
    let problems = try IndexCheck(tree, table.index, schema, column).run()
    report.problems += problems.map { "table '\(table.name)': \($0)" }
  }
}

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

  private func spelling(of object: Int64) throws -> [UInt8]? {
    guard let place = try tree.location(ofKey: object) else { return nil }
    let leaf = try Leaf(place.entry, tree.blocks, end: tree.end)
    guard let row = try leaf.keys().row(ofKey: object) else { return nil }
    return try leaf.column(id: column).withSpelling(row) { $0.map { Array($0) } }
  }
}
