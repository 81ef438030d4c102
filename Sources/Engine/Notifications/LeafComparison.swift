/// Compares rows of two leaves whose keys are in the same range.
///
/// Two overlays over one cluster differ at most in the rows that either names, so only those are compared.
/// All other leaves are read column by column, some rows at a time.
///
/// Thread rule: one thread at a time; leaves are read as `Leaf` says.
final class LeafComparison {
  private let columns: [TableComparison.ComparedColumn]
  /// True when the same cluster has the same rows in both versions.
  private let sharesClusters: Bool
  private let oldValues = DecodedColumn()
  private let newValues = DecodedColumn()

  /// The number of rows decoded at a time.
  private static let windowRows = 1024

  init(_ columns: [TableComparison.ComparedColumn], sharesClusters: Bool) {
    self.columns = columns
    self.sharesClusters = sharesClusters
  }

  func compare(
    _ old: LeafRows, _ new: LeafRows, into difference: inout TableDifference
  ) throws {
    let base = old.leaf.overlay?.base ?? old.leaf.entry
    let newBase = new.leaf.overlay?.base ?? new.leaf.entry
    if sharesClusters, base == newBase || Self.isMoved(base, newBase) {
      try compareOverlays(old, new, into: &difference)
    } else {
      try compareRows(old, new, into: &difference)
    }
  }

  /// Returns whether two entries are of one cluster that was moved in between, which its checksum reveals.
  /// Only clusters: a block that refers to others has other bytes once these are moved.
  static func isMoved(_ one: NodeEntry, _ other: NodeEntry) -> Bool {
    one.firstKey == other.firstKey && one.count == other.count
      && one.reference.length == other.reference.length
      && one.reference.checksum == other.reference.checksum
      && !one.reference.isOverlay && !other.reference.isOverlay
  }

  /// Opens the columns in one of the leaves; nil for those that its version lacks.
  private func open(
    _ leaf: Leaf, where isKnown: (TableComparison.ComparedColumn) -> Bool
  ) throws -> [LeafColumn?] {
    try columns.map { isKnown($0) ? try leaf.column(id: $0.id) : nil }
  }

  // MARK: Overlays over one cluster

  private func compareOverlays(
    _ old: LeafRows, _ new: LeafRows, into difference: inout TableDifference
  ) throws {
    let (left, right) = (OverlaidRows(old), OverlaidRows(new))
    var oldColumns: [LeafColumn?]?
    var newColumns: [LeafColumn?]?
    for baseRow in Set(left.named + right.named).sorted() {
      let (oldRow, newRow) = (left.row(baseRow), right.row(baseRow))
      switch (oldRow, newRow) {
      case (nil, nil): continue
      case (let row?, nil): try difference.delete(old.keys.key(row), at: old.position(row))
      case (nil, let row?): try difference.insert(new.keys.key(row), at: new.position(row))
      case (let oldRow?, let newRow?):
        if left.hasSameRecord(baseRow, as: right) { continue }
        let before = try oldColumns ?? open(old.leaf) { $0.isInOld }
        let after = try newColumns ?? open(new.leaf) { $0.isInNew }
        (oldColumns, newColumns) = (before, after)
        var changed: [UInt32] = []
        for (index, column) in columns.enumerated() {
          let isSame = try Self.withSpelling(before[index], oldRow) { one in
            try Self.withSpelling(after[index], newRow) { Self.areEqual(one, $0) }
          }
          if !isSame { changed.append(column.id) }
        }
        if changed.isEmpty { continue }
        try difference.modify(
          new.keys.key(newRow), from: old.position(oldRow), to: new.position(newRow),
          columns: changed)
      }
    }
  }

  /// A column that the version lacks is null.
  private static func withSpelling(
    _ column: LeafColumn?, _ row: Int, _ body: (UnsafeRawBufferPointer?) throws -> Bool
  ) throws -> Bool {
    guard let column else { return try body(nil) }
    return try column.withSpelling(row, body)
  }

  // MARK: Any leaves

  private func compareRows(
    _ old: LeafRows, _ new: LeafRows, into difference: inout TableDifference
  ) throws {
    var columns: (old: [LeafColumn?], new: [LeafColumn?])?
    var pairs: [(old: Int, new: Int)] = []
    func compare() throws {
      if pairs.isEmpty { return }
      let opened =
        try columns ?? (open(old.leaf) { $0.isInOld }, open(new.leaf) { $0.isInNew })
      columns = opened
      try comparePairs(pairs, old, opened.old, new, opened.new, into: &difference)
      pairs.removeAll(keepingCapacity: true)
    }
    var (left, right) = (old.rows.lowerBound, new.rows.lowerBound)
    while left < old.rows.upperBound, right < new.rows.upperBound {
      let (leftKey, rightKey) = (old.keys.key(left), new.keys.key(right))
      if leftKey == rightKey {
        pairs.append((left, right))
        left += 1
        right += 1
        if pairs.count == Self.windowRows { try compare() }
      } else if leftKey < rightKey {
        try difference.delete(leftKey, at: old.position(left))
        left += 1
      } else {
        try difference.insert(rightKey, at: new.position(right))
        right += 1
      }
    }
    try compare()
    for row in left..<max(left, old.rows.upperBound) {
      try difference.delete(old.keys.key(row), at: old.position(row))
    }
    for row in right..<max(right, new.rows.upperBound) {
      try difference.insert(new.keys.key(row), at: new.position(row))
    }
  }

