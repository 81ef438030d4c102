/// An object of a session: a live view of one row.
///
/// It reads the values of the session's version directly from the file's mapping; nothing is cached. After
/// the object was deleted, `isInvalidated` is true and reading throws.
///
/// Thread rule: confined to its session's thread or queue. For use elsewhere, `freeze()` it or make a
/// `ThreadSafeReference`.
public struct Object {
  /// The session of the object.
  public let session: Session
  let table: TableIdentity
  /// The number that the object was assigned on insertion, and that no other object gets. Exception: keys of
  /// a transaction that was rolled back. This process does not assign them again while it has the file open,
  /// but another process may.
  public let key: Int64
  private let mark: TransactionMark?

  init(session: Session, table: TableIdentity, key: Int64, mark: TransactionMark?) {
    self.session = session
    self.table = table
    self.key = key
    self.mark = mark
  }

  /// The name of its table when the object was found.
  public var tableName: String { table.name }

  /// True when the object no longer exists: it was deleted, or the transaction that added it was rolled back.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.wrongThread`, `.damaged`.
  public var isInvalidated: Bool {
    get throws {
      try session.check()
      if wasCancelled { return true }
      return try !(session.viewIfAny(table)?.contains(key: key) ?? false)
    }
  }

  /// Live objects are not frozen.
  public var isFrozen: Bool { false }

  // MARK: Reading

  /// The value of a column.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.invalidated`, `.noSuchColumn`, `.wrongThread`, `.damaged`.
  public subscript(_ column: String) -> Value {
    get throws {
      guard let value = try view().value(forKey: key, column: column) else { throw gone }
      return value
    }
  }

  /// All values, copied.
  ///
  /// - Throws: `EngineError.invalidated`, `.wrongThread`, `.damaged`.
  public func row() throws -> Row {
    guard let row = try view().row(forKey: key) else { throw gone }
    return row
  }

  private var gone: EngineError {
    .invalidated(what: "object \(key) of table '\(table.name)', which was deleted,")
  }

  /// True when the transaction that added it was rolled back.
  var wasCancelled: Bool { mark?.hasCancelled(key, table) ?? false }

  private func view() throws -> TableView {
    try session.check()
    if wasCancelled {
      throw EngineError.invalidated(
        what: "object \(key) of table '\(table.name)', which a cancelled transaction had added,")
    }
    guard let view = try session.viewIfAny(table) else { throw gone }
    return view
  }

  // MARK: Changing

  /// Changes a value.
  ///
  /// - Throws: `EngineError.noTransaction` outside a write transaction; `.invalidated`,
  ///   `.noSuchColumn`, `.invalidValue`, `.duplicateKey`, `.wrongThread`.
  public func set(_ column: String, to value: Value) throws { try set([column: value]) }

  /// Changes some values.
  ///
  /// - Throws: the errors of `set(_:to:)`; nothing is then changed.
  public func set(_ values: [String: Value]) throws {
    try writable("a change").update(key, values)
  }

  /// The table, for changing the object, which must exist.
  func writable(_ operation: String) throws -> WritableTable {
    let view = try view()
    let editor = try session.editor(view, operation)
    guard try view.contains(key: key) else { throw gone }
    return WritableTable(editor)
  }

  /// Deletes the object.
  ///
  /// - Throws: `EngineError.noTransaction`, `.invalidated`, `.wrongThread`.
  public func delete() throws {
    let editor = try session.editor(try view(), "a deletion")
    guard try editor.delete(key) else { throw gone }
  }
}

@available(
  *, unavailable,
  message: "an object belongs to its session's thread; freeze() it or send a ThreadSafeReference"
)
extension Object: Sendable {}

extension Object: Hashable {
  /// True for the same object of the same session, whatever its values. An object of a transaction that was
  /// rolled back differs from a later one to which another process has assigned the same key.
  public static func == (left: Object, right: Object) -> Bool {
    left.session === right.session && left.table.number == right.table.number
      && left.key == right.key && left.wasCancelled == right.wasCancelled
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(session))
    hasher.combine(table.number)
    hasher.combine(key)
  }
}

/// Records the keys of a transaction that was rolled back, as other processes may assign them to other
/// objects.
///
/// Thread rule: the session's thread until the end of the transaction; then any thread.
final class TransactionMark: @unchecked Sendable {
  // @unchecked: nothing of a transaction leaves its session before the end.
  private var firstKeys: [UInt32: Int64]?

  /// - Parameter base: the tables before the transaction.
  func cancel(base: Catalogue) {
    firstKeys = Dictionary(
      base.tables.map { ($0.number, $0.nextKey) }, uniquingKeysWith: { first, _ in first })
  }

  var isCancelled: Bool { firstKeys != nil }

  func hasCancelled(_ key: Int64, _ table: TableIdentity) -> Bool {
    guard let firstKeys else { return false }
    guard let first = firstKeys[table.number] else { return true }
    return key >= first
  }
}
