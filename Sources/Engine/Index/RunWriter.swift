import Base

/// A run of one small leaf with its entries, as written last: the next small transaction merges its own
/// entries with them without reading them.
struct SmallRun {
  let root: BlockReference
  let leaf: BlockReference
  let entries: [IndexEntry]
}

/// Writes a run: leaves as entries are added, nodes at the end.
///
/// Thread rule: only the transaction's thread.
final class RunWriter {
  private let writer: BlockWriter
  private let limits: IndexLimits
  // Unchecked, as below: a merge adds every entry here, and no function called meanwhile accesses it again.
  /// Unsafe for speed, for the same reason.
  @exclusivity(unchecked) private var buffer = Scratch<IndexEntry>()
  @exclusivity(unchecked) private var bufferCount = 0
  private var output = OutputBuffer()
  private(set) var leaves: [NodeEntry] = []
  private(set) var count: UInt64 = 0
  /// The blocks written so far.
  private(set) var written: [BlockReference] = []
  /// The old places of leaves that were adopted and then moved.
  private(set) var left: [BlockReference] = []
  @exclusivity(unchecked) private(set) var lastCode = Int64.min
  @exclusivity(unchecked) private var lastObject = Int64.min
  /// True when entries of one code may continue in the next leaf: many objects may have one value, but few
  /// have one primary key.
  let sharesCodes: Bool
  /// A filter of all codes written; nil when none is wanted, or leaves were adopted unread.
  private(set) var filter: KeyFilter?
  /// The finished run, if it is small; before that, its entries while it may become small.
  private(set) var smallRun: SmallRun?
  private var smallEntries: [IndexEntry] = []

  static let outOfOrder = DecodingFailure(
    what: "the entries of an index are out of order", offset: 0)

  init(
    _ writer: BlockWriter, _ limits: IndexLimits, sharesCodes: Bool = false,
    filter: KeyFilter? = nil
  ) {
    self.writer = writer
    self.filter = filter
    self.limits = limits
    self.sharesCodes = sharesCodes
  }

  /// Adds an entry, which must be above the last one.
  ///
  /// - Throws: `DecodingFailure` when it is not, because its source is damaged.
  func append(_ entry: IndexEntry) throws {
    try withUnsafePointer(to: entry) { try append(UnsafeBufferPointer(start: $0, count: 1)) }
  }

  /// Adds entries, each above the previous one.
  ///
  /// - Throws: the errors of adding a single entry.
  func append(_ entries: UnsafeBufferPointer<IndexEntry>) throws {
    guard let last = entries.last, let first = entries.baseAddress else { return }
    var before = IndexEntry(code: lastCode, object: lastObject)
    for entry in entries {
      guard before < entry else { throw Self.outOfOrder }
      before = entry
    }
    var start = 0
    while start < entries.count {
      if bufferCount >= limits.leafEntries {
        // The buffer's last entry is the previous one.
        let code = buffer.pointer[bufferCount - 1].code
        if sharesCodes || entries[start].code != code { try writeLeaf() }
      }
      // One by one when the buffer is full: those of the last code.
      let count = min(max(limits.leafEntries - bufferCount, 1), entries.count - start)
      let room = buffer.reserve(bufferCount + count, keeping: bufferCount)
      (room + bufferCount).update(from: first + start, count: count)
      bufferCount += count
      start += count
    }
    (lastCode, lastObject) = (last.code, last.object)
  }

  /// True when a leaf may be added without leaving a small one before it.
  var takesLeaf: Bool { bufferCount == 0 || bufferCount * 4 >= limits.leafEntries }

  /// True when a leaf is large enough to stay; leaves of small transactions are merged.
  func keeps(_ leaf: NodeEntry) -> Bool { leaf.count * 4 >= UInt64(limits.leafEntries) }

  /// Adds an existing leaf, all of whose entries are above those added so far.
  func append(leaf: NodeEntry, lastCode: Int64) throws {
    guard leaf.firstKey > self.lastCode || (sharesCodes && leaf.firstKey == self.lastCode),
      lastCode >= leaf.firstKey
    else { throw Self.outOfOrder }
    try writeLeaf()
    leaves.append(leaf)
    filter = nil
    count += leaf.count
    self.lastCode = lastCode
    // Its last object is unknown: the next entry has a higher code, or is from a later leaf.
    lastObject = .min
  }

  private func writeLeaf() throws {
    let entries = UnsafeBufferPointer(start: UnsafePointer(buffer.pointer), count: bufferCount)
    guard let first = entries.first else { return }
    guard entries.count <= ClusterFormat.maximumRows else {
      throw EngineError.tooLarge(
        what: "the number of keys of one code", limit: "\(ClusterFormat.maximumRows)")
    }
    filter?.insert(entries)
    // Merges do not read larger ones, but adopt them whole.
    smallEntries = count == 0 && entries.count * 4 < limits.leafEntries ? Array(entries) : []
    IndexLeaf.encode(entries, into: &output)
    let bytes = Array(output.bytes)
    let reference = try writer.append(cluster: bytes, checksum: Checksum.of(bytes))
    written.append(reference)
    leaves.append(
      NodeEntry(firstKey: first.code, count: UInt64(entries.count), reference: reference))
    count += UInt64(entries.count)
    bufferCount = 0
  }

  /// Writes the rest; nil when there were no entries.
  func finish() throws -> IndexRun? {
    try writeLeaf()
    #if DEBUG
      Invariants.require(checkInvariants)
    #endif
    left = try writer.gather(&leaves, upTo: leaves.count)
    var entries = leaves
    var level = 0
    while entries.count > 1 || level == 0 {
      if entries.isEmpty { return nil }
      level += 1
      let size = max(limits.nodeCapacity, 2)
      entries = try stride(from: 0, to: entries.count, by: size).map { start in
        let slice = entries[start..<min(start + size, entries.count)]
        let reference = try writer.append(node: Node.encode(level: level, slice))
        written.append(reference)
        return NodeEntry(
          firstKey: entries[start].firstKey, count: slice.reduce(0) { $0 + $1.count },
          reference: reference)
      }
    }
    if leaves.count == 1, UInt64(smallEntries.count) == count {
      smallRun = SmallRun(
        root: entries[0].reference, leaf: leaves[0].reference, entries: smallEntries)
    }
    return IndexRun(root: TreeRoot(level: level, entry: entries[0]), lastCode: lastCode)
  }
}
