/// A tree's leaves in order, in groups that are each merged into one cluster.
struct ClusterGroups {
  private let tree: TreeReader
  private var cursor: LeafCursor
  private var text: DecodedText
  /// The first leaf of the next group.
  private var upcoming: NodeEntry?
  private let clustersEach: Int
  private let clusterRows: Int
  private let clusterBytes: Int
  private var started = false

  /// - Parameter columns: the columns that are merged; of single clusters, none have to be known.
  init(
    _ tree: TreeReader, of columns: [UInt32], clustersEach: Int = .max,
    clusterRows: Int = Compactor.clusterRows, clusterBytes: Int = Compactor.clusterBytes
  ) {
    self.tree = tree
    text = DecodedText(of: columns, most: Compactor.textBytes(clusterBytes))
    self.clusterRows = clusterRows
    self.clusterBytes = clusterBytes
    cursor = tree.leaves()
    self.clustersEach = clustersEach
  }

  /// The next group; nil after the last.
  mutating func next() throws -> [NodeEntry]? {
    if !started {
      started = true
      upcoming = try cursor.next()?.entry
    }
    var group: [NodeEntry] = []
    var rows: UInt64 = 0
    var bytes = 0
    while let entry = upcoming, group.count < clustersEach {
      // Counts come from the file: the comparison with the limit keeps them far from overflow.
      let (sum, overflow) = rows.addingReportingOverflow(entry.count)
      let fits = !overflow && sum <= clusterRows
      bytes += try tree.blocks.byteCount(ofLeaf: entry, end: tree.end)
      if let first = group.first {
        guard fits, bytes <= clusterBytes,
          try text.add(entry, behind: group.count == 1 ? first : nil, tree)
        else { break }
      }
      rows = sum
      group.append(entry)
      upcoming = try cursor.next()?.entry
    }
    return group.isEmpty ? nil : group
  }
}

/// The work items of a compaction's threads: for each group of leaves its columns, then its keys.
struct ClusterParts {
  struct Part: Sendable {
    let group: [NodeEntry]
    /// Nil: the keys.
    let column: UInt32?
  }

  private var groups: ClusterGroups
  private let columns: [UInt32]
  private let shouldStop: () -> Bool
  private var group: [NodeEntry]?
  private var place = 0

  /// - Parameter shouldStop: called before each group.
  init(_ groups: ClusterGroups, _ columns: [UInt32], _ shouldStop: @escaping () -> Bool) {
    self.groups = groups
    self.columns = columns
    self.shouldStop = shouldStop
  }

  /// The number of work items in as many groups as there are threads.
  func window(_ threads: Int) -> Int { (columns.count + 1) * threads }

  /// - Throws: `EngineError.cancelled` when `shouldStop` returns true, and the errors of reading the tree.
  mutating func next() throws -> Part? {
    if group == nil {
      if shouldStop() { throw EngineError.cancelled }
      group = try groups.next()
      place = 0
    }
    guard let group else { return nil }
    defer { place += 1 }
    if place < columns.count { return Part(group: group, column: columns[place]) }
    self.group = nil
    return Part(group: group, column: nil)
  }
}
