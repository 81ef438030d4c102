import Dispatch

/// What an observer of results receives.
///
/// `Collection` is `Results` where the session lives, `FrozenResults` on another queue.
///
/// Thread rule: that of `Collection`.
public enum ResultsChange<Collection> {
  /// The first call: the results as they are.
  case initial(Collection)
  /// Something changed since the last call: see `ChangeSet` for how to bring a view up to date.
  case update(Collection, ChangeSet)
  /// The table was removed. Nothing follows.
  case deleted
  /// What changed could not be read. Nothing follows.
  case failed(any Error)
}

extension ResultsChange: Sendable where Collection: Sendable {}

/// What an observer of an object receives.
///
/// `Observed` is `Object` where the session lives, `FrozenObject` on another queue.
///
/// Thread rule: that of `Observed`.
public enum ObjectChange<Observed> {
  /// The first call: the object as it is.
  case initial(Observed)
  /// The fields that changed since the last call, with the values then and now.
  case update(Observed, [PropertyChange])
  /// The object was deleted. Nothing follows.
  case deleted
  /// What changed could not be read. Nothing follows.
  case failed(any Error)
}

extension ObjectChange: Sendable where Observed: Sendable {}

/// What an observer of a whole database receives.
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
  /// Calls `call` with the results, and with every change to them.
  ///
  /// It is called on the session's thread or queue, after the session has moved on: the first time a little
  /// later, then after every change. Changes of skipped versions are reported together. While `call` runs,
  /// the positions fit the session's live results; the results that it receives know their objects already,
  /// so reading at a position runs no query.
  ///
  /// Columns that the query or the key paths name are followed when they are renamed; when a column that the
  /// query names is removed, `call` receives `.failed`. After `.deleted`, `.failed` or `stop()` the observer
  /// holds nothing. While no snapshot can be taken, because too many are held, nothing is reported; the
  /// changes follow once there is room.
  ///
  /// - Parameters:
  ///   - keyPaths: names of columns: objects count as modified only when one of these changed, also after it
  ///     was renamed. Nil: all columns.
  ///   - call: what to call; it may read, write, and add observers.
  /// - Returns: the token, to be kept: releasing it ends the observer.
  /// - Complexity: the cost depends on what changed, not on the size of the results: without an order, the
  ///   filter is applied to the changed objects only; with an order or a limit, the query runs again when a
  ///   column that it names changed.
  /// - Throws: `EngineError.cannotObserve` where nothing can deliver; `.insideTransaction`, `.noSuchColumn`,
  ///   `.invalidated`, `.wrongThread`.
  public func observe(
    keyPaths: [String]? = nil, _ call: @escaping (ResultsChange<Results>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    // The closure does not hold the results: they refer to the session, and it refers to its observers.
    let table = table
    func results(_ list: ResultsTracking.List, _ session: Session) -> Results {
      Results(session, table, list.query, schema: list.schema, keys: list.keys)
    }
    return try session.add(
      LocalObserver(tracker) { event in
        switch event {
        case .failed(let error): call(.failed(error))
        case .change(.initial(let list), let session): call(.initial(results(list, session)))
        case .change(.update(let list, let changes), let session):
          call(.update(results(list, session), changes))
        case .change(.deleted, _): call(.deleted)
        }
      })
  }

  /// The same on a queue, with frozen results, independent of what the session does; the session's thread
  /// needs no loop.
  ///
  /// - Parameters:
  ///   - queue: calls run on it one at a time, even when it is concurrent.
  ///   - keyPaths: as above.
  ///   - call: what to call.
  /// - Throws: as above.
  public func observe(
    on queue: DispatchQueue, keyPaths: [String]? = nil,
    _ call: @escaping @Sendable (ResultsChange<FrozenResults>) -> Void
  ) throws -> NotificationToken {
    let tracker = try tracker(keyPaths)
    let observer = QueueObserver(session.database, queue, tracker) { event in
      switch event {
      case .failed(let error): call(.failed(error))
      case .change(.deleted, _): call(.deleted)
      case .change(.initial(let list), _): call(.initial(list.frozen))
      case .change(.update(let list, let changes), _): call(.update(list.frozen, changes))
      }
    }
    observer.start()
    return NotificationToken(session: session, observer: observer)
  }

  private func tracker(_ keyPaths: [String]?) throws -> ResultsTracking {
    let view = try session.view(table)
    if session.transaction != nil {
      throw EngineError.insideTransaction(operation: "observing")
    }
    return ResultsTracking(
      try named().query, table, view.schema, try view.columnIDs(ofKeyPaths: keyPaths))
  }
}

