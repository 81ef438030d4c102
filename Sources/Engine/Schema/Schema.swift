/// The tables that a program expects in its database, with a version number.
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
/// As `Database.Options.schema` it is compared with the file when that is opened. Raise the version with
/// every change to the tables, and set `Database.Options.migration` to a closure that changes files of older
/// versions.
///
/// **Imports** into a declared table keep its columns' types and its key: records with values that do not fit
/// are rejected. They may add columns and tables, which this schema's program does not see unless it requests
/// them: see `allowsOthers`.
///
/// The order of tables and columns is not compared: columns added later are after the others in older files,
/// so programs should use their names.
///
/// Thread rule: a plain value, `Sendable`.
public struct Schema: Sendable, Hashable {
  /// From 0; 0 is also the version of a file for which no program has set one.
  public var version: UInt64
  /// The tables in any order, with distinct names.
  public var tables: [TableDefinition]
  /// Whether the file may have undeclared tables and columns; true by default, since an import may have added
  /// them. An undeclared column without null and default is always refused, because objects could not be
  /// added without it.
  ///
  /// Tables and columns that an earlier version of the schema declared, and this one does not, are always
  /// refused: the migration must account for them.
  public var allowsOthers = true

  /// - Parameters:
  ///   - version: the version, raised with every change to the tables.
  ///   - tables: all tables that the program expects.
  ///   - allowsOthers: whether the file may have undeclared tables and columns.
  public init(version: UInt64, tables: [TableDefinition], allowsOthers: Bool = true) {
    self.version = version
    self.tables = tables
    self.allowsOthers = allowsOthers
  }
}

/// A table that a program expects.
///
/// Thread rule: a plain value, `Sendable`.
public struct TableDefinition: Sendable, Hashable {
  /// The name: not empty, and unique.
  public var name: String
  /// The columns, at least one.
  public var columns: [Column]
  /// The names of the primary key's columns, in its order; empty for a table without a key. These columns are
  /// never null, whatever the columns say.
  public var keys: [String]
  /// The name of the primary key's only column; nil for a table without a key, or with one of several
  /// columns: see `keys`.
  public var key: String? {
    get { keys.count == 1 ? keys[0] : nil }
    set { keys = newValue.map { [$0] } ?? [] }
  }
  /// The names of the columns with a secondary index, in any order: see `WritableTable.addIndex(_:)`.
  public var indexes: [String]

  /// - Parameters:
  ///   - name: the name, not empty.
  ///   - columns: at least one, with distinct names.
  ///   - key: the name of the primary key's column; nil for a table without a key.
  ///   - indexes: the names of the columns with a secondary index.
  public init(_ name: String, columns: [Column], key: String? = nil, indexes: [String] = []) {
    self.init(name, columns: columns, keys: key.map { [$0] } ?? [], indexes: indexes)
  }

  /// - Parameters:
  ///   - name: the name, not empty.
  ///   - columns: at least one, with distinct names.
  ///   - keys: the names of the primary key's columns, in its order.
  ///   - indexes: the names of the columns with a secondary index.
  public init(_ name: String, columns: [Column], keys: [String], indexes: [String] = []) {
    self.name = name
    self.columns = columns
    self.keys = keys
    self.indexes = indexes
  }

  /// The definition of an existing table.
  package init(_ name: String, _ schema: TableSchema, indexes: [String]) {
    self.name = name
    self.indexes = indexes
    columns = schema.columns
    keys = schema.keyNames
  }
}
