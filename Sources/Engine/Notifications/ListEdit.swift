import Base

/// What turns an ascending list of keys into its next version: some are removed, others added.
///
/// Thread rule: a plain value, `Sendable`.
struct ListEdit: Sendable {
  /// The indices in the list before of the keys that are removed, ascending.
  let removed: [Int]
  /// The keys that are added, ascending.
  let added: [Int64]
  /// For each added key, the index in the list before of the key that it comes before.
  private let places: [Int]
  /// The indices of the added keys in the list after.
  let insertions: [Int]

  /// - Parameters:
  ///   - keys: the list before, ascending.
  ///   - removed: indices of keys, ascending, each once.
  ///   - added: ascending keys that are not among those that stay.
  /// - Complexity: O(r + a log n).
  init(_ keys: [Int64], removing removed: [Int], adding added: [Int64]) {
    self.removed = removed
    self.added = added
    var places: [Int] = []
    var insertions: [Int] = []
    places.reserveCapacity(added.count)
    insertions.reserveCapacity(added.count)
    var before = 0
    for (number, key) in added.enumerated() {
      let place = partitionPoint(0..<keys.count) { keys[$0] >= key }
      while before < removed.count, removed[before] < place { before += 1 }
      places.append(place)
      insertions.append(place - before + number)
    }
    self.places = places
    self.insertions = insertions
  }

  /// Some neighbouring keys that stay.
  fileprivate struct Part {
    /// Indices in the list before.
    let range: Range<Int>
    /// How far to the right they go.
    let shift: Int
  }

  /// The parts of the list that stay, in order; empty ones among them.
  fileprivate func parts(of count: Int) -> [Part] {
    var parts: [Part] = []
    parts.reserveCapacity(removed.count + added.count + 1)
    var (start, nextRemoved, nextAdded) = (0, 0, 0)
    func part(to end: Int) {
      parts.append(.init(range: start..<end, shift: nextAdded - nextRemoved))
    }
    while nextRemoved < removed.count || nextAdded < added.count {
      if nextAdded < added.count,
        nextRemoved >= removed.count || places[nextAdded] <= removed[nextRemoved]
      {
        part(to: places[nextAdded])
        start = places[nextAdded]
        nextAdded += 1
      } else {
        part(to: removed[nextRemoved])
        start = removed[nextRemoved] + 1
        nextRemoved += 1
      }
    }
    part(to: count)
    return parts
  }
}

extension [Int64] {
  /// Changes the list that an edit was made for.
  ///
  /// In place if nobody else has the list: a new one of millions of keys costs several times as much, most of
  /// it for memory that the system has not given yet.
  ///
  /// - Complexity: O(r + a), and a move of the keys between changes that do not cancel each other.
  mutating func apply(_ edit: ListEdit) {
    if edit.removed.isEmpty, edit.added.isEmpty { return }
    let parts = edit.parts(of: count)
    let after = count - edit.removed.count + edit.added.count
    if after > count { append(contentsOf: repeatElement(0, count: after - count)) }
    withUnsafeMutableBufferPointer { list in
      guard let base = list.baseAddress else { return }
      func move(_ part: ListEdit.Part) {
        (base + (part.range.lowerBound + part.shift))
          .update(from: base + part.range.lowerBound, count: part.range.count)
      }
      // What goes to the left goes first, from left to right, then the others from right to left: each to a
      // place whose keys have gone.
      for part in parts where part.shift < 0 { move(part) }
      for part in parts.reversed() where part.shift > 0 { move(part) }
      for (key, place) in zip(edit.added, edit.insertions) { list[place] = key }
    }
    if after < count { removeLast(count - after) }
  }
}