/// Follows the results of a query.
final class ResultsTracking: Tracker {
  /// The results in the version that is reported.
  struct List {
    let table: Table
    let query: Query
    /// The objects' keys in order; nil when they are the whole table.
    let keys: [Int64]?

    var schema: TableSchema { table.schema }
    var frozen: FrozenResults { FrozenResults(table, query, keys: keys) }
  }

  enum Change {
    case initial(List)
    case update(List, ChangeSet)
    case deleted
  }

  private let tracker: ResultsTracker
  private let columns: Set<UInt32>?
  private(set) var hasEnded = false

  /// - Parameters:
  ///   - schema: the names of the query's columns.
  ///   - columns: the identifiers of the columns that count; nil for all.
  init(
    _ query: Query, _ table: TableIdentity, _ schema: TableSchema, _ columns: Set<UInt32>?
  ) {
    tracker = ResultsTracker(query, tableNumber: table.number, schema: schema)
    self.columns = columns
  }

  func advance(to snapshot: Snapshot, sharing cache: DifferenceCache?) throws -> Change? {
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
  ///   - keyPaths: names of the columns that count; nil for all.
  ///   - call: what to call.
  /// - Returns: the token, to be kept: releasing it ends the observer.
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
        switch event {
        case .failed(let error): call(.failed(error))
        case .change(.initial, let session): call(.initial(session.object(table, key)))
        case .change(.update(let changes), let session):
          call(.update(session.object(table, key), changes))
        case .change(.deleted, _): call(.deleted)
        }
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
    let (number, key) = (table.number, key)
    let observer = QueueObserver(session.database, queue, tracker) { event in
      do {
        switch event {
        case .failed(let error): call(.failed(error))
        case .change(.deleted, _): call(.deleted)
        case .change(let change, let snapshot):
          guard let table = try snapshot.table(number: number) else { return }
          let frozen = FrozenObject(frozen: table, key: key)
          if case .update(let changes) = change {
            call(.update(frozen, changes))
          } else {
            call(.initial(frozen))
          }
        }
      } catch {
        call(.failed(error))
      }
    }
    observer.start()
    return NotificationToken(session: session, observer: observer)
  }

  private func tracker(_ keyPaths: [String]?) throws -> ObjectTracking {
    let view = try session.view(table)
    if session.transaction != nil {
      throw EngineError.insideTransaction(operation: "observing")
    }
    let columns = try view.columnIDs(ofKeyPaths: keyPaths)
    if try isInvalidated {
      throw EngineError.invalidated(what: "object \(key) of table '\(table.name)'")
    }
    return ObjectTracking(table, key, columns)
  }
}

/// Follows an object.
final class ObjectTracking: Tracker {
  enum Change {
    case initial
    case update([PropertyChange])
    case deleted
  }

  private let table: TableIdentity
  private let key: Int64
  /// The identifiers of the columns that count; nil for all.
  private let columns: Set<UInt32>?
  private var last: Table?
  private(set) var hasEnded = false

  init(_ table: TableIdentity, _ key: Int64, _ columns: Set<UInt32>?) {
    self.table = table
    self.key = key
    self.columns = columns
  }

  func advance(to snapshot: Snapshot, sharing cache: DifferenceCache?) throws -> Change? {
    if hasEnded { return nil }
    let next = try snapshot.table(number: table.number)
    let change: Change?
    if let last {
      switch try ObjectDifference(ofKey: key, from: last, to: next, columns: columns) {
      case .unchanged: change = nil
      case .changed(let changes): change = .update(changes)
      case .deleted: change = .deleted
      }
    } else {
      change = try next?.row(forKey: key) == nil ? .deleted : .initial
    }
    last = next
    if case .deleted? = change {
      hasEnded = true
      last = nil
    }
    return change
  }
}

// MARK: The database

extension Session {
  /// Calls `call` whenever the session has moved on to a newer version, and, with `autorefresh` off, whenever
  /// there is one.
  ///
  /// - Returns: the token, to be kept: releasing it ends the observer.
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
