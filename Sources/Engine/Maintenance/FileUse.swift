/// The use of a file's bytes. All numbers are whole pages; `used + kept + pinned + free == total`.
///
/// Thread rule: a plain value, `Sendable`.
public struct FileUse: Sendable, Equatable {
  /// The file's length, in bytes.
  public let total: Int
  /// Pages that the newest version reaches, and the two slots.
  public let used: Int
  /// Unfilled bytes of the used pages. Many of them are left by small transactions of an earlier version of
  /// the engine, or by very many small tables.
  public let gaps: Int
  /// Pages that kept versions reach, and the newest does not.
  public let kept: Int
  /// Pages reached only by older versions that are held and not kept.
  public let pinned: Int
  /// Pages into which the next commits will write.
  public let free: Int

  /// - Parameters:
  ///   - space: the map of the file's pages.
  ///   - total: the file's length.
  ///   - versions: the versions that the newest version keeps, ascending.
  package init(_ space: SpaceMap, total: Int, kept versions: [UInt64]) {
    self.total = total
    let older = space.pinnedPageCount * Layout.pageBytes
    kept = space.retiredPages(reachedBy: versions).all * Layout.pageBytes
    pinned = older - kept
    used = (space.pageCount - space.freePageCount) * Layout.pageBytes - older
    free = max(0, total - used - older)
    gaps = max(0, used - space.filledBytes)
  }

  /// The size of the newest version without gaps, in whole pages, plus that of kept versions; it decides
  /// whether a compaction is worth its cost. Two pages more than its bytes fill, so that a small file does
  /// not count as sparse.
  public var needed: Int {
    min(used, (Layout.pages(holding: used - gaps) + 2) * Layout.pageBytes) + kept
  }
}
