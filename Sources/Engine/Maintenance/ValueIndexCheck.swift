/// Looks every object of a table up in one of its secondary indexes.
///
/// Thread rule: confined, while the version is held.
struct ValueIndexCheck {
  private let tree: TreeReader
  private let index: Catalogue.Index
  /// The column's name, for messages.
  private let name: String
  /// Objects that are looked up together.
  private static let batch = 1 << 16

  init(_ tree: TreeReader, _ index: Catalogue.Index, name: String) {
    self.tree = tree
    self.index = index
    self.name = name
  }

  /// What is wrong, in words.
  ///
  /// - Complexity: O(n log n), for n objects; where few values are shared by all, O(n²) in leaves.
  /// - Throws: `BlockError`, `ClusterError` when a block is damaged.
  func run() throws -> [String] {
    var problems: [String] = []
    var entries: [IndexEntry] = []
    var leaves = tree.clusters()
    let decoded = DecodedColumn()
    while let location = try leaves.next() {
      let leaf = try Leaf(location.entry, tree.blocks, end: tree.end)
      let keys = try leaf.keys()
      try leaf.column(id: index.column).decode(rows: 0..<leaf.rowCount, into: decoded)
      for row in 0..<leaf.rowCount {
        // A spelling that does not fit is said by those who check the columns.
        guard let code = index.code.code(decoded[row]) else { continue }
        entries.append(IndexEntry(code: code, object: keys.key(row)))
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
    let blocks = IndexBlocks(tree.blocks, end: tree.end)
    for run in index.runs {
      var cursor = EntryCursor(run, blocks)
      for (place, entry) in entries.enumerated() {
        if entry.code > run.lastCode { break }
        if entry.code < run.firstCode || isFound[place] { continue }
        try cursor.seek(entry)
        guard let found = cursor.current else { break }
        isFound[place] = found == entry
      }
    }
    for (entry, isFound) in zip(entries, isFound) where !isFound {
      problems.append("object \(entry.object) is not found by its value in column '\(name)'")
    }
    entries.removeAll(keepingCapacity: true)
  }

  /// Removes the entries whose objects are gone or have another value.
  func removeOutdated(_ entries: inout [IndexEntry]) throws {
    var isCurrent = [Bool](repeating: false, count: entries.count)
    var opened: (entry: NodeEntry, keys: LeafKeys, values: LeafColumn)?
    for place in entries.indices.sorted(by: { entries[$0].object < entries[$1].object }) {
      let object = entries[place].object
      guard let location = try tree.location(ofKey: object) else { continue }
      if opened?.entry != location.entry {
        let leaf = try Leaf(location.entry, tree.blocks, end: tree.end)
        opened = (location.entry, try leaf.keys(), try leaf.column(id: index.column))
      }
      guard let opened, let row = opened.keys.row(ofKey: object) else { continue }
      isCurrent[place] =
        try opened.values.withSpelling(row) { index.code.code($0) } == entries[place].code
    }
    var place = 0
    entries.removeAll { _ in
      defer { place += 1 }
      return !isCurrent[place]
    }
  }
}
