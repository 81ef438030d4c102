/// Sorts rows by the bytes of `OrderedKey`; rows with equal bytes keep their order.
///
/// With a limit, it keeps at most twice as many rows; rows after all those of a full set are not added.
struct RowSorter {
  /// The place of a row.
  struct RowPlace: Equatable {
    let leaf: Int32
    let row: Int32
  }

  private struct Entry {
    /// The key's first bytes, which decide most comparisons.
    let prefix: UInt64
    let start: Int
    let end: Int
    let place: RowPlace
  }

  private let limit: Int
  private var arena: [UInt8] = []
  private var entries: [Entry] = []
  /// A key that is not less than those of at least `limit` rows.
  private var bound: [UInt8]?

  init(limit: Int?) {
    self.limit = limit ?? .max
  }

  /// - Precondition: rows are added in the order of their keys.
  mutating func add(_ key: [UInt8], _ place: RowPlace) {
    if limit == 0 { return }
    if let bound, !key.lexicographicallyPrecedes(bound) { return }
    let start = arena.count
    arena += key
    let prefix = (0..<8).reduce(UInt64(0)) { $0 << 8 | UInt64($1 < key.count ? key[$1] : 0) }
    entries.append(Entry(prefix: prefix, start: start, end: arena.count, place: place))
    if limit < Int.max / 4, entries.count >= limit * 2 + 1024 { prune() }
  }

  private mutating func prune() {
    sort()
    entries.removeLast(entries.count - limit)
    var kept: [UInt8] = []
    for index in entries.indices {
      let entry = entries[index]
      let start = kept.count
      kept += arena[entry.start..<entry.end]
      entries[index] = Entry(
        prefix: entry.prefix, start: start, end: kept.count, place: entry.place)
    }
    arena = kept
    bound = entries.last.map { Array(kept[$0.start..<$0.end]) }
  }

  private mutating func sort() {
    arena.withUnsafeBytes { arena in
      entries.sort { left, right in
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        let order = Bytes.compare(
          UnsafeRawBufferPointer(rebasing: arena[left.start..<left.end]),
          UnsafeRawBufferPointer(rebasing: arena[right.start..<right.end]))
        if order != 0 { return order < 0 }
        return (left.place.leaf, left.place.row) < (right.place.leaf, right.place.row)
      }
    }
  }

  /// The rows in order.
  mutating func places(dropping offset: Int) -> [RowPlace] {
    sort()
    return entries.prefix(limit).dropFirst(offset).map(\.place)
  }
}
