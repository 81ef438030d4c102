import Base

/// The types that a `ThreadSafeReference` can refer to: `Object` and `Results`.
///
/// Thread rule: confined to the session's thread or queue.
public protocol ThreadConfined {
  /// The session of the value.
  var session: Session { get }
}

/// A value that can be found in another session.
protocol Referable: ThreadConfined {
  func referent() throws -> Referent
  static func resolve(_ referent: Referent, in session: Session) throws -> Self?
}

/// How a reference finds its value.
struct Referent: Sendable {
  let table: TableIdentity
  var key: Int64?
  var query: Query?
  /// The columns in the query.
  var schema: TableSchema?
}

/// Passes an object or results to another session of the same database, on any thread.
///
///     let reference = try ThreadSafeReference(to: game)
///     try worker.perform { session in
///       guard let game = try session.resolve(reference) else { return }  // deleted meanwhile
///       try session.write { _ in try game.set("Seen", to: .bool(true)) }
///     }
///
/// It keeps its version from reuse until it is resolved or released.
///
/// Thread rule: `Sendable`. It can be resolved once.
public final class ThreadSafeReference<Confined: ThreadConfined>: Sendable {
  private let referent: Referent
  private let database: Database
  private let pin: ReferencePin

  /// Makes a reference, on the thread or queue of the object or results.
  ///
  /// - Throws: `EngineError.invalidated`, `.wrongThread`; `.insideTransaction`, as other sessions cannot see
  ///   uncommitted changes.
  public init(to confined: Confined) throws {
    guard let referable = confined as? any Referable else {
      throw EngineError.invalidArgument(
        "only objects and results can be referred to, and a \(Confined.self) is neither")
    }
    pin = ReferencePin(try confined.session.committed("making a reference"))
    database = confined.session.database
    referent = try referable.referent()
  }

  func resolve(in session: Session) throws -> Confined? {
    try session.check()
    guard session.database === database else {
      throw EngineError.foreign(what: "a reference", expected: "database")
    }
    guard let snapshot = pin.take() else { throw EngineError.referenceResolved }
    do {
      try session.moveOn(to: snapshot)
      guard let type = Confined.self as? any Referable.Type else { return nil }
      return try type.resolve(referent, in: session) as? Confined
    } catch {
      // It can be resolved once the reason is gone.
      pin.putBack(snapshot)
      throw error
    }
  }
}

/// A held version that can be taken once.
private final class ReferencePin: @unchecked Sendable {
  // @unchecked: `lock` guards the state.
  private let lock = Lock()
  private var snapshot: Snapshot?

  init(_ snapshot: Snapshot) { self.snapshot = snapshot }

  func putBack(_ taken: Snapshot) { lock.withLock { snapshot = taken } }

  func take() -> Snapshot? {
    lock.withLock {
      defer { snapshot = nil }
      return snapshot
    }
  }
}

extension Session {
  /// Returns the object or results of a reference, in this session. A session at an older version than the
  /// reference's first moves to that version.
  ///
  /// - Returns: nil when the object or the table was deleted meanwhile.
  /// - Throws: `EngineError.referenceResolved` the second time; `.foreign` for a reference of another
  ///   database; `.wrongThread`, `.closed`, `.damaged`. After any other error than the first it can still be
  ///   resolved.
  public func resolve<Confined: ThreadConfined>(
    _ reference: ThreadSafeReference<Confined>
  ) throws -> Confined? {
    try reference.resolve(in: self)
  }

  /// Moves the session when its version is older than another one.
  func moveOn(to other: Snapshot) throws {
    guard transaction == nil, snapshot.version < other.version else { return }
    if try database.newestVersion > other.version, !isDelivering {
      do {
        try refresh()
        return
      } catch EngineError.busy {
        // There is no place for one more held version: the other version is held already.
      }
    }
    // The other version may not be durable yet; the newest version for others is then older.
    look(at: other)
    deliver()
  }
}

extension Object: Referable {
  func referent() throws -> Referent {
    if try isInvalidated {
      throw EngineError.invalidated(what: "object \(key) of table '\(table.name)'")
    }
    return Referent(table: table, key: key)
  }

  static func resolve(
    _ referent: Referent, in session: Session
  ) throws -> Object? {
    guard let key = referent.key, let view = try session.viewIfAny(referent.table),
      try view.contains(key: key)
    else { return nil }
    return session.object(referent.table, key)
  }
}

extension Results: Referable {
  func referent() throws -> Referent {
    let (query, schema) = try named()
    return Referent(table: table, query: query, schema: schema)
  }

  static func resolve(
    _ referent: Referent, in session: Session
  ) throws -> Results? {
    guard let query = referent.query, try session.viewIfAny(referent.table) != nil else {
      return nil
    }
    return Results(session, referent.table, query, schema: referent.schema)
  }
}
