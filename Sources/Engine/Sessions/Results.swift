/// The objects of a table that a query selects, live and lazy, in a session.
///
/// Nothing is read before it is needed. After the session has moved, or its own transaction has changed the
/// table, positions, counts and values are those of the new state.
///
///     let games = try session.objects("apps").filter(column("Category") == "GAME")
///     let best = try games.sorted(by: .descending("Rating")).limited(to: 10)
///     try best.forEach { print(try $0["App"]) }
///
/// **Cost.** All objects of a table: O(log n) by position, O(1) for their number. With a filter or an order,
/// the query runs when it is first needed after a change, and the keys of its objects (8 bytes each) are
/// stored until the next run.
///
/// Thread rule: confined to its session's thread or queue. For use elsewhere, `freeze()` it or make a
/// `ThreadSafeReference`.
public struct Results {
  /// The session of the results.
  public let session: Session
  let table: TableIdentity
  /// The query that selects and orders the objects, with the names of columns from when the results were
  /// made; renamed columns are followed.
  public let query: Query
  /// The columns in the query; nil when there are none.
  private let schema: TableSchema?
  private let cache = ResultsCache()

  init(
    _ session: Session, _ table: TableIdentity, _ query: Query, schema: TableSchema?,
    keys: [Int64]? = nil
  ) {
    self.session = session
    self.table = table
    self.query = query
    self.schema = schema
    cache.keys = keys
    if keys != nil { cache.state = ResultsCache.State(session: session.stamp, table: 0) }
  }

  /// The query with the current names of its columns.
  private func query(in view: TableView) throws -> Query {
    let present = view.schema
    guard let schema, schema != present else { return query }
    return try query.renamed(from: schema, to: present, table: view.name)
  }

  /// The current query, and the leaves that it reads.
  private func question() throws -> (query: Query, source: any LeafSource) {
    let view = try session.view(table)
    return (try query(in: view), view.leaves)
  }

  /// The current query, with its columns.
  func named() throws -> (query: Query, schema: TableSchema) {
    let view = try session.view(table)
    return (try query(in: view), view.schema)
  }

  /// The name of the table when the results were made.
  public var tableName: String { table.name }

  /// Live results are not frozen.
  public var isFrozen: Bool { false }

  /// True when the table no longer exists.
  ///
  /// - Throws: `EngineError.wrongThread`, `.damaged`.
  public var isInvalidated: Bool { get throws { try session.viewIfAny(table) == nil } }

  // MARK: Narrowing

  /// The objects among these that match a predicate.
  ///
  /// - Throws: `EngineError.invalidArgument` for results with a limit, an offset or `distinct`, which must be
  ///   filtered before.
  public func filter(_ predicate: Predicate) throws -> Results {
    guard !query.isDistinct, query.limit == nil, query.offset == 0 else {
      throw EngineError.invalidArgument("results are filtered before they are limited")
    }
    var query = try named().query
    query.filter = query.filter.map { $0 && predicate } ?? predicate
    return try checked(query)
  }

  /// The objects among these that match an expression, as in `sheaf query`: see `Predicate`.
  ///
  /// - Throws: `QueryError`, which names the position of the error; the errors of `filter(_:)` with a
  ///   predicate.
  public func filter(_ expression: String) throws -> Results {
    try filter(Predicate(expression))
  }

  /// Sorts the objects by the values of columns, first column first. Replaces an earlier order.
  ///
  /// - Throws: `EngineError.noSuchColumn`; `.invalidArgument` for results with a limit.
  public func sorted(by orders: SortOrder...) throws -> Results {
    guard query.limit == nil, query.offset == 0 else {
      throw EngineError.invalidArgument("results are sorted before they are limited")
    }
    var query = try named().query
    query.sort = orders
    return try checked(query)
  }

  /// The first objects, after skipping some.
  ///
  /// - Throws: `EngineError.invalidArgument` below 0.
  public func limited(to limit: Int, offset: Int = 0) throws -> Results {
    guard limit >= 0, offset >= 0 else {
      throw EngineError.invalidArgument("the offset and the limit of results are 0 or more")
    }
    var query = try named().query
    let (total, overflow) = query.offset.addingReportingOverflow(offset)
    query.offset = overflow ? .max : total
    query.limit = min(query.limit.map { max(0, $0 - offset) } ?? .max, limit)
    return try checked(query)
  }

  /// The first of all objects with the same values in some columns, with all of its columns.
  ///
  /// - Throws: `EngineError.noSuchColumn`; `.invalidArgument` for results with a limit.
  public func distinct(by columns: String...) throws -> Results {
    guard query.limit == nil, query.offset == 0 else {
      throw EngineError.invalidArgument("repeated values are left out before results are limited")
    }
    var query = try named().query
    query.distinctColumns = columns
    query.isDistinct = true
    return try checked(query)
  }

  /// Reports an error where it is made, not where the results are first read.
  private func checked(_ query: Query) throws -> Results {
    let view = try session.view(table)
    _ = try ResultReader(query, view.leaves)
    return Results(session, table, query, schema: view.schema)
  }

  // MARK: Reading

  /// True when the results are the whole table.
  var isWhole: Bool {
    query.filter == nil && query.sort.isEmpty && query.limit == nil && query.offset == 0
      && !query.isDistinct
  }

  /// The keys of the objects, in order.
  ///
  /// - Throws: `EngineError.invalidated`, `.wrongThread`, `.damaged`.
  public func keys() throws -> [Int64] {
    let view = try session.view(table)
    let state = ResultsCache.State(session: session.stamp, table: view.changeCount)
    if let keys = cache.keys, cache.state == state { return keys }
    let keys = try query(in: view).keys(of: view.leaves)
    cache.keys = keys
    cache.state = state
    return keys
  }

