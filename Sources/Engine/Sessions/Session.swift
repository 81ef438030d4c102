/// A live view of the database that belongs to one thread, or one serial queue.
///
/// A session is at one version until it moves: by `refresh()`, by its own write transaction, or automatically
/// with `autorefresh`. Until then all reads through it are consistent, whatever others write. Objects and
/// results are live: they show the session's version and, inside its transaction, the transaction's changes.
///
///     let session = try database.session()
///     let games = try session.objects("apps").filter(column("Category") == "GAME")
///     try session.write { _ in
///       for game in try games.objects { try game.set("Seen", to: .bool(true)) }
///     }
///
/// **Thread rule.** The session and everything obtained from it are confined to the thread or queue on which
/// the session was made. They are not `Sendable`, so the compiler rejects sending them elsewhere; where it
/// cannot see that, use elsewhere throws `EngineError.wrongThread`. A `ThreadSafeReference` or a frozen copy
/// can be sent.
///
/// **Cost.** A few microseconds to make one. Like a snapshot, it keeps the pages of its version from reuse:
/// an idle session without autorefresh makes the file grow while others write.
public final class Session {
  /// The database of the session.
  public let database: Database
  let confinement: Confinement
  /// The version of the session; inside a transaction, the one that it began from.
  var snapshot: Snapshot
  var transaction: TransactionState?
  /// The mark of objects from the current transaction.
  var mark: TransactionMark?
  /// Increases whenever the session's state changes.
  private(set) var stamp = 0
  private var views: [UInt32: TableView] = [:]
  var observers: [any SessionObserver] = []
  var isDelivering = false
  /// Observers that live as long as the session.
  private var kept: [any Observer] = []
  private var named: [String: any Observer] = [:]
  /// When `kept` and `named` together have more observers than this, ended ones are removed.
  private var keptAtMost = 16
  let wake: SessionWake

  init(_ database: Database, _ confinement: Confinement) throws {
    self.database = database
    self.confinement = confinement
    snapshot = try database.snapshot()
    wake = SessionWake(database, confinement)
    wake.start(self)
  }

  deinit {
    end()
    transaction?.abandon()
  }

  /// Ends all observers, which may refer to the session.
  func end() {
    wake.stop()
    for observer in observers { observer.stop() }
    for observer in kept + Array(named.values) { observer.stop() }
    (observers, kept, named) = ([], [], [:])
  }

  // MARK: The version

  /// The number of the session's version; inside a transaction, of the one that it began from.
  ///
  /// - Throws: `EngineError.wrongThread`.
  public var version: UInt64 {
    get throws {
      try check()
      return snapshot.version
    }
  }

  /// Whether the session moves to newer versions automatically, and then delivers notifications. Initially
  /// true.
  ///
  /// It requires something that runs the session's work: a dispatch queue, the main queue (whose loop must
  /// run), or a `SessionThread`. Elsewhere it has no effect, and the caller calls `refresh()`.
  ///
  /// Thread rule: may be read and set on any thread.
  public var autorefresh: Bool {
    get { wake.isAutomatic }
    set {
      wake.isAutomatic = newValue
      if newValue { wake.request() }
    }
  }

  /// Moves to the newest version, and delivers the due notifications before it returns. Inside a notification
  /// it does nothing.
  ///
  /// - Complexity: O(1), plus the cost of each observer, as `observe` states.
  /// - Returns: true when the session has moved to a newer version.
  /// - Throws: `EngineError.wrongThread`; `.insideTransaction`; `.closed`, `.damaged`.
  @discardableResult
  public func refresh() throws -> Bool {
    try check()
    if transaction != nil { throw EngineError.insideTransaction(operation: "a refresh") }
    if isDelivering { return false }
    let moved = try advance()
    deliver()
    return moved
  }

  /// Takes the newest version if it is newer, or if the current one is void.
  private func advance() throws -> Bool {
    let newest = try database.newestVersion
    guard try newest > snapshot.version || database.isLost(snapshot.version) else { return false }
    look(at: try database.snapshot())
    return true
  }

  /// Moves the session, for `autorefresh`.
  func advanceByItself() {
    // The transaction requests this again at its end.
    guard transaction == nil else { return }
    do {
      if wake.isAutomatic {
        _ = try advance()
        wake.forgetRetries()
      } else {
        let newest = try database.newestVersion
        if newest > snapshot.version {
          for observer in observers { observer.tellOfNewer(newest) }
        }
      }
    } catch EngineError.closed {
      // No newer version will come.
    } catch EngineError.busy {
      // Too many snapshots are held now, perhaps by others; a later check loses nothing.
      wake.requestLater()
    } catch {
      for observer in observers { observer.fail(error) }
    }
    deliver()
  }

  /// Moves the session to another version.
  func look(at snapshot: Snapshot) {
    self.snapshot = snapshot
    forgetViews()
  }

  /// Forgets cached views of tables, which belong to another state.
  func forgetViews() {
    views = [:]
    stamp += 1
  }

  // MARK: Tables

  /// The names of the tables, in the order of creation.
  ///
  /// - Complexity: O(tables).
  /// - Throws: `EngineError.wrongThread`.
  public var tableNames: [String] {
    get throws {
      try check()
      return catalogue.programTables.map(\.name)
    }
  }

  /// The columns of a table.
  ///
  /// - Throws: `EngineError.noSuchTable`, `.wrongThread`, `.damaged`.
  public func columns(of table: String) throws -> [Column] {
    try view(identity(of: table)).schema.columns
  }

