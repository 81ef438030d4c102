/// A field of an object that differs in a later version.
///
/// Fields are compared by their spellings: with another spelling (`4.1` and `4.10`), the two values may be
/// equal.
///
/// Thread rule: a plain value, `Sendable`.
public struct PropertyChange: Sendable, Equatable {
  /// The column's name; the new name if it was renamed.
  public let name: String
  /// The value in the old version; null when the table lacked the column.
  public let old: Value
  /// The value in the new version; null when the table no longer has the column.
  public let new: Value

  package init(name: String, old: Value, new: Value) {
    self.name = name
    self.old = old
    self.new = new
  }
}

/// The change of one object between two versions.
///
/// Thread rule: a plain value, `Sendable`.
package enum ObjectDifference: Sendable, Equatable {
  case unchanged
  /// The object or its table was deleted.
  case deleted
  /// The changed fields in the order of the new table's columns; removed columns come last.
  case changed([PropertyChange])

  /// Compares two versions of an object.
  ///
  /// - Parameters:
  ///   - key: the object's number in the other version.
  ///   - earlier: the object's number in the old version, if it differs.
  ///   - old: the table in a version that has the object.
  ///   - new: the same table in another version; nil when it does not exist there.
  ///   - columns: the identifiers of the columns to compare; nil for all.
  /// - Complexity: O(log n + columns).
  /// - Throws: `EngineError.noSuchObject` when the old version does not have the object, `.invalidArgument`
  ///   for two different tables, `.damaged`.
  package init(
    ofKey key: Int64, was earlier: Int64? = nil, from old: Table, to new: Table?,
    columns: Set<UInt32>? = nil
  ) throws {
    guard let new else {
      self = .deleted
      return
    }
    guard old.number == new.number else {
      throw EngineError.invalidArgument(
        "'\(old.name)' and '\(new.name)' are two tables, not two versions of one")
    }
    self = try translatingErrors(new.tree.blocks.storage.path) {
      guard let before = try ObjectPlace(earlier ?? key, in: old) else {
        throw EngineError.noSuchObject(table: old.name, key: earlier ?? key)
      }
      guard let after = try ObjectPlace(key, in: new) else { return .deleted }
      if earlier == nil || earlier == key, before.isSame(as: after) { return .unchanged }
      let changes = try Self.columns(old.schema, new.schema).compactMap { id in
        try Self.change(of: id, before, after, columns)
      }
      return changes.isEmpty ? .unchanged : .changed(changes)
    }
  }

  private static func columns(_ old: TableSchema, _ new: TableSchema) -> [UInt32] {
    let known = Set(new.columnIDs)
    return new.columnIDs + old.columnIDs.filter { !known.contains($0) }
  }

  private static func change(
    of id: UInt32, _ before: ObjectPlace, _ after: ObjectPlace, _ wanted: Set<UInt32>?
  ) throws -> PropertyChange? {
    if let wanted, !wanted.contains(id) { return nil }
    guard let name = (after.column(id) ?? before.column(id))?.name else { return nil }
    let isSame = try before.withSpelling(id) { one in
      try after.withSpelling(id) { other in
        guard let one, let other else { return one == nil && other == nil }
        return Bytes.areEqual(one, other)
      }
    }
    if isSame { return nil }
    return PropertyChange(name: name, old: try before.value(id), new: try after.value(id))
  }
}

/// Where an object is in one version.
private struct ObjectPlace {
  private let table: Table
  private let leaf: Leaf
  private let row: Int

  /// Nil when the table does not have the object.
  init?(_ key: Int64, in table: Table) throws {
    guard let place = try table.tree.location(ofKey: key) else { return nil }
    leaf = try Leaf(place.entry, table.tree.blocks, end: table.tree.end)
    guard let row = try leaf.keys().row(ofKey: key) else { return nil }
    self.table = table
    self.row = row
  }

  /// True when both are in the same unchanged leaf, with the same columns.
  func isSame(as other: ObjectPlace) -> Bool {
    table.tree.blocks === other.table.tree.blocks && leaf.entry == other.leaf.entry
      && table.schema.columnIDs == other.table.schema.columnIDs
  }

  func column(_ id: UInt32) -> Column? {
    table.schema.columnIDs.firstIndex(of: id).map { table.columns[$0] }
  }

  func withSpelling(
    _ id: UInt32, _ body: (UnsafeRawBufferPointer?) throws -> Bool
  ) throws -> Bool {
    guard column(id) != nil else { return try body(nil) }
    return try leaf.column(id: id).withSpelling(row, body)
  }

  func value(_ id: UInt32) throws -> Value {
    guard let column = column(id) else { return .null }
    return try leaf.column(id: id).value(row, as: column.reading)
  }
}
