extension TreeEditor {
  /// Sizes that tests make tiny so that splits happen early.
  package struct Limits: Sendable {
    package var nodeCapacity = Node.standardCapacity
    /// The most rows of a cluster that a transaction writes.
    package var clusterRows = 1024
    /// The same where it writes a larger one anew. Four of them take little more room than a cluster of a
    /// compacted file; they are not all rewritten at the same time, and find room in smaller holes.
    package var rewrittenRows = 16_384
    /// Small transactions fill clusters up to this many rows: each of them rewrites the last one. When there
    /// are enough such clusters, they are joined into one with four times as many rows, and so on up to
    /// `clusterRows`.
    package var tailRows = 16
    /// Neighbours with no more rows together, as after deletions, are joined.
    package var smallRows = 256
    /// How many of the last leaves may be short because of `tailRows`.
    package var newLeaves = 24
    /// A cluster is closed early when its values take this many bytes.
    package var clusterBytes = 4 << 20
    /// How many clusters a transaction keeps open before it writes them.
    package var openClusters = 64
    /// Changes rewrite a cluster of fewer bytes; a larger one gets an overlay.
    package var overlayFrom = 512
    /// An overlay that outgrows this fraction of its cluster, one in so many bytes, is merged into the
    /// cluster. With an eighth, 100,000 changes to 1,000,000 app rows wrote a quarter less and took a fifth
    /// more time.
    package var overlayShare = 3
    /// The lower and the upper limit of that fraction in bytes. A change now and then merges all blocks of an
    /// overlay, and reading a leaf for the first time verifies them.
    package var overlayBytes = 256...(1 << 20)
    /// Changed rows are stored column by column where that takes less than this many percent of what records
    /// take.
    package var columnsPercent = 100
    /// How many bytes of overlays a transaction keeps open before it writes them.
    package var openOverlayBytes = 16 << 20

    package init() {}

    /// How large the overlay of a cluster may be.
    func overlayBytes(of base: NodeEntry) -> Int {
      let share = Int(base.reference.length) / max(overlayShare, 1)
      let most = min(max(share, overlayBytes.lowerBound), overlayBytes.upperBound)
      // Slightly different for each cluster: otherwise evenly spread changes would make one transaction
      // rewrite all clusters.
      return most - most / 16 * Int(base.reference.checksum & 7)
    }
  }
}
