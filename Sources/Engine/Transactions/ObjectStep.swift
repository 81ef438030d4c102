import Base

/// The change of an object between two versions of its table.
///
/// Thread rule: `Sendable`.
public struct ObjectStep: Sendable {
  /// The kind of difference.
  public enum Kind: String, Sendable, CaseIterable {
    /// Only the later version has the object.
    case inserted
    /// Only the earlier version has the object.
    case deleted
    /// Both versions have the object, with different values.
    case changed
  }

  /// The kind of difference.
  public let kind: Kind
  /// The object as it is in the later version; a deleted object as it was in the earlier one.
  public let object: Row
  /// For a changed object, the values that differ, in the order of the columns.
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
  ///   - old: an earlier version of the same table, or a later one: insertions are then reported as
  ///     deletions.
  ///   - filter: only objects that match it in one of the versions; nil: all.
  ///   - body: receives each object, on the caller's thread.
  /// - Complexity: O(changed nodes + rows of changed leaves) to find the objects, as shared parts are
  ///   skipped, and O(log n) for each. Memory: the keys found.
  /// - Throws: `EngineError.invalidArgument` for two different tables, `.damaged`; `QueryError`; the errors
  ///   of `body`.
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

  /// Counts the objects that differ from an earlier version of the table, by kind.
  ///
  /// - Complexity: that of `forEachChange`; only objects that were deleted and added again are read.
  /// - Throws: the errors of `forEachChange`.
  public func changeCounts(
    since old: Table, where filter: Predicate? = nil
  ) throws -> [ObjectStep.Kind: Int] {
    try ChangedKeys(from: old, to: self, where: filter).counts
  }
}

extension Snapshot {
  /// The tables that differ from an earlier or later version; `Table.forEachChange` reports their changes.
  ///
  /// - Complexity: O(tables), if both versions are of the same file.
  /// - Throws: `EngineError.damaged`.
  public func changes(since old: Snapshot) throws -> TableChanges {
    try TableChanges(from: old, to: self)
  }
}
