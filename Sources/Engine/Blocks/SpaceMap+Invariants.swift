#if DEBUG
  import Base

  extension SpaceMap {
    /// A page is in use, free, or kept for a held version. The pages that the open transaction has taken are
    /// none of these yet.
    ///
    /// Checked when a transaction ends; in large files, at the end of one in 64.
    ///
    /// - Complexity: O(pages).
    package func checkInvariants() throws(BrokenInvariant) {
      func broken(_ page: Int, _ what: String) -> BrokenInvariant {
        BrokenInvariant(what: "space map, version \(version): page \(page) \(what)")
      }
      try free.checkInvariants()
      guard birth.count == filled.count else {
        throw BrokenInvariant(what: "space map: \(birth.count) births of \(filled.count) pages")
      }
      var isKept = [Bool](repeating: false, count: pageCount)
      for page in retired + blocked.values.joined() {
        guard page.page < pageCount else { throw broken(page.page, "is kept beyond the end") }
        if isKept[page.page] { throw broken(page.page, "is kept twice") }
        isKept[page.page] = true
        if page.death < page.birth { throw broken(page.page, "died before it was born") }
      }
      var isTaken = [Bool](repeating: false, count: pageCount)
      for pages in taken {
        guard pages.upperBound <= pageCount else {
          throw broken(pages.lowerBound, "is taken beyond the end")
        }
        for page in pages {
          if isTaken[page] { throw broken(page, "is taken twice") }
          isTaken[page] = true
        }
      }
      var members = 0
      for page in filled.indices {
        let isFree = free.contains(page)
        members += isFree ? 1 : 0
        if isFree, page < Layout.slotCount { throw broken(page, "of a slot is free") }
        if isFree, filled[page] > 0 { throw broken(page, "is free, and in use") }
        if isKept[page], isFree { throw broken(page, "is free, and kept for a held version") }
        if isKept[page], filled[page] > 0 {
          throw broken(page, "was written to, and is kept for a held version")
        }
        if isTaken[page], isFree || isKept[page] || filled[page] > 0 {
          throw broken(page, "was taken, and was not free")
        }
        if !isFree, !isKept[page], !isTaken[page], filled[page] == 0 {
          throw broken(page, "is neither in use nor free")
        }
      }
      guard members == free.count else { throw broken(pageCount, "is free beyond the end") }
    }
  }

  extension PageSet {
    /// The number of members is right, and every node describes its pages.
    ///
    /// - Complexity: O(words).
    package func checkInvariants() throws(BrokenInvariant) {
      let members = words.reduce(0) { $0 + $1.nonzeroBitCount }
      guard members == count else {
        throw BrokenInvariant(what: "page set: \(members) members, said to be \(count)")
      }
      if nodes.isEmpty { return }
      guard words.count <= capacity else {
        throw BrokenInvariant(what: "page set: \(words.count) words, and nodes for \(capacity)")
      }
      for word in words.indices where nodes[capacity + word] != Runs(word: words[word]) {
        throw BrokenInvariant(what: "page set: the runs of word \(word)")
      }
      var half = 64
      var level = capacity / 2
      while level > 0 {
        for node in level..<2 * level
        where nodes[node] != Runs(nodes[2 * node], nodes[2 * node + 1], half: half) {
          throw BrokenInvariant(what: "page set: the runs of node \(node)")
        }
        half *= 2
        level /= 2
      }
    }
  }
#endif
