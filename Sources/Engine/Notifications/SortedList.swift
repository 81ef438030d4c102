import Base

/// A sorted list of objects after a few of them changed. The others keep their order, and bisection finds the
/// places of those that changed.
///
/// Thread rule: confined, while the table's version is held.
struct SortedList {
  /// The objects in their new order.
  let keys: [Int64]
  /// The changes that turn the old list into it.
  let difference: ListDifference

  /// - Parameters:
  ///   - old: the objects in their old order.
  ///   - leaving: the objects that were deleted or need a new place.
  ///   - coming: the objects of the new version that need a place, ascending.
  /// - Complexity: O(n + k log n log N) for k coming objects, in a table of N.
  /// - Throws: `ClusterError`, `BlockError`, `EngineError.noSuchColumn`.
  init(
    _ old: [Int64], leaving: Set<Int64>, coming: [Int64], _ sort: [SortOrder], _ table: Table
  ) throws {
    let left = Self.places(of: leaving, in: old)
    var rest: [Int64] = []
    rest.reserveCapacity(old.count)
    var next = 0
    for position in left {
      rest += old[next..<position]
      next = position + 1
    }
    rest += old[next...]
    let reader = try SortKeyReader(sort, table)
    var additions: [(place: Int, bytes: [UInt8], key: Int64)] = []
    for key in coming {
      let bytes = try reader.bytes(of: key)
      additions.append((try Self.place(of: bytes, key, in: rest, reader), bytes, key))
    }
    additions.sort { one, other in
      one.bytes == other.bytes
        ? one.key < other.key : one.bytes.lexicographicallyPrecedes(other.bytes)
    }
    (keys, difference) = Self.merge(
      old, left, rest, additions.map { (min(max($0.place, 0), rest.count), $0.key) })
  }

  /// The indices of some keys in a list that is not sorted by key, ascending; missing keys are omitted.
  ///
  /// - Complexity: O(n), much less than a set lookup for each key when few are wanted.
  static func places(of wanted: some Collection<Int64>, in list: [Int64]) -> [Int] {
    if wanted.count <= fewKeys { return wanted.compactMap { list.firstIndex(of: $0) }.sorted() }
    let wanted = Set(wanted)
    return list.indices.filter { wanted.contains(list[$0]) }
  }

  private static let fewKeys = 16

  /// The number of objects of a sorted list before a given one.
  private static func place(
    of bytes: [UInt8], _ key: Int64, in list: [Int64], _ reader: SortKeyReader
  ) throws -> Int {
    try partitionPoint(list.indices) { place in
      let other = try reader.bytes(of: list[place])
      return other == bytes ? list[place] >= key : !other.lexicographicallyPrecedes(bytes)
    }
  }

  /// - Parameters:
  ///   - left: the indices in the old list that are removed, ascending.
  ///   - additions: the new objects in order, each with the index in the rest before which it comes.
  private static func merge(
    _ old: [Int64], _ left: [Int], _ rest: [Int64], _ additions: [(place: Int, key: Int64)]
  ) -> ([Int64], ListDifference) {
    var keys: [Int64] = []
    keys.reserveCapacity(rest.count + additions.count)
    var added: [Int64: Int] = [:]
    var next = 0
    for addition in additions {
      // Only values from damaged leaves are out of order.
      let place = max(next, addition.place)
      keys += rest[next..<place]
      next = place
      added[addition.key] = keys.count
      keys.append(addition.key)
    }
    keys += rest[next...]
    if left.count <= 1, additions.count <= 1 {
      // Usually one object moved. The general case below handles one object that was added and another
      // removed.
      let (one, other) = (left.first, additions.first)
      if one == nil || other == nil || one.map({ old[$0] }) == other?.key {
        let place = other.flatMap { added[$0.key] }
        return (keys, ListDifference(moving: one, to: place, count: old.count))
      }
    }
    var places: [Int] = []
    places.reserveCapacity(old.count)
    var (nextLeft, nextAdded, inRest) = (0, 0, 0)
    for position in old.indices {
      if nextLeft < left.count, left[nextLeft] == position {
        nextLeft += 1
        places.append(added[old[position]] ?? -1)
        continue
      }
      while nextAdded < additions.count, additions[nextAdded].place <= inRest { nextAdded += 1 }
      places.append(inRest + nextAdded)
      inRest += 1
    }
    return (keys, ListDifference(newPlaces: places, count: keys.count))
  }
}

/// Makes the sort keys of objects, as bytes.
private struct SortKeyReader {
  private let table: Table
  private let columns: [(id: UInt32, key: OrderedKey)]

  init(_ sort: [SortOrder], _ table: Table) throws {
    self.table = table
    columns = try zip(sort, table.indices(of: sort.map(\.column))).map { order, index in
      (
        table.schema.columnIDs[index],
        OrderedKey(reading: table.columns[index].reading, isDescending: order.isDescending)
      )
    }
  }

  /// Empty for an object that does not exist.
  func bytes(of key: Int64) throws -> [UInt8] {
    var bytes: [UInt8] = []
    guard let place = try table.tree.location(ofKey: key) else { return bytes }
    let leaf = try Leaf(place.entry, table.tree.blocks, end: table.tree.end)
    guard let row = try leaf.keys().row(ofKey: key) else { return bytes }
    for column in columns {
      let fits = try leaf.column(id: column.id).withSpelling(row) {
        column.key.append($0, to: &bytes)
      }
      guard fits else {
        throw ClusterError.misfit(column: column.id, row: row, type: column.key.type)
      }
    }
    return bytes
  }
}
