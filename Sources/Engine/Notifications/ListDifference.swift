import Base

/// The smallest set of deletions and insertions that turn one list of keys into another.
///
/// The keys that stay are a longest increasing subsequence of the new positions of the old list's keys
/// (patience sorting: M. L. Fredman, "On computing the length of longest increasing subsequences", 1975).
/// Other keys that are in both lists are moved: deleted and inserted.
///
/// Thread rule: a plain value.
struct ListDifference {
  /// Positions in the old list, ascending.
  private(set) var deletions: [Int] = []
  /// Positions in the new list, ascending.
  private(set) var insertions: [Int] = []
  /// The number of equal keys at the beginning.
  private let prefix: Int
  /// The position in the old list from which all keys are equal.
  private let suffix: Int
  /// How much higher the positions of the last equal keys are in the new list.
  private let shift: Int
  /// The new position of each old key between prefix and suffix; -1 for keys that do not stay.
  private var middle: [Int] = []

  /// - Parameters:
  ///   - old: the old list; no key occurs twice.
  ///   - new: the new list; no key occurs twice.
  /// - Complexity: O(n + m log m) with m keys between the first and the last difference; O(n) when nothing
  ///   moved.
  init(from old: [Int64], to new: [Int64]) {
    var prefix = 0
    while prefix < min(old.count, new.count), old[prefix] == new[prefix] { prefix += 1 }
    var same = 0
    while same < min(old.count, new.count) - prefix,
      old[old.count - 1 - same] == new[new.count - 1 - same]
    { same += 1 }
    self.prefix = prefix
    suffix = old.count - same
    shift = new.count - old.count
    let newEnd = new.count - same
    var places: [Int64: Int] = [:]
    if suffix > prefix { places.reserveCapacity(newEnd - prefix) }
    if suffix > prefix { for place in prefix..<newEnd { places[new[place]] = place } }
    middle = old[prefix..<suffix].map { places[$0] ?? -1 }
    findChanges(end: newEnd)
  }

  /// The difference when a single key was added, removed or moved.
  ///
  /// - Parameters:
  ///   - old: its old position; nil when it was added.
  ///   - new: its new position; nil when it was removed.
  ///   - count: the number of keys in the old list.
  /// - Complexity: O(|old - new|).
  init(moving old: Int?, to new: Int?, count: Int) {
    switch (old, new) {
    case (nil, nil): (prefix, suffix, shift) = (count, count, 0)
    case (nil, let new?): (prefix, suffix, shift) = (new, new, 1)
    case (let old?, nil):
      (prefix, suffix, shift) = (old, old + 1, -1)
      middle = [-1]
    case (let old?, let new?) where old == new: (prefix, suffix, shift) = (count, count, 0)
    case (let old?, let new?) where old < new:
      (prefix, suffix, shift) = (old, new + 1, 0)
      middle = [-1] + (old..<new)
    case (let old?, let new?):
      (prefix, suffix, shift) = (new, old + 1, 0)
      middle = Array(new + 1..<old + 1) + [-1]
    }
    if old == new { return }
    deletions = old.map { [$0] } ?? []
    insertions = new.map { [$0] } ?? []
  }

  /// - Parameters:
  ///   - newPlaces: the new position of each old key; negative for removed keys.
  ///   - count: the number of keys in the new list; all positions are below it.
  /// - Complexity: that of `init(from:to:)`.
  init(newPlaces: [Int], count: Int) {
    prefix = 0
    suffix = newPlaces.count
    shift = count - newPlaces.count
    middle = newPlaces
    findChanges(end: count)
  }

  /// - Parameter end: the position in the new list from which all keys are equal.
  private mutating func findChanges(end: Int) {
    Self.keepLongestAscending(&middle)
    for (index, place) in middle.enumerated() where place < 0 { deletions.append(prefix + index) }
    var next = prefix
    for place in middle where place >= 0 {
      insertions += next..<place
      next = place + 1
    }
    insertions += next..<end
  }

  /// The new position of the key at an old position; nil when it was removed or has moved.
  func newPosition(ofOld position: Int) -> Int? {
    if position < prefix { return position }
    if position >= suffix { return position + shift }
    let place = middle[position - prefix]
    return place < 0 ? nil : place
  }

  /// Keeps a longest ascending subsequence of the numbers that are not negative, and makes all others
  /// negative.
  private static func keepLongestAscending(_ numbers: inout [Int]) {
    // For each length, the index of the smallest number that ends a subsequence of that length.
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: numbers.count)
    for place in numbers.indices where numbers[place] >= 0 {
      var length = ends.count
      if let last = ends.last, numbers[last] >= numbers[place] {
        length = partitionPoint(0..<ends.count) { numbers[ends[$0]] >= numbers[place] }
      }
      if length > 0 { before[place] = ends[length - 1] }
      if length == ends.count { ends.append(place) } else { ends[length] = place }
    }
    var kept = ends.last ?? -1
    for place in numbers.indices.reversed() {
      if place == kept { kept = before[place] } else { numbers[place] = -1 }
    }
  }
}
