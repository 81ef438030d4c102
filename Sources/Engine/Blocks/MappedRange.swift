/// The range of the file that a walk through many blocks has read, released now and then: mapped pages count
/// as the process's memory.
///
/// To forget the blocks that were read would not be enough. The system also maps the pages around them,
/// 64 KiB on Linux, and with them what lies between: in the end, the whole file.
///
/// Thread rule: confined. What other threads read in the range stays valid, and is mapped again.
struct MappedRange {
  let blocks: BlockReader
  private var range: Range<Int>?
  private var bytes = 0

  private static let most = 4 << 20
  /// Where less of a file is read here and there, all of it may be mapped.
  static let largeFile = 64 << 20

  init(_ blocks: BlockReader) { self.blocks = blocks }

  /// Releases earlier blocks; call it before a block is read, or when it is no longer read.
  mutating func add(_ reference: BlockReference) {
    // A reference that nobody has checked yet may lead anywhere.
    let start = Int(clamping: min(reference.offset, UInt64(Int.max / 2)))
    let end = start + Int(reference.length)
    if bytes > Self.most { release() }
    bytes += Int(reference.length)
    range = min(range?.lowerBound ?? start, start)..<max(range?.upperBound ?? end, end)
  }

  /// Releases all that was added.
  mutating func release() {
    if let range { blocks.forget(range) }
    range = nil
    bytes = 0
  }
}
