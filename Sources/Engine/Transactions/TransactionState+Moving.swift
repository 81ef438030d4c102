import Base

/// The steps of a compaction in use, in its transactions. None of them changes the version's content.
extension TransactionState {
  /// The kept versions, ascending. Blocks that one of them reaches are not moved: the kept version would
  /// still need the old place, and a copy would take additional space.
  private func keptNumbers() throws -> [UInt64] { try history().kept.map(\.record.version) }

  /// Bytes that readers of older versions keep from reuse; nil when the free pages are not known.
  func bytesHeldBack() throws -> Int? {
    if space.hasUnknownPages { return nil }
    return space.pagesHeldBack(besides: try keptNumbers()) * Layout.pageBytes
  }

  // MARK: Merging

  /// Where merging continues: leaves of a table from a key on.
  struct MergeCursor {
    /// The remaining tables, the current one first.
    var tables: [UInt32]
    var firstKey = Int64.min
  }

  var mergeCursor: MergeCursor { MergeCursor(tables: catalogue.tables.map(\.number)) }

  /// Finds leaves that are worth merging, until there are enough for one transaction.
  ///
  /// Call it before any change. The base must still be held when the leaves are read.
  ///
  /// - Complexity: O(nodes visited).
  /// - Throws: `EngineError.damaged`, `.system`.
  func planMerging(_ cursor: inout MergeCursor, _ limits: OnlineLimits) throws -> [LeafGroup] {
    let kept = try keptNumbers()
    return try use {
      var plan: [LeafGroup] = []
      var bytes = 0
      while let number = cursor.tables.first, bytes < limits.transactionBytes {
        guard let table = catalogue.table(number: number) else {
          cursor = MergeCursor(tables: Array(cursor.tables.dropFirst()))
          continue
        }
        let schema = try TableSchema(decoding: try parts.blocks.block(table.schema, end: base.end))
        var groups = LeafGroups(
          TreeReader(blocks: parts.blocks, root: table.root, end: base.end), of: schema.columnIDs,
          from: cursor.firstKey, limits, isFixed: { try self.isShared(leaf: $0, with: kept) })
        while bytes < limits.transactionBytes {
          guard let (group, pays, size) = try groups.next() else {
            cursor = MergeCursor(tables: Array(cursor.tables.dropFirst()))
            break
          }
          if let last = group.last { cursor.firstKey = last.firstKey &+ 1 }
          guard pays else { continue }
          bytes += size
          plan.append(LeafGroup(table: number, columns: schema.columnIDs, entries: group))
        }
      }
      return plan
    }
  }

  private func isShared(leaf entry: NodeEntry, with kept: [UInt64]) throws -> Bool {
    if isShared(entry.reference, with: kept) { return true }
    guard entry.reference.isOverlay else { return false }
    let overlay = try parts.blocks.overlay(entry, end: base.end)
    return (overlay.references + [overlay.base.reference]).contains { isShared($0, with: kept) }
  }

  private func isShared(_ reference: BlockReference, with kept: [UInt64]) -> Bool {
    reference.pages(within: .max).map { space.isShared($0, with: kept) } ?? true
  }

  /// Replaces leaves by the clusters into which they were merged, if the leaves still exist.
  func put(_ merged: [MergedGroup]) throws {
    for merged in merged {
      keepsOrigin = true
      _ = try editor(number: merged.group.table)?.put(merged)
    }
  }

  /// Merges the runs of a table's indexes.
  func mergeIndexes(ofTable number: UInt32) throws {
    let kept = try keptNumbers()
    keepsOrigin = true
    try editor(number: number)?.mergeRuns {
      self.isShared($0.root.entry.reference, with: kept)
    }
  }

  // MARK: Moving

  /// Which blocks are moved.
  enum MoveKind {
    /// Small blocks in pages that are not full: together they need fewer pages.
    case sparse
    /// Blocks beyond the end that the file could have.
    case fromTheEnd
    /// All blocks for which there is space further in front, from the front on, so that holes grow on the
    /// way.
    case together
    /// The block after the largest hole, which is too small for it: it moves away.
    case aside
  }

  /// The result of moving blocks.
  struct Moved {
    /// True when there is more to gain.
    var isWorthIt: Bool
    /// The pages of the version before, and those to its end: both shall shrink.
    var pages: Int
    /// Of sparse blocks: the pages by which the version shrinks; negative when it grows.
    var fewerPages = 0
    /// Bytes written.
    var bytes = 0
    /// Bytes that moved towards the front of the file.
    var gained = 0
  }

