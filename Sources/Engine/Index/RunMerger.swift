import Base

/// Merges runs and new entries into one run, in one pass.
///
/// A leaf whose codes are between those of all others is adopted unread, unless it is small: runs of
/// ascending keys are only concatenated. Among entries with one code, outdated ones (which the caller finds)
/// and repetitions are removed. Where codes are shared by design (`RunWriter.sharesCodes`), only repetitions
/// are removed, unless all entries are filtered.
///
/// Thread rule: only the transaction's thread.
package struct RunMerger: ~Copyable {
  /// Removes entries whose objects no longer exist or have another key. Its input ascends.
  package typealias Filter = (inout [IndexEntry]) throws -> Void

  /// A source of entries: one leaf after the other.
  ///
  /// Thread rule: that of the merger.
  private final class Source {
    private let leaves: [NodeEntry]
    private var next = 0
    private let lastCode: Int64
    /// The entries of the current leaf, taken from `row` on.
    private var entries: [IndexEntry]
    private var row = 0

    init(leaves: [NodeEntry], lastCode: Int64, entries: [IndexEntry] = []) {
      self.leaves = leaves
      self.lastCode = lastCode
      self.entries = entries
    }

    /// Reads the next leaf.
    ///
    /// - Throws: `DecodingFailure` when the leaf continues with a code that may not be shared.
    func readLeaf(_ blocks: IndexBlocks, sharesCodes: Bool) throws -> NodeEntry {
      let entry = leaves[next]
      let last = entries.last
      entries = try blocks.entries(entry)
      guard sharesCodes || last.map({ $0.code < entry.firstKey }) ?? true else {
        throw RunWriter.outOfOrder
      }
      row = 0
      next += 1
      return entry
    }

    /// Adopts the next leaf, unread.
    func passLeaf() { next += 1 }

    /// True when the current leaf has no more entries.
    var isUsedUp: Bool { row == entries.count }

    /// The next entry; for an unread leaf, the lowest possible one.
    var head: IndexEntry? {
      if row < entries.count { return entries[row] }
      return next < leaves.count ? IndexEntry(code: leaves[next].firstKey, object: .min) : nil
    }

    /// All entries up to this one have been read; nil: all entries.
    var readUpTo: IndexEntry? {
      guard next < leaves.count else { return nil }
      // Objects are never negative.
      let beforeUnread = IndexEntry(code: leaves[next].firstKey, object: -1)
      return entries.last.map { max($0, beforeUnread) } ?? beforeUnread
    }

    /// Takes the next entries up to a bound, or all that have been read.
    func take(upTo bound: IndexEntry?) -> ArraySlice<IndexEntry> {
      var end = entries.count
      if let bound { end = partitionPoint(row..<end) { entries[$0] > bound } }
      defer { row = end }
      return entries[row..<end]
    }

    /// The next leaf, if it is unread, and the highest code that it may have.
    ///
    /// - Parameter sharesCodes: whether the leaf after it may begin with its last code.
    func wholeLeaf(_ sharesCodes: Bool) -> (entry: NodeEntry, lastCode: Int64)? {
      guard row == entries.count, next < leaves.count else { return nil }
      let after = next + 1
      guard after < leaves.count else { return (leaves[next], lastCode) }
      return (leaves[next], sharesCodes ? leaves[after].firstKey : leaves[after].firstKey &- 1)
    }
  }

  private let blocks: IndexBlocks
  private let output: RunWriter
  private let filtersAll: Bool
  private let movesLeaves: Bool
  /// The blocks of the merged runs that the new run does not adopt.
  private(set) var replaced: [BlockReference] = []
  private var sources: [Source] = []
  private var stretches = MergedStretches()
  /// The entries to be filtered, when all entries are.
  private var unfiltered: [IndexEntry] = []
  private static let mostFiltered = 1 << 16

  /// - Parameters:
  ///   - filtersAll: whether to filter entries that do not share their code too.
  ///   - movesLeaves: whether to adopt whole leaves; false when the output is another file.
  init(
    _ blocks: IndexBlocks, _ output: RunWriter, filtersAll: Bool, movesLeaves: Bool = true
  ) {
    self.movesLeaves = movesLeaves
    self.blocks = blocks
    self.output = output
    self.filtersAll = filtersAll
  }

  /// Adds a run to be merged.
  mutating func add(_ run: IndexRun) throws {
    var leaves: [NodeEntry] = []
    try blocks.walk(run) { entry, level in
      if level == 0 { leaves.append(entry) } else { replaced.append(entry.reference) }
    }
    sources.append(Source(leaves: leaves, lastCode: run.lastCode))
  }

  /// Adds a run whose entries are in memory.
  mutating func add(_ run: SmallRun) {
    replaced += [run.root, run.leaf]
    add(run.entries)
  }

  /// Adds entries in memory, ascending.
  mutating func add(_ entries: [IndexEntry]) {
    guard let last = entries.last else { return }
    sources.append(Source(leaves: [], lastCode: last.code, entries: entries))
  }

  /// Writes the merged entries.
  mutating func run(_ filter: Filter) throws {
    while let (source, second) = lowest() {
      if movesLeaves, !filtersAll, output.takesLeaf,
        let leaf = source.wholeLeaf(output.sharesCodes), output.keeps(leaf.entry),
        second.map({ leaf.lastCode < $0.code }) ?? true
      {
        source.passLeaf()
        try output.append(leaf: leaf.entry, lastCode: leaf.lastCode)
      } else if source.isUsedUp {
        let read = try source.readLeaf(blocks, sharesCodes: output.sharesCodes)
        replaced.append(read.reference)
      } else {
        try takeRead(filter)
      }
    }
    try writeUnfiltered(filter)
  }

  /// The source with the lowest next entry, and the second lowest one's entry.
  private func lowest() -> (Source, second: IndexEntry?)? {
    var lowest: (source: Source, head: IndexEntry)?
    var second: IndexEntry?
    for source in sources {
      guard let head = source.head else { continue }
      if let present = lowest, present.head <= head {
        second = second.map { min($0, head) } ?? head
      } else {
        second = lowest?.head
        lowest = (source, head)
      }
    }
    return lowest.map { ($0.source, second) }
  }

  /// Takes all entries that have been read and that precede every unread leaf: at least the lowest one, with
  /// all others of its code if codes are not shared.
  private mutating func takeRead(_ filter: Filter) throws {
    let bound = sources.lazy.compactMap(\.readUpTo).min()
    stretches.removeAll()
    for source in sources { stretches.add(source.take(upTo: bound)) }
    try write(stretches.merged(), filter)
  }

  /// Writes ascending entries: equal ones once, outdated ones not at all.
  private mutating func write(
    _ entries: UnsafeBufferPointer<IndexEntry>, _ filter: Filter
  ) throws {
    if filtersAll {
      for entry in entries where entry != unfiltered.last { unfiltered.append(entry) }
      if unfiltered.count >= Self.mostFiltered { try writeUnfiltered(filter) }
      return
    }
    let sharesCodes = output.sharesCodes
    func areAlike(_ row: Int) -> Bool {
      entries[row].code == entries[row + 1].code
        && (!sharesCodes || entries[row].object == entries[row + 1].object)
    }
    var (start, row) = (0, 0)
    while row + 1 < entries.count {
      guard areAlike(row) else {
        row += 1
        continue
      }
      try output.append(UnsafeBufferPointer(rebasing: entries[start..<row]))
      start = row
      repeat { row += 1 } while row + 1 < entries.count && areAlike(row)
      row += 1
      var kept: [IndexEntry] = []
      for entry in entries[start..<row] where entry != kept.last { kept.append(entry) }
      if kept.count > 1 { try filter(&kept) }
      try kept.withUnsafeBufferPointer(output.append)
      start = row
    }
    try output.append(UnsafeBufferPointer(rebasing: entries[start...]))
  }

  private mutating func writeUnfiltered(_ filter: Filter) throws {
    if unfiltered.isEmpty { return }
    try filter(&unfiltered)
    try unfiltered.withUnsafeBufferPointer(output.append)
    unfiltered.removeAll(keepingCapacity: true)
  }
}
