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
/// **Imports** into a declared table leave its columns' types and its key as they are: records with
/// values that do not fit are rejected. They may add columns and tables, which this schema's
/// program does not see unless it asks for them: see `allowsOthers`.
///
/// The order of tables and columns is not compared: columns that were added later stand behind the others
/// in older files, so that programs should name them.
///
/// Thread rule: a plain value, `Sendable`.
public struct Schema: Sendable, Hashable {
  /// From 0 up; a file that no program has given a version has 0.
  public var version: UInt64
  /// In any order, each name once.
  public var tables: [TableDefinition]
  /// Whether the file may have tables and columns that no program has declared; true at first, since an
  /// import may have added them. A column that may not be null and has no default is refused even so: objects
  /// could not be added without it.
  ///
  /// Tables and columns that an earlier version of the schema declared, and this one does not, are refused in
  /// any case: the migration must account for them.
  public var allowsOthers = true

  /// - Parameters:
  ///   - version: raised with every change to the tables.
  ///   - tables: all that the program expects.
  ///   - allowsOthers: whether the file may have tables and columns that no program has declared.
  public init(version: UInt64, tables: [TableDefinition], allowsOthers: Bool = true) {
    self.version = version
    self.tables = tables
    self.allowsOthers = allowsOthers
  }
}

/// A table as a program expects it.
///
/// Thread rule: a plain value, `Sendable`.
public struct TableDefinition: Sendable, Hashable {
  /// Not empty, and no other table has it.
  public var name: String
  /// At least one.
  public var columns: [Column]
  /// The names of the columns that together are the primary key, in its order. They are never null, whatever
  /// the columns say. Empty for a table without.
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
  ///   - name: not empty.
  ///   - columns: at least one, each name once.
  ///   - key: the name of the primary key's column; nil for a table without.
  ///   - indexes: the names of the columns with a secondary index.
  public init(_ name: String, columns: [Column], key: String? = nil, indexes: [String] = []) {
    self.init(name, columns: columns, keys: key.map { [$0] } ?? [], indexes: indexes)
  }

  /// - Parameters:
  ///   - name: not empty.
  ///   - columns: at least one, each name once.
  ///   - keys: the names of the columns that together are the primary key, in its order.
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
