import Base

@testable import Importer

/// A server in memory with as much of PostgreSQL as imports rely on: transactions that see what is committed, locks
/// of rows, unique keys that wait for who inserts the same one, a clock, a log whose newest commits a crash loses
/// where nobody waited for them, and connections that are lost at any moment, with what they were about to do.
///
/// It looks at every commit whether the promise holds: rows are there with their ranges and only once, and who has
/// lost an input writes nothing of it.
///
/// Thread rule: any thread, of a schedule or not.
final class ModelServer: @unchecked Sendable {
  // @unchecked: everything is guarded by `lock`.
  typealias Row = [String: ModelValue]

  /// A row's place; `key` of a row that is there once for each key.
  struct Place: Hashable {
    let table: String
    let id: Int
  }

  struct Key: Hashable {
    let table: String
    let values: [ModelValue]
  }

  /// All tables, as a transaction that begins now sees them.
  struct State {
    var tables: [String: [Int: Row]] = [:]

    func rows(_ table: String) -> [(id: Int, row: Row)] {
      (tables[table] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
  }

  final class Transaction {
    /// Rows as they will be; nil: removed.
    var changes: [Place: Row?] = [:]
    /// The number of the last row that was copied to wait.
    var stagedRows = 0
    /// Settings of the transaction's own that are numbers.
    var numbers: [String: Int] = [:]
    /// The same at the savepoint.
    var saved: ([Place: Row?], numbers: [String: Int]) = ([:], [:])
    var isSynchronous = true
    var hasFailed = false
    var name = ""
  }

  /// A connection, as the server has it.
  final class Session {
    let number: Int
    let client: ModelClient
    var transaction: Transaction?
    /// The client is gone: what it says is not heard any more, but perhaps once.
    var isCut = false
    /// Since when; the server finds out by itself after a while.
    var cutTime = 0
    /// The server has ended it.
    var isTerminated = false

    init(_ number: Int, _ client: ModelClient) { (self.number, self.client) = (number, client) }
  }

  /// What happens to what a client has sent when its connection is lost.
  enum Fate: Sendable, CaseIterable {
    /// It never arrives.
    case lost
    /// It arrives, and is done later.
    case late
  }

  /// Columns that are there once.
  let keys: [String: [String]]
  private static let lockMicroseconds = 30_000_000
  /// After which the server knows that a client is gone, by keepalives.
  private static let keepaliveMicroseconds = 40_000_000

  let lock = Lock()
  var committed = State()
  /// What a crash leaves.
  private var flushed = State()
  private var sessions: [Session] = []
  private var nextRow = 1
  /// How many there ever were: no two have the same number.
  private var sessionCount = 0
  /// Who has locked rows, and whether alone.
  private var holders: [Place: (isExclusive: Bool, sessions: Set<Int>)] = [:]
  /// Keys that are about to be there, or to be gone.
  private var pendingKeys: [Key: Int] = [:]
  private var orphans: [(session: Session, query: String)] = []
  private var fate = Fate.lost
  private var isOver = false
  private(set) var firstProblem: String?
  /// The table that is loaded.
  let table: String
  /// Texts that it does not take; of the second ones the server does not say in which line they are.
  let refused: (Set<String>, untold: Set<String>)
  /// How many rows the table has had before.
  private let earlierCount: Int

  /// - Parameters:
  ///   - keys: columns of the table.
  ///   - earlier: rows that it has.
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
    // Rows that are put in have numbers from 1.
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

  /// Loses what nobody has waited for, and all connections.
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

  /// Writes down what nobody waits for.
  func flush() { lock.withLock { flushed = committed } }

  /// Does what has arrived of clients that are gone, until `end`.
  func serveOrphans() {
    lock.withLock {
      while !isOver {
        guard !orphans.isEmpty else {
          lock.wait()
          continue
        }
        let (session, query) = orphans.removeFirst()
        // Who was ended since then does nothing any more.
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

  /// A day later: leases are over, and who is gone is known to be.
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

  /// Ends a session: what it has not committed is undone.
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

  /// What a client sends, and the answer, if it comes.
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
    // Between what was done and its answer, the connection may be lost.
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

  /// Ends the transactions of those that a claim or a lane is in the way of.
  func terminate(_ number: Int) {
    guard let session = sessions.first(where: { $0.number == number }) else { return }
    session.isTerminated = true
    undo(session)
  }

  /// Names of open transactions, by their sessions.
  var activities: [Row] {
    sessions.map {
      [
        "pid": .int($0.number), "usename": .text("sheaf"),
        "application_name": .text($0.transaction?.name ?? "sheaf"),
      ]
    }
  }

  // MARK: Rows

  /// What a session sees.
  func view(_ session: Session, _ table: String) -> [(id: Int, row: Row)] {
    if table == Self.rounds { return numbered(view(session, Self.stage)) }
    var rows = committed.tables[table] ?? [:]
    for (place, row) in session.transaction?.changes ?? [:] where place.table == table {
      rows[place.id] = row
    }
    return rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Waits, in the middle of a statement, for another transaction.
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

  /// Locks rows that a session looks for; those that others have locked are waited for, and looked at again.
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

  /// Puts a row in; false where its key is there.
  func insert(_ row: Row, _ table: String, _ session: Session) throws(ServerError) -> Bool {
    // By a constraint of the table's, which a table in which rows wait does not have.
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

  /// Who has lost an input is not to write anything of it.
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

  /// Rows are there with their ranges, and ranges with their rows, and no row is there twice.
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
