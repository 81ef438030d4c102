/// A change to the database, all or nothing.
///
/// Reads through it see the base version with the transaction's own changes. Other readers see no change
/// before `commit`. Leaving its scope without a commit rolls everything back.
///
/// Thread rule: confined to the thread that began it; not `Sendable`, not copyable. One transaction at a time
/// may be open on a file, among all threads and processes.
public struct WriteTransaction: ~Copyable {
  let state: TransactionState
  /// False when another object ends the transaction.
  private let isOwner: Bool

  init(state: TransactionState, isOwner: Bool = true) {
    self.state = state
    self.isOwner = isOwner
  }

  deinit { if isOwner { state.abandon() } }

  /// The version that the transaction began from.
  public var baseVersion: UInt64 { state.base.version }

  /// Ends the transaction and makes its changes a version.
  ///
  /// - Parameters:
  ///   - durability: when the version survives a power cut; the database's default if nil.
  ///   - completion: called on another thread, with nil once the version is durable, or with the reason when
  ///     that failed. With `.none`, the later flush calls it.
  /// - Returns: the number of the new version, or of the base version when nothing has changed.
  /// - Throws: `EngineError`. The transaction was then rolled back, except for `.poisoned`: its outcome is
  ///   then unknown until the file is opened anew.
  @discardableResult
  public consuming func commit(
    durability: Durability? = nil, completion: (@Sendable (String?) -> Void)? = nil
  ) throws -> UInt64 {
    try state.commit(durability, completion)
  }

  /// Ends the transaction and discards its changes.
  public consuming func rollBack() { state.abandon() }

  // MARK: Tables

  /// The names of the tables, oldest first, with the transaction's changes.
  public var tableNames: [String] { state.catalogue.programTables.map(\.name) }

  /// Creates an empty table.
  ///
  /// - Parameters:
  ///   - name: not empty, and not the name of another table.
  ///   - columns: at least one, with distinct names.
  ///   - key: the column that is the primary key: no two objects have the same spelling in it, and none is
  ///     null (the column is made not nullable). Two spellings are two keys, even if they mean the same
  ///     number, as `5` and `5.0` do.
  ///   - indexes: the columns that get a secondary index: see `WritableTable.addIndex(_:)`.
  /// - Throws: `EngineError.tableExists`, `.invalidSchema`, `.transactionEnded`.
  public func createTable(
    _ name: String, columns: [Column], key: String? = nil, indexes: [String] = []
  ) throws {
    try createTable(name, columns: columns, keys: key.map { [$0] } ?? [], indexes: indexes)
  }

  /// Creates an empty table with a primary key of several columns.
  ///
  /// - Parameters:
  ///   - name: not empty, and not the name of another table.
  ///   - columns: at least one, with distinct names.
  ///   - keys: the columns of the primary key, in its order: no two objects have the same spellings in all of
  ///     them, and none is null there. Earlier versions of Sheaf cannot then read the file.
  ///   - indexes: the columns that get a secondary index.
  /// - Throws: `EngineError.tableExists`, `.invalidSchema`, `.transactionEnded`.
  public func createTable(
    _ name: String, columns: [Column], keys: [String], indexes: [String] = []
  ) throws {
    try state.createTable(name, columns, keys: keys, indexes: indexes)
  }

  /// The table, for reading and changing within this transaction.
  ///
  /// - Throws: `EngineError.noSuchTable`, `.transactionEnded`.
  public func table(_ name: String) throws -> WritableTable {
    WritableTable(try state.programEditor(name))
  }

  /// A table that stores data for another table; nil when there is none and none is to be created.
  ///
  /// - Parameter columns: the columns of a new table, of which the first is its key; nil: none is created.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func companion(
    _ purpose: String, of table: WritableTable, columns: [Column]?
  ) throws -> WritableTable? {
    try state.companion(purpose, of: table.editor, columns: columns).map { WritableTable($0) }
  }

  /// A table that stores data for the file; nil when there is none and none is to be created. Restoring an
  /// older version does not change it.
  ///
  /// - Parameter columns: the columns of a new table, which has no key; nil: none is created.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func ownTable(_ purpose: String, columns: [Column]?) throws -> WritableTable? {
    try state.ownTable(purpose, columns: columns).map { WritableTable($0) }
  }
}
