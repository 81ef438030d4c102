/// One committed version: its number, its root block, and the end of its last page.
package struct VersionRecord: Sendable, Hashable {
  /// The highest number that a file may contain; one more never overflows.
  package static let lastVersion: UInt64 = 1 << 62

  package var version: UInt64
  package var root: BlockReference
  /// No block of this version is at or beyond this offset; a multiple of the page size.
  package var end: UInt64
  /// True when its root block has a history: kept versions, or their limit. The file then has another format,
  /// since a program without kept versions would write over their pages.
  package var hasHistory: Bool
  /// True when the history names pending tables, which gives the file yet another format. False for a kept
  /// version, whose pending tables are void.
  package var hasPending: Bool

  /// True when a table of the version, or perhaps of one that it keeps or has pending, has a primary key of
  /// several columns. That also gives the file another format, since a program without such keys would not
  /// keep them unique. Stored in the slots; false for a kept version.
  package var hasCompoundKeys: Bool

  /// True when the history has parts, or one before it without a break had some, which that of a version that
  /// it keeps may still have. That also gives the file another format: to a program that knows no parts, such
  /// a history is a damaged block. Stored in the slots; false for a kept version.
  package var hasParts: Bool

  /// True when the root is that of a pending table, under the number of a version that has it. Holding it
  /// does not hold that version.
  package var isOfPendingTable: Bool

  package init(
    version: UInt64, root: BlockReference, end: UInt64, hasHistory: Bool = false,
    hasPending: Bool = false, hasCompoundKeys: Bool = false, hasParts: Bool = false,
    isOfPendingTable: Bool = false
  ) {
    self.version = version
    self.root = root
    self.end = end
    self.hasHistory = hasHistory
    self.hasPending = hasPending
    self.hasCompoundKeys = hasCompoundKeys
    self.hasParts = hasParts
    self.isOfPendingTable = isOfPendingTable
  }

  /// The root's length; the upper half records whether there are a history, pending tables, keys of several
  /// columns, and parts of a history, and whether the root is a pending table's. A word of shared memory.
  var lengthWord: UInt64 {
    UInt64(root.length) | (hasHistory ? 1 << 32 : 0) | (hasPending ? 1 << 33 : 0)
      | (hasCompoundKeys ? 1 << 34 : 0) | (isOfPendingTable ? 1 << 35 : 0)
      | (hasParts ? 1 << 36 : 0)
  }

  /// - Parameter length: a word from `lengthWord`.
  init(version: UInt64, offset: UInt64, length: UInt64, checksum: UInt64, end: UInt64) {
    self.init(
      version: version,
      root: BlockReference(
        offset: offset, length: UInt32(truncatingIfNeeded: length), checksum: checksum),
      end: end, hasHistory: length >> 32 & 1 == 1, hasPending: length >> 33 & 1 == 1,
      hasCompoundKeys: length >> 34 & 1 == 1, hasParts: length >> 36 & 1 == 1,
      isOfPendingTable: length >> 35 & 1 == 1)
  }

  /// The number of the next version.
  ///
  /// - Throws: `EngineError.tooLarge` after the last.
  package var nextVersion: UInt64 {
    get throws(EngineError) {
      guard version < Self.lastVersion else {
        throw .tooLarge(what: "the number of the next version", limit: "2^62")
      }
      return version + 1
    }
  }
}
