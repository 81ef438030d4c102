import Base

/// The cluster into which a group of leaves was merged, in memory.
struct MergedGroup: Sendable {
  let group: LeafGroup
  let cluster: EncodedCluster

  /// Encodes groups on the threads of a team, a column at a time, and reads each result back, so that the
  /// cluster that replaces leaves has the same values.
  ///
  /// Thread rule: that of the team, while a version that has the leaves is held.
  ///
  /// - Parameters:
  ///   - end: the end of that version.
  ///   - shouldStop: called before each group.
  /// - Returns: the groups that have become smaller; single leaves only if by a sixteenth.
  /// - Throws: `BlockError`, `ClusterError` when a leaf is damaged; `EngineError.damaged` when a result does
  ///   not read back as encoded; `EngineError.cancelled`.
  static func encode(
    _ groups: [LeafGroup], _ team: MergingTeam, _ blocks: BlockReader, end: UInt64,
    shouldStop: @escaping () -> Bool
  ) throws -> [MergedGroup] {
    let builder = ClusterBuilder()
    var merged: [MergedGroup] = []
    for group in groups {
      if shouldStop() { throw EngineError.cancelled }
      let entries = group.entries
      let encoded = try team.map(group.columns) { id, merger in
        try merger.encode(column: id, of: entries, blocks, end: end)
      }
      let offsets = try ClusterMerger.keyOffsets(of: entries, blocks, end: end)
      let cluster = try builder.assemble(
        encoded.map(\.column), rowCount: offsets.count, keyOffsets: offsets)
      let before = try entries.reduce(0) { try $0 + blocks.byteCount(ofLeaf: $1, end: end) }
      for entry in entries { blocks.forget(entry, end: end) }
      // A merged cluster is not merged again.
      let most = entries.count > 1 ? before : before - before / 16
      guard cluster.bytes.count <= most else { continue }
      let memory = LeafMemory(cluster.bytes)
      let leaf = Leaf(
        try ClusterReader(memory.bytes), firstKey: entries[0].firstKey, memory: memory)
      let merger = ClusterMerger()
      let isSame = try zip(group.columns, encoded).allSatisfy { id, column in
        try merger.digest(column: id, of: leaf) == column.digest
      }
      guard isSame, leaf.rowCount == offsets.count,
        try ClusterMerger.keyOffsets(of: leaf, from: entries[0].firstKey) == offsets
      else {
        throw EngineError.damaged(
          path: blocks.storage.path, where: "cluster at offset \(entries[0].reference.offset)",
          reason: "it does not read back as it was encoded anew; the file was left as it is")
      }
      merged.append(MergedGroup(group: group, cluster: cluster))
    }
    return merged
  }
}
