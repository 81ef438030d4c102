@testable import Importer

/// The effects of statements. The caller has the server's lock.
extension ModelServer {
  /// Runs statements that were sent together, in the open transaction, or in one of their own.
  ///
  /// - Returns: the answers, and whether others may see a change.
  func execute(_ query: String, _ session: Session) throws(ServerError) -> (
    [ServerResult], Bool
  ) {
    let statements: [ModelStatement]
    do { statements = try ModelSQL.statements(query) } catch {
      note("\(error)")
      throw ServerError(.usage, "\(error)", sqlState: "42601")
    }
    var results: [ServerResult] = []
    var changes = false
    var isOwn = false
    for (number, statement) in statements.enumerated() {
      do throws(ServerError) {
        if session.transaction == nil {
          session.transaction = Transaction()
          isOwn = true
        }
        switch statement {
        case .begin: isOwn = false
        case .commit, .rollBack: isOwn = true
        default: break
        }
        if session.transaction?.hasFailed == true, !isOwn, !statement.endsFailure {
          throw ServerError(.usage, "the transaction is aborted", sqlState: "25P02")
        }
        if statement.changes, isOwn { changes = true }
        results.append(try run(statement, session))
      } catch {
        if isOwn || session.isTerminated { rollBack(session) }
        session.transaction?.hasFailed = true
        throw ServerError(
          error.kind, error.description, sqlState: error.sqlState, statement: number,
          isDisconnected: error.isDisconnected)
      }
    }
    if isOwn, session.transaction != nil { commit(session) }
    return (results, changes)
  }

  private func run(_ statement: ModelStatement, _ session: Session) throws(ServerError)
    -> ServerResult
  {
    switch statement {
    case .begin: return ServerResult(tag: "BEGIN", count: 0, rows: [])
    case .rollBack:
      rollBack(session)
      return ServerResult(tag: "ROLLBACK", count: 0, rows: [])
    case .commit:
      let hasFailed = session.transaction?.hasFailed == true
      if hasFailed { rollBack(session) } else { commit(session) }
      return ServerResult(tag: hasFailed ? "ROLLBACK" : "COMMIT", count: 0, rows: [])
    case .savepoint, .releaseSavepoint, .rollBackToSavepoint:
      session.transaction?.run(statement)
      return ServerResult(tag: "SAVEPOINT", count: 0, rows: [])
    case .makeStage: return ServerResult(tag: "CREATE TABLE", count: 0, rows: [])
    case .set(let name, let value):
      if name == "synchronous_commit" { session.transaction?.isSynchronous = value == .text("on") }
      if name == "application_name" { session.transaction?.name = value.field ?? "" }
      if case .int(let number) = value { session.transaction?.numbers[name] = number }
      return ServerResult(tag: "SET", count: 0, rows: [])
    case .insert(let table, let columns, let source, let conflict, let returns):
      return try insert(table, columns, source, conflict, returns: returns, session)
    case .insertNew(let table, let columns, let select):
      var waiting: [Row] = []
      for (_, row) in view(session, Self.stage) where try holds(select.condition, row, session) {
        waiting.append(row)
      }
      return try insertNew(
        table, columns, self.rows(select, session), waiting: waiting, session)
    case .update(let table, let assignments, let condition, let returning):
      let found = try lockRows(session, table, isExclusive: true) { (row) throws(ServerError) in
        try holds(condition, row, session)
      }
      var rows: [ServerRow] = []
      for (id, old) in found {
        var row = old
        for (column, expression) in assignments {
          row[column] = try value(expression, old, session)
        }
        change(id, table, to: row, session)
        rows.append(try answer(returning, row, session))
      }
      return ServerResult(
        tag: "UPDATE \(found.count)", count: found.count, rows: returning.isEmpty ? [] : rows)
    case .delete(let table, let condition):
      let found = try lockRows(session, table, isExclusive: true) { (row) throws(ServerError) in
        try holds(condition, row, session)
      }
      for (id, _) in found { change(id, table, to: nil, session) }
      return ServerResult(tag: "DELETE \(found.count)", count: found.count, rows: [])
    case .select(let select):
      let rows = try self.rows(select, session)
      return ServerResult(
        tag: "SELECT \(rows.count)", count: rows.count,
        rows: rows.map { ServerRow(fields: $0.map(\.field)) })
    }
  }

