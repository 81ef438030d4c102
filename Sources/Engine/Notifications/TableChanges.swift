/// Which tables changed between two versions of a database.
///
/// A table that was deleted and created again under the same name is in `deleted` and in `created`.
///
/// Thread rule: a plain value, `Sendable`.
public struct TableChanges: Sendable, Equatable {
  /// Names of tables that only the new version has, in the order of creation.
  public let created: [String]
  /// Names of tables that only the old version has, in the order of creation.
  public let deleted: [String]
  /// Names, as in the new version, of tables whose objects, columns or names changed.
  public let changed: [String]

  /// True when nothing changed.
  ///
  /// - Complexity: O(1).
  public var isEmpty: Bool { created.isEmpty && deleted.isEmpty && changed.isEmpty }

  package init(created: [String] = [], deleted: [String] = [], changed: [String] = []) {
    self.created = created
    self.deleted = deleted
    self.changed = changed
  }

  /// Compares two versions.
  ///
  /// - Complexity: O(tables). A table that was written is compared up to the first object that differs, which
  ///   takes more than a few steps only when a compaction was made in between.
  /// - Throws: `EngineError.damaged`.
  package init(from old: Snapshot, to new: Snapshot) throws {
    let before = Dictionary(
      old.catalogue.tables.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    let after = Set(new.catalogue.tables.map(\.number))
    // A compaction in use moves blocks and changes no content.
    let isSameFile = old.blocks === new.blocks
    deleted = old.catalogue.programTables.filter { !after.contains($0.number) }.map(\.name)
    created = new.catalogue.programTables.filter { before[$0.number] == nil }.map(\.name)
    changed = try new.catalogue.programTables.compactMap { table in
      guard let earlier = before[table.number] else { return nil }
      let isSame: Bool
      if earlier.name != table.name || earlier.root.count != table.root.count {
        isSame = false
      } else if isSameFile, earlier.root == table.root, earlier.schema == table.schema {
        isSame = true
      } else if let one = try old.table(number: table.number),
        let other = try new.table(number: table.number)
      {
        isSame = try one.schema == other.schema && TableDifference.areEqual(one, other)
      } else {
        isSame = false
      }
      return isSame ? nil : table.name
    }
  }
}
