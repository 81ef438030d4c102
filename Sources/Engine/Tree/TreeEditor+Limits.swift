extension TreeEditor {
  /// Sizes that tests make tiny so that splits happen early.
  package struct Limits: Sendable {
    package var nodeCapacity = Node.standardCapacity
    /// Rows a cluster holds at most when written by a transaction.
    package var clusterRows = 1024
    /// Small transactions fill clusters up to this many rows: each of them writes the last one
    /// anew. When there are enough, they become one of four times as many rows, and so on up to
    /// `clusterRows`.
    package var tailRows = 16
    /// Neighbours of fewer rows together are joined, as deleting leaves them, and changes to
    /// clusters of no more rewrite them.
    package var smallRows = 256
    /// How many of the last leaves may be short because of that.
    package var newLeaves = 24
    /// A cluster is closed early when its values take this many bytes.
    package var clusterBytes = 4 << 20
    /// Clusters a transaction keeps open before it writes them.
    package var openClusters = 64
    /// Changes to clusters of fewer bytes rewrite them; others get an overlay.
    package var overlayFrom = 4096
    /// An overlay that outgrows its cluster's share, one in so many bytes, becomes part of the cluster.
    /// With an eighth, 100,000 changes to 1,000,000 app rows wrote a quarter less and took a fifth more
    /// time.
    package var overlayShare = 4
    /// The least and the most that the share may be. A change writes the whole overlay, also when it is
    /// the only one in its transaction.
    package var overlayBytes = 2048...65_536
    /// Bytes of overlays that a transaction keeps open before it writes them.
    package var openOverlayBytes = 16 << 20

    package init() {}

    /// How large the overlay of a cluster may be.
    func overlayBytes(of base: NodeEntry) -> Int {
      let share = Int(base.reference.length) / max(overlayShare, 1)
      let most = min(max(share, overlayBytes.lowerBound), overlayBytes.upperBound)
      // Somewhat different from cluster to cluster: else all would be rewritten in the same transaction,
      // where changes are spread evenly.
      return most - most / 16 * Int(base.reference.checksum & 7)
    }
  }
}