  private func answer(
    _ items: [ModelExpression], _ row: Row, _ session: Session
  ) throws(ServerError) -> ServerRow {
    var fields: [String?] = []
    for item in items { fields.append(try value(item, row, session).field) }
    return ServerRow(fields: fields)
  }

  /// The values of columns that an insertion does not name.
  private static let defaults: [String: Row] = [
    "sheaf_input": [
      "done": .bool(false), "records": .int(0), "imported": .int(0), "updated": .int(0),
      "skipped": .int(0), "unchanged": .int(0), "rejected": .int(0), "byte_end": .int(0),
    ]
  ]

  private func insert(
    _ table: String, _ columns: [String], _ source: ModelStatement.Source,
    _ conflict: ModelStatement.Conflict, returns: Bool, _ session: Session
  ) throws(ServerError) -> ServerResult {
    var rows: [[ModelValue]] = []
    switch source {
    case .select(let select): rows = try self.rows(select, session)
    case .values(let lists):
      for list in lists {
        var row: [ModelValue] = []
        for item in list { row.append(try value(item, [:], session)) }
        rows.append(row)
      }
    }
    var answers: [ServerRow] = []
    for values in rows {
      var row = Self.defaults[table] ?? [:]
      for (column, value) in zip(columns, values) { row[column] = value }
      if try insert(row, table, session) {
        answers.append(ServerRow(fields: ["1"]))
        continue
      }
      switch conflict {
      case .skips: break
      case .updates(let set, let compared, let counting):
        if try replace(row, table, set: set, compared: compared, counting: counting, session) {
          answers.append(ServerRow(fields: ["0"]))
        }
      case .fails:
        throw ServerError(.data, "duplicate key value", sqlState: SQLState.uniqueViolation)
      }
    }
    return ServerResult(
      tag: "INSERT 0 \(answers.count)", count: answers.count, rows: returns ? answers : [])
  }

  private func rows(_ select: ModelSelect, _ session: Session) throws(ServerError) -> [[ModelValue]]
  {
    var found: [Row] = [[:]]
    if select.table == "pg_stat_activity" {
      found = []
      for row in activities where try holds(select.condition, row, session) { found.append(row) }
    } else if let table = select.table {
      if select.rowLock == .none {
        found = []
        for (_, row) in view(session, table) where try holds(select.condition, row, session) {
          found.append(row)
        }
      } else {
        found = try lockRows(session, table, isExclusive: select.rowLock == .exclusive) {
          (row) throws(ServerError) in try holds(select.condition, row, session)
        }.map(\.row)
      }
    }
    // Without ORDER BY no order is promised.
    if select.order == nil, [Self.stage, Self.rounds].contains(select.table) { found.reverse() }
    if let order = select.order {
      found.sort { Self.isLess($0[order] ?? .null, $1[order] ?? .null) }
    }
    if select.items.contains(where: \.isAggregate) {
      var row: [ModelValue] = []
      for item in select.items { row.append(try total(item, found, session)) }
      return [row]
    }
    var rows: [[ModelValue]] = []
    for row in found {
      var values: [ModelValue] = []
      for item in select.items { values.append(try value(item, row, session)) }
      rows.append(values)
    }
    return rows
  }

  // MARK: Expressions

  private func holds(
    _ condition: ModelExpression?, _ row: Row, _ session: Session
  ) throws(ServerError) -> Bool {
    guard let condition else { return true }
    return try value(condition, row, session) == .bool(true)
  }

  /// The value of an aggregate.
  private func total(
    _ item: ModelExpression, _ rows: [Row], _ session: Session
  ) throws(ServerError) -> ModelValue {
    switch item {
    case .call("count", _): return .int(rows.count)
    case .call("sum", let arguments):
      if rows.isEmpty { return .null }
      var sum = 0
      for row in rows {
        if let first = arguments.first, case .int(let number) = try value(first, row, session) {
          sum += number
        }
      }
      return .int(sum)
    case .call("max", let arguments):
      var most = ModelValue.null
      for row in rows {
        guard let first = arguments.first else { continue }
        let next = try value(first, row, session)
        if most == .null || Self.isLess(most, next) { most = next }
      }
      return most
    case .call(let name, let arguments):
      var values: [ModelValue] = []
      for argument in arguments { values.append(try total(argument, rows, session)) }
      return try call(name, values, session)
    default: return try value(item, [:], session)
    }
  }

