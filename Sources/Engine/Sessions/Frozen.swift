import Base

/// The values of an object in one version, which never change.
///
/// It keeps its version readable, even when every session and the database are closed. To change the object,
/// `thaw(in:)` it.
///
/// Thread rule: `Sendable`.
public struct FrozenObject: Sendable {
  let frozen: Table
  /// The key of the object, the same in every version.
  public let key: Int64

  /// Always true.
  public var isFrozen: Bool { true }

  /// The number of its version.
  public var version: UInt64 { frozen.version }

  /// The name of its table.
  public var tableName: String { frozen.name }

  /// The value of a column.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`.
  public subscript(_ column: String) -> Value {
    get throws {
      let place = try frozen.indices(of: [column])[0]
      return try row().values[place]
    }
  }

  /// All values, copied.
  ///
  /// - Throws: `EngineError.damaged`.
  public func row() throws -> Row {
    guard let row = try frozen.row(forKey: key) else {
      // Frozen objects are made from existing ones only.
      throw EngineError.invalidated(what: "object \(key) of table '\(frozen.name)'")
    }
    return row
  }

  /// The same object, live, at the version of a session; nil when it was deleted there.
  ///
  /// - Throws: `EngineError.foreign` for a session of another database; `.wrongThread`, `.damaged`.
  public func thaw(in session: Session) throws -> Object? {
    try session.object(of: frozen, key: key)
  }
}

/// The objects that a query selects in one version, which never change.
///
/// They keep their version readable. The query runs when the objects are first needed.
///
/// Thread rule: `Sendable`; any thread, also several at once.
public final class FrozenResults: @unchecked Sendable {
  // @unchecked: `lock` guards `known`.
  let frozen: Table
  /// The query that selects and orders the objects.
  public let query: Query
  private let lock = Lock()
  private var known: [Int64]?

  init(_ table: Table, _ query: Query, keys: [Int64]? = nil) {
    frozen = table
    self.query = query
    known = keys
  }

  /// Always true.
  public var isFrozen: Bool { true }

  /// The number of their version.
  public var version: UInt64 { frozen.version }

  /// The name of the table.
  public var tableName: String { frozen.name }

  /// The keys of the objects, in order.
  ///
  /// - Complexity: one run of the query at the first use.
  /// - Throws: `EngineError.damaged`.
  public func keys() throws -> [Int64] {
    try lock.withLock {
      if let known { return known }
      let keys = try query.keys(of: frozen)
      known = keys
      return keys
    }
  }

  /// The number of objects.
  ///
  /// - Throws: `EngineError.damaged`.
  public var count: Int {
    get throws { try lock.withLock { known }?.count ?? query.count(of: frozen) }
  }

  /// The object at a position, from 0.
  ///
  /// - Throws: `EngineError.invalidArgument` for a position out of bounds; `.damaged`.
  public subscript(_ position: Int) -> FrozenObject {
    get throws {
      let keys = try keys()
      guard keys.indices.contains(position) else {
        throw EngineError.invalidArgument(
          "position \(position) is outside the \(keys.count) objects of the results")
      }
      return FrozenObject(frozen: frozen, key: keys[position])
    }
  }

  /// The objects, in order.
  ///
  /// - Throws: `EngineError.damaged`.
  public var objects: [FrozenObject] {
    get throws {
      try keys().map { FrozenObject(frozen: frozen, key: $0) }
    }
  }

  /// Copies of the values of all objects; faster than reading one object after the other.
  ///
  /// - Throws: `EngineError.damaged`.
  public func rows() throws -> [Row] { try query.rows(in: frozen) }

  /// The same results, live, in a session.
  ///
  /// - Throws: `EngineError.foreign` for a session of another database; `.wrongThread`.
  public func thaw(in session: Session) throws -> Results {
    try session.results(of: frozen, query)
  }
}

// MARK: Freezing

