/// The tables that a program expects in its database, and the number of this expectation.
///
///     let schema = Schema(
///       version: 2,
///       tables: [
///         TableDefinition(
///           "apps",
///           columns: [Column("id", .int), Column("name", .text), Column("stars", .double)],
///           key: "id")
///       ])
///
/// Given to `Database.Options.schema`, it is compared with the file when that is opened. Raise the version
/// with every change to the tables, and give `Database.Options.migration` what is to be done to files of
/// older versions.
///
/// The order of tables and columns is not compared: columns that were added later stand behind the others
/// in older files, so that programs should name them.
public struct Schema: Sendable, Hashable {
  /// From 0 up; a file that no program has given a version has 0.
  public var version: UInt64
  public var tables: [TableDefinition]

  public init(version: UInt64, tables: [TableDefinition]) {
    self.version = version
    self.tables = tables
  }
}

/// What a table is to look like.
public struct TableDefinition: Sendable, Hashable {
  public var name: String
  public var columns: [Column]
  /// The name of the primary key's column, which is never null, whatever the column says; nil for a
  /// table without.
  public var key: String?

  public init(_ name: String, columns: [Column], key: String? = nil) {
    self.name = name
    self.columns = columns
    self.key = key
  }

  /// The definition of a table that there is.
  package init(_ name: String, _ schema: TableSchema) {
    self.name = name
    columns = schema.columns
    key = schema.keyColumn.map { schema.columns[$0].name }
  }
}
