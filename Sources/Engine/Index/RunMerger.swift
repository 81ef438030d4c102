/// Merges runs and new entries into one run, in one pass.
///
/// A leaf whose codes lie between those of all others is taken as it is: runs of ascending keys are put
/// in a row. Of entries with one code those that the caller finds to be out of date are left out, as are
/// repetitions.
///
/// Thread rule: used by the transaction's thread only.
package struct RunMerger {
  /// Removes entries whose objects are gone or have another key. What it is given ascends.
  package typealias Filter = (inout [IndexEntry]) throws -> Void

  /// Where entries come from: leaf by leaf.
  private struct Source {
    var leaves: [NodeEntry]
    var next = 0
    var lastCode: Int64
    /// The present leaf's entries, when it has been read.
    var entries: [IndexEntry] = []
    var row = 0

    /// The code that comes next.
    var head: Int64? {
      if row < entries.count { return entries[row].code }
      return next < leaves.count ? leaves[next].firstKey : nil
    }

    /// The leaf that comes next, not read yet, and the highest code it may have.
    var wholeLeaf: (entry: NodeEntry, lastCode: Int64)? {
      guard row == entries.count, next < leaves.count else { return nil }
      let after = next + 1
      return (leaves[next], after < leaves.count ? leaves[after].firstKey &- 1 : lastCode)
    }
  }

  private let blocks: IndexBlocks
  private let output: RunWriter
  private let filtersAll: Bool
  private let movesLeaves: Bool
  /// The blocks of the merged runs that the new one does not take over.
  private(set) var replaced: [BlockReference] = []
  private var sources: [Source] = []
  /// Entries of one code, or, when all are filtered, of many.
  private var group: [IndexEntry] = []
  private static let mostFiltered = 1 << 16

  /// - Parameters:
  ///   - filtersAll: also entries that are alone with their code are filtered.
  ///   - movesLeaves: whole leaves are taken over; false when the output is another file.
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

  /// Adds entries in memory, ascending.
  mutating func add(_ entries: [IndexEntry]) {
    guard let last = entries.last else { return }
    sources.append(Source(leaves: [], lastCode: last.code, entries: entries))
  }

  /// Writes the merged entries.
  mutating func run(_ filter: Filter) throws {
    var heads = HeadHeap()
    for (index, source) in sources.enumerated() {
      if let code = source.head { heads.insert(code, index) }
    }
    while let (_, index) = heads.lowest {
      if movesLeaves, !filtersAll, output.takesLeaf, group.isEmpty,
        let leaf = sources[index].wholeLeaf,
        heads.second.map({ leaf.lastCode < $0 }) ?? true
      {
        sources[index].next += 1
        try output.append(leaf: leaf.entry, lastCode: leaf.lastCode)
      } else {
        try take(from: index, below: heads.second)
      }
      heads.replaceLowest(sources[index].head)
      try writeGroup(next: heads.lowest?.code, filter)
    }
  }

  /// Moves entries from a source on: those that are alone with their code to the output, until one
  /// comes that is not, or that is not below the next source's; then those of its code to the group.
  private mutating func take(from index: Int, below limit: Int64?) throws {
    if sources[index].row == sources[index].entries.count { try readLeaf(of: index) }
    let entries = sources[index].entries
    let start = sources[index].row
    var row = start
    func isBelow(_ code: Int64) -> Bool { limit.map { code < $0 } ?? true }
    if filtersAll {
      let code = entries[row].code
      while row < entries.count,
        entries[row].code == code || isBelow(entries[row].code)
      {
        group.append(entries[row])
        row += 1
      }
    } else {
      while group.isEmpty, row < entries.count, isBelow(entries[row].code),
        row + 1 == entries.count || entries[row + 1].code != entries[row].code
      {
        try output.append(entries[row])
        row += 1
      }
      if row == start {
        let code = entries[row].code
        while row < entries.count, entries[row].code == code {
          group.append(entries[row])
          row += 1
        }
      }
    }
    sources[index].row = row
  }

  private mutating func readLeaf(of index: Int) throws {
    let entry = sources[index].leaves[sources[index].next]
    try blocks.entries(entry, into: &sources[index].entries)
    replaced.append(entry.reference)
    sources[index].row = 0
    sources[index].next += 1
  }

  /// Writes the collected entries once no more can come of their code.
  private mutating func writeGroup(next: Int64?, _ filter: Filter) throws {
    guard let last = group.last else { return }
    if let next, next == last.code || (filtersAll && group.count < Self.mostFiltered) { return }
    group.sort()
    var kept: [IndexEntry] = []
    for entry in group where entry != kept.last { kept.append(entry) }
    if filtersAll || kept.count > 1 { try filter(&kept) }
    for entry in kept { try output.append(entry) }
    group.removeAll(keepingCapacity: true)
  }
}

/// The sources' next codes, lowest first.
private struct HeadHeap {
  private var heads: [(code: Int64, source: Int)] = []

  var lowest: (code: Int64, source: Int)? { heads.first }

  /// The lowest code but one.
  var second: Int64? {
    switch heads.count {
    case 0, 1: nil
    case 2: heads[1].code
    default: min(heads[1].code, heads[2].code)
    }
  }

  mutating func insert(_ code: Int64, _ source: Int) {
    heads.append((code, source))
    var child = heads.count - 1
    while child > 0, heads[(child - 1) / 2].code > heads[child].code {
      heads.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Gives the lowest source its next code, or takes it out when it has none.
  mutating func replaceLowest(_ code: Int64?) {
    if let code {
      heads[0].code = code
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
      if left + 1 < heads.count, heads[left + 1].code < heads[left].code { lowest = left + 1 }
      if heads[parent].code <= heads[lowest].code { return }
      heads.swapAt(parent, lowest)
      parent = lowest
    }
  }
}
