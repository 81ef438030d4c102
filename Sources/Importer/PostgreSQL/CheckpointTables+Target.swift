/// What is known of all inputs of one table.
extension CheckpointTables {
  /// Deletes what is known of the inputs of a table, and of others. The last statement counts the inputs of
  /// the table.
  ///
  /// - Parameters:
  ///   - target: the table, as `ServerTable.shown`.
  ///   - keys: the keys of other inputs, whose ranges and rejects may have been left behind.
  func forgetting(target: String, and keys: [String] = []) -> String {
    let ofTarget = "target = \(SQLText.literal(target))"
    let inputs = "input IN (SELECT input FROM \(input) WHERE \(ofTarget))"
    let list = keys.map { SQLText.literal($0) }.joined(separator: ", ")
    let all = keys.isEmpty ? inputs : "\(inputs) OR input IN (\(list))"
    return
      "DELETE FROM \(range) WHERE \(all); DELETE FROM \(reject) WHERE \(all); DELETE FROM \(lease) WHERE "
      + "\(inputs); DELETE FROM \(input) WHERE \(ofTarget)"
  }

  /// Ends open transactions of processes that were loading an input of a table. Otherwise the server would
  /// wait for a process that was stopped in the middle of one.
  func endTransactions(
    target: String, _ engine: ServerEngine, _ connection: any ServerLink
  ) throws {
    guard engine.endsTransactions else { return }
    let begun = try connection.run(
      "SELECT input FROM \(input) WHERE target = \(SQLText.literal(target)) AND NOT done")
    for input in (begun.last?.rows ?? []).compactMap({ $0[0] }) {
      try connection.run(LoadPlan.ending(input: input, record: nil))
    }
  }

  /// True when all tables are there.
  func areThere(_ connection: any ServerLink) throws -> Bool {
    let names = [input, lease, range, reject].map {
      "to_regclass(\(SQLText.literal($0))) IS NOT NULL"
    }
    return try connection.run("SELECT " + names.joined(separator: " AND ")).last?.rows.first?[0]
      == "t"
  }
}

/// The making of a table that was not there when it was looked for.
///
/// What is known of inputs of an earlier table of its name would make `--resume` leave out records that are
/// nowhere any more.
struct TableMaking {
  let place: ServerTable.QualifiedName
  /// Make the table, and distribute it.
  let statements: [String]
  let engine: ServerEngine
  let server: String

  /// Makes the table, unless another process is faster, and forgets what is known of inputs of an earlier one
  /// in the same transaction: whoever finds the table finds nothing of the earlier one.
  ///
  /// - Returns: the number of inputs that were forgotten.
  /// - Throws: `ServerError`.
  func run(_ session: ServerSession) throws -> Int {
    var count = 0
    try session.use { connection in
      do {
        count = engine.makesTablesInTransactions ? try make(connection) : try makeAlone(connection)
      } catch let error as ServerError where ["42P07", "23505"].contains(error.sqlState) {
        // Another process has made it, or an attempt of this process whose answer was lost.
        connection.rollBack()
      }
    }
    return count
  }

  private func make(_ connection: any ServerLink) throws -> Int {
    let begin = engine.begin(isSynchronous: true)
    try connection.run((begin + statements).joined(separator: "; "))
    // The search path has decided which schema it is in.
    let row = try connection.run(
      "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
        + "c.relnamespace WHERE c.oid = \(SQLText.literal(place.qualified))::regclass"
    ).last?.rows.first
    let count = try row.flatMap { try forget(schema: $0[0], name: $0[1], connection) } ?? 0
    guard try connection.run("COMMIT").last?.tag == "COMMIT" else {
      throw ServerError(.inputOutput, "\(server): the server rolled back; try again")
    }
    return count
  }

  private func forget(schema: String?, name: String?, _ connection: any ServerLink) throws -> Int? {
    guard let schema, let name else { return nil }
    let tables = CheckpointTables(schema: schema)
    guard try tables.areThere(connection) else { return nil }
    let target = ServerTable.shown(schema, name)
    try tables.endTransactions(target: target, engine, connection)
    return try connection.run(tables.forgetting(target: target)).last?.count
  }

  /// Makes the table where that is no part of a transaction: a process that is killed between the table and
  /// what is to be forgotten would leave both.
  private func makeAlone(_ connection: any ServerLink) throws -> Int {
    let schema =
      try place.schema ?? connection.run("SELECT current_schema()").last?.rows.first?[0] ?? ""
    let tables = CheckpointTables(schema: schema)
    let target = ServerTable.shown(schema, place.name)
    if try tables.areThere(connection) {
      let known = try connection.run(
        "SELECT count(*) FROM \(tables.input) WHERE target = \(SQLText.literal(target))"
      ).last?.rows.first?.int(0)
      let qualified = SQLText.name(schema) + "." + SQLText.name(place.name)
      let isMissing = try connection.run(
        "SELECT to_regclass(\(SQLText.literal(qualified))) IS NULL"
      ).last?.rows.first?[0]
      // Another process may have made the table meanwhile, and begun.
      if let known, known > 0, isMissing == "t" {
        throw ServerError(
          .usage,
          "\(server): table \(target) is not there, though \(known) input\(known == 1 ? " was" : "s were") "
            + "imported into it: bring it back, or forget them with DELETE FROM \(tables.input) WHERE target "
            + "= \(SQLText.literal(target)), and all their records are imported")
      }
    }
    let all = statements.count > 1 ? ["BEGIN"] + statements + ["COMMIT"] : statements
    try connection.run(all.joined(separator: "; "))
    return 0
  }
}
