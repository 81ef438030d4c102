import Base

/// The kind of a server that speaks PostgreSQL's protocol, and how it differs from PostgreSQL.
///
/// Thread rule: a plain value, `Sendable`.
struct ServerEngine: Sendable, Equatable {
  enum Kind: String, Sendable, CaseIterable {
    case postgreSQL = "PostgreSQL"
    case cockroachDB = "CockroachDB"
    case yugabyteDB = "YugabyteDB"
    case greenplum = "Greenplum"
  }

  let kind: Kind
  /// How long a statement may wait for locks, in milliseconds.
  private(set) var lockMilliseconds = 30_000

  /// Names in the versions of servers on which the import cannot keep its promises.
  private static let unsupported = ["Redshift", "Materialize", "QuestDB"]

  /// Limits the time for locks to the time for retries, at most 30 seconds: rows of the checkpoint tables
  /// stay locked for as long as a batch takes.
  mutating func waitForLocks(atMost seconds: Double) {
    lockMilliseconds = Int(min(30, max(1, seconds)) * 1000)
  }

  // MARK: Finding

  /// Asks a server which engine it is.
  ///
  /// - Throws: `ServerError` of the kind `usage` for an engine that is not supported.
  static func of(_ connection: any ServerLink) throws -> ServerEngine {
    let version = try connection.run("SELECT version()").last?.rows.first?[0] ?? ""
    func refusal(_ reason: String) -> ServerError {
      ServerError(.usage, "\(connection.name): \(reason)")
    }
    if let other = unsupported.first(where: version.contains) {
      throw refusal("the server is \(other), which is not supported")
    }
    let engine = ServerEngine(kind: kind(version))
    if let problem = engine.problem(version, number: connection.serverVersion) {
      throw refusal("the server says that it is \(version): \(problem)")
    }
    if engine.kind == .yugabyteDB,
      try connection.run("SHOW yb_disable_transactional_writes").last?.rows.first?[0] != "off"
    {
      throw refusal(
        "yb_disable_transactional_writes is on there, so that a batch may be committed in part: turn it off"
      )
    }
    let encoding = connection.parameter("server_encoding") ?? ""
    guard encoding == "UTF8" else {
      throw refusal(
        "the database is in \(encoding), in which not every text can be kept: import into one that was made "
          + "with ENCODING 'UTF8'")
    }
    return engine
  }

  static func kind(_ version: String) -> Kind {
    if version.contains("CockroachDB") { return .cockroachDB }
    if version.contains("-YB-") { return .yugabyteDB }
    return version.contains("Greenplum") ? .greenplum : .postgreSQL
  }

  /// Why a version cannot import exactly once; nil where it can.
  ///
  /// - Parameters:
  ///   - version: the version as the server reports it.
  ///   - number: the version of PostgreSQL that it is compatible with, such as `150018`.
  func problem(_ version: String, number: Int) -> String? {
    switch kind {
    case .postgreSQL: number >= 120_000 ? nil : "PostgreSQL 12 or newer is needed"
    case .greenplum:
      number >= 120_000 ? nil : "Greenplum 7 or newer, which is like PostgreSQL 12, is needed"
    case .cockroachDB:
      Self.numbers(version, behind: " v").map { Self.isLess($0, [22, 2]) } ?? true
        ? "CockroachDB 22.2 or newer is needed, whose COPY is one transaction" : nil
    case .yugabyteDB:
      Self.numbers(version, behind: "-YB-").map { Self.isLess($0, [2025, 1, 1]) } ?? true
        ? "YugabyteDB 2025.1.1 or newer is needed: earlier ones commit a COPY by itself" : nil
    }
  }

  private static func isLess(_ one: [Int], _ other: [Int]) -> Bool {
    one.lexicographicallyPrecedes(other)
  }

  /// The numbers of a version, such as 22, 2 and 1 of `v22.2.1-rc.1`.
  private static func numbers(_ version: String, behind mark: String) -> [Int]? {
    let bytes = Array(version.utf8)
    let mark = Array(mark.utf8)
    guard bytes.count > mark.count,
      let start = (0...bytes.count - mark.count).first(where: { start in
        bytes[start...].starts(with: mark)
          && bytes[(start + mark.count)...].first.map(isDigit) ?? false
      })
    else { return nil }
    let text = bytes[(start + mark.count)...].prefix { isDigit($0) || $0 == UInt8(ascii: ".") }
    return text.split(separator: UInt8(ascii: ".")).map {
      Int(String(decoding: $0, as: UTF8.self)) ?? 0
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  // MARK: What is different

  /// The statements that begin a transaction. All settings are local to it: a pool may give the connection to
  /// another client afterwards.
  func begin(isSynchronous: Bool) -> [String] {
    let limits = [
      "SET LOCAL lock_timeout = \(lockMilliseconds)",
      "SET LOCAL idle_in_transaction_session_timeout = \(LoadPlan.idleMilliseconds)",
      "SET LOCAL statement_timeout = 0",
    ]
    // CockroachDB's FOR SHARE locks nothing in serializable transactions, which need no lock to fence. It has
    // no settings for flushing, and none for dead peers.
    if kind == .cockroachDB {
      return ["BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE"] + limits
        + ["SET LOCAL TimeZone = 'UTC'"]
    }
    // Without this, a COPY commits after every 20,000 rows.
    let copies =
      kind == .yugabyteDB ? ["SET LOCAL yb_default_copy_from_rows_per_transaction = 0"] : []
    return [
      "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
      "SET LOCAL synchronous_commit = \(isSynchronous ? "on" : "off")",
    ] + limits + copies + [
      "SET LOCAL tcp_keepalives_idle = 20", "SET LOCAL tcp_keepalives_interval = 5",
      "SET LOCAL tcp_keepalives_count = 4", "SET LOCAL DateStyle = 'ISO, YMD'",
      "SET LOCAL TimeZone = 'UTC'", "SET LOCAL IntervalStyle = 'postgres'",
    ]
  }

  /// True when this engine lets a client end abandoned transactions of other connections.
  var endsTransactions: Bool { kind != .cockroachDB }

  /// True when a table can be made in a transaction with changes of rows. YugabyteDB commits it by itself,
  /// and CockroachDB commits the statements before it.
  var makesTablesInTransactions: Bool { ![.cockroachDB, .yugabyteDB].contains(kind) }

  /// True when constraints may be checked only at the end of a transaction.
  var defersConstraints: Bool { kind != .cockroachDB }

  /// Greenplum without its global deadlock detector lets one transaction at a time change `sheaf_input`.
  var mostLanes: Int { kind == .greenplum ? 1 : .max }

  /// Refuses options that the engine cannot support.
  ///
  /// - Parameters:
  ///   - hasKey: whether rows wait in a temporary table until their keys are compared.
  ///   - truncates: whether the transaction that registers the inputs empties the table.
  /// - Throws: `ServerError` of the kind `usage`.
  func check(hasKey: Bool, truncates: Bool, server: String) throws(ServerError) {
    if kind == .postgreSQL { return }
    if hasKey {
      throw ServerError(
        .usage,
        "\(server): --key needs temporary tables that are part of a transaction, which are not relied on "
          + "with \(kind.rawValue): leave it out, or import into a table of PostgreSQL's or Citus'")
    }
    if truncates, kind != .greenplum {
      throw ServerError(
        .usage,
        "\(server): --truncate needs locks on tables and TRUNCATE inside a transaction, which are not relied "
          + "on with \(kind.rawValue): empty the table on the server first")
    }
  }
}
