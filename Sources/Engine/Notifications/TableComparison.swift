/// Walks two versions of a table in parallel, by ranges of keys.
///
/// The trees may differ in height, and their leaves may begin at different keys. So the part with the higher
/// level is opened first, parts are compared where their keys overlap, and the rest of a leaf is compared
/// with the other tree's next leaf.
///
/// Thread rule: confined, while both versions are held.
struct TableComparison {
  /// A column that is compared.
  struct ComparedColumn {
    let id: UInt32
    let isInOld: Bool
    let isInNew: Bool
  }

  private let path: String
  private var old: TreeFront
  private var new: TreeFront
  /// True when both versions share blocks, so that equal references mean equal bytes.
  private let sharesBlocks: Bool
  /// True when shared leaves have values in columns that only one of the versions has.
  private let hasHiddenValues: Bool
  private let leaves: LeafComparison
  private var difference = TableDifference()

  init(_ old: Table, _ new: Table) throws {
    guard old.number == new.number else {
      throw EngineError.invalidArgument(
        "'\(old.name)' and '\(new.name)' are two tables, not two versions of one")
    }
    path = new.tree.blocks.storage.path
    self.old = TreeFront(old.tree)
    self.new = TreeFront(new.tree)
    sharesBlocks = old.tree.blocks === new.tree.blocks
    let columns = Self.columns(old.schema, new.schema)
    // A column's identifier is never reused, so leaves of a version whose next identifier is not above it
    // have no values in it; but a removed column's values stay in the leaves. The order of the versions does
    // not matter: a restored version may have columns that were removed before.
    hasHiddenValues = columns.contains {
      !$0.isInNew && $0.id < new.schema.nextColumnID
        || !$0.isInOld && $0.id < old.schema.nextColumnID
    }
    leaves = LeafComparison(columns, sharesClusters: sharesBlocks && !hasHiddenValues)
  }

  /// The columns of both versions, by ascending identifier.
  private static func columns(_ old: TableSchema, _ new: TableSchema) -> [ComparedColumn] {
    let (before, after) = (Set(old.columnIDs), Set(new.columnIDs))
    return before.union(after).sorted().map {
      ComparedColumn(id: $0, isInOld: before.contains($0), isInNew: after.contains($0))
    }
  }

  /// Compares until both trees end, or until `isEnough` returns true.
  mutating func run(until isEnough: (TableDifference) -> Bool) throws -> TableDifference {
    try translatingErrors(path) {
      while old.part != nil || new.part != nil, !isEnough(difference) { try step() }
      difference.cost.nodesRead = old.nodesRead + new.nodesRead
      difference.cost.leavesOpened = old.leavesOpened + new.leavesOpened
      return difference
    }
  }

  /// Advances at least one of the trees, or opens a node.
  private mutating func step() throws {
    guard let left = old.part, let leftKey = old.firstKey else { return try takeNew() }
    guard let right = new.part, let rightKey = new.firstKey else { return try takeOld() }
    let isShared =
      sharesBlocks && left.level == right.level && old.isWhole && new.isWhole
      && (left.entry == right.entry
        || left.level == 0 && LeafComparison.isMoved(left.entry, right.entry))
    if isShared, !hasHiddenValues {
      old.skip()
      new.skip()
    } else if let end = left.end, end <= rightKey {
      try takeOld()
    } else if let end = right.end, end <= leftKey {
      try takeNew()
    } else if left.level == 0, right.level == 0 {
      try compareLeaves(below: [left.end, right.end].compactMap { $0 }.min())
    } else {
      if left.level >= right.level { try old.descend() }
      if right.level >= left.level { try new.descend() }
    }
  }

  private mutating func compareLeaves(below end: Int64?) throws {
    guard let left = try old.rows(below: end), let right = try new.rows(below: end) else { return }
    try leaves.compare(left, right, into: &difference)
    old.take(left)
    new.take(right)
  }

  /// Takes the next part of the old tree, whose keys the new tree lacks.
  private mutating func takeOld() throws {
    guard let rows = try old.rows(below: nil) else { return try old.descend() }
    for row in rows.rows {
      try difference.delete(rows.keys.key(row), at: rows.position(row))
    }
    old.take(rows)
  }

  /// Takes the next part of the new tree, whose keys the old tree lacks.
  private mutating func takeNew() throws {
    guard let rows = try new.rows(below: nil) else { return try new.descend() }
    for row in rows.rows {
      try difference.insert(rows.keys.key(row), at: rows.position(row))
    }
    new.take(rows)
  }
}
