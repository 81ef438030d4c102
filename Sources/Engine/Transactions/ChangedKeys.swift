import Base

/// The objects that differ between two versions of a table, in the order of their keys.
///
/// In a table with a primary key, the key identifies the object. An object that was deleted and added again
/// under another number has changed, or is not reported: emptying and refilling a table reports only the
/// objects with other values. An object whose key changed is deleted under the old key and inserted under the
/// new one. No key is reported twice, so the order of the changes has no meaning.
///
/// Thread rule: confined.
package struct ChangedKeys {
  /// An object that differs.
  package struct Entry {
    package let kind: ObjectStep.Kind
    /// Its number in the later version; for a deleted object, in the earlier one.
    package let key: Int64
    /// Its number in the earlier version; for an inserted object, equal to `key`.
    package let before: Int64
  }

  private var keys: [ObjectStep.Kind: [Int64]]
  /// Objects that were added again with other values: their numbers in the later version, ascending, and in
  /// the earlier one.
  private var moved: [(key: Int64, before: Int64)] = []
  private var given: [ObjectStep.Kind: Int] = [:]
  private var movedGiven = 0

  /// - Parameter filter: only objects that match it in one of the versions; nil: all.
  /// - Complexity: that of `TableDifference.init`; with a filter also O(log n) for each object found, and for
  ///   each deleted object of a table with insertions.
  /// - Throws: the errors of `Table.forEachChange`.
  package init(from old: Table, to new: Table, where filter: Predicate? = nil) throws {
    let difference = try TableDifference(from: old, to: new)
    var deleted = difference.deleted.map(\.key)
    var inserted = difference.inserted.map(\.key)
    var changed = difference.modified.map(\.key)
    if let match = ReturnedObjects(old, new) {
      let renamed = match.renamed(difference)
      if !renamed.isEmpty {
        deleted = (deleted + renamed).sorted()
        inserted = (inserted + renamed).sorted()
        let others = Set(renamed)
        changed.removeAll { others.contains($0) }
      }
      moved = try match.find(&deleted, &inserted)
    }
    keys = [.inserted: inserted, .deleted: deleted, .changed: changed]
    if let filter { try keepMatches(filter, old, new) }
  }

  /// The number of changes of each kind.
  package var counts: [ObjectStep.Kind: Int] {
    var counts = keys.mapValues(\.count)
    counts[.changed, default: 0] += moved.count
    return counts
  }

  /// Checks that a filter fits the columns of both versions.
  ///
  /// - Throws: `QueryError`.
  package static func check(_ filter: Predicate, _ old: Table, _ new: Table) throws {
    _ = try RowMatcher(filter, old, besides: new)
    _ = try RowMatcher(filter, new, besides: old)
  }

  /// Removes objects that match the filter in neither version.
  private mutating func keepMatches(_ filter: Predicate, _ old: Table, _ new: Table) throws {
    let before = try RowMatcher(filter, old, besides: new)
    let after = try RowMatcher(filter, new, besides: old)
    for (kind, list) in keys {
      let then = kind == .inserted ? list.map { _ in false } : try before.matches(list)
      let now = kind == .deleted ? list.map { _ in false } : try after.matches(list)
      keys[kind] = list.indices.filter { then[$0] || now[$0] }.map { list[$0] }
    }
    let earlier = moved.map(\.before).sorted()
    let then = Set(zip(earlier, try before.matches(earlier)).filter(\.1).map(\.0))
    let now = try after.matches(moved.map(\.key))
    moved = moved.indices.filter { now[$0] || then.contains(moved[$0].before) }.map { moved[$0] }
  }

  /// Returns the remaining objects with the lowest keys; none when all have been returned.
  package mutating func next(_ most: Int) -> [Entry] {
    var result: [Entry] = []
    while result.count < most, let least = next() { result.append(least) }
    return result
  }

  private mutating func next() -> Entry? {
    var least: (kind: ObjectStep.Kind, key: Int64)?
    for kind in ObjectStep.Kind.allCases {
      guard let list = keys[kind], list.indices.contains(given[kind] ?? 0) else { continue }
      let key = list[given[kind] ?? 0]
      if least.map({ key < $0.key }) ?? true { least = (kind, key) }
    }
    if movedGiven < moved.count, least.map({ moved[movedGiven].key < $0.key }) ?? true {
      movedGiven += 1
      let (key, before) = moved[movedGiven - 1]
      return Entry(kind: .changed, key: key, before: before)
    }
    guard let least else { return nil }
    given[least.kind, default: 0] += 1
    return Entry(kind: least.kind, key: least.key, before: least.key)
  }
}

