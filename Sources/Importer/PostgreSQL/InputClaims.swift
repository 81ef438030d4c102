import Base

/// An input as the server knows it.
struct ServerInput: Sendable {
  /// Its key in the tables.
  let key: String
  /// As the user gave it.
  let name: String
  /// The file's size; nil for a pipe.
  let size: Int?
  /// Of the file's first bytes; nil for a pipe.
  let checksum: String?
}

/// An input that a process has claimed.
struct InputClaim: Sendable {
  let input: ServerInput
  let epoch: Int
  /// The ranges of the input that the server has, in the order of the input.
  let ranges: [StoredRange]

  /// The sum of their counts.
  var counts: RowCounts { ranges.reduce(into: RowCounts()) { $0 += $1.counts } }

  /// The number of ranges that follow each other without a gap from the first record on.
  var prefixCount: Int {
    var next = 1
    for (index, range) in ranges.enumerated() {
      if range.firstRecord != next { return index }
      next += range.counts.records
    }
    return ranges.count
  }
}

/// The owners of inputs: claims, ends of inputs and their state, all by the server's clock.
///
/// Every call may be repeated; after a lost answer, the session repeats it.
///
/// Thread rule: confined.
struct InputClaims {
  let tables: CheckpointTables
  let engine: ServerEngine
  /// The loaded table, qualified.
  let target: String
  let owner: String
  let batchRecords: Int
  let leaseSeconds: Int
  let session: ServerSession

  init(
    _ tables: CheckpointTables, _ engine: ServerEngine, target: String, owner: String,
    batchRecords: Int, leaseSeconds: Int, _ session: ServerSession
  ) {
    self.tables = tables
    self.engine = engine
    self.target = target
    self.owner = owner
    self.batchRecords = batchRecords
    self.leaseSeconds = leaseSeconds
    self.session = session
  }

  /// The state of an input in the tables.
  enum Standing: Equatable {
    case unknown
    case begun
    case done(RowCounts)
  }

  /// The result of a try to claim an input.
  enum Answer {
    case claimed(InputClaim)
    case done(RowCounts)
    /// Another process has claimed it.
    case leased(owner: String)
  }

  func key(_ input: ServerInput) -> String { SQLText.literal(input.key) }

  private var until: String { "clock_timestamp() + interval '\(leaseSeconds) seconds'" }

  /// The statement that extends the lease of an input.
  func renewal(_ input: ServerInput) -> String {
    "UPDATE \(tables.lease) SET until = \(until) WHERE input = \(key(input)) AND owner = "
      + SQLText.literal(owner)
  }

  private var begin: String { engine.begin(isSynchronous: true).map { $0 + "; " }.joined() }

  /// Creates the missing checkpoint tables.
  ///
  /// - Throws: `ServerError`, also when one of the names belongs to a table of another kind.
  func makeTables() throws {
    do {
      try session.use { connection in
        // When the tables exist, the user needs no right to create them.
        do {
          try connection.run(tables.probe)
          return
        } catch let error as ServerError where error.sqlState == "42P01" {}
        for statement in tables.creation {
          do {
            try connection.run(statement)
          } catch let error as ServerError {
            // Two processes may both find no table and make it: the other one was first.
            guard let state = error.sqlState, ["23505", "42P07", "42710", "XX000"].contains(state)
            else {
              throw error
            }
          }
        }
        try connection.run(tables.probe)
      }
    } catch let error as ServerError where ["42703", "42P01"].contains(error.sqlState) {
      throw error.saying(
        "\(session.target.shown): the tables sheaf_input, sheaf_lease, sheaf_range and sheaf_reject in "
          + "schema \(tables.schema) are not as this version of Sheaf makes them (\(error.description)): "
          + "move them away, or import into another schema")
    }
  }

