import Base

/// The change of an object between two versions of its table.
///
/// Thread rule: `Sendable`.
public struct ObjectStep: Sendable {
  /// How an object differs.
  public enum Kind: String, Sendable, CaseIterable {
    /// Only the later version has it.
    case inserted
    /// Only the earlier version has it.
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
  /// Values are compared by their spellings. In a table with a primary key, objects are identified by it: an
  /// object that was deleted and added again has changed if its values differ, and otherwise is not reported.
  ///
  /// - Parameters:
  ///   - old: an earlier version of the same table, or a later one: then insertions are reported as
  ///     deletions.
  ///   - filter: only objects that match it in one of the versions; nil: all.
  ///   - body: gets each object, on the caller's thread.
  /// - Complexity: O(changed nodes + rows of changed leaves) to find them, and O(log n) for each: shared
  ///   parts are skipped. Memory is that of the keys that were found.
  /// - Throws: `EngineError.invalidArgument` for two tables, `.damaged`; `QueryError`; the errors of `body`.
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
  /// - Complexity: as `forEachChange`; of the objects only those are read that were deleted and added again.
  /// - Throws: as `forEachChange`.
  public func changeCounts(
    since old: Table, where filter: Predicate? = nil
  ) throws -> [ObjectStep.Kind: Int] {
    try ChangedKeys(from: old, to: self, where: filter).counts
  }
}

extension Snapshot {
  /// The tables that differ from an earlier version, or a later one; `Table.forEachChange` reports their
  /// changes.
  ///
  /// - Complexity: O(tables), where both are of one file.
  /// - Throws: `EngineError.damaged`.
  public func changes(since old: Snapshot) throws -> TableChanges {
    try TableChanges(from: old, to: self)
  }
}
