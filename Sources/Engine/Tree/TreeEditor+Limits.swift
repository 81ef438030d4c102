extension TreeEditor {
  /// Sizes that tests set to small values, so that splits happen early.
  package struct Limits: Sendable {
    package var nodeCapacity = Node.standardCapacity
    /// The last node of level 1 hands its leaves on to the node before it when it has this many that appends
    /// no longer change. With fewer, the node before would be written too often.
    package var edgeLeaves = 8
    /// The maximum number of rows in a cluster that a transaction writes.
    package var clusterRows = 1024
    /// The maximum number of rows when a larger cluster is rewritten. Four such clusters take little more
    /// space than a cluster of a compacted file, are not all rewritten at the same time, and fit into smaller
    /// holes.
    package var rewrittenRows = 16_384
    /// Small transactions fill clusters up to this many rows, each by rewriting the last one. When there are
    /// enough such clusters, they are joined into one with four times as many rows, and so on up to
    /// `clusterRows`.
    package var tailRows = 16
    /// Neighbours with at most this many rows together, as after deletions, are joined.
    package var smallRows = 256
    /// The number of last leaves that may be short because of `tailRows`.
    package var newLeaves = 24
    /// A cluster is closed early when its values take this many bytes.
    package var clusterBytes = 4 << 20
    /// The number of clusters that a transaction keeps open before it writes them.
    package var openClusters = 64
    /// Changes rewrite a cluster with fewer bytes; a larger one gets an overlay.
    package var overlayFrom = 512
    /// An overlay that exceeds this fraction of its cluster's bytes (1 / overlayShare) is merged into the
    /// cluster. With an eighth, 100,000 changes to 1,000,000 app rows wrote a quarter less and took a fifth
    /// more time.
    package var overlayShare = 3
    /// The bounds of that fraction, in bytes. Now and then a change merges all blocks of an overlay, and the
    /// first read of a leaf verifies them.
    package var overlayBytes = 256...(1 << 20)
    /// Changed rows are stored column by column where that takes less than this percentage of the bytes of
    /// records.
    package var columnsPercent = 100
    /// The bytes of overlays that a transaction keeps open before it writes them.
    package var openOverlayBytes = 16 << 20
    /// The bytes of rows that a transaction keeps open before it writes them. Changed values leave the
    /// earlier ones behind until then.
    package var openRowBytes = 64 << 20

    package init() {}

    /// How long a cluster of so many rows lasts if it is appended.
    package func lifetime(ofRows rows: Int) -> BlockWriter.Lifetime {
      rows < clusterRows / 4 ? .passing : .lasting
    }

    /// The maximum bytes of a cluster's overlay.
    func overlayBytes(of base: NodeEntry) -> Int {
      let share = Int(base.reference.length) / max(overlayShare, 1)
      let most = min(max(share, overlayBytes.lowerBound), overlayBytes.upperBound)
      // Slightly different for each cluster: otherwise evenly spread changes would make one transaction
      // rewrite all clusters.
      return most - most / 16 * Int(base.reference.checksum & 7)
    }
  }
}
