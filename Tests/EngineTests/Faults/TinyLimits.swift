@testable import Engine

extension Database.Options {
  /// Nodes and clusters so small that a few rows make a deep tree.
  static var tiny: Database.Options {
    var options = Database.Options()
    options.limits.nodeCapacity = 4
    options.limits.edgeLeaves = 2
    options.limits.clusterRows = 8
    options.limits.tailRows = 2
    options.limits.smallRows = 6
    options.limits.openClusters = 3
    options.limits.overlayFrom = 0
    options.limits.overlayBytes = 200...400
    options.limits.overlayShare = 2
    options.limits.openOverlayBytes = 4000
    // Blocks of a few rows are of both forms.
    options.limits.columnsPercent = 200
    options.indexLimits = .tiny
    options.keptInPart = 2
    return options
  }
}

extension IndexLimits {
  /// Limits that make runs of many levels from few keys, many of which share a code.
  static var tiny: IndexLimits {
    var limits = IndexLimits()
    limits.leafEntries = 3
    limits.nodeCapacity = 3
    limits.recentEntries = 12
    limits.smallestRun = 2
    limits.smallFanout = 2
    limits.largeFanout = 2
    limits.keyCode = KeyCode(low: 1, high: 2, bits: 5)
    return limits
  }
}

extension OnlineLimits {
  /// Limits that make many transactions of few rows.
  static var tiny: OnlineLimits {
    var limits = OnlineLimits()
    limits.transactionBytes = 3000
    limits.clusterRows = 14
    limits.wellEncodedRows = 5
    return limits
  }
}
