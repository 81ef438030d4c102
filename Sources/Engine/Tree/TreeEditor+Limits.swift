extension TreeEditor {
  /// Sizes that tests make tiny so that splits happen early.
  package struct Limits: Sendable {
    package var nodeCapacity = Node.standardCapacity
    /// Rows a cluster holds at most when written by a transaction.
    package var clusterRows = 1024
    /// Small transactions fill clusters up to this many rows.
    package var tailRows = 256
    /// They add to a last cluster of at most this many, which joins the one before it once it is full:
    /// each of them writes the last cluster anew, and a short one costs a quarter of a long one.
    package var shortTailRows = 64
    /// A cluster is closed early when its values take this many bytes.
    package var clusterBytes = 4 << 20
    /// Clusters a transaction keeps open before it writes them.
    package var openClusters = 64
    /// Changes to clusters of fewer bytes rewrite them; others get an overlay. Those of small transactions that have
    /// fewer are joined up to `clusterRows`.
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