  /// Registers all inputs of an import that does not resume an earlier one. The state of finished inputs is
  /// deleted, since they are imported again.
  ///
  /// - Throws: `ServerError` when one of them has been begun and is not finished.
  func begin(_ inputs: [ServerInput]) throws {
    try session.use { connection in
      // All or none: otherwise the state of some inputs would be deleted although another is refused, and
      // they would be imported twice.
      try connection.run(begin)
      for input in inputs {
        if try connection.run(insertion(input)).last?.count == 1 {
          // Somebody may have deleted the input's row by hand, but not its ranges and rejects.
          try connection.run(remains(input))
        } else {
          try beginAnew(input, connection)
        }
      }
      try commit(connection)
    }
  }

  /// Empties the table and registers all inputs of an import, in one transaction. The state of all inputs of
  /// this table is deleted with its rows, which fences every process that has claimed one of them.
  ///
  /// - Parameters:
  ///   - table: quoted.
  ///   - unlessBegun: true: do nothing when these inputs, and no others of this table, are known.
  /// - Throws: `ServerError`, of the kind `busy` when another process is importing into the table.
  func beginEmptied(_ inputs: [ServerInput], _ table: String, unlessBegun: Bool) throws {
    let keys = inputs.map(key).joined(separator: ", ")
    try session.use { connection in
      // Another process that empties the table waits here, and then finds these inputs.
      try connection.run(
        begin + "LOCK TABLE \(tables.input) IN SHARE ROW EXCLUSIVE MODE")
      let known = try connection.run(
        "SELECT count(CASE WHEN input IN (\(keys)) THEN 1 END), count(CASE WHEN input NOT IN (\(keys)) "
          + "AND target = \(SQLText.literal(target)) THEN 1 END) FROM \(tables.input)"
      ).last?.rows.first
      if unlessBegun, known?[0] == "\(Set(inputs.map(\.key)).count)", known?[1] == "0" {
        return connection.rollBack()
      }
      let others = try connection.run(
        "SELECT i.name, l.owner FROM \(tables.input) i JOIN \(tables.lease) l USING (input) WHERE i.target = "
          + "\(SQLText.literal(target)) AND NOT i.done AND l.until >= clock_timestamp() AND l.owner <> "
          + "\(SQLText.literal(owner)) LIMIT 1")
      if let other = others.last?.rows.first {
        throw ServerError(
          .busy,
          "\(session.target.shown): \(other[0] ?? "an input") is being imported into \(target) by "
            + "\(other[1] ?? "another"): the table is not emptied meanwhile; on several machines, give "
            + "--resume on each")
      }
      try tables.endTransactions(target: target, engine, connection)
      try connection.run(
        "TRUNCATE \(table); " + tables.forgetting(target: target, and: inputs.map(\.key)))
      for input in inputs { try connection.run(insertion(input)) }
      try commit(connection)
    }
  }

  /// Deletes the state of a known input, in an open transaction, if no record can be imported twice as a
  /// result: the input is finished, or none of it is committed and no process is importing it.
  private func beginAnew(_ input: ServerInput, _ connection: any ServerLink) throws {
    let question =
      "SELECT done, owner, EXISTS (SELECT 1 FROM \(tables.range) WHERE input = "
      + "\(key(input))), EXISTS "
      + "(SELECT 1 FROM \(tables.lease) WHERE input = \(key(input)) AND until >= clock_timestamp()) "
      + "FROM \(tables.input) WHERE input = \(key(input))"
    // Batches under way keep the row locked: the question without a lock refuses without waiting for them.
    let unlocked = try connection.run(question).last?.rows.first
    if let unlocked, unlocked[1] != owner || unlocked[0] == "t" {
      try refuseLeased(input, unlocked)
    }
    let row = try connection.run(question + " FOR UPDATE").last?.rows.first
    // Somebody has deleted the row meanwhile, or this process made it in a try whose answer was lost.
    guard let row, row[1] != owner || row[0] == "t" else { return }
    try refuseLeased(input, row)
    let (isDone, isBegun) = (row[0] == "t", row[2] == "t")
    guard isDone || !isBegun else {
      throw ServerError(
        .usage,
        "\(session.target.shown): an import of \(input.name) into \(target) was begun and has not come "
          + "to its end: go on with --resume; or, if it is to be imported anew, forget it with DELETE FROM "
          + "\(tables.input) WHERE input = \(key(input)), which leaves its rows in the table")
    }
    try connection.run(forgetting(input))
    try connection.run(insertion(input))
  }

