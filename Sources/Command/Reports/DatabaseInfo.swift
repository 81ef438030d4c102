import Base
import Engine
import Importer

/// The facts that `sheaf info` reports about a file: gathered once, printed as text or JSON.
struct DatabaseInfo {
  /// A process that holds a version.
  struct Reader {
    let version: ActiveVersion
    let holder: ActiveVersion.Holder
  }

  /// The use of the file's bytes: the parts add up to its length.
  struct Parts {
    let objects: Int
    let changes: Int
    let indexes: Int
    /// The tree above the clusters, schemas, notes, commit slots, and the unused ends of pages.
    let structure: Int
    /// Of the structure: the parts of pages that nothing fills.
    let gaps: Int
    let kept: Int
    let pinned: Int
    let free: Int
  }

  let path: String
  let version: UInt64
  /// False for a kept version: the tables are its own, the file's bytes are those of the newest.
  let isNewest: Bool
  /// The number of versions kept beside the newest.
  let keptVersions: Int
  /// Pending rows that imports have left beside the tables, or are writing now.
  let pending: [PendingTable]
  let format: Int
  let use: FileUse
  let readers: [Reader]
  let tables: [TableUse]
  /// Nil when it was not requested, or could not be computed.
  let estimate: CompactionEstimate?
  let estimateProblem: String?
  let estimateSeconds: Double

  /// - Parameter older: a kept version whose tables are described; nil: the newest.
  /// - Throws: `EngineError` when the file cannot be read; a damaged block only makes the estimate
  ///   impossible.
  init(_ database: Database, _ older: Snapshot? = nil, path: String, estimates: Bool) throws {
    self.path = path
    let newest = try database.snapshotForLooking()
    let snapshot = older ?? newest
    version = snapshot.version
    isNewest = snapshot.version == newest.version
    keptVersions = try newest.keptVersions.count
    pending = try newest.pendingTables
    format = Int(newest.record.format)
    use = try database.fileUse()
    readers = try database.activeVersions().flatMap { version in
      version.holders.filter { !$0.isThisProcess }.map { Reader(version: version, holder: $0) }
    }
    // All from one snapshot: `snapshot.table(named:)` would read the catalogue for each.
    tables = try snapshot.tablePlaces.map { try TableUse(snapshot.table(at: $0)) }
    let began = System.monotonicNanoseconds
    do {
      estimate = estimates ? try database.compactionEstimate() : nil
      estimateProblem = nil
    } catch {
      estimate = nil
      estimateProblem = CommandError(unexpected: error).message
    }
    estimateSeconds = Double(System.monotonicNanoseconds - began) / 1e9
  }

  var parts: Parts {
    let objects = tables.reduce(0) { $0 + $1.clusterBytes }
    let changes = tables.reduce(0) { $0 + $1.overlayBytes }
    let indexes = tables.reduce(0) { sum, table in
      sum + table.indexBytes + table.secondaryIndexes.reduce(0) { $0 + $1.bytes }
    }
    return Parts(
      objects: objects, changes: changes, indexes: indexes,
      structure: max(0, use.used - objects - changes - indexes), gaps: use.gaps, kept: use.kept,
      pinned: use.pinned, free: use.free)
  }

  // MARK: JSON

  var json: JSONValue {
    let parts = parts
    return [
      "command": "info", "format": .int(format), "version": .int(Int(clamping: version)),
      "newest": .bool(isNewest), "keptVersions": .int(keptVersions),
      "pending": .array(pending.map(\.json)),
      "file": [
        "total": .int(use.total), "used": .int(use.used), "free": .int(use.free),
        "kept": .int(use.kept), "pinned": .int(use.pinned), "objects": .int(parts.objects),
        "changes": .int(parts.changes), "indexes": .int(parts.indexes),
        "structure": .int(parts.structure), "gaps": .int(parts.gaps),
      ],
      "readers": .array(
        readers.map {
          [
            "pid": .int(Int($0.holder.process)), "version": .int(Int(clamping: $0.version.version)),
            "snapshots": .int($0.holder.snapshots), "pinned": .int($0.version.pinnedBytes),
          ]
        }),
      "tables": .array(tables.map(json)), "compaction": compaction,
    ]
  }

  private func json(_ table: TableUse) -> JSONValue {
    [
      "name": .string(table.name), "objects": .int(table.objects),
      "clusters": .int(table.clusters), "bytes": .int(table.clusterBytes),
      "overlayBytes": .int(table.overlayBytes),
      // A single name as it is, several in the form of `--key`.
      "key": table.keyColumns.isEmpty ? .null : .string(ColumnList.shown(table.keyColumns)),
      "keyColumns": .array(table.keyColumns.map { .string($0) }),
      "indexBytes": .int(table.indexBytes),
      "indexes": .array(
        table.secondaryIndexes.map {
          ["column": .string($0.column), "bytes": .int($0.bytes), "entries": .int($0.entries)]
        }),
      "columns": .array(table.columns.map { json($0, of: table) }),
    ]
  }

  private func json(_ column: TableUse.ColumnUse, of table: TableUse) -> JSONValue {
    func object(_ counts: [String: Int]) -> JSONValue {
      .object(counts.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: .int($0.value)) })
    }
    let share = table.clusterBytes > 0 ? Double(column.bytes) / Double(table.clusterBytes) : 0
    return [
      "name": .string(column.column.name), "type": .string(column.column.type.name),
      "spelled": .optional(column.column.notation) { .array($0.patterns.map { .string($0) }) },
      "bytes": .int(column.bytes), "share": .double((share * 10_000).rounded() / 10_000),
      "nulls": .int(column.nulls), "encodings": object(column.encodings),
      "encodingBytes": object(column.encodingBytes),
    ]
  }

  private var compaction: JSONValue {
    guard let estimate else {
      return [
        "before": .int(use.total), "after": .null,
        "reason": .optional(estimateProblem) { .string($0) },
      ]
    }
    return [
      "before": .int(estimate.before), "after": .int(estimate.after),
      "saved": .int(max(0, estimate.before - estimate.after)), "approximate": true,
      "method": .string(
        estimate.sampledObjects == estimate.objects
          ? "all objects were encoded as a compaction would"
          : "some objects were encoded as a compaction would, and stand for the others"),
      "possibleError": .int(estimate.possibleError),
      "objects": .int(estimate.objects), "sampledObjects": .int(estimate.sampledObjects),
      "places": .int(estimate.places),
      "seconds": .double(estimateSeconds),
      "tables": .array(
        estimate.tables.map {
          [
            "name": .string($0.name), "before": .int($0.before), "after": .int($0.after),
            "possibleError": .int($0.possibleError), "objects": .int($0.objects),
            "sampledObjects": .int($0.sampledObjects), "places": .int($0.places),
          ]
        }),
    ]
  }
}
