import Dispatch

/// What an observer of results or of an object is told.
///
/// `Observed` is `Results` or `Object` where the session lives, `FrozenResults` or `FrozenObject` on another
/// queue.
///
/// Thread rule: that of `Observed`.
public enum ObservedChange<Observed, Details> {
  /// The first call: the results, or the object, as they are.
  case initial(Observed)
  /// Something changed since the last call: what it is now, and how it differs. For results that is a
  /// `ChangeSet`, with which a view is brought up to date; for an object the fields that changed, with the
  /// values then and now.
  case update(Observed, Details)
  /// The table was removed, or the object deleted. Nothing follows.
  case deleted
  /// What changed could not be read. Nothing follows.
  case failed(any Error)
}

extension ObservedChange: Sendable where Observed: Sendable, Details: Sendable {}

/// What an observer of results is told.
public typealias ResultsChange<Collection> = ObservedChange<Collection, ChangeSet>

/// What an observer of an object is told.
public typealias ObjectChange<Observed> = ObservedChange<Observed, [PropertyChange]>

/// What an observer of a whole database is told.
///
/// Thread rule: a plain value, `Sendable`.
public enum DatabaseChange: Sendable {
  /// The session looks at a newer version, in which these tables changed.
  case update(TableChanges)
  /// There is a newer version, and the session has `autorefresh` off.
  case refreshRequired
  /// What changed could not be read. Nothing follows.
  case failed(any Error)
}

// MARK: Results