  /// - Parameter row: whether the input is done, its owner, whether it is begun, whether a process has the
  ///   lease.
  private func refuseLeased(_ input: ServerInput, _ row: ServerRow) throws {
    if row[3] == "t", row[0] != "t" {
      throw ServerError(
        .busy,
        "\(session.target.shown): \(input.name) is being imported into \(target) by "
          + "\(row[1] ?? "another"); on several machines, give --resume on each")
    }
  }

  private func commit(_ connection: any ServerLink) throws {
    guard try connection.run("COMMIT").last?.tag == "COMMIT" else {
      throw ServerError(.inputOutput, "\(session.target.shown): the server rolled back; try again")
    }
  }

  /// The first epoch is the current time, so that an input that was forgotten never reuses an epoch.
  private func insertion(_ input: ServerInput) -> String {
    "INSERT INTO \(tables.input) (input, target, name, batch_size, size, checksum, owner, epoch) VALUES "
      + "(\(key(input)), \(SQLText.literal(target)), \(SQLText.literal(input.name)), \(batchRecords), "
      + "\(input.size.map(String.init) ?? "NULL"), \(SQLText.literal(input.checksum)), "
      + "\(SQLText.literal(owner)), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) ON CONFLICT "
      + "(input) DO NOTHING"
  }

  private func remains(_ input: ServerInput) -> String {
    "DELETE FROM \(tables.range) WHERE input = \(key(input)); DELETE FROM \(tables.reject) WHERE input = "
      + key(input)
  }

  private func forgetting(_ input: ServerInput) -> String {
    "DELETE FROM \(tables.input) WHERE input = \(key(input)); " + remains(input)
  }

  /// The number of records of some inputs that earlier runs have brought into the table, if it shows no rows;
  /// otherwise 0. It is 0, too, where the user cannot read the table.
  ///
  /// - Parameter table: quoted.
  /// - Throws: `ServerError`.
  func recordsGone(_ inputs: [ServerInput], from table: String) throws -> Int {
    let keys = inputs.map(key).joined(separator: ", ")
    return try session.use { connection in
      // The rows are looked for after the records, since other processes may be loading.
      let known = try connection.run(
        "SELECT coalesce(sum(imported), 0)::bigint FROM (SELECT imported FROM \(tables.input) WHERE done AND "
          + "input IN (\(keys)) UNION ALL SELECT imported FROM \(tables.range) WHERE input IN (\(keys))) AS x"
      ).last?.rows.first?.int(0)
      guard let known, known > 0 else { return 0 }
      do {
        let rows = try connection.run(
          begin + "SELECT EXISTS (SELECT 1 FROM \(table))"
        ).last?.rows
        connection.rollBack()
        return rows?.first?[0] == "f" ? known : 0
      } catch let error as ServerError {
        guard let state = error.sqlState, !SQLState(state).isTransient else { throw error }
        connection.rollBack()
        return 0
      }
    }
  }

  // MARK: Claiming

  /// Claims an input for this process, unless another process has claimed it.
  ///
  /// - Throws: `ServerError`; `ImportError.inputChanged`, `.cannotResume`.
  func claim(_ input: ServerInput) throws -> Answer {
    try session.use { connection in
      if try connection.run(begin + insertion(input)).last?.count == 1 {
        try connection.run(remains(input))
      }
      try connection.run(
        "INSERT INTO \(tables.lease) (input, owner, until) VALUES (\(key(input)), "
          + "\(SQLText.literal(owner)), '1970-01-01 00:00:00+00') ON CONFLICT (input) DO NOTHING")
      try commit(connection)
      // The lease comes first, in a statement of its own, so that a process that is refused has disturbed no
      // other.
      let leased = try connection.run(
        "UPDATE \(tables.lease) SET owner = \(SQLText.literal(owner)), until = \(until) WHERE input = "
          + "\(key(input)) AND (until < clock_timestamp() OR owner = \(SQLText.literal(owner)))")
      if leased.last?.count != 1 { return try refusal(input, connection) }
      // Otherwise the server would wait for open transactions of the former owner, for ever if it was stopped
      // in the middle of one.
      if engine.endsTransactions {
        try connection.run(LoadPlan.ending(input: input.key, record: nil))
      }
      // Waits for batches that the former owner is committing; all its later batches are fenced.
      let rows = try connection.run(
        begin
          + "UPDATE \(tables.input) SET owner = \(SQLText.literal(owner)), epoch = epoch + 1 WHERE input = "
          + "\(key(input)) AND NOT done RETURNING epoch, batch_size, size, checksum")
      let row = rows.last?.rows.first
      try commit(connection)
      guard let row, let epoch = row.int(0) else {
        return try ended(input, connection)
      }
      do {
        try check(input, row)
        return .claimed(
          InputClaim(input: input, epoch: epoch, ranges: try ranges(input, connection)))
      } catch let error as ImportError {
        try connection.run(release(input))
        throw error
      }
    }
  }