  /// All objects of a table, in the order of their keys; live.
  ///
  /// - Throws: `EngineError.noSuchTable`, `.wrongThread`, `.damaged`.
  public func objects(_ table: String) throws -> Results {
    Results(self, try identity(of: table), Query(), schema: nil)
  }

  /// The object with a key; nil when there is none.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.noSuchTable`, `.wrongThread`, `.damaged`.
  public func object(in table: String, key: Int64) throws -> Object? {
    let identity = try identity(of: table)
    return try view(identity).contains(key: key) ? object(identity, key) : nil
  }

  /// The object with a primary key; nil when there is none.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.noSuchTable`; `.invalidArgument` when the table has no primary key;
  ///   `.wrongThread`, `.damaged`.
  public func object(in table: String, primaryKey: Value) throws -> Object? {
    try object(in: table, primaryKey: [primaryKey])
  }

  /// The object with a primary key of several columns; nil when there is none.
  ///
  /// - Parameters:
  ///   - table: the name of the table.
  ///   - primaryKey: a value for each column of the key, in its order.
  /// - Complexity: O(log n).
  /// - Throws: the errors of `object(in:primaryKey:)` with one value; `.invalidArgument` also for another
  ///   number of values.
  public func object(in table: String, primaryKey: [Value]) throws -> Object? {
    let identity = try identity(of: table)
    return try view(identity).key(forPrimaryKey: primaryKey).map { object(identity, $0) }
  }

  func object(_ table: TableIdentity, _ key: Int64) -> Object {
    Object(session: self, table: table, key: key, mark: mark)
  }

  private var catalogue: Catalogue { transaction?.catalogue ?? snapshot.catalogue }

  /// - Throws: `EngineError.noSuchTable`, `.wrongThread`.
  func identity(of table: String) throws -> TableIdentity {
    try check()
    guard let entry = catalogue.programTable(table) else {
      throw EngineError.noSuchTable(name: table, known: catalogue.programTables.map(\.name))
    }
    let isNew = mark != nil && snapshot.catalogue.place(number: entry.number) == nil
    return TableIdentity(number: entry.number, name: table, maker: isNew ? mark : nil)
  }

  /// The table in its current state; nil when it no longer exists.
  ///
  /// - Throws: `EngineError.wrongThread`, `.damaged`.
  func viewIfAny(_ table: TableIdentity) throws -> TableView? {
    try check()
    if table.maker?.isCancelled ?? false { return nil }
    if let known = views[table.number], !known.isGone { return known }
    let view: TableView
    if let transaction {
      guard let editor = try transaction.editor(number: table.number) else { return nil }
      view = TableView(.transaction(editor))
    } else {
      guard let found = try snapshot.table(number: table.number) else { return nil }
      view = TableView(.version(found))
    }
    views[table.number] = view
    return view
  }

  /// - Throws: `EngineError.invalidated` when the table no longer exists; `.wrongThread`, `.damaged`.
  func view(_ table: TableIdentity) throws -> TableView {
    guard let view = try viewIfAny(table) else {
      throw EngineError.invalidated(what: "table '\(table.name)', which was removed,")
    }
    return view
  }

  // MARK: Rules

  /// - Throws: `EngineError.wrongThread`.
  func check() throws(EngineError) {
    try confinement.check("a session of \(database.path)")
  }

  /// Keeps an observer alive while the session exists, even when its token is released.
  ///
  /// - Throws: `EngineError.wrongThread`; `.foreign` for a token of another session.
  public func keep(_ token: NotificationToken) throws {
    try check()
    try checkOwn(token)
    token.isKept = true
    forgetStopped()
    kept.append(token.observer)
  }

  /// Removes kept observers that have ended, when they may outnumber the others.
  private func forgetStopped() {
    guard kept.count + named.count > keptAtMost else { return }
    kept.removeAll(where: \.isStopped)
    named = named.filter { !$0.value.isStopped }
    keptAtMost = 2 * (kept.count + named.count) + 16
  }

  /// Keeps an observer alive while the session exists, under a name: for a `SessionThread`, where nothing
  /// confined outlives a closure. An earlier observer with that name ends.
  ///
  /// - Throws: the errors of `keep(_:)`.
  public func keep(_ token: NotificationToken, as name: String) throws {
    try check()
    try checkOwn(token)
    token.isKept = true
    forgetStopped()
    if let earlier = named.updateValue(token.observer, forKey: name), earlier !== token.observer {
      earlier.stop()
    }
  }

  /// The token of an observer kept under a name; nil when there is none. Releasing the token has no effect;
  /// `stop()` ends the observer.
  ///
  /// - Throws: `EngineError.wrongThread`.
  public func token(keptAs name: String) throws -> NotificationToken? {
    try check()
    return named[name].flatMap { observer in
      if observer.isStopped { return nil }
      let token = NotificationToken(session: self, observer: observer)
      token.isKept = true
      return token
    }
  }

  func checkOwn(_ token: NotificationToken) throws(EngineError) {
    guard token.session === self else {
      throw .foreign(what: "a notification token", expected: "session")
    }
  }
}

@available(
  *, unavailable,
  message: "a session belongs to its thread; send a ThreadSafeReference or a frozen copy"
)
extension Session: Sendable {}

extension Database {
  /// Makes a live view that is confined to the calling thread. On the main thread it is confined to the main
  /// queue, and refreshes automatically if the program's main loop runs; elsewhere the caller calls
  /// `refresh()`. For other threads with a loop see `session(on:)` and `SessionThread`.
  ///
  /// - Throws: the errors of `snapshot()`.
  public func session() throws -> Session { try Session(self, .current()) }
}
