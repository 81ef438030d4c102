/// Where a file's bytes are. All are whole pages; `used + pinned + free == total`.
///
/// Thread rule: a plain value, `Sendable`.
public struct FileUse: Sendable, Equatable {
  /// The file's length.
  public let total: Int
  /// Pages that the newest version reaches, and the two slots.
  public let used: Int
  /// Bytes of the used pages that nothing fills, as a file has them that was written to in small
  /// transactions by an earlier version of the engine, or that has very many small tables.
  public let gaps: Int
  /// Pages that only older versions reach, which somebody holds.
  public let pinned: Int
  /// Pages that the next commits will write to.
  public let free: Int

  /// - Parameters:
  ///   - space: the map of the file's pages.
  ///   - total: the file's length.
  package init(_ space: SpaceMap, total: Int) {
    self.total = total
    pinned = space.pinnedPageCount * Layout.pageBytes
    used = (space.pageCount - space.freePageCount) * Layout.pageBytes - pinned
    free = max(0, total - used - pinned)
    gaps = max(0, used - space.filledBytes)
  }

  /// What the newest version would take without gaps, in whole pages: what a file is judged by that
  /// may be worth a compaction. Two pages more than its bytes fill, so that a small file is not
  /// taken for a sparse one.
  public var needed: Int {
    min(used, (Layout.pages(holding: used - gaps) + 2) * Layout.pageBytes)
  }
}