  private func refusal(_ input: ServerInput, _ connection: any ServerLink) throws -> Answer {
    if case .done(let counts) = try standing(input, connection) { return .done(counts) }
    let row = try connection.run(
      "SELECT owner FROM \(tables.lease) WHERE input = \(key(input))"
    ).last?.rows.first
    return .leased(owner: row?[0] ?? "another process")
  }

  private func ended(_ input: ServerInput, _ connection: any ServerLink) throws -> Answer {
    // The lease that this claim has made is not needed.
    try connection.run(
      "DELETE FROM \(tables.lease) WHERE input = \(key(input)) AND owner = \(SQLText.literal(owner))"
    )
    guard case .done(let counts) = try standing(input, connection) else {
      // Somebody has deleted the row by hand between two statements.
      return .leased(owner: "somebody who has removed it")
    }
    return .done(counts)
  }

  /// - Parameter row: epoch, batch size, size and checksum in the tables.
  private func check(_ input: ServerInput, _ row: ServerRow) throws {
    guard row[1] == String(batchRecords) else {
      throw ImportError.cannotResume(
        path: input.name,
        reason:
          "its import was begun with --batch-size \(row[1] ?? "?"), which says where its batches end: "
          + "use the same")
    }
    guard row[2] == input.size.map(String.init), row[3] == input.checksum else {
      throw ImportError.inputChanged(
        path: input.name,
        reason:
          "an input of this name was begun before, of \(row[2] ?? "unknown") bytes, and this one has "
          + "\(input.size.map(String.init) ?? "unknown") or begins otherwise: import it under another "
          + "name if it is another one")
    }
  }

  private func ranges(_ input: ServerInput, _ connection: any ServerLink) throws -> [StoredRange] {
    let rows =
      try connection.run(
        "SELECT \(StoredRange.columns) FROM \(tables.range) WHERE input = \(key(input)) ORDER BY first_record"
      ).last?.rows ?? []
    return try rows.map { row in
      guard let range = StoredRange(row) else {
        throw ServerError(
          .data,
          "\(session.target.shown): a row of \(tables.range) for \(input.name) makes no sense")
      }
      return range
    }
  }

  /// Stores the options of an input, or compares them with those that it was begun with.
  ///
  /// - Throws: `ServerError`; `ImportError.cannotResume`.
  func settle(options: LoadDigest, _ claim: InputClaim) throws {
    let found = try session.use { connection in
      try connection.run(
        "UPDATE \(tables.input) SET options = coalesce(options, \(SQLText.literal(options.text))) WHERE "
          + "input = \(key(claim.input)) AND epoch = \(claim.epoch) RETURNING options"
      ).last?.rows.first?[0]
    }
    guard let found else { throw Fenced.error(session.target.shown, claim.input.name) }
    if LoadDigest(found)?.whole != options.whole {
      throw ImportError.cannotResume(
        path: claim.input.name,
        reason:
          "the import was begun with other options for what a record becomes (\(OptionsDigest.names), "
          + "--limit), or the table's columns had other types; use the same ones")
    }
  }

  // MARK: Ending

