import Base

/// Which of the servers that speak PostgreSQL's protocol one is, and what is different there.
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

  /// What is said by those on which nothing can be promised.
  private static let unsupported = ["Redshift", "Materialize", "QuestDB"]

  // MARK: Finding

  /// Asks a server what it is.
  ///
  /// - Throws: `ServerError` of the kind `usage` for one on which nothing is promised.
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

  /// Why a version cannot keep the promise; nil where it can.
  ///
  /// - Parameters:
  ///   - version: what it says of itself.
  ///   - number: as `150018`, of the PostgreSQL that it is like.
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

  /// What a transaction begins with. Everything is set for it alone: a pool may give the connection to
  /// somebody else afterwards.
  func begin(isSynchronous: Bool) -> [String] {
    let limits = [
      "SET LOCAL lock_timeout = \(LoadPlan.lockMilliseconds)",
      "SET LOCAL idle_in_transaction_session_timeout = \(LoadPlan.idleMilliseconds)",
      "SET LOCAL statement_timeout = 0",
    ]
    // There FOR SHARE locks nothing where transactions are serializable, and these fence by themselves. It
    // has no settings for what is flushed, and none for dead peers.
    if kind == .cockroachDB {
      return ["BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE"] + limits
        + ["SET LOCAL TimeZone = 'UTC'"]
    }
    // Else a COPY commits every 20,000 rows by itself.
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

  /// Whether transactions of others can be ended that nobody goes on with.
  var endsTransactions: Bool { kind != .cockroachDB }

  /// Whether there are constraints that are looked at only when a transaction ends.
  var defersConstraints: Bool { kind != .cockroachDB }

  /// Without its global deadlock detector, one transaction at a time works on `sheaf_input` there.
  var mostLanes: Int { kind == .greenplum ? 1 : .max }

  /// Refuses what an engine cannot do.
  ///
  /// - Parameters:
  ///   - hasKey: whether rows wait in a temporary table until their keys are compared.
  ///   - truncates: whether the table is emptied in the transaction that notes the inputs.
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
