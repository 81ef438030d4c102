import Dispatch

/// A call to an observer of results or of an object.
///
/// `Observed` is `Results` or `Object` on the session's thread or queue, `FrozenResults` or `FrozenObject` on
/// another queue.
///
/// Thread rule: that of `Observed`.
public enum ObservedChange<Observed, Details> {
  /// The first call, with the current results or object.
  case initial(Observed)
  /// A change since the last call, with the current state and the difference: for results a `ChangeSet`, with
  /// which a view can be updated; for an object the changed fields with their old and new values.
  case update(Observed, Details)
  /// The table or the object was deleted. No call follows.
  case deleted
  /// The changes could not be read. No call follows.
  case failed(any Error)
}

extension ObservedChange: Sendable where Observed: Sendable, Details: Sendable {}

/// A call to an observer of results.
public typealias ResultsChange<Collection> = ObservedChange<Collection, ChangeSet>

/// A call to an observer of an object.
public typealias ObjectChange<Observed> = ObservedChange<Observed, [PropertyChange]>

/// A call to an observer of a whole database.
///
/// Thread rule: a plain value, `Sendable`.
public enum DatabaseChange: Sendable {
  /// The session has moved to a newer version, in which these tables changed.
  case update(TableChanges)
  /// There is a newer version, and the session has `autorefresh` off.
  case refreshRequired
  /// The changes could not be read. No call follows.
  case failed(any Error)
}

// MARK: Results

