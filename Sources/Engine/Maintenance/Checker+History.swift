import Base

/// Checks kept versions and pending tables.
extension Checker {
  /// Checks the pending tables and every kept version, the newest first: all of their blocks and values, as
  /// in the newest version, except the parts shared with versions that were already checked. Also checks that
  /// no byte of a block belongs to another block, of the same version or another.
  ///
  /// - Parameters:
  ///   - gone: versions that were dropped meanwhile, so that their pages may be reused.
  ///   - withPending: false when pending tables were changed meanwhile.
  mutating func checkNamedVersions(except gone: Set<UInt64>, withPending: Bool) {
    let history: History
    do {
      guard let roots else { return }
      if record.hasHistory != (roots.catalogue.history != nil) {
        report.problems.append(
          "the catalogue: it has \(record.hasHistory ? "no" : "a") history, and the slot says otherwise"
        )
      }
      if roots.catalogue.hasCompoundKeys, !record.hasCompoundKeys {
        report.problems.append(
          "the catalogue: a table's key has several columns, and the slot says otherwise")
      }
      history = try roots.history(blocks)
    } catch {
      return report.problems.append(Self.describe(error, "the history"))
    }
    if record.hasPending == history.pending.isEmpty {
      report.problems.append(
        "the history: it has \(record.hasPending ? "no" : "a") pending table, and the slot says otherwise"
      )
    }
    var all = BlockPlaces(extents)
    if withPending {
      for root in history.pending { checkPending(root, &all) }
      pendingBlocks = all.others
    }
    for root in history.kept.reversed() {
      let number = root.record.version
      if gone.contains(number) {
        report.passedOver.append(number)
        continue
      }
      report.keptVersions.append(number)
      let problems = check(root.record, &all)
      report.problems += problems.map { "version \(number), which is kept: \($0)" }
    }
    keptBlocks = all.others
  }

  private mutating func checkPending(_ root: PendingRoot, _ all: inout BlockPlaces) {
    report.pendingTables.append(root.name)
    let (own, base) = root.records(in: record)
    for (version, what) in [(own, "pending"), (base, "what is pending came from")] {
      guard let version else { continue }
      var problems = check(version, &all)
      if problems.isEmpty {
        do {
          _ = try VersionRoots.pending(root, in: record, blocks, isBase: version != own)
        } catch {
          problems = [Self.describe(error, "its catalogue")]
        }
      }
      report.problems += problems.map { "table '\(root.name)', \(what): \($0)" }
    }
    guard let next = roots?.catalogue.nextTableNumber, root.table < next else {
      return report.problems.append(
        "table '\(root.name)', pending: its number is not below the next table's")
    }
  }

  private mutating func check(_ kept: VersionRecord, _ all: inout BlockPlaces) -> [String] {
    do {
      guard kept.end <= UInt64(clamping: try blocks.storage.length()) else {
        return ["it reaches beyond the file's end"]
      }
    } catch {
      return ["\(error)"]
    }
    var checker = Checker(kept, blocks, isDeep: isDeep, after: self)
    checker.checkTables()
    checker.checkExtents()
    lastKeys = checker.lastKeys
    if checker.report.isSound {
      if let roots = checker.roots, kept.hasHistory != (roots.catalogue.history != nil) {
        return ["its catalogue has another form than is said of it"]
      }
      if let roots = checker.roots, roots.catalogue.hasCompoundKeys, !record.hasCompoundKeys {
        return ["a table's key has several columns, and the slot says otherwise"]
      }
      if let problem = all.add(checker.extents) { return [problem] }
    }
    return checker.report.problems
  }
}

/// The places of the blocks of several versions, each once.
struct BlockPlaces {
  /// Ascending; no two overlap.
  private var all: [(start: UInt64, end: UInt64)]
  /// The bytes of blocks of added versions that are not in the first version.
  private(set) var others: [Range<Int>] = []

  /// - Parameter blocks: blocks of a version, ascending, without overlaps.
  init(_ blocks: [(start: UInt64, end: UInt64, what: String)]) {
    all = blocks.map { ($0.start, $0.end) }
  }

  /// Adds the blocks of another version that are not there yet.
  ///
  /// - Parameter blocks: ascending, without overlaps.
  /// - Returns: a description of the first block that has bytes of another one.
  /// - Complexity: O(blocks).
  mutating func add(_ blocks: [(start: UInt64, end: UInt64, what: String)]) -> String? {
    var fresh: [(start: UInt64, end: UInt64)] = []
    for block in blocks {
      let place = partitionPoint(all.indices) { all[$0].start >= block.start }
      if place < all.count, all[place].start == block.start {
        if all[place].end == block.end { continue }
        return "\(block.what) at offset \(block.start) begins where another block does"
      }
      for other in [place - 1, place] where all.indices.contains(other) {
        guard all[other].end > block.start, all[other].start < block.end else { continue }
        return "\(block.what) at offset \(block.start) overlaps a block at \(all[other].start)"
      }
      fresh.append((block.start, block.end))
      others.append(Int(clamping: block.start)..<Int(clamping: block.end))
    }
    if fresh.isEmpty { return nil }
    // Both lists ascend, and sorting a nearly sorted one is fast.
    all = (all + fresh).sorted { $0.start < $1.start }
    return nil
  }
}