extension Results {
  /// Has `call` told of the results, and of every change to them.
  ///
  /// It is called where the session lives, after the session has moved on: a little later for the first
  /// time, then whenever something has changed. Versions that the session passed over are told of
  /// together. The session's live results agree with the positions while `call` runs; those that it is given
  /// know their objects already, so that reading at a position runs no query.
  ///
  /// Columns that the query or the key paths name are followed when they are given other names;
  /// when one that the query names is removed, `.failed` is told. After `.deleted`, `.failed` or
  /// `stop()` the observer holds nothing any more. While nobody can take a snapshot, because too
  /// many are held, nothing is told: that is made up for once there is room.
  ///
  /// - Parameters:
  ///   - keyPaths: names of columns: objects count as modified only when one of these changed, also after it
  ///     was given another name. Nil: all columns.
  ///   - call: what to call; it may read, write, and add observers.
  /// - Returns: keep it: the observer ends when it is released.
  /// - Complexity: a change costs what was changed, not the size of the results: for a filter without
  ///   an order, the filter is asked about objects that changed; with an order or a limit, the query
  ///   runs anew when a column that it names changed.
  /// - Throws: `EngineError.cannotObserve` where nothing could deliver; `.insideTransaction`,
  ///   `.noSuchColumn`, `.invalidated`, `.wrongThread`.
  public func observe(
    keyPaths: [String]? = nil, _ call: @escaping (ResultsChange<Results>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    // Not the results themselves: they refer to the session, and it to its observers.
    let table = table
    return try session.add(
      LocalObserver(tracker) { event in
        call(
          event.told { list, session in
            Results(session, table, list.query, schema: list.schema, keys: list.keys)
          })
      })
  }

  /// The same on a queue, with frozen results; whatever the session does, and also without its thread
  /// having anything that runs.
  ///
  /// - Parameters:
  ///   - queue: calls are made on it one at a time, also when it is concurrent.
  ///   - keyPaths: as above.
  ///   - call: what to call.
  /// - Throws: as above.
  public func observe(
    on queue: DispatchQueue, keyPaths: [String]? = nil,
    _ call: @escaping @Sendable (ResultsChange<FrozenResults>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    let observer = QueueObserver(session.database, queue, tracker) { event in
      call(event.told { list, _ in list.frozen })
    }
    observer.start()
    return NotificationToken(session: session, observer: observer)
  }

  private func tracker(_ keyPaths: [String]?) throws -> ResultsTracking {
    let view = try session.observedView(table)
    return ResultsTracking(
      try named().query, table, view.schema, try view.columnIDs(ofKeyPaths: keyPaths))
  }
}

/// Follows results.
final class ResultsTracking: Tracker {
  /// The results in the version that is told of.
  struct List {
    let table: Table
    let query: Query
    /// The objects in order; nil when they are the whole table.
    let keys: [Int64]?

    var schema: TableSchema { table.schema }
    var frozen: FrozenResults { FrozenResults(table, query, keys: keys) }
  }

  private let tracker: ResultsTracker
  private let columns: Set<UInt32>?
  private(set) var hasEnded = false

  /// - Parameters:
  ///   - schema: what the query's columns are called.
  ///   - columns: the numbers of those that count; nil for all.
  init(
    _ query: Query, _ table: TableIdentity, _ schema: TableSchema, _ columns: Set<UInt32>?
  ) {
    tracker = ResultsTracker(query, tableNumber: table.number, schema: schema)
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

/// What a tracker of results or of an object has found.
enum TrackedChange<State, Details> {
  case initial(State)
  case update(State, Details)
  case deleted
}

extension TrackerEvent {
  /// What an observer is told of it.
  ///
  /// - Parameter observed: makes what the observer is given of a state.
  func told<State, Details, Observed>(
    _ observed: (State, Place) -> Observed
  ) -> ObservedChange<Observed, Details> where Change == TrackedChange<State, Details> {
    switch self {
    case .failed(let error): .failed(error)
    case .change(.initial(let state), let place): .initial(observed(state, place))
    case .change(.update(let state, let details), let place):
      .update(observed(state, place), details)
    case .change(.deleted, _): .deleted
    }
  }
}

extension Session {
  /// A table that is going to be observed.
  ///
  /// - Throws: `EngineError.insideTransaction`, `.invalidated`, `.wrongThread`.
  fileprivate func observedView(_ table: TableIdentity) throws -> TableView {
    let view = try view(table)
    if transaction != nil { throw EngineError.insideTransaction(operation: "observing") }
    return view
  }
}

extension TableView {
  /// The numbers of columns, which they keep whatever they are called; nil for nil.
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
  /// Has `call` told of the object, of every change to it, and of its deletion.
  ///
  /// - Parameters:
  ///   - keyPaths: names of the columns that count; nil for all.
  ///   - call: what to call.
  /// - Returns: keep it: the observer ends when it is released.
  /// - Complexity: O(log n + columns) after each version, and nothing of the other objects is read.
  /// - Throws: `EngineError.cannotObserve` where nothing could deliver; `.insideTransaction`,
  ///   `.noSuchColumn`, `.invalidated`, `.wrongThread`.
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

  /// The same on a queue, with a frozen object: see `Results.observe(on:keyPaths:_:)`.
  ///
  /// - Throws: as above.
  public func observe(
    on queue: DispatchQueue, keyPaths: [String]? = nil,
    _ call: @escaping @Sendable (ObjectChange<FrozenObject>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    let key = key
    let observer = QueueObserver(session.database, queue, tracker) { event in
      call(event.told { table, _ in FrozenObject(frozen: table, key: key) })
    }
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
  /// The numbers of those that count; nil for all.
  private let columns: Set<UInt32>?
  private var last: Table?
  private(set) var hasEnded = false

  init(_ table: TableIdentity, _ key: Int64, _ columns: Set<UInt32>?) {
    self.table = table
    self.key = key
    self.columns = columns
  }

  /// The state is the table of the version that has the object.
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
  /// Has `call` told whenever the session has moved on to a newer version, and, with `autorefresh` off,
  /// whenever there is one.
  ///
  /// - Returns: keep it: the observer ends when it is released.
  /// - Complexity: O(tables) after each version.
  /// - Throws: `EngineError.cannotObserve` where nothing could deliver; `.insideTransaction`,
  ///   `.wrongThread`.
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