/// Finds the objects of a table with a primary key whose number changed and key did not, or the other way
/// round.
private struct ReturnedObjects {
  private let old: Table
  private let new: Table
  private let keyPlaces: [Int]
  /// The index of each column in the two versions.
  private let columns: [(old: Int?, new: Int?)]

  /// The number of objects compared at a time.
  private static let windowObjects = 4096

  /// Nil without a primary key that identifies the objects.
  init?(_ old: Table, _ new: Table) {
    let (before, after) = (old.schema, new.schema)
    guard !before.keyColumns.isEmpty,
      before.keyColumns.map({ before.columnIDs[$0] })
        == after.keyColumns.map({ after.columnIDs[$0] })
    else { return nil }
    (self.old, self.new, keyPlaces) = (old, new, before.keyColumns)
    var places: [UInt32: Int] = [:]
    for (place, id) in old.schema.columnIDs.enumerated() { places[id] = place }
    var columns: [(old: Int?, new: Int?)] = new.schema.columnIDs.enumerated().map {
      (places.removeValue(forKey: $0.element), $0.offset)
    }
    columns += places.values.sorted().map { ($0, nil) }
    self.columns = columns
  }

  /// The objects whose primary key has changed, ascending.
  func renamed(_ difference: TableDifference) -> [Int64] {
    let columns = Set(keyPlaces.map { old.schema.columnIDs[$0] })
    let sets = difference.columnSets.map { !columns.isDisjoint(with: $0) }
    return difference.modified.filter { sets[$0.columnSet] }.map(\.key)
  }

  /// Removes objects that were added again from both lists.
  ///
  /// - Parameters:
  ///   - deleted: ascending.
  ///   - inserted: ascending.
  /// - Returns: the removed objects that have other values.
  func find(_ deleted: inout [Int64], _ inserted: inout [Int64]) throws
    -> [(key: Int64, before: Int64)]
  {
    if deleted.isEmpty || inserted.isEmpty { return [] }
    var moved: [(key: Int64, before: Int64)] = []
    var stays = [Bool](repeating: true, count: deleted.count)
    var isNew = [Bool](repeating: true, count: inserted.count)
    let before = ObjectSweep(old, columns: Array(old.columns.indices))
    let after = ObjectSweep(new, columns: Array(new.columns.indices))
    for start in stride(from: 0, to: deleted.count, by: Self.windowObjects) {
      let window = Array(deleted[start..<min(deleted.count, start + Self.windowObjects)])
      var pairs: [(key: Int64, place: Int, fields: [[UInt8]?])] = []
      try before.run(window) { place, fields in
        guard let fields, let bytes = key(fields), let key = try new.object(forKeyBytes: bytes)
        else { return true }
        let index = partitionPoint(inserted.indices) { inserted[$0] >= key }
        guard index < inserted.count, inserted[index] == key else { return true }
        (stays[start + place], isNew[index]) = (false, false)
        pairs.append((key, place, old.columns.indices.map { fields.field($0).map { Array($0) } }))
        return true
      }
      pairs.sort { $0.key < $1.key }
      try after.run(pairs.map(\.key)) { place, fields in
        guard let fields else {
          throw EngineError.noSuchObject(table: new.name, key: pairs[place].key)
        }
        if differs(pairs[place].fields, fields) {
          moved.append((pairs[place].key, window[pairs[place].place]))
        }
        return true
      }
    }
    deleted = deleted.indices.filter { stays[$0] }.map { deleted[$0] }
    inserted = inserted.indices.filter { isNew[$0] }.map { inserted[$0] }
    return moved.sorted { $0.key < $1.key }
  }

  /// The bytes of an object's key; nil when a part of it is null.
  private func key(_ fields: ObjectFields) -> [UInt8]? {
    var parts: [[UInt8]] = []
    for place in keyPlaces {
      guard let part = fields.field(place) else { return nil }
      parts.append(Array(part))
    }
    return KeyTuple.bytes(parts)
  }

  private func differs(_ before: [[UInt8]?], _ after: ObjectFields) -> Bool {
    columns.contains { column in
      let then = column.old.flatMap { before[$0] }
      let now = column.new.flatMap { after.field($0) }
      guard let then, let now else { return then != nil || now != nil }
      return !then.elementsEqual(now)
    }
  }
}