  /// Compares the fields of rows with equal keys, in their order.
  private func comparePairs(
    _ pairs: [(old: Int, new: Int)], _ old: LeafRows, _ oldColumns: [LeafColumn?],
    _ new: LeafRows, _ newColumns: [LeafColumn?], into difference: inout TableDifference
  ) throws {
    guard let first = pairs.first, let last = pairs.last else { return }
    var found: [(pair: Int, column: UInt32)] = []
    for (index, column) in columns.enumerated() {
      let hasOld = try decode(oldColumns[index], first.old...last.old, into: oldValues)
      let hasNew = try decode(newColumns[index], first.new...last.new, into: newValues)
      forEachDifference(
        pairs, hasOld ? oldValues : nil, from: first.old, hasNew ? newValues : nil, from: first.new
      ) { found.append(($0, column.id)) }
    }
    found.sort { ($0.pair, $0.column) < ($1.pair, $1.column) }
    var next = 0
    while next < found.count {
      let number = found[next].pair
      let changed = found[next...].prefix { $0.pair == number }
      next = changed.endIndex
      let pair = pairs[number]
      try difference.modify(
        new.keys.key(pair.new), from: old.position(pair.old), to: new.position(pair.new),
        columns: changed.map(\.column))
    }
  }

  /// Calls `body` with the number of each pair whose values differ.
  ///
  /// - Parameters:
  ///   - old: the decoded values, from some row on; nil: all are null.
  ///   - new: the same for the new version.
  @inline(__always)
  private func forEachDifference(
    _ pairs: [(old: Int, new: Int)], _ old: DecodedColumn?, from firstOld: Int,
    _ new: DecodedColumn?, from firstNew: Int, _ body: (Int) -> Void
  ) {
    let (oldSpans, newSpans) = (old?.spans, new?.spans)
    for (number, pair) in pairs.enumerated() {
      let one = oldSpans?[pair.old - firstOld] ?? .null
      let other = newSpans?[pair.new - firstNew] ?? .null
      if one.isNull, other.isNull { continue }
      // Most different values differ in length.
      if one.isNull == other.isNull, one.length == other.length,
        Self.areEqual(old?[pair.old - firstOld], new?[pair.new - firstNew])
      {
        continue
      }
      body(number)
    }
  }

  /// Returns false when the version lacks the column.
  private func decode(
    _ column: LeafColumn?, _ rows: ClosedRange<Int>, into values: DecodedColumn
  ) throws -> Bool {
    guard let column else { return false }
    column.decode(rows: rows.lowerBound..<rows.upperBound + 1, into: values)
    guard values.count == rows.count else {
      throw ClusterError.damagedHeader("a column has fewer rows than its leaf")
    }
    return true
  }

  @inline(__always)
  private static func areEqual(
    _ one: UnsafeRawBufferPointer?, _ other: UnsafeRawBufferPointer?
  ) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return Bytes.areEqual(one, other)
  }
}

/// Some rows of a leaf, with the numbers that they have in their cluster.
private struct OverlaidRows {
  private let rows: LeafRows
  private let overlay: Overlay?

  init(_ rows: LeafRows) {
    self.rows = rows
    overlay = rows.leaf.overlay
  }

  /// The rows of the cluster that the overlay names.
  var named: [Int] {
    guard let overlay else { return [] }
    return (0..<overlay.deletedCount).map(overlay.deletedRow)
      + (0..<overlay.changedCount).map(overlay.changedRow)
  }

  /// The leaf's row for a row of the cluster; nil when it is deleted or outside the range.
  func row(_ baseRow: Int) -> Int? {
    var row = baseRow
    if let overlay {
      let before = overlay.deletedCount(before: baseRow)
      if before < overlay.deletedCount, overlay.deletedRow(before) == baseRow { return nil }
      row -= before
    }
    return rows.rows.contains(row) ? row : nil
  }

  /// Returns whether both leaves have the row as in the cluster, or the same record of it byte for byte.
  func hasSameRecord(_ baseRow: Int, as other: OverlaidRows) -> Bool {
    let (one, two) = (
      overlay?.place(ofRow: baseRow), other.overlay?.place(ofRow: baseRow)
    )
    guard let one, let two else { return one == nil && two == nil }
    guard let overlay, let second = other.overlay else { return false }
    return overlay.hasSameRecord(one, as: second, two)
  }
}
