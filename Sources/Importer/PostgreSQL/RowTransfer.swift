import Base

/// Brings the rows of a range into the table, inside an open transaction.
///
/// Thread rule: confined.
struct RowTransfer {
  private let plan: LoadPlan
  private let range: CopyRange
  private let connection: any ServerLink

  init(_ plan: LoadPlan, _ range: CopyRange, _ connection: any ServerLink) {
    self.plan = plan
    self.range = range
    self.connection = connection
  }

  /// Transfers all rows in one attempt.
  ///
  /// - Returns: the rows that are left out because of their keys.
  /// - Throws: `ServerError`, also for a single row that the server refuses.
  func transferAll(_ counts: inout RowCounts) throws -> [Reject] {
    counts.imported = 0
    guard let keys = plan.keys else {
      try copy(0..<range.rowCount, plan.copy)
      counts.imported = range.rowCount
      return []
    }
    let stage = KeyStage(plan, keys, connection)
    try stage.make()
    try copy(0..<range.rowCount, stage.copy)
    let merged = try stage.mergeAll(count: range.rowCount)
    return note(merged, &counts) { $0 }
  }

  /// Transfers the rows window by window, to find and leave out rows that the server refuses.
  ///
  /// - Parameter told: called with all rows refused so far; throws when there are too many.
  /// - Returns: the refused rows, and rows that are left out because of their keys, in the input's order.
  /// - Complexity: see `search`.
  func transferCarefully(_ counts: inout RowCounts, _ told: ([Reject]) throws -> Void) throws
    -> [Reject]
  {
    counts.imported = 0
    var refused: [Reject] = []
    func refuse(_ row: Int, _ error: ServerError) throws {
      let advice = isOrphan(error) ? Self.orphanAdvice : ""
      guard
        let reject = range.reject(
          row, reason: "the server refuses the row: \(error.words)\(advice)")
      else { return }
      counts.rejected += 1
      refused.append(reject)
      try told(refused)
    }
    guard let keys = plan.keys else {
      counts.imported = try copyCarefully(refuse)
      return refused.sorted { $0.record < $1.record }
    }
    // The rows are copied once, without those that do not fit the columns' types; then they are merged.
    let stage = KeyStage(plan, keys, connection)
    try stage.make()
    var staged: [Int] = []
    try search(range.rowCount, copiedInto: KeyStage.name, refuse) { rows, opening in
      try connection.run(opening)
      try copy(rows, stage.copy)
    } taken: { rows, _ in
      staged += rows
    }
    let waiting = try stage.number()
    guard waiting.count == staged.count else {
      throw leftOut(staged.count - waiting.count, of: staged.count)
    }
    try search(
      staged.count, copiedInto: nil, { place, error in try refuse(staged[place], error) }
    ) { places, opening in
      try stage.merge(waiting[places], opening)
    } taken: { places, merged in
      let conflicts = note(merged, &counts) { staged[places.lowerBound + $0] }
      refused += conflicts
      if !conflicts.isEmpty { try told(refused) }
    }
    return refused.sorted { $0.record < $1.record }
  }

  /// Copies rows directly into the table.
  ///
  /// A row that refers to a later one is refused until the table has that one. So refused rows are tried
  /// again after all others, until a pass takes none.
  ///
  /// - Parameter refuse: called with each row that is refused in the end.
  /// - Returns: the number of rows that the server has taken.
  private func copyCarefully(_ refuse: (Int, ServerError) throws -> Void) throws -> Int {
    var rows = Array(0..<range.rowCount)
    var orphans: [(row: Int, error: ServerError)] = []
    var taken = 0
    repeat {
      let before = taken
      orphans = []
      try search(rows.count, copiedInto: plan.tableName) { place, error in
        if isOrphan(error) {
          orphans.append((rows[place], error))
        } else {
          try refuse(rows[place], error)
        }
      } _: { places, opening in
        try connection.run(opening)
        try copy(rows[places], plan.copy)
      } taken: { places, _ in
        taken += places.count
      }
      if taken == before { break }
      // Alternating directions find rows that refer to earlier ones and to later ones equally fast.
      rows = orphans.map(\.row).reversed()
    } while !rows.isEmpty
    for orphan in orphans { try refuse(orphan.row, orphan.error) }
    return taken
  }

  /// True when the refused row may be taken once the table has another row of the import.
  private func isOrphan(_ error: ServerError) -> Bool {
    plan.refersToItself && error.sqlState == SQLState.foreignKeyViolation
  }

  private static let orphanAdvice =
    "; where it refers to a record of a later batch, import the rejected records once more"

