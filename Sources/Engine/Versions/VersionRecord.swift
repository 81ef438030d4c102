/// One committed version: its number, its root block, and the end of its last page.
package struct VersionRecord: Sendable, Hashable {
  package var version: UInt64
  package var root: BlockReference
  /// No block of this version lies at or beyond this offset; a multiple of the page size.
  package var end: UInt64

  package init(version: UInt64, root: BlockReference, end: UInt64) {
    self.version = version
    self.root = root
    self.end = end
  }
}
