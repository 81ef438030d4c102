/// Merges runs and new entries into one run, in one pass.
///
/// A leaf whose codes lie between those of all others is taken over as it is, unless it is small: runs of
/// ascending keys are just concatenated. Among entries with one code, outdated ones (the caller finds them)
/// and repetitions are left out. Where codes are shared by design (`RunWriter.sharesCodes`), only repetitions
/// are left out, unless all entries are filtered.
///
/// Thread rule: only the transaction's thread uses it.
package struct RunMerger {
  /// Removes entries whose objects are gone or have another key. Its input ascends.
  package typealias Filter = (inout [IndexEntry]) throws -> Void

  /// A source of entries: one leaf after the other.
  ///
  /// Thread rule: that of the merger.
  private final class Source {
    // Unchecked: nothing that is called while they change accesses them again.
    let leaves: [NodeEntry]
    @exclusivity(unchecked) var next = 0
    let lastCode: Int64
    /// The present leaf's entries, when it has been read. Unsafe for speed: random keys come one by one from
    /// many sources, and an array would be retained for each.
    @exclusivity(unchecked) private(set) var entries = UnsafeBufferPointer<IndexEntry>(
      start: nil, count: 0)
    @exclusivity(unchecked) private var read: [IndexEntry] = []
    @exclusivity(unchecked) private var room = Scratch<IndexEntry>(capacity: 0)
    @exclusivity(unchecked) var row = 0

    init(leaves: [NodeEntry], lastCode: Int64, entries: [IndexEntry] = []) {
      self.leaves = leaves
      self.lastCode = lastCode
      show(entries)
    }

    private func show(_ entries: [IndexEntry]) {
      let target = room.reserve(entries.count)
      entries.withUnsafeBufferPointer {
        if let start = $0.baseAddress { target.update(from: start, count: $0.count) }
      }
      self.entries = UnsafeBufferPointer(start: target, count: entries.count)
      row = 0
    }

    /// Reads the next leaf.
    func readLeaf(_ blocks: IndexBlocks) throws -> NodeEntry {
      let entry = leaves[next]
      try blocks.entries(entry, into: &read)
      show(read)
      next += 1
      return entry
    }

    /// The next entry; for an unread leaf, the lowest possible one.
    var head: IndexEntry? {
      if row < entries.count { return entries[row] }
      return next < leaves.count ? IndexEntry(code: leaves[next].firstKey, object: .min) : nil
    }

    /// The next leaf, if it is unread, and the highest code that it may have.
    ///
    /// - Parameter sharesCodes: whether the leaf behind it may begin with its last code.
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
  /// The blocks of the merged runs that the new one does not take over.
  private(set) var replaced: [BlockReference] = []
  private var sources: [Source] = []
  /// Entries of one code, or of many when all are filtered.
  private var group: [IndexEntry] = []
  private var lastWritten: IndexEntry?
  private static let mostFiltered = 1 << 16

  /// - Parameters:
  ///   - filtersAll: whether entries that do not share their code are filtered too.
  ///   - movesLeaves: whether whole leaves are taken over; false when the output is another file.
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
    var heads = HeadHeap()
    for (index, source) in sources.enumerated() {
      if let head = source.head { heads.insert(head, index) }
    }
    while let (_, index) = heads.lowest {
      if movesLeaves, !filtersAll, output.takesLeaf, group.isEmpty,
        let leaf = sources[index].wholeLeaf(output.sharesCodes), output.keeps(leaf.entry),
        heads.second.map({ leaf.lastCode < $0.code }) ?? true
      {
        sources[index].next += 1
        try output.append(leaf: leaf.entry, lastCode: leaf.lastCode)
      } else if output.sharesCodes {
        try takeShared(from: index, upTo: heads.second)
      } else {
        try take(from: index, below: heads.second?.code)
      }
      heads.replaceLowest(sources[index].head)
      try writeGroup(next: heads.lowest?.code, filter)
    }
  }

  /// Moves entries from a source on while they are not above the next source's: to the output, or to the
  /// group when all are filtered.
  private mutating func takeShared(from index: Int, upTo limit: IndexEntry?) throws {
    let source = sources[index]
    if source.row == source.entries.count { try readLeaf(of: source) }
    let entries = source.entries
    let start = source.row
    var row = start
    while row < entries.count, limit.map({ entries[row] <= $0 }) ?? true { row += 1 }
    if filtersAll {
      group += entries[start..<row]
    } else {
      for row in start..<row { try writeOnce(entries[row]) }
    }
    source.row = row
  }

  /// Writes an entry unless it has just been written.
  private mutating func writeOnce(_ entry: IndexEntry) throws {
    if entry == lastWritten { return }
    try output.append(entry)
    lastWritten = entry
  }

  /// Moves entries from a source on. Those that do not share their code go to the output, until one comes
  /// that does, or that is not below the next source's; then those of its code go to the group.
  private mutating func take(from index: Int, below limit: Int64?) throws {
    let source = sources[index]
    if source.row == source.entries.count { try readLeaf(of: source) }
    let entries = source.entries
    let start = source.row
    var row = start
    defer { source.row = row }
    func isBelow(_ code: Int64) -> Bool { limit.map { code < $0 } ?? true }
    if filtersAll {
      let code = entries[row].code
      while row < entries.count, entries[row].code == code || isBelow(entries[row].code) {
        row += 1
      }
      group += entries[start..<row]
      return
    }
    if group.isEmpty {
      while row < entries.count, isBelow(entries[row].code),
        row + 1 == entries.count || entries[row + 1].code != entries[row].code
      {
        row += 1
      }
      try output.append(UnsafeBufferPointer(rebasing: entries[start..<row]))
    }
    if row == start {
      let code = entries[row].code
      while row < entries.count, entries[row].code == code { row += 1 }
      group += entries[start..<row]
    }
  }

  private mutating func readLeaf(of source: Source) throws {
    replaced.append(try source.readLeaf(blocks).reference)
  }

  /// Writes the collected entries once no more of their code can come.
  private mutating func writeGroup(next: Int64?, _ filter: Filter) throws {
    guard let last = group.last else { return }
    if let next {
      if filtersAll, group.count < Self.mostFiltered { return }
      if next == last.code, !output.sharesCodes { return }
    }
    group.sort()
    var kept: [IndexEntry] = []
    for entry in group where entry != kept.last { kept.append(entry) }
    if filtersAll || kept.count > 1 { try filter(&kept) }
    for entry in kept { try writeOnce(entry) }
    group.removeAll(keepingCapacity: true)
  }
}