  /// The lease has no owner then: a renewal that was sent before, and arrives later, changes nothing.
  private func release(_ input: ServerInput) -> String {
    "UPDATE \(tables.lease) SET until = '1970-01-01 00:00:00+00', owner = '' WHERE input = \(key(input)) AND "
      + "owner = \(SQLText.literal(owner))"
  }

  /// Lets other processes claim the input immediately. A failure does no harm: the lease expires.
  func release(_ claim: InputClaim) {
    _ = try? session.use { try $0.run(release(claim.input)) }
  }

  /// The state of an input in the tables.
  private func standing(_ input: ServerInput, _ connection: any ServerLink) throws -> Standing {
    let row = try connection.run(
      "SELECT done, \(RowCounts.columns) FROM \(tables.input) WHERE input = \(key(input))"
    ).last?.rows.first
    guard let row else { return .unknown }
    guard row[0] == "t" else { return .begun }
    return .done(RowCounts(row, from: 1) ?? RowCounts())
  }

  /// The facts kept about an input that is done.
  struct End {
    let records: Int
    /// `OptionsDigest.given` of the options with which it was imported; nil if that was by an older version
    /// of Sheaf.
    let given: Int?
    let size: Int?
    /// The checksum of its first bytes when it was imported.
    let checksum: String?
    /// The end of the input, and the checksum of all of it.
    let byte: Int
    let digest: UInt64
  }

  /// The facts kept about an input that is done.
  ///
  /// - Throws: `ServerError`, also when it has been forgotten meanwhile.
  func end(_ input: ServerInput) throws -> End {
    let row = try session.use { connection in
      try connection.run(
        "SELECT records, size, checksum, byte_end, digest, options FROM \(tables.input) WHERE input = "
          + "\(key(input)) AND done"
      ).last?.rows.first
    }
    guard let row, let records = row.int(0),
      let byte = row.int(3),
      let digest = row[4].flatMap({ RangeChecksum.value($0) })
    else {
      throw ServerError(
        .busy,
        "\(session.target.shown): somebody has changed what is known of \(input.name); try again")
    }
    return End(
      records: records, given: row[5].flatMap(LoadDigest.init)?.given, size: row.int(1),
      checksum: row[2], byte: byte, digest: digest)
  }

  /// Records that the whole input is in the table: checks the number and the sums of its ranges, in a
  /// transaction that is durable when it returns, and combines the ranges into one row.
  ///
  /// - Parameters:
  ///   - ranges: the expected number of ranges.
  ///   - counts: their expected sum.
  ///   - end: the end of the input, and the checksum of all of it.
  /// - Throws: `ServerError` of the kind `busy` when some are missing.
  func finish(
    _ claim: InputClaim, ranges: Int, _ counts: RowCounts, end: (byte: Int, checksum: UInt64)
  ) throws {
    let input = claim.input
    try session.use { connection in
      let rows = try connection.run(
        begin + "SELECT done FROM \(tables.input) WHERE input = \(key(input)) AND epoch = "
          + "\(claim.epoch) FOR UPDATE")
      guard let row = rows.last?.rows.first else {
        throw Fenced.error(session.target.shown, input.name)
      }
      // An earlier try succeeded, and only its answer was lost.
      if row[0] == "t" { return connection.rollBack() }
      let found = try connection.run(
        "SELECT count(*), \(RowCounts.sums) FROM \(tables.range) WHERE input = \(key(input))"
      ).last?.rows.first
      let present = found?.int(0) ?? 0
      guard present == ranges, found.flatMap({ RowCounts($0, from: 1) }) == counts else {
        throw LostBatches.error(session.target.shown, max(1, ranges &- present))
      }
      try connection.run(
        "UPDATE \(tables.input) SET done = true, (\(RowCounts.columns)) = (\(counts.values)), byte_end = "
          + "\(end.byte), digest = '\(RangeChecksum.text(end.checksum))', ended = clock_timestamp() WHERE "
          + "input = \(key(input)); DELETE FROM \(tables.range) WHERE input = \(key(input)); DELETE FROM "
          + "\(tables.lease) WHERE input = \(key(input))")
      try commit(connection)
    }
  }
}
