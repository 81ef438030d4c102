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
  /// Values are compared by their spellings. In a table with a primary key an object is the one that had its
  /// key: one that was deleted and added again with other values has changed, with the same ones it has not.
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
    while let next = found.next(1).first {
      let table = next.kind == .deleted ? old : self
      guard let row = try table.row(forKey: next.key) else {
        throw EngineError.noSuchObject(table: table.name, key: next.key)
      }
      var properties: [PropertyChange] = []
      if next.kind == .changed,
        case .changed(let found) = try ObjectDifference(
          ofKey: next.key, was: next.before, from: old, to: self)
      {
        properties = found
      }
      try body(ObjectStep(kind: next.kind, object: row, properties: properties))
    }
  }

  /// How many objects differ from an earlier version of the table.
  ///
  /// - Complexity: as `forEachChange`, without reading the objects but those that were deleted and added
  ///   again.
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
