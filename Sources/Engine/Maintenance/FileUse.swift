/// Where a file's bytes are. All are whole pages; `used + pinned + free == total`.
///
/// Thread rule: a plain value, `Sendable`.
public struct FileUse: Sendable, Equatable {
  /// The file's length.
  public let total: Int
  /// Pages that the newest version reaches, and the two slots.
  public let used: Int
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
  }
}
