/// Joins leaves with few rows into larger ones: those that small transactions append, and those that
/// deletions leave.
extension TreeEditor {
  /// Joins the last clusters, if there are enough small ones, before another one is appended.
  ///
  /// - Parameter rows: the number of rows of that cluster; with many rows the others are not joined.
  package func joinTail(before rows: Int) throws {
    guard limits.lifetime(ofRows: rows) == .passing, let node = try lastNode() else { return }
    try joinTail(node)
  }

  /// When there are enough, joins the last clusters of small transactions into one four times as large, then
  /// those of that size, and so on. Each row is rewritten once for each size, however small the transactions
  /// are.
  ///
  /// - Parameter node: the last node of level 1.
  func joinTail(_ node: EditNode) throws {
    var size = limits.tailRows
    while size < limits.clusterRows {
      let part = UInt64(size)
      size = min(size * 4, limits.clusterRows)
      let end = node.children.count
      var (first, count) = (end, 0 as UInt64)
      while first > 0, node.children[first - 1].count <= part,
        count + node.children[first - 1].count <= UInt64(size)
      {
        first -= 1
        count += node.children[first].count
      }
      guard count + part > UInt64(size) else { continue }
      try join(node, first..<end)
    }
  }

  /// Joins neighbouring clusters of the last node, unless the result would be closed early for its size.
  private func join(_ node: EditNode, _ range: Range<Int>) throws {
    guard range.count > 1 else { return }
    let most = limits.clusterBytes / (2 * range.count)
    guard try range.allSatisfy({ try fits(node.children[$0], most) }) else { return }
    // Set before any leaf is opened: a node with an open leaf must be rewritten.
    changeEdge()
    let opened = try range.map { try openRows(at: node, $0) }
    for after in opened.dropFirst() { try opened[0].rows.append(after.rows) }
    node.children[range.lowerBound].count = UInt64(opened[0].count)
    node.children.removeSubrange(range.dropFirst())
    openCount -= range.count - 1
    changeCount += 1
  }

  /// Joins neighbouring leaves that together have few rows, as after deletions.
  ///
  /// The last leaves are not joined: appends made them, and `joinTail` joins them. Neither are leaves with an
  /// overlay, which is small compared with its cluster.
  func joinSmall(_ entries: inout [NodeEntry], isLast: Bool) throws {
    let end = max(0, entries.count - (isLast ? limits.newLeaves : 0))
    let most = UInt64(limits.smallRows)
    func isShort(_ index: Int, after count: UInt64) -> Bool {
      count + entries[index].count <= most && !entries[index].reference.isOverlay
    }
    guard
      (1..<max(end, 1)).contains(where: {
        isShort($0 - 1, after: 0) && isShort($0, after: entries[$0 - 1].count)
      })
    else { return }
    var joined: [NodeEntry] = []
    var first = 0
    while first < end {
      var last = first + 1
      var (count, bytes) = (entries[first].count, try clusters.byteCount(ofLeaf: entries[first]))
      while last < end, isShort(first, after: 0), isShort(last, after: count) {
        bytes += try clusters.byteCount(ofLeaf: entries[last])
        // Rows of this size gain nothing. And a compacted cluster has up to 32 times as many bytes when it is
        // decoded, as it would stay: a transaction encodes with little effort.
        guard bytes < limits.clusterBytes / 64 else { break }
        count += entries[last].count
        last += 1
      }
      if last == first + 1 {
        joined.append(entries[first])
      } else {
        let rows = try clusters.openRows(entries[first])
        for entry in entries[first + 1..<last] {
          try rows.rows.append(clusters.openRows(entry).rows)
        }
        joined += try clusters.close(rows, limits: limits)
      }
      first = last
    }
    entries.replaceSubrange(..<end, with: joined)
  }
}
