/// One version of the database, which does not change as long as the snapshot exists.
///
/// A snapshot keeps the pages of its version from reuse. Release it when done, so that the file stays small.
///
/// Thread rule: `Sendable`; any thread, also several at once. It stays readable after the database was
/// closed.
public final class Snapshot: Sendable {
  let hold: VersionHold
  package let blocks: BlockReader
  let catalogue: Catalogue

  /// - Throws: `BlockError` or `DecodingFailure` when the version's root block is damaged.
  package init(hold: VersionHold, blocks: BlockReader) throws {
    self.hold = hold
    self.blocks = blocks
    catalogue = try VersionRoots(hold.record, blocks).catalogue
  }

  /// The number of the version; each commit adds one.
  public var version: UInt64 { hold.record.version }

  /// The names of the tables, in the order of creation.
  public var tableNames: [String] { catalogue.programTables.map(\.name) }

  /// The version of the schema, set by programs; see `Schema`.
  public var schemaVersion: UInt64 { catalogue.schemaVersion }

  /// True when no table has an object. Cost: O(tables).
  public var isEmpty: Bool { catalogue.programTables.allSatisfy { $0.root.count == 0 } }

  /// A table as it is in this version.
  ///
  /// - Throws: `EngineError.noSuchTable`, `.damaged`.
  public func table(_ name: String) throws -> Table {
    guard let entry = catalogue.programTable(name) else {
      throw EngineError.noSuchTable(name: name, known: tableNames)
    }
    return try translatingErrors(blocks.storage.path) { try Table(snapshot: self, entry: entry) }
  }

  /// The indices of the tables in the catalogue, which avoid a lookup by name for each of many tables.
  package var tablePlaces: [Int] {
    catalogue.tables.indices.filter { !catalogue.tables[$0].isCompanion }
  }

  /// The table at one of `tablePlaces`.
  ///
  /// - Throws: `EngineError.damaged`.
  package func table(at place: Int) throws -> Table {
    try translatingErrors(blocks.storage.path) {
      try Table(snapshot: self, entry: catalogue.tables[place])
    }
  }

  /// A table that stores data for another table; nil when there is none.
  ///
  /// - Throws: `EngineError.damaged`.
  package func companion(_ purpose: String, of table: Table) throws -> Table? {
    let name = Catalogue.companionName(purpose, of: table.number)
    guard let entry = catalogue.table(named: name) else { return nil }
    return try translatingErrors(blocks.storage.path) { try Table(snapshot: self, entry: entry) }
  }

  /// A table that stores data for the file; nil when there is none.
  ///
  /// - Throws: `EngineError.damaged`.
  package func ownTable(_ purpose: String) throws -> Table? {
    guard let entry = catalogue.table(named: Catalogue.ownName(purpose)) else { return nil }
    return try translatingErrors(blocks.storage.path) { try Table(snapshot: self, entry: entry) }
  }

  /// The companions of all tables, for counting bytes.
  ///
  /// - Throws: `EngineError.damaged`.
  package func companions() throws -> [Table] {
    try translatingErrors(blocks.storage.path) {
      try catalogue.tables.filter(\.isCompanion).map { try Table(snapshot: self, entry: $0) }
    }
  }

  /// The table with a number; nil when there is none in this version.
  ///
  /// - Throws: `EngineError.damaged`.
  package func table(number: UInt32) throws -> Table? {
    guard let entry = catalogue.table(number: number) else { return nil }
    return try translatingErrors(blocks.storage.path) { try Table(snapshot: self, entry: entry) }
  }

  package var record: VersionRecord { hold.record }
}