extension Session {
  /// The version of the session, as a snapshot for any thread.
  ///
  /// - Throws: `EngineError.insideTransaction`, `.wrongThread`.
  public func freeze() throws -> Snapshot { try committed("freezing") }

  /// - Parameter operation: the subject of the error.
  /// - Throws: `EngineError.insideTransaction`, `.wrongThread`.
  func committed(_ operation: String) throws -> Snapshot {
    try check()
    if transaction != nil { throw EngineError.insideTransaction(operation: operation) }
    return snapshot
  }

  func freeze(_ table: TableIdentity) throws -> Table {
    let snapshot = try freeze()
    guard try viewIfAny(table) != nil, let frozen = try snapshot.table(number: table.number) else {
      throw EngineError.invalidated(what: "table '\(table.name)', which was removed,")
    }
    return frozen
  }

  func checkOwn(_ table: Table) throws {
    try check()
    guard database.owns(table.snapshot) else {
      throw EngineError.foreign(what: "something frozen", expected: "database")
    }
  }

  func object(of frozen: Table, key: Int64) throws -> Object? {
    try checkOwn(frozen)
    let identity = TableIdentity(number: frozen.number, name: frozen.name)
    guard let view = try viewIfAny(identity), try view.contains(key: key) else { return nil }
    return object(identity, key)
  }

  func results(of frozen: Table, _ query: Query) throws -> Results {
    try checkOwn(frozen)
    return Results(
      self, TableIdentity(number: frozen.number, name: frozen.name), query, schema: frozen.schema)
  }
}

extension Object {
  /// The object in its current state, for any thread.
  ///
  /// - Throws: `EngineError.invalidated`, `.insideTransaction`, `.wrongThread`, `.damaged`.
  public func freeze() throws -> FrozenObject {
    let frozen = try session.freeze(table)
    if try isInvalidated {
      throw EngineError.invalidated(what: "object \(key) of table '\(table.name)'")
    }
    return FrozenObject(frozen: frozen, key: key)
  }
}

extension Results {
  /// The objects in their current state, for any thread.
  ///
  /// - Throws: `EngineError.invalidated`, `.insideTransaction`, `.wrongThread`, `.damaged`.
  public func freeze() throws -> FrozenResults {
    let frozen = try session.freeze(table)
    return FrozenResults(frozen, try named().query)
  }
}

// MARK: What a frozen view refuses

// A version never changes. These members exist only so that their use is a compile error with advice.

extension Snapshot {
  /// Always true: a snapshot never changes.
  public var isFrozen: Bool { true }

  /// A snapshot cannot be written.
  @available(*, unavailable, message: "a snapshot never changes; use Database.write or a session")
  public func write<Result>(_ body: () throws -> Result) rethrows -> Result {
    try body()
  }

  /// A snapshot cannot be observed.
  @available(*, unavailable, message: "a snapshot never changes; observe on a session")
  public func observe(_ body: (Never) -> Void) {}

  /// A snapshot does not move on.
  @available(*, unavailable, message: "a snapshot never changes; take a new one, or use a session")
  public func refresh() {}
}

extension FrozenObject {
  /// A frozen object cannot be changed.
  @available(*, unavailable, message: "a frozen object never changes; thaw(in:) it in a session")
  public func set(_ column: String, to value: Value) {}

  /// A frozen object cannot be deleted.
  @available(*, unavailable, message: "a frozen object never changes; thaw(in:) it in a session")
  public func delete() {}

  /// A frozen object cannot be observed.
  @available(*, unavailable, message: "a frozen object never changes; thaw(in:) it in a session")
  public func observe(_ body: (Never) -> Void) {}
}

extension FrozenResults {
  /// Frozen results cannot be changed.
  @available(*, unavailable, message: "frozen results never change; thaw(in:) them in a session")
  public func setAll(_ values: [String: Value]) {}

  /// Frozen results cannot be observed.
  @available(*, unavailable, message: "frozen results never change; thaw(in:) them in a session")
  public func observe(_ body: (Never) -> Void) {}
}
