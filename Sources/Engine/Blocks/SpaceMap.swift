import Base

/// Which pages are in use, by which versions, and which may be overwritten.
///
/// Free space is derived, never stored: the map is built by a walk over the references of the newest version
/// and of every held one, and each commit updates it. A page is reused only when no version that is durable,
/// becoming durable or held by a reader has a block in it.
///
/// A page is born in the version whose commit filled it, and dies in the version that dropped its last block;
/// versions from its birth up to, but not including, its death can reach it. So an old snapshot that is held
/// through thousands of commits keeps only the pages that it can reach, not all later ones.
///
/// Where a kept version was restored, a page may be reachable from versions that are not neighbours: it has
/// lived, died, and lives again. The walk that builds a map finds such earlier lives, and they are kept
/// unchanged.
///
/// Thread rule: only the thread that has the writers' turn.
package final class SpaceMap {
  struct Retired {
    let page: Int
    let birth: UInt64
    let death: UInt64
    /// Each range begins at a birth and ends before a death; ascending, all before `birth`.
    var earlier: [Range<UInt64>] = []

    /// One of these versions that reaches the page, and whether it alone does; nil when none does.
    ///
    /// - Parameter kept: ascending; there may be a thousand, and many more pages.
    /// - Complexity: O(lives * log(versions)).
    func reaching(_ kept: [UInt64]) -> (first: UInt64, isAlone: Bool)? {
      var first: UInt64?
      for life in earlier + [birth..<max(birth, death)] {
        let start = partitionPoint(0..<kept.count) { kept[$0] >= life.lowerBound }
        for version in kept[start...].prefix(2) where version < life.upperBound {
          guard let known = first else {
            first = version
            continue
          }
          if version != known { return (known, false) }
        }
      }
      return first.map { ($0, true) }
    }
  }

  /// The newest version in the map; the map must not be used for any other.
  package private(set) var version: UInt64
  // Unchecked: every block of a small transaction accesses these, and no function called during a change
  // accesses them again.
  /// For each page, the bytes that blocks of the newest version fill.
  @exclusivity(unchecked) private(set) var filled: [UInt32] = []
  @exclusivity(unchecked) private(set) var birth: [UInt64] = []
  /// The earlier lives of pages in use.
  private(set) var earlierLives: [Int: [Range<UInt64>]] = [:]
  private(set) var free = PageSet()
  /// Pages that have died and have not been compared with the held versions yet.
  private(set) var retired: [Retired] = []
  /// For each held version, the pages that it keeps from reuse.
  private(set) var blocked: [UInt64: [Retired]] = [:]
  /// While building: the counted versions, ascending, the newest last.
  private var counted: [UInt64] = []
  /// While building: for each page, the older versions that reach it, as indices in `counted`. A page reached
  /// by the newest version and its direct neighbours only is not listed, as its birth says so.
  private var reaching: [Int: Places] = [:]
  /// True when the pages of some held version were unknown when the map was built.
  private var isPartlyUnknown = false
  /// The pages that the open transaction has taken.
  private(set) var taken: [Range<Int>] = []
  /// Pages of tables with a pending table, which shares them with the visible one. A block that one of the
  /// two drops there stays until the map is built again: only a walk can determine whether the other table
  /// still has it.
  @exclusivity(unchecked) private(set) var frozen = PageSet()
  /// Pages that the open transaction freezes, and blocks in them.
  @exclusivity(unchecked) private var freezingPages = PageSet()
  private var freezing: [Range<Int>] = []

  /// The number of pages in the map; the two slots' pages are never free.
  package var pageCount: Int { filled.count }
  package var freePageCount: Int { free.count }
  /// The number of pages kept only for versions older than the newest.
  package var pinnedPageCount: Int {
    blocked.values.reduce(retired.count) { $0 + $1.count }
  }

  /// True while a version with unknown pages is held: any page of the file may belong to it, and a new map
  /// counts the whole file as used.
  var hasUnknownPages: Bool { isPartlyUnknown && !blocked.isEmpty }

  /// The map of an empty file, with the slots only.
  package init(version: UInt64) {
    self.version = version
    extend(to: Layout.slotCount)
    for page in 0..<Layout.slotCount { filled[page] = UInt32(Layout.pageBytes) }
    free = PageSet()
  }

  /// Reserves memory for a file's pages in one step, up to a limit, since the number of pages is only what
  /// the file's length claims.
  package func reserve(pages count: Int) {
    let count = min(count, 1 << 20)
    Self.reserve(&filled, count)
    Self.reserve(&birth, count)
  }

  private static func reserve<Element>(_ array: inout [Element], _ count: Int) {
    array.reserveCapacity(count)
    // All of it is about to be used. Page by page, at its first use, that takes longer.
    let bytes = array.capacity * MemoryLayout<Element>.stride
    array.withUnsafeMutableBytes { System.makePresent($0.baseAddress, count: bytes) }
  }

  /// While building: counts blocks of the newest version. `finishCounting` then removes their pages from the
  /// free ones.
  package func countLive(_ blocks: [Range<Int>]) {
    extend(to: blocks.reduce(0) { max($0, Self.pages($1).upperBound) })
    let version = version
    let frozen = frozen.count > 0 ? frozen : nil
    // Unsafe for speed: a large file has some hundred thousand pages, most of them filled by one block. The
    // blocks' pages are below the number of pages.
    filled.withUnsafeMutableBufferPointer { filled in
      birth.withUnsafeMutableBufferPointer { birth in
        for bytes in blocks {
          let pages = Self.pages(bytes)
          if pages.isEmpty { continue }
          if let frozen, pages.contains(where: frozen.contains) {
            for page in pages where !frozen.contains(page) {
              filled[page] = Self.sum(filled[page], Self.share(bytes, of: page))
              birth[page] = version
            }
            continue
          }
          // All pages between the first and the last are full. Without a test for each, the compiler
          // vectorizes the loop.
          let (first, last) = (pages.lowerBound, pages.upperBound - 1)
          filled[first] = Self.sum(filled[first], Self.share(bytes, of: first))
          if last > first {
            for page in first + 1..<last {
              filled[page] = Self.sum(filled[page], UInt32(Layout.pageBytes))
            }
            filled[last] = Self.sum(filled[last], Self.share(bytes, of: last))
          }
          for page in pages { birth[page] = version }
        }
      }
    }
  }

  /// While building: counts the blocks of tables with a pending table, before all other blocks. Nothing else
  /// counts in their pages afterwards.
  package func countFrozen(_ blocks: [Range<Int>]) {
    countLive(blocks)
    for bytes in blocks { frozen.insert(Self.pages(bytes)) }
  }

  /// Makes the open transaction freeze the pages of blocks of the newest version.
  package func freeze(_ blocks: [Range<Int>]) {
    freezing += blocks
    for bytes in blocks { freezingPages.insert(Self.pages(bytes)) }
  }

  static func pages(_ bytes: Range<Int>) -> Range<Int> {
    bytes.lowerBound / Layout.pageBytes..<Layout.pages(holding: bytes.upperBound)
  }

  /// The number of the bytes that are in the page.
  static func share(_ bytes: Range<Int>, of page: Int) -> UInt32 {
    let start = page * Layout.pageBytes
    return UInt32(
      min(bytes.upperBound, start + Layout.pageBytes) - max(bytes.lowerBound, start))
  }

  /// Blocks of a forged file may overlap; their page then counts as more used than it can be.
  private static func sum(_ filled: UInt32, _ share: UInt32) -> UInt32 {
    let (sum, overflow) = filled.addingReportingOverflow(share)
    return overflow ? .max : sum
  }

  /// Indices in the list of counted versions, as ascending ranges that do not touch.
  package typealias Places = [Range<Int>]

  /// While building: sets the older versions that will be counted, ascending. Call it after all `countLive`.
  package func beginCountingHeld(_ versions: [UInt64]) { counted = versions + [version] }

  /// While building: counts a block that some of the older versions reach.
  ///
  /// The birth and death of a page are not in the file. The walk finds which of the counted versions reach
  /// it; of neighbouring versions the first and the last suffice.
  ///
  /// - Parameter places: the indices of these versions in the list of versions.
  package func countHeld(_ bytes: Range<Int>, by places: Places) {
    guard let last = places.last else { return }
    let pages = Self.pages(bytes)
    extend(to: pages.upperBound)
    for page in pages {
      if places.count == 1, filled[page] > 0, last.upperBound == counted.count - 1 {
        birth[page] = min(birth[page], counted[last.lowerBound])
      } else {
        reaching[page] = reaching[page].map { Self.union($0, places) } ?? places
      }
    }
  }

  /// All indices that are in either set.
  package static func union(_ left: Places, _ right: Places) -> Places {
    if left == right { return left }
    var result: Places = []
    for range in (left + right).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last, last.upperBound >= range.lowerBound {
        result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    return result
  }

  /// Ends the building.
  ///
  /// - Parameter length: nil when all held versions were counted. Otherwise the file's length in pages: a
  ///   version whose root is unknown is held, and any page may belong to it. All pages then count as born
  ///   before all versions, and those that the newest version does not use die with it.
  package func finishCounting(unknownWithin length: Int? = nil) {
    let present = filled
    free.remove(below: pageCount) { present[$0] > 0 }
    if let length {
      isPartlyUnknown = true
      extend(to: length)
      reaching = [:]
      for page in Layout.slotCount..<pageCount {
        birth[page] = 0
        if filled[page] > 0 { continue }
        free.remove(page)
        retired.append(Retired(page: page, birth: 0, death: version))
      }
    }
    for (page, places) in reaching { note(page, reachedBy: places) }
    reaching = [:]
    counted = []
  }

  /// Converts the indices of the versions that reach a page to its lives.
  private func note(_ page: Int, reachedBy places: Places) {
    var places = places
    let isLive = filled[page] > 0
    if isLive, let place = counted.firstIndex(of: birth[page]) {
      places = Self.union(places, [place..<counted.count])
    }
    guard let last = places.popLast() else { return }
    let earlier = places.map { counted[$0.lowerBound]..<counted[$0.upperBound - 1] &+ 1 }
    if isLive {
      birth[page] = counted[last.lowerBound]
      earlierLives[page] = earlier.isEmpty ? nil : earlier
    } else {
      free.remove(page)
      retired.append(
        Retired(
          page: page, birth: counted[last.lowerBound], death: counted[last.upperBound - 1] &+ 1,
          earlier: earlier))
    }
  }

  /// Frees the pages that no version keeps any longer.
  ///
  /// - Parameter held: every version that must stay readable, including the newest, in any order.
  package func reclaim(_ held: [ClosedRange<UInt64>]) {
    let held = Self.merged(held)
    for version in blocked.keys where !held.contains(where: { $0.contains(version) }) {
      retired.append(contentsOf: blocked.removeValue(forKey: version) ?? [])
    }
    for page in retired {
      if let version = Self.holder(of: page, among: held) {
        blocked[version, default: []].append(page)
      } else if filled[page.page] == 0 {
        free.insert(page.page)
      }
    }
    retired.removeAll(keepingCapacity: true)
  }

  /// The first of these versions that reaches a page; nil when there is none.
  private static func holder(of page: Retired, among held: [ClosedRange<UInt64>]) -> UInt64? {
    for life in page.earlier + [page.birth..<max(page.birth, page.death)] {
      let position = held.partition(from: life.lowerBound)
      let version =
        position < held.count ? max(held[position].lowerBound, life.lowerBound) : .max
      if version < life.upperBound { return version }
    }
    return nil
  }

  /// The number of pages that only older versions keep from reuse: those that any of the given versions
  /// reaches, and for each version those that only it reaches.
  ///
  /// - Parameter kept: ascending.
  package func retiredPages(reachedBy kept: [UInt64]) -> (all: Int, alone: [UInt64: Int]) {
    var all = 0
    var alone: [UInt64: Int] = [:]
    for page in [retired, Array(blocked.values.joined())].joined() {
      guard let reaching = page.reaching(kept) else { continue }
      all += 1
      if reaching.isAlone { alone[reaching.first, default: 0] += 1 }
    }
    return (all, alone)
  }

  /// The same versions in ascending ranges that do not overlap.
  private static func merged(_ ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
    var merged: [ClosedRange<UInt64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, last.upperBound >= range.lowerBound {
        merged[merged.count - 1] =
          last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }

  /// Takes `count` adjacent pages: the first hole that is large enough, or new pages at the end.
  package func take(_ count: Int) -> Range<Int> {
    if let start = free.firstRun(of: count) {
      return take(at: start, count)
    }
    var start = pageCount
    while start > 0, free.contains(start - 1) { start -= 1 }
    return take(at: start, count)
  }

  /// The first of `count` adjacent free pages, as low as possible.
  func firstFree(_ count: Int) -> Int? { free.firstRun(of: count) }

  /// Takes the `count` pages from `start` if all of them are free or beyond the end.
  package func takeIfFree(at start: Int, _ count: Int) -> Bool {
    for page in start..<start + count where page < pageCount && !free.contains(page) {
      return false
    }
    guard start <= pageCount else { return false }
    _ = take(at: start, count)
    return true
  }

  private func take(at start: Int, _ count: Int) -> Range<Int> {
    let pages = start..<start + count
    extend(to: pages.upperBound)
    free.remove(pages)
    taken.append(pages)
    return pages
  }

  /// More bytes were dropped than exist.
  package struct Surplus: Error {
    let bytes: Range<Int>
    let page: Int
  }

  /// Makes the open transaction `version`: its new blocks count, the blocks that it dropped retire, and pages
  /// that it took and did not fill become free.
  ///
  /// - Parameters:
  ///   - added: the bytes of the new blocks.
  ///   - dropped: the bytes of the dropped blocks.
  /// - Throws: `Surplus` when more is dropped than exists; the map must then not be used again.
  package func commit(
    version: UInt64, added: [Range<Int>], dropped: [Range<Int>]
  ) throws(Surplus) {
    self.version = version
    for bytes in freezing { frozen.insert(Self.pages(bytes)) }
    thaw()
    for bytes in added {
      for page in Self.pages(bytes) {
        if filled[page] == 0 { birth[page] = version }
        filled[page] = Self.sum(filled[page], Self.share(bytes, of: page))
      }
    }
    for bytes in dropped {
      for page in Self.pages(bytes) where !frozen.contains(page) {
        let share = Self.share(bytes, of: page)
        guard page < pageCount, filled[page] >= share else {
          throw Surplus(bytes: bytes, page: page)
        }
        filled[page] -= share
        guard filled[page] == 0 else { continue }
        if birth[page] == version {
          free.insert(page)
        } else {
          retired.append(
            Retired(
              page: page, birth: birth[page], death: version,
              earlier: earlierLives.removeValue(forKey: page) ?? []))
        }
      }
    }
    giveBackTaken()
  }

  /// Rolls back the open transaction.
  package func rollBack() {
    thaw()
    giveBackTaken()
  }

  private func thaw() {
    freezing = []
    freezingPages = PageSet()
  }

  private func giveBackTaken() {
    for pages in taken {
      for page in pages where filled[page] == 0 { free.insert(page) }
    }
    taken.removeAll(keepingCapacity: true)
    #if DEBUG
      if pageCount <= 256 || version & 63 == 0 { Invariants.require(checkInvariants) }
    #endif
  }

  /// Returns whether the newest version uses at most half of the pages that contain a block of it.
  ///
  /// Pages of the open transaction's blocks are not counted yet, so none of them is sparse.
  func isSparse(_ pages: Range<Int>) -> Bool {
    guard pages.upperBound <= pageCount else { return false }
    var sum = 0
    for page in pages {
      if filled[page] == 0 || isFrozen(page) { return false }
      sum += Int(filled[page])
    }
    return sum * 2 <= pages.count * Layout.pageBytes
  }

  /// The bytes of a page that the newest version's blocks fill, and whether the page may be taken.
  ///
  /// - Precondition: `page` < `pageCount`.
  func use(of page: Int) -> (filled: UInt32, isFree: Bool) {
    (filled[page], free.contains(page))
  }

  /// Returns whether a page is frozen: dropping a block in it frees nothing, and its filled bytes are
  /// unknown.
  func isFrozen(_ page: Int) -> Bool { frozen.contains(page) || freezingPages.contains(page) }

  /// The bytes that the newest version's blocks and the two slots fill.
  var filledBytes: Int {
    // Cannot overflow: no more pages than a file's length has.
    filled.reduce(0) { $0 &+ Int(min($1, UInt32(Layout.pageBytes))) }
  }

  /// The end of the last page that the newest version uses, in pages.
  package var liveEnd: Int {
    var end = pageCount
    while end > 0, filled[end - 1] == 0 { end -= 1 }
    return end
  }

  /// Removes free pages at the end from the map; the file may be truncated to the returned number of pages.
  ///
  /// - Parameter least: pages before this one stay.
  package func trim(notBelow least: Int = 0) -> Int {
    var end = pageCount
    while end > max(Layout.slotCount, least), free.contains(end - 1) {
      end -= 1
      free.remove(end)
    }
    filled.removeLast(pageCount - end)
    birth.removeLast(birth.count - end)
    // A newly built map ends with the last block, which may be before a version's end.
    return max(end, least)
  }

  private func extend(to count: Int) {
    let old = pageCount
    guard count > old else { return }
    filled.append(contentsOf: repeatElement(0, count: count - old))
    birth.append(contentsOf: repeatElement(0, count: count - old))
    free.insert(old..<count)
  }
}

extension Array where Element == ClosedRange<UInt64> {
  /// In ascending ranges: the first index whose range does not end below `value`.
  fileprivate func partition(from value: UInt64) -> Int {
    partitionPoint(indices) { self[$0].upperBound >= value }
  }
}