/// The sources' next entries, lowest first.
private struct HeadHeap {
  private var heads: [(entry: IndexEntry, source: Int)] = []

  var lowest: (code: Int64, source: Int)? { heads.first.map { ($0.entry.code, $0.source) } }

  /// The second lowest entry.
  var second: IndexEntry? {
    switch heads.count {
    case 0, 1: nil
    case 2: heads[1].entry
    default: min(heads[1].entry, heads[2].entry)
    }
  }

  mutating func insert(_ entry: IndexEntry, _ source: Int) {
    heads.append((entry, source))
    var child = heads.count - 1
    while child > 0, heads[(child - 1) / 2].entry > heads[child].entry {
      heads.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Gives the lowest source its next entry, or removes it when it has none.
  mutating func replaceLowest(_ entry: IndexEntry?) {
    if let entry {
      heads[0].entry = entry
    } else {
      let last = heads.removeLast()
      if heads.isEmpty { return }
      heads[0] = last
    }
    var parent = 0
    while true {
      let left = 2 * parent + 1
      guard left < heads.count else { return }
      var lowest = left
      if left + 1 < heads.count, heads[left + 1].entry < heads[left].entry { lowest = left + 1 }
      if heads[parent].entry <= heads[lowest].entry { return }
      heads.swapAt(parent, lowest)
      parent = lowest
    }
  }
}
