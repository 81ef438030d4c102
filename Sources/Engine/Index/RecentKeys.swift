/// The newest entries of an index in memory: those of its small runs, and those that the open transaction has
/// added. It is a hash table, so that looking up a key does not search every small run.
///
/// It may have more entries than the runs: an entry is a hint that is compared with the object. A database
/// keeps it between transactions as long as `covered` is right.
///
/// Thread rule: only the writer.
package final class RecentKeys {
  /// The runs whose entries are all in memory.
  package var covered: [BlockReference] = []
  /// The filters of large runs.
  package var filters: [BlockReference: KeyFilter] = [:]
  /// The run written last, if it is small.
  var lastRun: SmallRun?
  /// The numbers of keys looked up in large runs without a filter.
  package var unfiltered: [BlockReference: UInt64] = [:]
  /// The number of keys looked up in small runs that are not in memory.
  package var lookedUp: UInt64 = 0
  /// Places of the file that were read since its pages were last released.
  @exclusivity(unchecked) package var touched = 0
  /// Open addressing with linear probing, at most half full. An object's key is never negative: -1
  /// marks a free place.
  ///
  /// Unchecked, like the number of entries: no function called during their changes accesses them again, and
  /// the checks would cost as much as a lookup.
  @exclusivity(unchecked) private var places: [IndexEntry] = []
  @exclusivity(unchecked) private var used = 0
  private static let free = IndexEntry(code: 0, object: -1)

  package init() {}

  package var count: Int { used }

  /// Removes the entries; filters stay.
  package func removeAll() {
    covered = []
    lookedUp = 0
    used = 0
    // The memory is kept, as it will be filled again.
    for index in places.indices { places[index] = Self.free }
  }

  package func insert(_ entry: IndexEntry) {
    // An entry from a damaged file must not resemble a free place.
    guard entry.object >= 0 else { return }
    if (used + 1) * 2 > places.count { grow() }
    Self.put(entry, into: &places)
    used += 1
  }

  private static func place(_ code: Int64, _ mask: Int) -> Int {
    Int(truncatingIfNeeded: (UInt64(bitPattern: code) &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
  }

  private static func put(_ entry: IndexEntry, into places: inout [IndexEntry]) {
    let mask = places.count &- 1
    var index = place(entry.code, mask)
    while places[index].object >= 0 { index = (index &+ 1) & mask }
    places[index] = entry
  }

  private func grow() {
    let old = places
    places = [IndexEntry](repeating: Self.free, count: max(old.count * 2, 64))
    for entry in old where entry.object >= 0 { Self.put(entry, into: &places) }
  }

  /// Returns whether there is an entry with this code.
  package func contains(_ code: Int64) -> Bool {
    if used == 0 { return false }
    let mask = places.count &- 1
    var index = Self.place(code, mask)
    while places[index].object >= 0 {
      if places[index].code == code { return true }
      index = (index &+ 1) & mask
    }
    return false
  }

  /// Calls `body` with the object of each entry that has this code.
  package func find(_ code: Int64, _ body: (Int64) throws -> Void) rethrows {
    if used == 0 { return }
    let mask = places.count &- 1
    var index = Self.place(code, mask)
    while places[index].object >= 0 {
      if places[index].code == code { try body(places[index].object) }
      index = (index &+ 1) & mask
    }
  }
}