  private func value(
    _ expression: ModelExpression, _ row: Row, _ session: Session
  ) throws(ServerError) -> ModelValue {
    switch expression {
    case .value(let value): return value
    case .column("current_user"): return .text("sheaf")
    case .column(let name):
      // A column that the row was inserted without is null.
      return row[name] ?? .null
    case .not(let inner):
      guard case .bool(let isTrue) = try value(inner, row, session) else { return .null }
      return .bool(!isTrue)
    case .exists(let select): return .bool(try !rows(select, session).isEmpty)
    case .call(let name, let arguments):
      var values: [ModelValue] = []
      for argument in arguments { values.append(try value(argument, row, session)) }
      return try call(name, values, session)
    case .binary(let sign, let left, let right):
      return try Self.combine(sign, value(left, row, session), value(right, row, session))
    }
  }

  private func call(
    _ name: String, _ values: [ModelValue], _ session: Session
  ) throws(ServerError) -> ModelValue {
    switch (name, values.first) {
    case ("clock_timestamp", _): return .time(now)
    case ("coalesce", _): return values.first { $0 != .null } ?? .null
    case ("epoch", .time(let time)?): return .real(Double(time) / 1e6)
    case ("cast bigint", .real(let number)?): return .int(Int(number.rounded()))
    case ("cast bigint", let value?), ("cast text", let value?),
      ("cast bytea", let value?):
      return value
    case ("current_setting", .text(let name)?):
      // Names have no part before the point here.
      let setting = name.split(separator: ".").last.map(String.init) ?? name
      return session.transaction?.numbers[setting].map { .text("\($0)") } ?? .null
    case ("current_database", _): return .text("model")
    case ("pg_backend_pid", _): return .int(session.number)
    case ("pg_terminate_backend", .int(let number)?):
      terminate(number)
      return .bool(true)
    default:
      note("the model does not know \(name)")
      throw ServerError(.usage, "no function \(name)", sqlState: "42883")
    }
  }

  private static func isLess(_ left: ModelValue, _ right: ModelValue) -> Bool {
    switch (left, right) {
    case (.int(let left), .int(let right)), (.time(let left), .time(let right)): left < right
    case (.text(let left), .text(let right)): left < right
    default: false
    }
  }

  private static func combine(
    _ sign: String, _ left: ModelValue, _ right: ModelValue
  ) throws(ServerError) -> ModelValue {
    switch (sign, left, right) {
    case ("AND", .bool(let left), .bool(let right)): return .bool(left && right)
    case ("OR", .bool(let left), .bool(let right)): return .bool(left || right)
    case ("AND", .bool(false), _), ("AND", _, .bool(false)): return .bool(false)
    case ("OR", .bool(true), _), ("OR", _, .bool(true)): return .bool(true)
    case (_, .null, _), (_, _, .null): return .null
    case ("=", _, _): return .bool(left == right)
    case ("<>", _, _): return .bool(left != right)
    case ("<", _, _): return .bool(isLess(left, right))
    case (">", _, _): return .bool(isLess(right, left))
    case ("<=", _, _): return .bool(!isLess(right, left))
    case (">=", _, _): return .bool(!isLess(left, right))
    case ("LIKE", .text(let text), .text(let pattern)):
      return .bool(
        pattern.hasSuffix("%") ? text.hasPrefix(String(pattern.dropLast())) : text == pattern)
    case ("+", .int(let left), .int(let right)): return .int(left + right)
    case ("+", .time(let left), .int(let right)): return .time(left + right)
    case ("*", .real(let left), .int(let right)): return .real(left * Double(right))
    default: throw ServerError(.usage, "no operator \(sign)", sqlState: "42883")
    }
  }
}
