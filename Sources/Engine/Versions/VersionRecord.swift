/// One committed version: its number, its root block, and the end of its last page.
package struct VersionRecord: Sendable, Hashable {
  /// The highest number that a file may contain: one more never overflows.
  package static let lastVersion: UInt64 = 1 << 62

  package var version: UInt64
  package var root: BlockReference
  /// No block of this version lies at or beyond this offset; a multiple of the page size.
  package var end: UInt64
  /// Whether its root block has a history: kept versions, or their wanted number. Such a file has another
  /// format: a program that knows nothing of kept versions would write over their pages.
  package var hasHistory: Bool
  /// Whether the history names pending tables, which gives the file yet another format. False for a kept
  /// version: tables that were pending then are void.
  package var hasPending: Bool

  /// Whether a table of the version, or perhaps of one that it keeps or has pending, has a primary key of
  /// several columns. This, too, gives the file another format: a program that knows nothing of such keys
  /// would not keep them unique. The slots tell it; false for a kept version.
  package var hasCompoundKeys: Bool

  /// Whether the root is that of a pending table, under the number of a version that has it. Who holds it
  /// does not hold that version.
  package var isOfPendingTable: Bool

  package init(
    version: UInt64, root: BlockReference, end: UInt64, hasHistory: Bool = false,
    hasPending: Bool = false, hasCompoundKeys: Bool = false, isOfPendingTable: Bool = false
  ) {
    self.version = version
    self.root = root
    self.end = end
    self.hasHistory = hasHistory
    self.hasPending = hasPending
    self.hasCompoundKeys = hasCompoundKeys
    self.isOfPendingTable = isOfPendingTable
  }

  /// The root's length, and in the upper half whether there are a history, pending tables, and keys of
  /// several columns, and whether it is a pending table's: a word of shared memory.
  var lengthWord: UInt64 {
    UInt64(root.length) | (hasHistory ? 1 << 32 : 0) | (hasPending ? 1 << 33 : 0)
      | (hasCompoundKeys ? 1 << 34 : 0) | (isOfPendingTable ? 1 << 35 : 0)
  }

  /// - Parameter length: the word that `lengthWord` returned.
  init(version: UInt64, offset: UInt64, length: UInt64, checksum: UInt64, end: UInt64) {
    self.init(
      version: version,
      root: BlockReference(
        offset: offset, length: UInt32(truncatingIfNeeded: length), checksum: checksum),
      end: end, hasHistory: length >> 32 & 1 == 1, hasPending: length >> 33 & 1 == 1,
      hasCompoundKeys: length >> 34 & 1 == 1, isOfPendingTable: length >> 35 & 1 == 1)
  }

  /// The number of the version that comes after this one.
  ///
  /// - Throws: `EngineError.tooLarge` behind the last.
  package var nextVersion: UInt64 {
    get throws(EngineError) {
      guard version < Self.lastVersion else {
        throw .tooLarge(what: "the number of the next version", limit: "2^62")
      }
      return version + 1
    }
  }
}
