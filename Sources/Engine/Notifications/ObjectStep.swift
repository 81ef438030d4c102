import Base

/// What became of an object from one version of its table to another.
///
/// Thread rule: `Sendable`.
public struct ObjectStep: Sendable {
  /// How an object differs.
  public enum Kind: String, Sendable, CaseIterable {
    /// The later version alone has it.
    case inserted
    /// The earlier version alone has it.
    case deleted
    /// Both have it, with other values.
    case changed
  }

  /// How it differs.
  public let kind: Kind
  /// The object: as it is in the later version; one that was deleted as it was.
  public let object: Row
  /// The values that differ, of an object that was changed, in the order of the columns.
  public let properties: [PropertyChange]

  package init(kind: Kind, object: Row, properties: [PropertyChange]) {
    self.kind = kind
    self.object = object
    self.properties = properties
  }
}

extension Table {
  /// Calls `body` with every object that differs from an earlier version of the table, in the order of keys.
  ///
  /// Values are compared by their spellings.
  ///
  /// - Parameters:
  ///   - old: an earlier version of the same table, or a later one: then what was inserted is deleted.
  ///   - filter: only objects that match it in one of the versions; nil: all.
  ///   - body: gets each object, on the caller's thread.
  /// - Complexity: O(changed nodes + rows of changed leaves) to find them, and O(log n) for each: what the
  ///   versions share is left out. Memory is that of the keys that were found.
  /// - Throws: `EngineError.invalidArgument` for two tables, `.damaged`; `QueryError`; what `body` throws.
  public func forEachChange(
    since old: Table, where filter: Predicate? = nil, _ body: (ObjectStep) throws -> Void
  ) throws {
    var found = try ChangedKeys(from: old, to: self, where: filter)
    while let (kind, key) = found.next(1).first {
      let table = kind == .deleted ? old : self
      guard let row = try table.row(forKey: key) else {
        throw EngineError.noSuchObject(table: table.name, key: key)
      }
      var properties: [PropertyChange] = []
      if kind == .changed,
        case .changed(let found) = try ObjectDifference(ofKey: key, from: old, to: self)
      {
        properties = found
      }
      try body(ObjectStep(kind: kind, object: row, properties: properties))
    }
  }

  /// How many objects differ from an earlier version of the table.
  ///
  /// - Complexity: as `forEachChange`, without reading the objects.
  /// - Throws: as `forEachChange`.
  public func changeCounts(
    since old: Table, where filter: Predicate? = nil
  ) throws -> [ObjectStep.Kind: Int] {
    try ChangedKeys(from: old, to: self, where: filter).counts
  }
}

extension Snapshot {
  /// Which tables differ from an earlier version, or a later one; `Table.forEachChange` tells how.
  ///
  /// - Complexity: O(tables), where both are of one file.
  /// - Throws: `EngineError.damaged`.
  public func changes(since old: Snapshot) throws -> TableChanges {
    try TableChanges(from: old, to: self)
  }
}

/// The objects that differ from one version of a table to another, in the order of their keys.
///
/// Thread rule: confined.
package struct ChangedKeys {
  private var keys: [ObjectStep.Kind: [Int64]]
  private var given: [ObjectStep.Kind: Int] = [:]

  /// - Parameter filter: only objects that match it in one of the versions; nil: all.
  /// - Complexity: as `TableDifference.init`; with a filter also O(log n) for each object found.
  /// - Throws: as `Table.forEachChange`.
  package init(from old: Table, to new: Table, where filter: Predicate? = nil) throws {
    let difference = try TableDifference(from: old, to: new)
    keys = [
      .inserted: difference.inserted.map(\.key), .deleted: difference.deleted.map(\.key),
      .changed: difference.modified.map(\.key),
    ]
    if let filter { try keepMatches(filter, old, new) }
  }

  /// How many differ.
  package var counts: [ObjectStep.Kind: Int] { keys.mapValues(\.count) }

  /// Leaves out what matches a filter in neither version.
  private mutating func keepMatches(_ filter: Predicate, _ old: Table, _ new: Table) throws {
    let (before, after) = (try RowMatcher(filter, old), try RowMatcher(filter, new))
    for (kind, list) in keys {
      let then = kind == .inserted ? list.map { _ in false } : try before.matches(list)
      let now = kind == .deleted ? list.map { _ in false } : try after.matches(list)
      keys[kind] = list.indices.filter { then[$0] || now[$0] }.map { list[$0] }
    }
  }

  /// The objects with the lowest keys that are left; none when all have been given.
  package mutating func next(_ most: Int) -> [(kind: ObjectStep.Kind, key: Int64)] {
    var result: [(kind: ObjectStep.Kind, key: Int64)] = []
    while result.count < most, let least = next() { result.append(least) }
    return result
  }

  private mutating func next() -> (kind: ObjectStep.Kind, key: Int64)? {
    var least: (kind: ObjectStep.Kind, key: Int64)?
    for kind in ObjectStep.Kind.allCases {
      guard let list = keys[kind], list.indices.contains(given[kind] ?? 0) else { continue }
      let key = list[given[kind] ?? 0]
      if least.map({ key < $0.key }) ?? true { least = (kind, key) }
    }
    guard let least else { return nil }
    given[least.kind, default: 0] += 1
    return least
  }
}
