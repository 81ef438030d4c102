/// Queries of the map for moving blocks to the front of the file.
extension SpaceMap {
  /// Returns whether all of these pages may be taken. Pages beyond the end may.
  func isFree(_ pages: Range<Int>) -> Bool {
    pages.allSatisfy { $0 >= pageCount || use(of: $0).isFree }
  }

  /// The places that are free now, for blocks that one transaction is going to write.
  func freePlaces() -> FreePlaces { FreePlaces(free) }

  /// Assigns places to blocks as `BlockWriter` does: back to back, in the first free pages that are enough.
  struct FreePlaces {
    private var free: PageSet
    private var bytes = 0..<0

    fileprivate init(_ free: PageSet) { self.free = free }

    /// Takes the next place, if it lies before a page.
    ///
    /// - Complexity: O(log pages).
    mutating func take(_ count: Int, below page: Int) -> Bool {
      if bytes.count < count, !grow(to: count) {
        let pages = Layout.pages(holding: count)
        guard let first = free.firstRun(of: pages) else { return false }
        let end = first + pages
        guard end <= page else { return false }
        bytes = first * Layout.pageBytes..<end * Layout.pageBytes
        free.remove(first..<end)
      }
      let end = bytes.lowerBound + count
      guard end <= page * Layout.pageBytes else { return false }
      bytes = end..<bytes.upperBound
      return true
    }

    /// Adds the pages behind those begun, if they are free.
    private mutating func grow(to count: Int) -> Bool {
      let first = bytes.upperBound / Layout.pageBytes
      let pages = first..<first + Layout.pages(holding: count - bytes.count)
      guard first > 0, pages.allSatisfy(free.contains) else { return false }
      bytes = bytes.lowerBound..<pages.upperBound * Layout.pageBytes
      free.remove(pages)
      return true
    }
  }

  /// Returns whether an eighth or more of pages of the newest version is empty.
  func isLoose(_ pages: Range<Int>) -> Bool {
    let sum = pages.reduce(0) { $0 + ($1 < pageCount ? Int(filled[$1]) : Layout.pageBytes) }
    return sum * 8 <= pages.count * Layout.pageBytes * 7
  }

  /// The pages by which the newest version would shrink with a commit; negative when it would grow.
  ///
  /// - Parameters:
  ///   - added: the bytes of the new blocks.
  ///   - dropped: the bytes of the dropped blocks.
  /// - Complexity: O(pages of these blocks).
  func pagesGained(added: [Range<Int>], dropped: [Range<Int>]) -> Int {
    var changes: [Int: Int] = [:]
    for bytes in added {
      for page in Self.pages(bytes) {
        changes[page, default: 0] += Int(Self.share(bytes, of: page))
      }
    }
    for bytes in dropped {
      for page in Self.pages(bytes) where !frozen.contains(page) {
        changes[page, default: 0] -= Int(Self.share(bytes, of: page))
      }
    }
    return changes.reduce(0) { gained, change in
      let before = change.key < pageCount ? Int(filled[change.key]) : 0
      return gained + (before > 0 ? 1 : 0) - (before + change.value > 0 ? 1 : 0)
    }
  }

  /// Returns whether any of some older versions reaches a block of the newest in these pages, so that moving
  /// the block would not free them.
  ///
  /// All blocks of a page were written by one transaction.
  ///
  /// - Parameter versions: versions older than the newest.
  package func isShared(_ pages: Range<Int>, with versions: [UInt64]) -> Bool {
    let last = versions.max()
    return pages.contains { page in
      guard page < pageCount else { return false }
      // A pending table also has blocks there.
      if frozen.contains(page) { return true }
      guard let last else { return false }
      return birth[page] <= last
        || earlierLives[page]?.contains { life in versions.contains(where: life.contains) } ?? false
    }
  }

  /// The number of pages that readers of older versions keep from reuse: those that neither the newest
  /// version nor any of the given ones reaches.
  ///
  /// Call it after `reclaim`.
  func pagesHeldBack(besides kept: [UInt64]) -> Int {
    blocked.values.reduce(0) { sum, pages in
      sum + pages.count { $0.reaching(kept) == nil }
    }
  }

  /// The end of the file, in pages, with all movable blocks of the newest version at its front.
  ///
  /// - Parameters:
  ///   - least: pages before this one stay.
  ///   - slack: the number of pages that may remain unused.
  ///   - isFixed: returns whether a used page must stay unchanged.
  /// - Complexity: O(pages).
  package func endWithoutHoles(
    notBelow least: Int, slack: Int, isFixed: (Int) -> Bool
  ) -> Int {
    var fixed = least
    var live = slack
    for page in 0..<pageCount where filled[page] > 0 {
      live += 1
      if page >= fixed, page >= Layout.slotCount, isFixed(page) { fixed = page + 1 }
    }
    // Pages that are neither free nor the newest version's belong to older versions.
    var end = 0
    while end < pageCount, live > 0 {
      if filled[end] > 0 || use(of: end).isFree { live -= 1 }
      end += 1
    }
    return max(fixed, end)
  }
}
