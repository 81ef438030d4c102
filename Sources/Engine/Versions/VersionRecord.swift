/// One committed version: its number, its root block, and the end of its last page.
package struct VersionRecord: Sendable, Hashable {
  /// No file says a higher number: one more never overflows.
  package static let lastVersion: UInt64 = 1 << 62

  package var version: UInt64
  package var root: BlockReference
  /// No block of this version lies at or beyond this offset; a multiple of the page size.
  package var end: UInt64

  package init(version: UInt64, root: BlockReference, end: UInt64) {
    self.version = version
    self.root = root
    self.end = end
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
