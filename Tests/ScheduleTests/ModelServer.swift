import Base

@testable import Importer

/// A server in memory that has what imports use of PostgreSQL: transactions that see what is committed,
/// row locks, unique keys that wait for the transaction that inserts the same one, a clock, a log whose
/// newest unflushed commits a crash loses, and connections that are lost at any moment, with what they
/// were about to do.
///
/// At every commit it checks the promise: rows are there with their ranges and only once, and a process
/// that has lost an input writes nothing of it.
///
/// Thread rule: any thread, scheduled or not.
final class ModelServer: @unchecked Sendable {
  // @unchecked: everything is guarded by `lock`.
  typealias Row = [String: ModelValue]

  /// The place of a row in a table; rows with a unique key have a `Key`, too.
  struct Place: Hashable {
    let table: String
    let id: Int
  }

  struct Key: Hashable {
    let table: String
    let values: [ModelValue]
  }

  /// All tables as a new transaction sees them.
  struct State {
    var tables: [String: [Int: Row]] = [:]

    func rows(_ table: String) -> [(id: Int, row: Row)] {
      (tables[table] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
  }

  final class Transaction {
    /// The new contents of rows; nil: the row is deleted.
    var changes: [Place: Row?] = [:]
    /// The number of the last row copied to wait.
    var stagedRows = 0
    /// The transaction's own settings that are numbers.
    var numbers: [String: Int] = [:]
    /// The changes and numbers at the savepoint.
    var saved: ([Place: Row?], numbers: [String: Int]) = ([:], [:])
    var isSynchronous = true
    var hasFailed = false
    var name = ""
  }

  /// The server's side of a connection.
  final class Session {
    let number: Int
    let client: ModelClient
    var transaction: Transaction?
    /// The client is gone: nothing more of it is heard, except perhaps one last message.
    var isCut = false
    /// When the client was cut off; the server notices after a while.
    var cutTime = 0
    /// The server has ended it.
    var isTerminated = false

    init(_ number: Int, _ client: ModelClient) { (self.number, self.client) = (number, client) }
  }

  /// What happens to a client's last message when its connection is lost.
  enum Fate: Sendable, CaseIterable {
    /// It never arrives.
    case lost
    /// It arrives, and is executed later.
    case late
  }

  /// The unique columns of tables.
  let keys: [String: [String]]
  private static let lockMicroseconds = 30_000_000
  /// How long the server's keepalives take to notice that a client is gone.
  private static let keepaliveMicroseconds = 40_000_000

  let lock = Lock()
  var committed = State()
  /// The tables that a crash leaves.
  private var flushed = State()
  private var sessions: [Session] = []
  private var nextRow = 1
  /// The number of sessions ever: each has a number of its own.
  private var sessionCount = 0
  /// The sessions that have locked a row, and whether exclusively.
  private var holders: [Place: (isExclusive: Bool, sessions: Set<Int>)] = [:]
  /// Keys that an open transaction inserts or deletes.
  private var pendingKeys: [Key: Int] = [:]
  private var orphans: [(session: Session, query: String)] = []
  private var fate = Fate.lost
  private var isOver = false
  private(set) var firstProblem: String?
  /// The table that is loaded.
  let table: String
  /// Texts that the server refuses; for the second ones it does not name the line.
  let refused: (Set<String>, untold: Set<String>)
  /// The number of the table's earlier rows.
  private let earlierCount: Int

  /// - Parameters:
  ///   - keys: the unique columns of tables.
  ///   - earlier: the table's earlier rows.
  init(
    table: String, keys: [String]? = nil, earlier: [Row] = [],
    refused: (Set<String>, untold: Set<String>)
  ) {
    (self.table, self.refused) = (table, refused)
    self.keys = [
      "sheaf_input": ["input"], "sheaf_lease": ["input"], "sheaf_range": ["input", "first_record"],
      "sheaf_reject": ["input", "record"],
    ].merging(keys.map { [table: $0] } ?? [:]) { $1 }
    earlierCount = earlier.count
    // Inserted rows have numbers from 1.
    for (index, row) in earlier.enumerated() {
      committed.tables[table, default: [:]][-1 - index] = row
    }
    flushed = committed
  }

  var now: Int { Int(System.monotonicNanoseconds / 1000) }

  func note(_ problem: String) { if firstProblem == nil { firstProblem = problem } }

  // MARK: Failures

  /// Cuts the connections of a client.
  ///
  /// - Parameter isForEver: whether the client is dead.
  func cut(_ client: ModelClient, _ fate: Fate, isForEver: Bool = false) {
    lock.withLock {
      self.fate = fate
      if isForEver { client.isDead = true }
      for session in sessions where session.client === client && !session.isCut {
        (session.isCut, session.cutTime) = (true, now)
      }
      lock.wakeAll()
    }
  }

  /// Loses all unflushed commits and all connections.
  func crash() {
    lock.withLock {
      committed = flushed
      for session in sessions {
        session.transaction = nil
        (session.isCut, session.isTerminated) = (true, true)
      }
      (sessions, orphans, holders, pendingKeys) = ([], [], [:], [:])
      lock.wakeAll()
    }
  }

  /// Flushes commits that nobody waits for.
  func flush() { lock.withLock { flushed = committed } }

  /// Executes messages that have arrived from lost clients, until `end`.
  func serveOrphans() {
    lock.withLock {
      while !isOver {
        guard !orphans.isEmpty else {
          lock.wait()
          continue
        }
        let (session, query) = orphans.removeFirst()
        // A session that was terminated meanwhile does nothing.
        if !session.isTerminated { _ = try? execute(query, session) }
        leave(session)
      }
    }
  }

  func end() {
    lock.withLock {
      isOver = true
      lock.wakeAll()
    }
  }

  /// Lets a day pass: leases end, and lost clients are noticed.
  func passTime() {
    lock.withLock {
      for session in sessions where session.isCut { leave(session) }
      for (id, _) in committed.rows("sheaf_lease") {
        committed.tables["sheaf_lease"]?[id]?["until"] = .time(0)
      }
    }
  }

  // MARK: Sessions

  func connect(_ client: ModelClient) throws(ServerError) -> Session {
    try lock.withLock { () throws(ServerError) in
      if client.isDead { throw Self.gone() }
      sessionCount += 1
      let session = Session(sessionCount, client)
      sessions.append(session)
      return session
    }
  }

  static func gone() -> ServerError {
    ServerError(.interrupted, "the process is dead", isDisconnected: true)
  }

  static func lost() -> ServerError {
    ServerError(.inputOutput, "the connection was lost", isDisconnected: true)
  }

  /// Ends a session and rolls back its transaction.
  func leave(_ session: Session) {
    undo(session)
    sessions.removeAll { $0 === session }
  }

  private func undo(_ session: Session) {
    session.transaction = nil
    releaseLocks(of: session)
    lock.wakeAll()
  }

  private func releaseLocks(of session: Session) {
    for (place, holder) in holders where holder.sessions.contains(session.number) {
      let left = holder.sessions.subtracting([session.number])
      holders[place] = left.isEmpty ? nil : (false, left)
    }
    pendingKeys = pendingKeys.filter { $0.value != session.number }
  }

  /// Executes a client's message; returns the answer unless it is lost.
  func answer(_ query: String, _ session: Session, copies lines: [String]? = nil)
    throws(ServerError) -> [ServerResult]
  {
    let (results, changes) = try lock.withLock { () throws(ServerError) in
      if session.isCut {
        let isHeard = fate == .late && !session.isTerminated && lines == nil
        if isHeard { orphans.append((session, query)) }
        if isHeard { lock.wakeAll() }
        throw lostOrGone(session)
      }
      if session.isTerminated { throw Self.terminated() }
      if let lines { return ([try copy(lines, query, session)], false) }
      return try execute(query, session)
    }
    // The connection may be lost between execution and answer.
    if changes {
      try lock.withLock { () throws(ServerError) in
        if session.isCut { throw lostOrGone(session) }
      }
    }
    return results
  }

  private func lostOrGone(_ session: Session) -> ServerError {
    session.client.isDead ? Self.gone() : Self.lost()
  }

  private static func terminated() -> ServerError {
    ServerError(.inputOutput, "terminated", sqlState: "57P01", isDisconnected: true)
  }

  /// Terminates a session that is in the way of a claim or a lane.
  func terminate(_ number: Int) {
    guard let session = sessions.first(where: { $0.number == number }) else { return }
    session.isTerminated = true
    undo(session)
  }

  /// The names of open transactions by session.
  var activities: [Row] {
    sessions.map {
      [
        "pid": .int($0.number), "usename": .text("sheaf"), "datname": .text("model"),
        "application_name": .text($0.transaction?.name ?? "sheaf"),
      ]
    }
  }

  // MARK: Rows

  /// A table as a session sees it.
  func view(_ session: Session, _ table: String) -> [(id: Int, row: Row)] {
    if table == Self.rounds { return numbered(view(session, Self.stage)) }
    var rows = committed.tables[table] ?? [:]
    for (place, row) in session.transaction?.changes ?? [:] where place.table == table {
      rows[place.id] = row
    }
    return rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Waits for another transaction in the middle of a statement.
  private func wait(_ session: Session, since began: Int) throws(ServerError) {
    for other in sessions
    where other.isCut && now - other.cutTime > Self.keepaliveMicroseconds && other !== session {
      if !orphans.contains(where: { $0.session === other }) { leave(other) }
    }
    lock.wait(milliseconds: 1000)
    if session.isTerminated { throw Self.terminated() }
    if now - began > Self.lockMicroseconds {
      throw ServerError(.busy, "canceled due to lock timeout", sqlState: "55P03")
    }
  }

  /// Locks the rows that a session selects; it waits for rows locked by others, and looks at them
  /// again.
  func lockRows(
    _ session: Session, _ table: String, isExclusive: Bool,
    _ matches: (Row) throws(ServerError) -> Bool
  ) throws(ServerError) -> [(id: Int, row: Row)] {
    let began = now
    while true {
      var found: [(id: Int, row: Row)] = []
      for (id, row) in view(session, table) where try matches(row) { found.append((id, row)) }
      let isFree = found.allSatisfy { id, _ in
        guard let holder = holders[Place(table: table, id: id)] else { return true }
        return holder.sessions == [session.number] || !(isExclusive || holder.isExclusive)
      }
      if isFree {
        for (id, _) in found {
          let place = Place(table: table, id: id)
          let old = holders[place]
          holders[place] = (
            isExclusive || old?.isExclusive ?? false, (old?.sessions ?? []).union([session.number])
          )
        }
        return found
      }
      try wait(session, since: began)
    }
  }

  func key(_ table: String, _ row: Row) -> Key? {
    keys[table].map { columns in Key(table: table, values: columns.map { row[$0] ?? .null }) }
  }

  /// Inserts a row; returns false if its key exists.
  func insert(_ row: Row, _ table: String, _ session: Session) throws(ServerError) -> Bool {
    // Refused by a constraint of the table, which the table of waiting rows does not have.
    if table == self.table, let text = row["text"]?.field, refused.untold.contains(text) {
      throw ServerError(.data, "not taken", sqlState: "23514")
    }
    let began = now
    if let key = key(table, row) {
      while true {
        if let other = pendingKeys[key], other != session.number {
          try wait(session, since: began)
          continue
        }
        if view(session, table).contains(where: { self.key(table, $0.row) == key }) { return false }
        break
      }
      pendingKeys[key] = session.number
    }
    let place = Place(table: table, id: nextRow)
    nextRow += 1
    session.transaction?.changes[place] = .some(row)
    return true
  }

  func change(_ id: Int, _ table: String, to row: Row?, _ session: Session) {
    if row == nil, let old = view(session, table).first(where: { $0.id == id })?.row,
      let key = key(table, old)
    {
      pendingKeys[key] = session.number
    }
    session.transaction?.changes[Place(table: table, id: id)] = .some(row)
  }

  // MARK: Commits

  func commit(_ session: Session) {
    guard let transaction = session.transaction else { return }
    watch(transaction, session)
    for (place, row) in transaction.changes where place.table != Self.stage {
      committed.tables[place.table, default: [:]][place.id] = row
    }
    if transaction.isSynchronous, !transaction.changes.isEmpty { flushed = committed }
    undo(session)
    if let problem = disagreement { note(problem) }
  }

  func rollBack(_ session: Session) { undo(session) }

  /// A process that has lost an input must write nothing of it.
  private func watch(_ transaction: Transaction, _ session: Session) {
    for (place, row) in transaction.changes {
      guard let row, let input = row["input"] else { continue }
      let isNew = committed.tables[place.table]?[place.id] == nil
      let ends = place.table == "sheaf_input" && row["done"] == .bool(true)
      guard ends || (place.table == "sheaf_range" && isNew) else { continue }
      let owner = committed.rows("sheaf_input").first { $0.row["input"] == input }?.row["owner"]
      if owner != .text(session.client.owner) {
        note("\(session.client.owner) wrote of an input that is \(owner?.field ?? "nobody")'s")
      }
    }
  }

  /// What is wrong: rows without their range, ranges without their rows, or a row twice; nil if nothing
  /// is.
  var disagreement: String? {
    let rows = committed.rows(table).map(\.row)
    if Set(rows).count != rows.count { return "a record is there twice" }
    let ranges = committed.rows("sheaf_range").map(\.row)
    let done = committed.rows("sheaf_input").map(\.row).filter { $0["done"] == .bool(true) }
    let told = (ranges + done).reduce(0) { sum, row in
      guard case .int(let count)? = row["imported"] else { return sum }
      return sum + count
    }
    let count = rows.count - earlierCount
    return told == count ? nil : "\(told) rows are told, \(count) are there"
  }
}

/// A process that connects to the model.
///
/// Thread rule: any thread.
final class ModelClient: @unchecked Sendable {
  // @unchecked: `isDead` is guarded by the server's lock.
  let owner: String
  var isDead = false

  init(_ owner: String) { self.owner = owner }
}
