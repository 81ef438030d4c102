/// What a compaction would leave of a file: clusters are encoded anew as one would, the result is counted
/// and thrown away. Of large tables only some clusters are, evenly spread, and stand for the others.
///
/// Approximate: nodes are not written, indexes are counted by their entries, and the clusters that are not
/// looked at may be unlike the others.
///
/// Thread rule: a plain value, `Sendable`.
public struct CompactionEstimate: Sendable, Equatable {
  /// A table's part.
  public struct TablePart: Sendable, Equatable {
    /// The table's name.
    public let name: String
    /// Bytes of its clusters, changed rows and indexes now.
    public let before: Int
    /// About as many bytes after a compaction.
    public let after: Int
    /// Its objects.
    public let objects: Int
    /// How many of them were encoded anew for the estimate.
    public let sampledObjects: Int
  }

  /// The file's length now.
  public let before: Int
  /// About the file's length after a compaction.
  public let after: Int
  /// The tables, in the order of their names.
  public let tables: [TablePart]

  /// Objects in all tables.
  public var objects: Int { tables.reduce(0) { $0 + $1.objects } }
  /// How many of them were encoded anew for the estimate.
  public var sampledObjects: Int { tables.reduce(0) { $0 + $1.sampledObjects } }

  /// - Parameters:
  ///   - snapshot: the version that would be compacted; held until this returns.
  ///   - total: the file's length.
  ///   - samples: compacted clusters that are made of each table.
  /// - Complexity: O(samples × 65,536 × columns) for each table, on several threads, and its clusters.
  /// - Throws: `EngineError.damaged`, and other errors of reading.
  package init(_ snapshot: Snapshot, total: Int, samples: Int) throws {
    var sampler = Sampler(snapshot.blocks, end: snapshot.record.end, samples: max(1, samples))
    before = total
    tables = try snapshot.tablePlaces.map { try sampler.measure(try snapshot.table(at: $0)) }
    let companions = try snapshot.companions().map { try sampler.measure($0) }
    // The slots, the data, and of every table a page or so of nodes, schema and notes.
    let pages = Layout.slotCount + 1 + tables.count + companions.count
    let data = (tables + companions).reduce(0) { $0 + $1.after }
    let whole = (data + Layout.pageBytes - 1) / Layout.pageBytes + pages
    after = whole * Layout.pageBytes
  }
}

/// Encodes some of a table's clusters as a compaction would.
private struct Sampler {
  private let blocks: BlockReader
  private let end: UInt64
  private let samples: Int
  private let team: MergingTeam
  private let builder = ClusterBuilder()

  init(_ blocks: BlockReader, end: UInt64, samples: Int) {
    self.blocks = blocks
    self.end = end
    self.samples = samples
    team = MergingTeam(size: min(System.processorCount, Compactor.mostThreads))
  }

  mutating func measure(_ table: Table) throws -> CompactionEstimate.TablePart {
    var cursor = ClusterGroups(table.tree)
    let groups = try cursor.all()
    let sizes = try groups.map { group in
      try group.reduce(0) { $0 + (try blocks.byteCount(ofLeaf: $1, end: end)) }
    }
    let chosen = Self.spread(samples, over: groups.count)
    let columns = table.schema.columnIDs
    var (sampled, before, after) = (0, 0, 0)
    for index in chosen {
      let group = groups[index]
      let (blocks, end) = (blocks, end)
      let encoded = try team.map(columns) { column, merger in
        try merger.encode(column: column, of: group, blocks, end: end).column
      }
      let offsets = try ClusterMerger.keyOffsets(of: group, blocks, end: end)
      let cluster = try builder.assemble(encoded, rowCount: offsets.count, keyOffsets: offsets)
      sampled += offsets.count
      before += sizes[index]
      after += cluster.bytes.count
      for entry in group { blocks.forget(entry, end: end) }
    }
    let all = sizes.reduce(0, +)
    let ratio = before == 0 ? 1 : Double(after) / Double(before)
    var indexes = (before: try table.indexBytes(), after: 0)
    indexes.after = Self.live(indexes.before, table.count, table.indexEntries)
    for index in try table.valueIndexSizes() {
      indexes.before += index.bytes
      indexes.after += Self.live(index.bytes, table.count, index.entries)
    }
    return CompactionEstimate.TablePart(
      name: table.name, before: all + indexes.before,
      after: Int(Double(all) * ratio) + indexes.after, objects: table.count,
      sampledObjects: sampled)
  }

  /// Bytes of an index without what is out of date: each entry takes about as many as the others.
  private static func live(_ bytes: Int, _ objects: Int, _ entries: Int) -> Int {
    entries > objects ? Int(Double(bytes) * Double(objects) / Double(entries)) : bytes
  }

  /// `count` places of `total`, evenly spread, the first among them.
  static func spread(_ count: Int, over total: Int) -> [Int] {
    guard total > count else { return Array(0..<total) }
    return (0..<count).map { $0 * total / count }
  }
}

extension ClusterGroups {
  /// All groups that are left.
  fileprivate mutating func all() throws -> [[NodeEntry]] {
    var groups: [[NodeEntry]] = []
    while let round = try next(64) { groups += round }
    return groups
  }
}
