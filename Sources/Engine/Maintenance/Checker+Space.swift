extension Checker {
  /// Checks that no byte belongs to two blocks.
  mutating func checkExtents() {
    extents.sort { $0.start < $1.start }
    for (before, after) in zip(extents, extents.dropFirst()) where before.end > after.start {
      report.problems.append(
        "\(before.what) at offset \(before.start) overlaps \(after.what) at \(after.start)")
    }
  }

  /// Checks that a writer's map agrees with the checked blocks: which pages are free, and how full the others
  /// are.
  ///
  /// Call it after `checkExtents`; it reports nothing if there are already problems.
  mutating func checkSpace(except gone: Set<UInt64>) {
    guard report.isSound else { return }
    do {
      let kept = try roots?.history(blocks).kept.map(\.record) ?? []
      let space = try SpaceMap.walking(
        blocks, newest: record, held: kept.filter { !gone.contains($0.version) })
      report.problems += Self.spaceProblems(
        space, extents.map { Int(clamping: $0.start)..<Int(clamping: $0.end) } + pendingBlocks,
        kept: keptBlocks)
    } catch {
      report.problems.append(Self.describe(error, "the map of free pages"))
    }
  }

  /// The contradictions between a map and the blocks.
  ///
  /// - Parameters:
  ///   - blocks: the bytes of all blocks, none twice.
  ///   - kept: the bytes of further blocks that only kept versions have.
  /// - Complexity: O(pages + blocks).
  static func spaceProblems(
    _ space: SpaceMap, _ blocks: some Sequence<Range<Int>>, kept: [Range<Int>] = []
  ) -> [String] {
    var isKept = PageSet()
    for bytes in kept {
      isKept.insert(bytes.lowerBound / Layout.pageBytes..<Layout.pages(holding: bytes.upperBound))
    }
    var filled = [UInt32](repeating: 0, count: space.pageCount)
    for page in 0..<min(Layout.slotCount, filled.count) { filled[page] = UInt32(Layout.pageBytes) }
    var problems: [String] = []
    for bytes in blocks {
      var start = bytes.lowerBound
      while start < bytes.upperBound {
        let page = start / Layout.pageBytes
        let end = min(bytes.upperBound, (page + 1) * Layout.pageBytes)
        if page < filled.count {
          filled[page] += UInt32(end - start)
        } else if problems.isEmpty {
          problems.append(
            "the block at offset \(bytes.lowerBound) lies behind the map of free pages")
        }
        start = end
      }
    }
    for page in filled.indices {
      let use = space.use(of: page)
      let isFree = filled[page] == 0 && !isKept.contains(page)
      if use.filled == filled[page] || space.isFrozen(page), use.isFree == isFree { continue }
      problems.append(
        "page \(page), at offset \(page * Layout.pageBytes): the map of free pages has it "
          + "\(use.isFree ? "free" : "in use") with \(use.filled) bytes, and blocks fill \(filled[page])"
          + "\(isKept.contains(page) ? ", beside those of kept versions" : "")"
      )
      // One error often affects all later pages.
      if problems.count == 10 { break }
    }
    return problems
  }
}
