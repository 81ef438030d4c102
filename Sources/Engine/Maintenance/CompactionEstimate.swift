/// The estimated size of a file after a compaction. Rows are encoded as in a compaction, and only the size of
/// the result is kept. Large tables are sampled, evenly over their bytes.
///
/// It is approximate: nodes are not written, indexes are measured by their entries, and the other rows may
/// differ from the sample; `possibleError` bounds the deviation, as far as the sample shows it.
///
/// Thread rule: a plain value, `Sendable`.
public struct CompactionEstimate: Sendable, Equatable {
  /// The estimate for a table.
  public struct TablePart: Sendable, Equatable {
    /// The table's name.
    public let name: String
    /// The bytes of its clusters, changed rows and indexes now.
    public let before: Int
    /// The estimated bytes after a compaction.
    public let after: Int
    /// The possible error of `after`, in bytes, in either direction.
    public let possibleError: Int
    /// The number of its objects.
    public let objects: Int
    /// The number of objects that were encoded for the estimate.
    public let sampledObjects: Int
    /// The number of sampled places in the table; 0 when all objects were encoded.
    public let places: Int
  }

  /// The file's length now, in bytes.
  public let before: Int
  /// The estimated length of the file after a compaction, in bytes.
  public let after: Int
  /// The possible error of `after`, in bytes, in either direction: three standard errors of the sample, and
  /// an allowance for the known omissions. A part of a table that is shorter than the distance of two places,
  /// and unlike the rest, may be missed.
  public let possibleError: Int
  /// The tables, in the order of their names.
  public let tables: [TablePart]

  /// The number of objects in all tables.
  public var objects: Int { tables.reduce(0) { $0 + $1.objects } }
  /// The number of objects that were encoded for the estimate.
  public var sampledObjects: Int { tables.reduce(0) { $0 + $1.sampledObjects } }
  /// The number of sampled places, in the tables that were not encoded completely.
  public var places: Int { tables.reduce(0) { $0 + $1.places } }

  /// - Parameters:
  ///   - snapshot: the version to be compacted, held until this returns.
  ///   - total: the file's length.
  ///   - limits: the size of the sample of each table.
  /// - Complexity: O(clusters) for each table, plus encoding the samples, on several threads.
  /// - Throws: `EngineError.damaged`, and other errors of reading.
  package init(_ snapshot: Snapshot, total: Int, limits: ClusterSampler.Limits) throws {
    let sampler = ClusterSampler(snapshot.blocks, end: snapshot.record.end, limits)
    before = total
    tables = try snapshot.tablePlaces.map {
      try Self.measure(try snapshot.table(at: $0), sampler)
    }
    let companions = try snapshot.companions().map { try Self.measure($0, sampler) }
    // The slots, the data, and for every table about a page of nodes, schema and notes.
    let all = tables + companions
    let pages = Layout.slotCount + 1 + all.count
    let data = all.reduce(0) { $0 + $1.after }
    after = (Layout.pages(holding: data) + pages) * Layout.pageBytes
    possibleError =
      all.reduce(0) { $0 + $1.possibleError } + (1 + all.count) * Layout.pageBytes
  }

  private static func measure(_ table: Table, _ sampler: ClusterSampler) throws -> TablePart {
    let sampled = try sampler.measure(table.tree, columns: table.schema.columnIDs)
    var indexes = (before: try table.indexBytes(), after: 0)
    indexes.after = live(indexes.before, table.count, table.indexEntries)
    for index in try table.valueIndexSizes() {
      indexes.before += index.bytes
      indexes.after += live(index.bytes, table.count, index.entries)
    }
    return TablePart(
      name: table.name, before: sampled.before + indexes.before,
      after: sampled.after + indexes.after,
      // In one run, entries have other numbers of bits than in several.
      possibleError: sampled.possibleError + indexes.after / 8, objects: table.count,
      sampledObjects: sampled.objects, places: sampled.places)
  }

  /// The bytes of an index without outdated entries, as all entries take about the same space.
  private static func live(_ bytes: Int, _ objects: Int, _ entries: Int) -> Int {
    entries > objects ? Int(Double(bytes) * Double(objects) / Double(entries)) : bytes
  }
}