extension Results {
  /// Calls `call` with the results, and with every change to them.
  ///
  /// It is called on the session's thread or queue after the session has moved: first shortly after
  /// `observe`, then after every change. Changes of skipped versions are reported together. During `call`,
  /// positions refer to the session's live results; the results that it receives already have their keys, so
  /// reading at a position runs no query.
  ///
  /// Columns in the query or the key paths are followed when they are renamed. When a column in the query is
  /// removed, `call` receives `.failed`. After `.deleted`, `.failed` or `stop()` the observer holds nothing.
  /// While no snapshot can be taken, because too many are held, nothing is reported; the changes follow once
  /// there is space.
  ///
  /// - Parameters:
  ///   - keyPaths: names of columns: an object is modified only if one of these changed, even after it was
  ///     renamed. Nil: all columns.
  ///   - call: the closure to call; it may read, write, and add observers.
  /// - Returns: the token; releasing it ends the observer.
  /// - Complexity: depends on the changes, not on the size of the results. Without an order, only changed
  ///   objects are tested with the filter; with an order or a limit, the query runs again when one of its
  ///   columns changed.
  /// - Throws: `EngineError.cannotObserve` where nothing can deliver; `.insideTransaction`, `.noSuchColumn`,
  ///   `.invalidated`, `.wrongThread`.
  public func observe(
    keyPaths: [String]? = nil, _ call: @escaping (ResultsChange<Results>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    // The closure does not hold the results, which refer to the session, which refers to its observers.
    let table = table
    return try session.add(
      LocalObserver(tracker) { event in
        call(
          event.told { list, session in
            Results(session, table, list.query, schema: list.schema, keys: list.keys)
          })
      })
  }

  /// Calls `call` on a queue with frozen results, whatever the session does; the session's thread needs no
  /// loop.
  ///
  /// - Parameters:
  ///   - queue: the queue; calls run on it one at a time, even if it is concurrent.
  ///   - keyPaths: as in `observe(keyPaths:_:)`.
  ///   - call: the closure to call.
  /// - Throws: the errors of `observe(keyPaths:_:)`, except `.cannotObserve`; `EngineError.closed`.
  public func observe(
    on queue: DispatchQueue, keyPaths: [String]? = nil,
    _ call: @escaping @Sendable (ResultsChange<FrozenResults>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    let observer = QueueObserver(session.database, queue, tracker) { event in
      call(event.told { list, _ in list.frozen })
    }
    // Nothing would be delivered.
    _ = try session.database.parts
    observer.start()
    return NotificationToken(session: session, observer: observer)
  }

  private func tracker(_ keyPaths: [String]?) throws -> ResultsTracking {
    let view = try session.observedView(table)
    return ResultsTracking(
      try named().query, table, view.schema, try view.columnIDs(ofKeyPaths: keyPaths))
  }
}

/// Follows the results of a query.
final class ResultsTracking: Tracker {
  /// The results in the reported version.
  struct List {
    let table: Table
    let query: Query
    /// The objects' keys in order; nil when they are the whole table.
    let keys: [Int64]?

    var schema: TableSchema { table.schema }
    var frozen: FrozenResults { FrozenResults(table, query, keys: keys) }
  }

  private let tracker: ChangeSetTracker
  private let columns: Set<UInt32>?
  private(set) var hasEnded = false

  /// - Parameters:
  ///   - schema: the names of the query's columns.
  ///   - columns: the identifiers of the observed columns; nil for all.
  init(
    _ query: Query, _ table: TableIdentity, _ schema: TableSchema, _ columns: Set<UInt32>?
  ) {
    tracker = ChangeSetTracker(query, tableNumber: table.number, schema: schema)
    self.columns = columns
  }

  func advance(to snapshot: Snapshot, sharing cache: DifferenceCache?) throws
    -> TrackedChange<List, ChangeSet>?
  {
    let table = try snapshot.table(number: tracker.tableNumber)
    let change = try tracker.advance(to: table, sharing: cache)
    guard let table = tracker.table else {
      hasEnded = true
      if case .deleted = change { return .deleted }
      return nil
    }
    let list = List(table: table, query: tracker.query, keys: tracker.keys)
    guard case .update(let update) = change else {
      if case .initial = change { return .initial(list) }
      return nil
    }
    let changes = update.changes(ofColumns: columns)
    return changes.isEmpty ? nil : .update(list, changes)
  }
}

/// A tracker's report about results or an object.
enum TrackedChange<State, Details> {
  case initial(State)
  case update(State, Details)
  case deleted
}

extension TrackerEvent {
  /// Converts the report to the observer's event.
  ///
  /// - Parameter observed: converts a state to its form for the observer.
  func told<State, Details, Observed>(
    _ observed: (State, Reader) -> Observed
  ) -> ObservedChange<Observed, Details> where Change == TrackedChange<State, Details> {
    switch self {
    case .failed(let error): .failed(error)
    case .change(.initial(let state), let reader): .initial(observed(state, reader))
    case .change(.update(let state, let details), let reader):
      .update(observed(state, reader), details)
    case .change(.deleted, _): .deleted
    }
  }
}

extension Session {
  /// A table to be observed.
  ///
  /// - Throws: `EngineError.insideTransaction`, `.invalidated`, `.wrongThread`.
  fileprivate func observedView(_ table: TableIdentity) throws -> TableView {
    let view = try view(table)
    if transaction != nil { throw EngineError.insideTransaction(operation: "observing") }
    return view
  }
}

extension TableView {
  /// The identifiers of columns, which renaming does not change; nil for nil.
  ///
  /// - Throws: `EngineError.noSuchColumn`.
  fileprivate func columnIDs(ofKeyPaths names: [String]?) throws -> Set<UInt32>? {
    guard let names else { return nil }
    let schema = schema
    return Set(try leaves.indices(of: names).map { schema.columnIDs[$0] })
  }
}

// MARK: Objects

extension Object {
  /// Calls `call` with the object, with every change to it, and with its deletion.
  ///
  /// - Parameters:
  ///   - keyPaths: names of the observed columns; nil for all.
  ///   - call: the closure to call.
  /// - Returns: the token; releasing it ends the observer.
  /// - Complexity: O(log n + columns) after each version; other objects are not read.
  /// - Throws: `EngineError.cannotObserve` where nothing can deliver; `.insideTransaction`, `.noSuchColumn`,
  ///   `.invalidated`, `.wrongThread`.
  public func observe(
    keyPaths: [String]? = nil, _ call: @escaping (ObjectChange<Object>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    let (table, key) = (table, key)
    return try session.add(
      LocalObserver(tracker) { event in
        call(event.told { _, session in session.object(table, key) })
      })
  }

  /// Calls `call` on a queue with a frozen object: see `Results.observe(on:keyPaths:_:)`.
  ///
  /// - Throws: the errors of `observe(keyPaths:_:)`, except `.cannotObserve`; `EngineError.closed`.
  public func observe(
    on queue: DispatchQueue, keyPaths: [String]? = nil,
    _ call: @escaping @Sendable (ObjectChange<FrozenObject>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    let key = key
    let observer = QueueObserver(session.database, queue, tracker) { event in
      call(event.told { table, _ in FrozenObject(frozen: table, key: key) })
    }
    // Nothing would be delivered.
    _ = try session.database.parts
    observer.start()
    return NotificationToken(session: session, observer: observer)
  }

  private func tracker(_ keyPaths: [String]?) throws -> ObjectTracking {
    let view = try session.observedView(table)
    let columns = try view.columnIDs(ofKeyPaths: keyPaths)
    if try isInvalidated {
      throw EngineError.invalidated(what: "object \(key) of table '\(table.name)'")
    }
    return ObjectTracking(table, key, columns)
  }
}

/// Follows an object.
final class ObjectTracking: Tracker {
  private let table: TableIdentity
  private let key: Int64
  /// The identifiers of the observed columns; nil for all.
  private let columns: Set<UInt32>?
  private var last: Table?
  private(set) var hasEnded = false

  init(_ table: TableIdentity, _ key: Int64, _ columns: Set<UInt32>?) {
    self.table = table
    self.key = key
    self.columns = columns
  }

  /// The state is the table in the version that has the object.
  func advance(to snapshot: Snapshot, sharing cache: DifferenceCache?) throws
    -> TrackedChange<Table, [PropertyChange]>?
  {
    if hasEnded { return nil }
    defer { if hasEnded { self.last = nil } }
    guard let next = try snapshot.table(number: table.number) else {
      hasEnded = true
      return .deleted
    }
    defer { self.last = next }
    guard let last else {
      if try next.row(forKey: key) != nil { return .initial(next) }
      hasEnded = true
      return .deleted
    }
    switch try ObjectDifference(ofKey: key, from: last, to: next, columns: columns) {
    case .unchanged: return nil
    case .changed(let changes): return .update(next, changes)
    case .deleted:
      hasEnded = true
      return .deleted
    }
  }
}

// MARK: The database

extension Session {
  /// Calls `call` whenever the session has moved to a newer version and, with `autorefresh` off, whenever
  /// there is one.
  ///
  /// - Returns: the token; releasing it ends the observer.
  /// - Complexity: O(tables) after each version.
  /// - Throws: `EngineError.cannotObserve` where nothing can deliver; `.insideTransaction`, `.wrongThread`.
  public func observe(_ call: @escaping (DatabaseChange) -> Void) throws -> NotificationToken {
    try check()
    if transaction != nil { throw EngineError.insideTransaction(operation: "observing") }
    let observer = LocalObserver(DatabaseTracking(from: snapshot)) { event in
      switch event {
      case .failed(let error): call(.failed(error))
      case .change(let changes, _): call(.update(changes))
      }
    }
    observer.tellOfNewer { call(.refreshRequired) }
    return try add(observer)
  }
}

/// Follows all tables.
final class DatabaseTracking: Tracker {
  private var last: Snapshot
  var hasEnded: Bool { false }

  init(from snapshot: Snapshot) { last = snapshot }

  func advance(to snapshot: Snapshot, sharing cache: DifferenceCache?) throws -> TableChanges? {
    let changes = try TableChanges(from: last, to: snapshot)
    last = snapshot
    return changes.isEmpty ? nil : changes
  }
}
