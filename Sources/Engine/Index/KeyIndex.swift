/// The index of a table's primary key inside a write transaction.
///
/// It maps codes of keys to objects. Its entries are hints: the entry of an object that was deleted, or whose
/// key was changed, stays until a merge finds it among others of its code, or until there are too many such
/// entries. So a deletion writes nothing here. But every existing object has its entry.
///
/// Thread rule: only the transaction's thread.
package final class KeyIndex {
  private let runSet: RunSet
  /// All entries of small runs, and those that are in no run yet, once more than a few keys were looked up.
  private let recent: RecentKeys
  // Unchecked: every lookup reads it, and no function called during a change accesses it again.
  @exclusivity(unchecked) private var recentIsReady = false

  /// - Parameters:
  ///   - runs: the runs in the transaction's base.
  ///   - baseEnd: the end of the base.
  ///   - recent: the entries kept by an earlier transaction; nil when there are none.
  package init(
    runs: [IndexRun], writer: BlockWriter, blocks: BlockReader, baseEnd: UInt64,
    limits: IndexLimits, recent: RecentKeys?
  ) {
    runSet = RunSet(
      runs, writer: writer, blocks: blocks, baseEnd: baseEnd, limits: limits, isNew: false)
    self.recent = recent ?? RecentKeys()
  }

  private init(_ runSet: RunSet) {
    self.runSet = runSet
    recent = RecentKeys()
  }

  package var runs: [IndexRun] { runSet.runs }
  package var isChanged: Bool { runSet.isChanged }
  private var limits: IndexLimits { runSet.limits }

  /// An empty index in the same transaction.
  package func makeEmpty() -> KeyIndex { KeyIndex(runSet.makeEmpty()) }

  /// Makes the code for a table that gets a key.
  package func newKeyCode() -> KeyCode { limits.keyCode ?? .random() }

  // MARK: Finding

  private func isRecent(_ run: IndexRun) -> Bool { run.count < UInt64(limits.recentEntries) }

  /// Calls `body` with every object that may have one of some keys.
  ///
  /// - Parameters:
  ///   - codes: the codes of the keys, ascending if `asksInOrder` returns true.
  ///   - passedOver: the roots of the large runs in which the keys were already looked up.
  ///   - body: receives an index in `codes`, and an object.
  /// - Throws: `BlockError` when a block of the index is damaged.
  package func find(
    _ codes: some RandomAccessCollection<Int64>, passingOver passedOver: [BlockReference] = [],
    _ body: (_ position: Int, _ object: Int64) throws -> Void
  ) throws {
    let readable = try runSet.readable()
    if try prepareRecent(lookingUp: codes.count, readable) {
      if recent.count > 0 {
        for (position, code) in codes.enumerated() {
          try recent.find(code) { try body(position, $0) }
        }
      }
    } else {
      for run in runs where isRecent(run) { try find(codes, in: run, readable, body) }
      for (position, code) in codes.enumerated() {
        for entry in runSet.pending where entry.code == code { try body(position, entry.object) }
      }
    }
    for run in runs where !isRecent(run) && !passedOver.contains(run.root.entry.reference) {
      guard let filter = recent.filters[run.root.entry.reference] else {
        try find(codes, in: run, readable, body)
        try filterLater(run, lookedUp: codes.count, readable)
        continue
      }
      let passing = codes.enumerated().filter {
        run.reaches($0.element) && filter.mayContain($0.element)
      }
      if passing.isEmpty { continue }
      try find(passing.lazy.map(\.element), in: run, readable) {
        try body(passing[$0].offset, $1)
      }
    }
  }

  /// Looks codes up in a run in the file, so many at a time that the leaves do not map too much.
  private func find(
    _ codes: some RandomAccessCollection<Int64>, in run: IndexRun, _ readable: IndexBlocks,
    _ body: (_ position: Int, _ object: Int64) throws -> Void
  ) throws {
    for start in stride(from: 0, to: codes.count, by: Self.placesMapped) {
      let some = codes.dropFirst(start).prefix(Self.placesMapped)
      recent.touched += try run.find(some, readable) { try body(start + $0, $1) }
      limitMapping(objects: 0)
    }
  }

  /// Calls `body` with every object that may have a key of a code. Like the other `find`, without buffers for
  /// many keys.
  package func find(_ code: Int64, _ body: (_ object: Int64) throws -> Void) throws {
    guard try recentIsReady || prepareRecent(lookingUp: 1, try runSet.readable()) else {
      return try find(CollectionOfOne(code)) { try body($1) }
    }
    try recent.find(code, body)
    if runs.isEmpty { return }
    for run in runs where run.reaches(code) && !isRecent(run) {
      let filter = recent.filters[run.root.entry.reference]
      if let filter, !filter.mayContain(code) { continue }
      let readable = try runSet.readable()
      recent.touched += try run.find(CollectionOfOne(code), readable) { try body($1) }
      if filter == nil { try filterLater(run, lookedUp: 1, readable) }
    }
  }

  /// Returns false when what is in memory shows that no key has a code, as for most new keys; `find` then
  /// finds nothing. Reads no block.
  package func mayContain(_ code: Int64) -> Bool {
    guard recentIsReady, !recent.contains(code) else { return true }
    if runs.isEmpty { return false }
    return runs.contains { run in
      guard run.reaches(code), !isRecent(run) else { return false }
      return recent.filters[run.root.entry.reference]?.mayContain(code) ?? true
    }
  }

  /// The filters of the large runs, for lookups outside the transaction.
  package var filters: [BlockReference: KeyFilter] { recent.filters }

  /// The roots of the runs in which codes are looked up in the file; the others are in memory.
  package var largeRuns: [BlockReference] {
    runs.lazy.filter { !self.isRecent($0) }.map(\.root.entry.reference)
  }

  /// Returns whether there are other large runs than these, in which keys would have to be looked up.
  package func hasLargeRuns(beside known: [BlockReference]) -> Bool {
    runs.contains { !isRecent($0) && !known.contains($0.root.entry.reference) }
  }

  /// Returns whether `find` needs ascending codes: when it looks them up in the file, in other runs than
  /// these.
  ///
  /// - Parameter count: the number of keys.
  package func asksInOrder(_ count: Int, passingOver known: [BlockReference]) -> Bool {
    hasLargeRuns(beside: known) || !(recentIsReady || isWorthReading(lookingUp: count))
  }

  /// Records how many keys were looked up in some runs outside the transaction: see `filterLater`.
  package func note(lookedUp count: Int, in looked: [BlockReference]) throws {
    if count == 0 { return }
    for run in runs where !isRecent(run) && looked.contains(run.root.entry.reference) {
      guard recent.filters[run.root.entry.reference] == nil else { continue }
      try filterLater(run, lookedUp: count, try runSet.readable())
    }
  }

  /// Makes a filter for a run that another program has written, once the lookups in it have cost so much that
  /// reading the whole run adds little.
  private func filterLater(_ run: IndexRun, lookedUp: Int, _ readable: IndexBlocks) throws {
    let reference = run.root.entry.reference
    let looked = recent.unfiltered[reference, default: 0] &+ UInt64(lookedUp)
    recent.unfiltered[reference] = looked
    guard run.count < UInt64(limits.filterBytes), looked >= run.count / Self.keysPerFilteredEntry
    else { return }
    let present = recent.filters.values.reduce(0) { $0 + $1.byteCount }
    guard present + KeyFilter.byteCount(Int(run.count)) <= limits.filterBytes else { return }
    var filter = KeyFilter(capacity: Int(run.count))
    try readable.walk(run) { entry, level in
      guard level == 0 else { return }
      let entries = try readable.entries(entry)
      entries.withUnsafeBufferPointer { filter.insert($0) }
    }
    recent.filters[reference] = filter
    recent.unfiltered[reference] = nil
  }

  /// Looking up a key costs about as much as reading this many entries.
  private static let keysPerFilteredEntry: UInt64 = 16

  /// The entries, for a few codes or ranges of them.
  ///
  /// - Complexity: that of `RunSet.reader`.
  package func reader() throws -> IndexReader { try runSet.reader() }

  /// Reading a place also maps its surroundings, 64 KiB on Linux: 12 MiB altogether.
  private static let placesMapped = 192

  /// Releases the file's mapped pages now and then: random lookups would map all of a large file, and mapped
  /// pages count as the process's memory.
  ///
  /// - Parameter objects: the number of objects read.
  package func limitMapping(objects: Int) {
    recent.touched += objects
    guard recent.touched >= Self.placesMapped, runSet.writer.length > MappedRange.largeFile else {
      return
    }
    recent.touched = 0
    runSet.blocks.forgetAll(length: runSet.writer.length)
  }

  /// Reads the small runs into memory, unless they are there, or a few lookups in the file cost less.
  ///
  /// - Returns: whether they are in memory.
  private func prepareRecent(lookingUp count: Int, _ readable: IndexBlocks) throws -> Bool {
    if recentIsReady { return true }
    if isCovered {
      for entry in runSet.pending { recent.insert(entry) }
      recentIsReady = true
      return true
    }
    guard isWorthReading(lookingUp: count) else {
      recent.lookedUp &+= UInt64(count)
      return false
    }
    let small = runs.filter(isRecent)
    let references = small.map(\.root.entry.reference)
    if recent.covered != references {
      recent.removeAll()
      for run in small {
        try readable.walk(run) { entry, level in
          guard level == 0 else { return }
          for entry in try readable.entries(entry) { recent.insert(entry) }
        }
      }
      recent.covered = references
    }
    for entry in runSet.pending { recent.insert(entry) }
    recentIsReady = true
    return true
  }

  /// Whether the entries in memory are those of the small runs, as in most small transactions.
  private var isCovered: Bool {
    var place = 0
    for run in runs where isRecent(run) {
      guard place < recent.covered.count, recent.covered[place] == run.root.entry.reference else {
        return false
      }
      place += 1
    }
    return place == recent.covered.count
  }

  /// Returns whether to read the small runs before a number of keys is looked up. An import of one object
  /// into a large table would otherwise spend a considerable part of its time on that.
  private func isWorthReading(lookingUp count: Int) -> Bool {
    var entries: UInt64 = 0
    var references: [BlockReference] = []
    for run in runs where isRecent(run) {
      entries &+= run.count
      references.append(run.root.entry.reference)
    }
    if recent.covered == references || runSet.pending.count > Self.mostPending { return true }
    // Each key is looked up in each of them.
    let (cost, overflow) = (recent.lookedUp &+ UInt64(count)).multipliedReportingOverflow(
      by: UInt64(references.count) &* Self.keysPerFilteredEntry)
    return overflow || cost >= entries
  }

  /// The maximum number of added entries that are searched sequentially.
  private static let mostPending = 64

  // MARK: Changing

  /// Adds the entry of an object.
  package func add(_ entry: IndexEntry) {
    runSet.add(entry)
    if recentIsReady { recent.insert(entry) }
  }

  /// Removes all entries.
  package func removeAll() throws {
    try runSet.removeAll()
    recent.removeAll()
    recentIsReady = true
  }

  // MARK: Writing

  /// Writes the entries when there are many, to limit the memory of a large transaction. Call it when the
  /// objects of all entries have been added.
  package func limitMemory(_ filter: RunMerger.Filter) throws {
    if runSet.isFull { try write(from: runSet.firstMerged, filtersAll: false, filter) }
  }

  /// Writes all added entries, and returns the runs.
  ///
  /// - Parameters:
  ///   - objects: the number of objects in the table. When most entries are outdated, all are checked.
  ///   - filter: removes outdated entries.
  package func seal(objects: UInt64, _ filter: RunMerger.Filter) throws -> [IndexRun] {
    if runSet.pending.isEmpty { return runs }
    let isOutdated = runSet.isOutdated(objects: objects, slack: limits.recentEntries)
    try write(from: isOutdated ? 0 : runSet.firstMerged, filtersAll: isOutdated, filter)
    return runs
  }

  /// Merges all runs into one.
  ///
  /// - Parameter checkingAll: whether to check all entries, including those that do not share their code, and
  ///   those of a single run.
  package func mergeAll(checkingAll: Bool = false, _ filter: RunMerger.Filter) throws {
    guard runs.count > 1 || checkingAll || !runSet.pending.isEmpty else { return }
    try write(from: 0, filtersAll: checkingAll, filter)
  }

  /// Writes the added entries, and the runs from a given index on, as one run.
  private func write(from first: Int, filtersAll: Bool, _ filter: RunMerger.Filter) throws {
    let hadLarge = !runs[first...].allSatisfy(isRecent)
    let output = RunWriter(runSet.writer, limits, filter: makeFilter(from: first))
    try runSet.write(
      from: first, through: output, known: recent.lastRun, filtersAll: filtersAll, filter)
    recent.lastRun = output.smallRun
    keepFilter(output.filter)
    guard recentIsReady else { return }
    let references = runs.filter(isRecent).map(\.root.entry.reference)
    // The entries in memory are now in a large run, or are mostly repetitions and would only grow; or a large
    // run has become a small one, whose entries are not in memory.
    let hasShrunk = hadLarge && runs.last.map(isRecent) ?? false
    if references.isEmpty || hasShrunk || recent.count > 2 * limits.recentEntries {
      recent.removeAll()
      recentIsReady = references.isEmpty
    } else {
      recent.covered = references
    }
  }

  /// A filter for the run that these runs and the added entries will become; nil when that will be small, or
  /// there is no memory for the filter.
  private func makeFilter(from first: Int) -> KeyFilter? {
    let count = runs[first...].reduce(UInt64(runSet.pending.count)) { $0 &+ $1.count }
    // Released before the new filter is allocated: the filters of merged runs are no longer used.
    for run in runs[first...] { recent.filters[run.root.entry.reference] = nil }
    let staying = runs[..<first].reduce(0) {
      $0 + (recent.filters[$1.root.entry.reference]?.byteCount ?? 0)
    }
    guard count >= UInt64(limits.recentEntries), count < UInt64(limits.filterBytes),
      staying + KeyFilter.byteCount(Int(count)) <= limits.filterBytes
    else { return nil }
    return KeyFilter(capacity: Int(count))
  }

  /// Removes the filters of runs that no longer exist, and keeps the newest run's.
  private func keepFilter(_ filter: KeyFilter?) {
    // The usual case in small transactions.
    if filter == nil, recent.filters.isEmpty, recent.unfiltered.isEmpty { return }
    let references = Set(runs.map(\.root.entry.reference))
    recent.filters = recent.filters.filter { references.contains($0.key) }
    recent.unfiltered = recent.unfiltered.filter { references.contains($0.key) }
    if let filter, let run = runs.last, !isRecent(run) {
      recent.filters[run.root.entry.reference] = filter
    }
  }

  /// The entries for the next transaction, which are those of the runs that it finds; nil when there are
  /// more.
  package var kept: RecentKeys? { runSet.pending.isEmpty ? recent : nil }
}
