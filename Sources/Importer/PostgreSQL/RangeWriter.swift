import Base

/// The result of committing a range.
struct RangeOutcome: Sendable {
  let counts: RowCounts
  /// Whether an earlier try had committed it, in this process or another.
  let wasThere: Bool
}

/// One of the lanes: commits ranges, each with its row of `sheaf_range` in one transaction. It tries as often
/// as needed and commits exactly once.
///
/// Another try is safe, however a connection ended: a committed range has its row, which cannot be inserted
/// twice, and the server waits for a transaction of the range that is still under way.
///
/// Thread rule: confined to the lane's thread.
final class RangeWriter {
  private let plan: LoadPlan
  private let session: ServerSession
  private let budget: RejectBudget
  /// The number of ranges of this input that the server has ever acknowledged.
  private let acknowledged: @Sendable () -> Int
  private var checkedConnections = 0

  init(
    _ plan: LoadPlan, _ session: ServerSession, _ budget: RejectBudget,
    acknowledged: @escaping @Sendable () -> Int
  ) {
    self.plan = plan
    self.session = session
    self.budget = budget
    self.acknowledged = acknowledged
  }

  func close() { session.close() }

  /// Commits a range.
  ///
  /// - Throws: `ServerError`; `TooManyRejects`; `ImportError.inputChanged`.
  func write(_ range: CopyRange) throws -> RangeOutcome {
    var isCareful = false
    var connections = session.connections
    while true {
      do {
        return try session.use { connection in
          try checkAcknowledged(connection)
          if session.connections > max(1, connections) {
            // The server may not have noticed yet that the earlier connection is gone.
            if plan.engine.endsTransactions {
              try connection.run(LoadPlan.ending(input: plan.input, record: range.firstRecord))
            }
            connections = session.connections
          }
          return try attempt(range, isCareful: isCareful, connection)
        }
      } catch let error as ServerError {
        guard !isCareful, range.rowCount > 0, let state = error.sqlState, SQLState(state).isOfRows
        else { throw error }
        isCareful = true
      }
    }
  }

  /// Checks that no acknowledged batch is lost, so that the import does not report lost ones as imported:
  /// with `synchronous_commit` off, a server that crashed comes back without the last ones.
  private func checkAcknowledged(_ connection: any ServerLink) throws {
    defer { checkedConnections = session.connections }
    if plan.isSynchronous || session.connections <= max(1, checkedConnections) { return }
    let expected = acknowledged()
    let found = try connection.run(
      "SELECT count(*), EXISTS (SELECT 1 FROM \(plan.tables.input) WHERE input = "
        + "\(SQLText.literal(plan.input)) AND epoch = \(plan.epoch) AND NOT done) FROM "
        + "\(plan.tables.range) WHERE input = \(SQLText.literal(plan.input))"
    ).first?.rows.first
    // A process that has taken over the input may have folded its ranges.
    guard found?[1] == "t" else { throw Fenced.error(plan.target.shown, plan.input) }
    let count = found?.int(0) ?? 0
    if count < expected { throw LostBatches.error(plan.target.shown, expected &- count) }
  }

  private func attempt(
    _ range: CopyRange, isCareful: Bool, _ connection: any ServerLink
  ) throws -> RangeOutcome {
    var counts = RowCounts()
    counts.records = range.recordCount
    counts.imported = range.rowCount
    counts.rejected = range.rejects.count
    let opening = plan.begin + [plan.naming(range)]
    do {
      let results = try connection.run(
        (opening + [plan.insertion(range, counts)]).joined(separator: "; "))
      guard results.last?.count == 1 else { throw Fenced.error(plan.target.shown, plan.input) }
    } catch let error as ServerError
      where error.sqlState == SQLState.uniqueViolation && error.statement == opening.count
    {
      connection.rollBack()
      return try confirm(range, connection)
    }
    var refused: [Reject] = []
    let guessed = counts
    if range.rowCount > 0 {
      let rows = RowTransfer(plan, range, connection)
      if isCareful {
        refused = try rows.transferCarefully(&counts) { [budget] rejects in
          if budget.set(rejects, ofRange: range.firstRecord) {
            throw TooManyRejects(uncommitted: range.rejects + rejects)
          }
        }
      } else {
        refused = try rows.transferAll(&counts)
      }
    }
    if budget.set(refused, ofRange: range.firstRecord) {
      throw TooManyRejects(uncommitted: range.rejects + refused)
    }
    try insert(range.rejects + refused, connection)
    if counts != guessed { try connection.run(plan.correction(range, counts)) }
    guard try connection.run("COMMIT").last?.tag == "COMMIT" else {
      throw ServerError(
        .inputOutput,
        "\(plan.target.shown): the server rolled a batch back at its end; go on with --resume")
    }
    return RangeOutcome(counts: counts, wasThere: false)
  }

  /// The outcome of a range that the table already has.
  private func confirm(_ range: CopyRange, _ connection: any ServerLink) throws -> RangeOutcome {
    guard let row = try connection.run(plan.stored(range)).first?.rows.first,
      let stored = StoredRange(row), stored.isOf(range)
    else {
      throw ImportError.inputChanged(
        path: range.pieces.first?.file ?? plan.input,
        reason:
          "records from \(range.firstRecord) on are in the table with other bytes than the input has"
      )
    }
    return RangeOutcome(counts: stored.counts, wasThere: true)
  }

  /// The maximum number of rejects, and of their bytes, in one statement.
  private static let mostRejects = 500
  private static let mostRejectBytes = 4 << 20

  private func insert(_ rejects: [Reject], _ connection: any ServerLink) throws {
    var start = 0
    var bytes = 0
    for index in rejects.indices {
      bytes += rejects[index].original.count
      let isLast = index == rejects.count - 1
      if isLast || index - start + 1 == Self.mostRejects || bytes >= Self.mostRejectBytes {
        try connection.run(plan.insertion(rejects[start...index]))
        (start, bytes) = (index + 1, 0)
      }
    }
  }
}

@available(*, unavailable)
extension RangeWriter: Sendable {}

/// More records were rejected than allowed.
struct TooManyRejects: Error {
  /// The rejects of the range that was therefore not committed.
  var uncommitted: [Reject] = []
}

/// The error when another process has claimed an input.
enum Fenced {
  static func error(_ server: String, _ input: String) -> ServerError {
    ServerError(
      .busy,
      "\(server): another process has gone on with \(input), since this one gave no sign of life for as long "
        + "as --lease says: nothing was imported twice, and that one does the rest")
  }
}

/// The error when a server has lost acknowledged batches.
enum LostBatches {
  static func error(_ server: String, _ count: Int) -> ServerError {
    ServerError(
      .busy,
      "\(server): the server has lost \(count) batch\(count == 1 ? "" : "es") that it had acknowledged, as a "
        + "crash with --durability group may: run the command again with --resume, which imports them again"
    )
  }
}
