extension MappedRange {
  /// Like `add`, for a cluster with the overlays over it.
  mutating func add(leaf entry: NodeEntry, end: UInt64) {
    add(entry.reference)
    // One that cannot be read is an error where it is read.
    guard entry.reference.isOverlay, let overlay = try? blocks.overlay(entry, end: end) else {
      return
    }
    for reference in overlay.references { add(reference) }
    add(overlay.base.reference)
  }
}