  /// True when the keys need no query.
  var knowsObjects: Bool {
    get throws {
      let view = try session.view(table)
      return cache.keys != nil
        && cache.state == ResultsCache.State(session: session.stamp, table: view.changeCount)
    }
  }

  /// The number of objects.
  ///
  /// - Complexity: O(1) for a whole table; otherwise one run of the query after each change.
  /// - Throws: `EngineError.invalidated`, `.wrongThread`, `.damaged`.
  public var count: Int {
    get throws {
      let view = try session.view(table)
      if isWhole { return try view.count() }
      return try knowsObjects ? keys().count : query(in: view).count(of: view.leaves)
    }
  }

  /// True when there are no objects.
  ///
  /// - Throws: the errors of `count`.
  public var isEmpty: Bool { get throws { try count == 0 } }

  /// The object at a position, from 0.
  ///
  /// - Throws: `EngineError.invalidArgument` for a position out of bounds; the errors of `count`.
  public subscript(_ position: Int) -> Object {
    get throws {
      guard let object = try object(at: position) else {
        throw EngineError.invalidArgument(
          "position \(position) is outside the \(try count) objects of the results")
      }
      return object
    }
  }

  /// The first object; nil when there is none.
  ///
  /// - Throws: the errors of `count`.
  public var first: Object? { get throws { try object(at: 0) } }

  /// The last object; nil when there is none.
  ///
  /// - Throws: the errors of `count`.
  public var last: Object? { get throws { try object(at: try count - 1) } }

  private func object(at position: Int) throws -> Object? {
    if isWhole {
      return try session.view(table).key(at: position).map { session.object(table, $0) }
    }
    let keys = try keys()
    return keys.indices.contains(position) ? session.object(table, keys[position]) : nil
  }

  /// The position of an object; nil when it is not among the results.
  ///
  /// - Complexity: O(n).
  /// - Throws: `EngineError.foreign` for an object of another session; the errors of `count`.
  public func firstIndex(of object: Object) throws -> Int? {
    guard object.session === session else {
      throw EngineError.foreign(what: "an object", expected: "session")
    }
    guard object.table.number == table.number, !object.wasCancelled else { return nil }
    return try keys().firstIndex(of: object.key)
  }

  /// The current objects, for `for … in`: a list that does not change while its objects are changed or
  /// deleted.
  ///
  /// - Throws: the errors of `count`.
  public var objects: LiveObjects {
    get throws {
      LiveObjects(keys: try keys(), session: session, table: table, mark: session.mark)
    }
  }

  /// Calls `body` with every object in order; the list is that of the time of the call.
  ///
  /// - Throws: the errors of `count` and of `body`, which end the loop.
  public func forEach(_ body: (Object) throws -> Void) throws {
    for object in try objects { try body(object) }
  }

  /// Copies of the values of all objects; faster than reading one object after the other.
  ///
  /// - Throws: the errors of `count`.
  public func rows() throws -> [Row] {
    let (query, source) = try question()
    var rows: [Row] = []
    try query.forEachRow(of: source) { rows.append($0) }
    return rows
  }

  /// Aggregates columns of the objects that match the filter, ignoring limit, offset and `distinct`.
  ///
  /// - Throws: `EngineError.noSuchColumn`, `.invalidArgument` for a sum of values that are not numbers; the
  ///   errors of `count`.
  public func aggregates(_ aggregates: Aggregate...) throws -> [Value] {
    let (query, source) = try question()
    return try query.groups(by: [], aggregates, of: source)[0].aggregates
  }

  /// Groups the objects that match the filter by the values of columns: see `Query.groups`.
  ///
  /// - Throws: the errors of `aggregates`.
  public func groups(by columns: [String], _ aggregates: Aggregate...) throws -> [Group] {
    let (query, source) = try question()
    return try query.groups(by: columns, aggregates, of: source)
  }

  // MARK: Changing

  /// Changes values of all objects, one after the other: an error for one of them, whose key another object
  /// has, leaves those before it changed. End the transaction by throwing it.
  ///
  /// - Throws: `EngineError.noTransaction`, `.noSuchColumn`, `.invalidValue`, `.duplicateKey`; the errors of
  ///   `count`.
  public func setAll(_ values: [String: Value]) throws {
    let table = WritableTable(try session.editor(try session.view(table), "a change"))
    for key in try keys() { try table.update(key, values) }
  }
}

@available(
  *, unavailable,
  message: "results belong to their session's thread; freeze() them or send a ThreadSafeReference"
)
extension Results: Sendable {}

/// The results of the query for one state of the table.
private final class ResultsCache {
  struct State: Equatable {
    let session: Int
    let table: Int
  }
  var state: State?
  var keys: [Int64]?
}

/// The objects of results at one moment.
///
/// Thread rule: confined to the session's thread or queue.
public struct LiveObjects: RandomAccessCollection {
  private let keys: [Int64]
  private let session: Session
  private let table: TableIdentity
  private let mark: TransactionMark?

  init(keys: [Int64], session: Session, table: TableIdentity, mark: TransactionMark?) {
    self.keys = keys
    self.session = session
    self.table = table
    self.mark = mark
  }

  /// 0.
  public var startIndex: Int { keys.startIndex }
  /// The number of objects.
  public var endIndex: Int { keys.endIndex }

  /// The object at a position.
  ///
  /// - Precondition: `position` is one of `indices`.
  public subscript(position: Int) -> Object {
    Object(session: session, table: table, key: keys[position], mark: mark)
  }
}

@available(*, unavailable, message: "live objects belong to their session's thread")
extension LiveObjects: Sendable {}
