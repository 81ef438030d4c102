/// The size of the steps of a compaction in use.
package struct OnlineLimits: Sendable {
  /// The approximate number of bytes that a transaction writes, at least one cluster.
  package var transactionBytes = 8 << 20
  /// The maximum number of rows in a cluster.
  package var clusterRows = Compactor.clusterRows
  /// The maximum number of encoded bytes that are merged into a cluster.
  package var clusterBytes = Compactor.clusterBytes
  /// A cluster with at least this many rows was encoded thoroughly before.
  package var wellEncodedRows = 16_384

  package init() {}
}

/// A table's leaves that a compaction in use merges into one, if they still exist when it writes.
struct LeafGroup: Sendable {
  /// The table's number.
  let table: UInt32
  let columns: [UInt32]
  let entries: [NodeEntry]
}

/// A tree's leaves from a key on, in groups of neighbours that may be worth merging.
///
/// Groups are made as in a compaction of the whole file, so that a repeated compaction recognizes the
/// clusters that it made before, and leaves them unchanged.
///
/// Thread rule: confined, while the version is held.
struct LeafGroups {
  private let tree: TreeReader
  private var parts: TreeParts
  private let first: Int64
  private let limits: OnlineLimits
  /// True for leaves that must not be changed.
  private let isFixed: (NodeEntry) throws -> Bool
  private var text: DecodedText
  private var upcoming: NodeEntry?
  private var hasBegun = false

  /// - Parameters:
  ///   - columns: the table's columns.
  ///   - first: leaves with lower keys are skipped.
  init(
    _ tree: TreeReader, of columns: [UInt32], from first: Int64, _ limits: OnlineLimits,
    isFixed: @escaping (NodeEntry) throws -> Bool
  ) {
    self.tree = tree
    text = DecodedText(of: columns, most: Compactor.textBytes(limits.clusterBytes))
    parts = TreeParts(tree)
    self.first = first
    self.limits = limits
    self.isFixed = isFixed
  }

  private mutating func nextLeaf() throws -> NodeEntry? {
    while let part = parts.part {
      if let end = part.end, end <= first {
        parts.skip()
      } else if part.level > 0 {
        try parts.descend()
      } else {
        parts.skip()
        if part.entry.firstKey >= first { return part.entry }
      }
    }
    return nil
  }

  /// The next group, whether it is worth merging, and its current bytes; nil after the last.
  mutating func next() throws -> (group: [NodeEntry], pays: Bool, bytes: Int)? {
    if !hasBegun {
      hasBegun = true
      upcoming = try nextLeaf()
    }
    var group: [NodeEntry] = []
    var (rows, bytes) = (0, 0)
    while let entry = upcoming {
      if try isFixed(entry) {
        if !group.isEmpty { break }
        upcoming = try nextLeaf()
        return ([entry], false, 0)
      }
      let (sum, overflow) = rows.addingReportingOverflow(Int(clamping: entry.count))
      let more = try tree.blocks.byteCount(ofLeaf: entry, end: tree.end)
      let fits =
        !overflow && sum <= limits.clusterRows && bytes + more <= limits.clusterBytes
      if let first = group.first {
        // Only where leaves may be merged: reading their columns reads all of their bytes.
        guard fits, try text.add(entry, behind: group.count == 1 ? first : nil, tree) else { break }
      }
      (rows, bytes) = (sum, bytes + more)
      group.append(entry)
      upcoming = try nextLeaf()
    }
    return group.isEmpty ? nil : (group, try pays(group, rows: rows), bytes)
  }

  /// Returns whether merging can save an eighth: with a few rows beside a cluster that is already large, more
  /// would be written than gained.
  private func pays(_ group: [NodeEntry], rows: Int) throws -> Bool {
    let most = group.map { Int(clamping: $0.count) }.max() ?? 0
    if most < limits.wellEncodedRows || (rows - most) > rows / 8 { return true }
    for entry in group where entry.reference.isOverlay {
      let overlay = try tree.blocks.overlay(entry, end: tree.end)
      let base = overlay.base
      if overlay.byteCount > Int(base.reference.length) / 8
        || entry.count < base.count - base.count / 8
      {
        return true
      }
    }
    return false
  }
}
