/// Looks every object of a table up in one of its indexes.
///
/// Thread rule: confined, while the version is held.
struct IndexCheck {
  private let tree: TreeReader
  private let runs: [IndexRun]
  /// The columns' permanent numbers.
  private let columns: [UInt32]
  /// The index code of a spelling or of a key's bytes (`KeyTuple`); nil when it has none.
  private let code: (UnsafeRawBufferPointer?) -> Int64?
  /// The kind of lookup, for messages.
  private let what: String
  /// True when no two objects may have the same spelling.
  private let isUnique: Bool
  /// The number of objects sorted together.
  private static let batch = 1 << 18
  /// The number of those that are looked up before the file's pages are released: an eighth of an index, as
  /// codes are spread over all of it.
  private static let slice = 1 << 15

  /// The check of a primary key's index.
  init(keyOf table: Catalogue.TableEntry, _ schema: TableSchema, _ tree: TreeReader) {
    self.tree = tree
    runs = table.index
    columns = schema.keyColumns.map { schema.columnIDs[$0] }
    // The check of columns reports a null in the key.
    code = { $0.map(schema.keyCode.code) }
    what = "key"
    isUnique = true
  }

  /// The check of a secondary index.
  ///
  /// - Parameter name: the name of the column.
  init(_ index: Catalogue.Index, name: String, _ tree: TreeReader) {
    self.tree = tree
    runs = index.runs
    columns = [index.column]
    // The check of columns reports a spelling that does not fit.
    code = index.code.code
    what = "value in column '\(name)'"
    isUnique = false
  }

  /// The problems, in words.
  ///
  /// - Complexity: O(n log n), for n objects; where few values are shared by all, O(n²) in leaves.
  /// - Throws: `BlockError`, `ClusterError` when a block is damaged.
  func run() throws -> [String] {
    var problems: [String] = []
    var entries: [IndexEntry] = []
    var leaves = tree.leaves()
    let decoded = DecodedKeys(columns)
    while let location = try leaves.next() {
      let leaf = try Leaf(location.entry, tree.blocks, end: tree.end)
      let keys = try leaf.keys()
      try decoded.decode(leaf, rows: 0..<leaf.rowCount)
      for row in 0..<leaf.rowCount {
        guard let code = decoded.withKey(row, code) else { continue }
        entries.append(IndexEntry(code: code, object: keys.key(row)))
      }
      tree.blocks.forget(location.entry, end: tree.end)
      if entries.count >= Self.batch { try lookUp(&entries, &problems) }
    }
    try lookUp(&entries, &problems)
    return problems
  }

  private func lookUp(_ all: inout [IndexEntry], _ problems: inout [String]) throws {
    all.sort()
    for start in stride(from: 0, to: all.count, by: Self.slice) {
      let entries = Array(all[start..<min(start + Self.slice, all.count)])
      var isFound = [Bool](repeating: false, count: entries.count)
      if isUnique {
        problems += try lookUpKeys(entries, &isFound)
      } else {
        try lookUpValues(entries, &isFound)
      }
      for (entry, isFound) in zip(entries, isFound) where !isFound {
        problems.append("object \(entry.object) is not found by its \(what)")
      }
      if tree.end > MappedRange.largeFile { tree.blocks.forgetAll(length: Int(clamping: tree.end)) }
    }
    all.removeAll(keepingCapacity: true)
  }

  private func lookUpValues(_ entries: [IndexEntry], _ isFound: inout [Bool]) throws {
    let blocks = IndexBlocks(tree.blocks, end: tree.end)
    for run in runs {
      var cursor = EntryCursor(run, blocks)
      for (place, entry) in entries.enumerated() {
        if entry.code > run.lastCode { break }
        if entry.code < run.firstCode || isFound[place] { continue }
        try cursor.seek(entry)
        guard let found = cursor.current else { break }
        isFound[place] = found == entry
      }
    }
  }

  /// Looks up keys. Few objects share a code, so all of them are read.
  ///
  /// - Returns: descriptions of objects with the same key.
  private func lookUpKeys(_ entries: [IndexEntry], _ isFound: inout [Bool]) throws -> [String] {
    let blocks = IndexBlocks(tree.blocks, end: tree.end)
    var shared: [(Int64, Int64)] = []
    for run in runs {
      try run.find(entries.lazy.map(\.code), blocks) { position, object in
        if object == entries[position].object {
          isFound[position] = true
        } else if object < entries[position].object {
          // Each pair is reported once.
          shared.append((object, entries[position].object))
        }
      }
    }
    return try shared.compactMap { first, second in
      guard let key = try key(of: first), try key == self.key(of: second) else { return nil }
      return "the objects \(first) and \(second) have the same key, "
        + "'\(key.withUnsafeBytes { KeyTuple.described($0, columns: columns.count) })'"
    }
  }

  private func key(of object: Int64) throws -> [UInt8]? {
    guard let place = try tree.location(ofKey: object) else { return nil }
    let leaf = try Leaf(place.entry, tree.blocks, end: tree.end)
    guard let row = try leaf.keys().row(ofKey: object) else { return nil }
    return try leaf.withKey(row, columns) { $0.map { Array($0) } }
  }

  /// Removes the entries whose objects no longer exist or have another code.
  func removeOutdated(_ entries: inout [IndexEntry]) throws {
    var isCurrent = [Bool](repeating: false, count: entries.count)
    var opened: (entry: NodeEntry, keys: LeafKeys, leaf: Leaf)?
    var mapped = MappedRange(tree.blocks)
    for place in entries.indices.sorted(by: { entries[$0].object < entries[$1].object }) {
      let object = entries[place].object
      guard let location = try tree.location(ofKey: object) else { continue }
      if opened?.entry != location.entry {
        mapped.add(leaf: location.entry, end: tree.end)
        let leaf = try Leaf(location.entry, tree.blocks, end: tree.end)
        opened = (location.entry, try leaf.keys(), leaf)
      }
      guard let opened, let row = opened.keys.row(ofKey: object) else { continue }
      isCurrent[place] = try opened.leaf.withKey(row, columns, code) == entries[place].code
    }
    var place = 0
    entries.removeAll { _ in
      defer { place += 1 }
      return !isCurrent[place]
    }
  }
}