  /// Moves blocks to the front of the file, as many as one transaction may write.
  ///
  /// Call it before any change; no other change may follow.
  ///
  /// - Complexity: O(nodes + pages), plus the blocks moved.
  func moveBlocks(_ kind: MoveKind, _ limits: OnlineLimits) throws -> Moved {
    let history = try history()
    return try use {
      let kept = history.kept.map(\.record.version)
      let least = history.kept.map { Int(clamping: $0.record.end) / Layout.pageBytes }.max() ?? 0
      let live = space.pageCount - space.freePageCount - space.pinnedPageCount
      // In a file of few pages, each page counts.
      let end = space.endWithoutHoles(notBelow: least, slack: max(1, live / 32)) {
        self.space.isShared($0..<$0 + 1, with: kept)
      }
      let full = Layout.pages(holding: space.filledBytes)
      let isWorthIt =
        kind == .sparse
        ? live > full + max(1, full / 16) : space.liveEnd > end + max(1, end / 32)
      let pages = live + space.liveEnd
      guard isWorthIt else { return Moved(isWorthIt: false, pages: pages) }
      let wanted = try choose(kind, behind: end, kept, limits)
      if wanted.isEmpty { return Moved(isWorthIt: true, pages: pages) }
      var mover = BlockMover(wanted, parts.blocks, writer, end: base.end) { reference in
        let own = Int(clamping: reference.offset) / Layout.pageBytes
        return switch kind {
        case .fromTheEnd: min(own, end)
        case .together: own
        case .aside, .sparse: nil
        }
      }
      var isChanged = false
      for place in catalogue.tables.indices {
        var table = catalogue.tables[place]
        guard try mover.move(&table) else { continue }
        catalogue.tables[place] = table
        isChanged = true
      }
      let partsHaveMoved = try storedHistory.moveParts { try mover.move(&$0) }
      if partsHaveMoved {
        try write(history)
        isChanged = true
      } else if var reference = catalogue.history, try mover.move(&reference) {
        catalogue.history = reference
        isChanged = true
      }
      // Perhaps only the catalogue is at the end.
      if isChanged || wanted.contains(base.root.offset) {
        catalogueIsChanged = true
        keepsOrigin = true
      }
      let fewer =
        kind == .sparse
        ? writer.pagesGained(replacing: base.root, by: catalogue.encode().count) : 0
      return Moved(
        isWorthIt: true, pages: pages, fewerPages: fewer, bytes: mover.moved,
        gained: mover.gained + (wanted.contains(base.root.offset) ? Int(base.root.length) : 0))
    }
  }

  /// The block with the most free pages directly before it; nil when none has any.
  ///
  /// - Complexity: O(pages).
  private func largestHole(before blocks: [BlockReference]) -> BlockReference? {
    var best: (block: BlockReference?, size: Int) = (nil, 0)
    for block in blocks {
      let first = Int(clamping: block.offset) / Layout.pageBytes
      var start = first
      while start > 0, space.isFree(start - 1..<start) { start -= 1 }
      if first - start > best.size { best = (block, first - start) }
    }
    return best.block
  }

  /// The maximum number of sparse blocks at a time; each has up to two pages.
  private static let mostSparse = 1024

  /// The blocks to move, by their offsets.
  private func choose(
    _ kind: MoveKind, behind end: Int, _ kept: [UInt64], _ limits: OnlineLimits
  ) throws -> Set<UInt64> {
    var found: [BlockReference] = []
    let roots = try VersionRoots(base, parts.blocks)
    try roots.forEachBlock(parts.blocks) { reference, _, _ in
      guard let pages = reference.pages(within: base.end) else { return }
      switch kind {
      case .sparse:
        if pages.count > 2 || !space.isLoose(pages) { return }
      case .fromTheEnd: if pages.upperBound <= end { return }
      case .together, .aside: if (space.firstFree(1) ?? .max) >= pages.lowerBound { return }
      }
      if !space.isShared(pages, with: kept) { found.append(reference) }
    }
    switch kind {
    case .fromTheEnd: found.sort { $0.offset > $1.offset }
    case .together, .aside, .sparse: found.sort { $0.offset < $1.offset }
    }
    if kind == .aside { return Set(largestHole(before: found).map { [$0.offset] } ?? []) }
    if kind == .sparse { return Set(found.prefix(Self.mostSparse).map(\.offset)) }
    var bytes = 0
    var chosen: Set<UInt64> = []
    // The mover visits blocks in the order of the trees. One that it reaches first must not take the place of
    // the one that the hole is for: put aside before, it would return to where it was, again and again.
    var places = space.freePlaces()
    for reference in found {
      let pages = Int(clamping: reference.offset) / Layout.pageBytes
      let most = kind == .fromTheEnd ? min(pages, end) : pages
      guard places.take(Int(reference.length), below: most) else { continue }
      chosen.insert(reference.offset)
      bytes += Int(reference.length)
      if bytes >= limits.transactionBytes { break }
    }
    return chosen
  }
}
