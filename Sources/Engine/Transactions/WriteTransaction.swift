/// A change to the database, all or nothing.
///
/// Everything read through it is the newest version with its own changes. Nobody else sees a change
/// before `commit`. Leaving its scope without a commit rolls everything back.
///
/// Thread rule: belongs to the thread that began it; not `Sendable`, not copyable. One transaction at
/// a time may be open on a file, among all threads and processes.
public struct WriteTransaction: ~Copyable {
  let state: TransactionState
  /// False when another object ends it.
  private let isOwner: Bool

  init(state: TransactionState, isOwner: Bool = true) {
    self.state = state
    self.isOwner = isOwner
  }

  deinit { if isOwner { state.abandon() } }

  /// The version this transaction began from.
  public var baseVersion: UInt64 { state.base.version }

  /// Ends the transaction and makes its changes a version.
  ///
  /// - Parameters:
  ///   - durability: when the version survives a power cut; the database's own choice by default.
  ///   - completion: called once the version is durable (with nil) or when that failed (with the
  ///     reason), on another thread; with `.none` it is called by the flush that comes later.
  /// - Returns: the number of the new version, or of the old one when nothing had changed.
  /// - Throws: `EngineError`; the transaction has then been rolled back, unless the error is
  ///   `.poisoned`: then it is unknown until the file is opened anew.
  @discardableResult
  public consuming func commit(
    durability: Durability? = nil, completion: (@Sendable (String?) -> Void)? = nil
  ) throws -> UInt64 {
    try state.commit(durability, completion)
  }

  /// Ends the transaction and forgets its changes.
  public consuming func rollBack() { state.abandon() }

  // MARK: Tables

  /// The names of the tables, oldest first, with the transaction's changes.
  public var tableNames: [String] { state.catalogue.programTables.map(\.name) }

  /// Creates an empty table.
  ///
  /// - Parameters:
  ///   - name: not empty, and no other table's.
  ///   - columns: at least one, each name once.
  ///   - key: the column that is the primary key: no two objects have the same spelling there, and none
  ///     is null (the column is made not nullable). Two spellings are two keys, also when they mean the
  ///     same number, as `5` and `5.0` do.
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
  ///   - name: not empty, and no other table's.
  ///   - columns: at least one, each name once.
  ///   - keys: the columns that together are the primary key, in its order: no two objects have the same
  ///     spellings in all of them, and none is null there. Earlier programs cannot read the file then.
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

  /// The table that keeps data for another one; nil when there is none and none should be created.
  ///
  /// - Parameter columns: of a new table, the first of them its key; nil: none is created.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func companion(
    _ purpose: String, of table: WritableTable, columns: [Column]?
  ) throws -> WritableTable? {
    try state.companion(purpose, of: table.editor, columns: columns).map { WritableTable($0) }
  }

  /// The table that keeps data for the file; nil when there is none and none should be created. Going back to
  /// an older version does not change it.
  ///
  /// - Parameter columns: of a new table, without a key; nil: none is created.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  package func ownTable(_ purpose: String, columns: [Column]?) throws -> WritableTable? {
    try state.ownTable(purpose, columns: columns).map { WritableTable($0) }
  }
}