  /// Tries rows window by window, and finds those that the server refuses: by the line that the server's
  /// error names, or else by halving.
  ///
  /// - Parameters:
  ///   - table: the server's name of the table that `attempt` copies into; nil when errors name no lines.
  ///   - refuse: called with each refused row and its error, in order.
  ///   - attempt: transfers rows in a savepoint, which the given statement opens.
  ///   - taken: called with rows that the server has taken.
  /// - Complexity: two attempts for each refused row if the server names the line, else O(log(rows)), and one
  ///   if the row before is refused, too.
  private func search<Result>(
    _ count: Int, copiedInto table: String?, _ refuse: (Int, ServerError) throws -> Void,
    _ attempt: (Range<Int>, _ opening: String) throws -> Result,
    taken: (Range<Int>, Result) throws -> Void
  ) throws {
    var next = 0
    var width = count
    /// The row that the server's last error was for.
    var known: (row: Int, error: ServerError)?
    while next < count {
      if let found = known, found.row == next {
        try refuse(found.row, found.error)
        known = nil
        next += 1
        // The next row often fails, too. If the server names lines, trying two costs no more.
        if table != nil { width = max(2, width) }
        continue
      }
      let end = min(known?.row ?? count, next + width)
      do {
        let rows = next..<end
        try taken(rows, try undoable { try attempt(rows, Self.savepoint) })
        next = end
        width = min(count, width * 2)
      } catch let error as ServerError {
        guard let state = error.sqlState, SQLState(state).isOfRows else { throw error }
        let line = table.flatMap { Self.line(error.context, table: $0) }
        if let row = line.map({ next + $0 - 1 }), row < end {
          known = (row, error)
          width = max(1, row - next)
        } else if end - next == 1 {
          known = (next, error)
        } else {
          width = (end - next) / 2
        }
      }
    }
  }

  private static let savepoint = "SAVEPOINT sheaf_rows"

  /// Runs `attempt`, which opens the savepoint, and undoes it when it fails.
  private func undoable<Result>(_ attempt: () throws -> Result) throws -> Result {
    do {
      let result = try attempt()
      // Constraints that the server would check only at the end of a transaction are checked now, while the
      // row can still be identified.
      let checks = "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; "
      try connection.run(
        (plan.engine.defersConstraints ? checks : "") + "RELEASE SAVEPOINT sheaf_rows")
      return result
    } catch let error as ServerError where !error.isDisconnected {
      try connection.run("ROLLBACK TO SAVEPOINT sheaf_rows; RELEASE SAVEPOINT sheaf_rows")
      throw error
    }
  }

  /// Adds the result of merging rows to the counts.
  ///
  /// - Parameter row: maps a place among the merged rows to the row of the range.
  /// - Returns: the rows that are left out.
  private func note(
    _ merged: KeyStage.Merged, _ counts: inout RowCounts, _ row: (Int) -> Int
  ) -> [Reject] {
    // The server's numbers are not trusted: the sums may wrap.
    counts.imported &+= merged.imported
    counts.updated &+= merged.updated
    counts.skipped &+= merged.skipped
    counts.unchanged &+= merged.unchanged
    counts.rejected &+= merged.conflicts.count
    guard let keys = plan.keys else { return [] }
    return merged.conflicts.compactMap { place in
      range.reject(
        row(place),
        reason:
          "its key, in \(keys.keys.count == 1 ? "column" : "the columns") \(keys.list), is there already, in "
          + "the table or earlier in the input")
    }
  }

  private func copy(_ rows: some Collection<Int>, _ statement: String) throws {
    let taken = try connection.copy(statement) { (put) throws(ServerError) in
      var rest = rows[...]
      while let first = rest.popFirst() {
        var next = first + 1
        while rest.first == next {
          rest.removeFirst()
          next += 1
        }
        try range.forText(ofRows: first..<next) { (bytes) throws(ServerError) in try put(bytes) }
      }
    }
    guard taken == rows.count else { throw leftOut(rows.count - taken, of: rows.count) }
  }

  private func leftOut(_ count: Int, of all: Int) -> ServerError {
    plan.leftOut(count, of: all)
  }

  /// The row that a server's error names, from 1: `COPY apps, line 3, column size: "x"`, in any language.
  ///
  /// - Parameter table: the table's name in the error, without quotes and without its schema.
  static func line(_ context: String?, table: String) -> Int? {
    guard let context else { return nil }
    let mark = Array("COPY \(table), ".utf8)
    let bytes = Array(context.utf8)
    guard bytes.count > mark.count,
      let start = (0...bytes.count - mark.count).first(where: { bytes[$0...].starts(with: mark) })
    else { return nil }
    let rest = bytes[(start + mark.count)...]
    // The place ends with a comma or a colon; anything may follow.
    let digits = rest.prefix { $0 != 0x2C && $0 != 0x3A && $0 != 0x3B }.split(separator: 0x20)
      .first { $0.allSatisfy { (0x30...0x39).contains($0) } }
    guard let digits, let number = Int(String(decoding: digits, as: UTF8.self)),
      (1...1 << 40).contains(number)
    else {
      return nil
    }
    return number
  }
}
