/// Where a file's bytes are. All are whole pages; `used + pinned + free == total`.
public struct FileUse: Sendable, Equatable {
  /// The file's length.
  public let total: Int
  /// Pages that the newest version reaches, and the two slots.
  public let used: Int
  /// Pages that only older versions reach, which somebody holds.
  public let pinned: Int
  /// Pages that the next commits will write to.
  public let free: Int

  /// - Throws: `BlockError` or `DecodingFailure` when a node is damaged.
  package static func measure(
    _ newest: VersionRecord, held: [VersionRecord], _ blocks: BlockReader
  ) throws -> FileUse {
    let space = try SpaceMap.walking(
      blocks, newest: VersionRoots(newest, blocks),
      held: held.map { try VersionRoots($0, blocks) })
    let total = try blocks.storage.length()
    let pinned = space.pinnedPageCount * Layout.pageBytes
    let used = (space.pageCount - space.freePageCount) * Layout.pageBytes - pinned
    return FileUse(
      total: total, used: used, pinned: pinned, free: max(0, total - used - pinned))
  }
}
