@testable import Importer

/// Copied rows, the table where they wait until their keys are looked up, and savepoints. The caller
/// has the server's lock.
extension ModelServer {
  /// The table of waiting rows, which only the transaction that makes it sees.
  static let stage = "sheaf_stage"
  /// The same rows with `sheaf_round`.
  static let rounds = "sheaf_rounds"

  /// Takes all of the rows, or none.
  func copy(_ lines: [String], _ statement: String, _ session: Session) throws(ServerError)
    -> ServerResult
  {
    let isStaged = statement.contains(Self.stage)
    let names = statement.split(separator: "(").last?.prefix { $0 != ")" } ?? ""
    let columns = names.split(separator: ",").map {
      String($0.filter { $0 != " " && $0 != "\"" })
    }
    for (number, line) in lines.enumerated() {
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      if refused.0.contains(fields[0]) {
        session.transaction?.hasFailed = true
        throw ServerError(
          .data, "not taken", sqlState: "22P02",
          context: "COPY \(isStaged ? Self.stage : table), line \(number + 1)")
      }
      var row: Row = [:]
      if isStaged {
        // The numbers of rolled-back rows are not used again.
        session.transaction?.stagedRows += 1
        row["sheaf_row"] = .int(session.transaction?.stagedRows ?? 0)
      }
      for (column, field) in zip(columns, fields) { row[column] = .text(field) }
      do throws(ServerError) { _ = try insert(row, isStaged ? Self.stage : table, session) } catch {
        session.transaction?.hasFailed = true
        throw error
      }
    }
    return ServerResult(tag: "COPY \(lines.count)", count: lines.count, rows: [])
  }

  /// Each row with its number among those of its key.
  func numbered(_ rows: [(id: Int, row: Row)]) -> [(id: Int, row: Row)] {
    var counts: [Key: Int] = [:]
    return rows.map { id, row in
      guard let key = key(table, row) else { return (id, row) }
      counts[key, default: 0] += 1
      return (id, row.merging(["sheaf_round": .int(counts[key] ?? 1)]) { $1 })
    }
  }

  /// Inserts rows with new keys.
  ///
  /// - Parameter waiting: the waiting rows in their order.
  /// - Returns: the places, from 1, of all waiting rows except the first one of each new key.
  func insertNew(
    _ table: String, _ columns: [String], _ rows: [[ModelValue]], waiting: [Row], _ session: Session
  ) throws(ServerError) -> ServerResult {
    var added: Set<Key> = []
    for values in rows {
      let row = Row(zip(columns, values)) { $1 }
      if try insert(row, table, session), let key = key(table, row) { added.insert(key) }
    }
    var left: [ServerRow] = []
    for (place, row) in waiting.enumerated() {
      guard let key = key(table, row), added.remove(key) == nil else { continue }
      left.append(ServerRow(fields: ["\(place + 1)"]))
    }
    return ServerResult(tag: "SELECT \(left.count)", count: left.count, rows: left)
  }

  /// Replaces columns of the row with the same key, and counts that. Returns false, and counts that as
  /// well, if the compared columns are equal.
  func replace(
    _ row: Row, _ table: String, set: [String], compared: [String],
    counting: (String, equal: String),
    _ session: Session
  ) throws(ServerError) -> Bool {
    let wanted = key(table, row)
    let found = try lockRows(session, table, isExclusive: true) { key(table, $0) == wanted }
    guard let (id, old) = found.first else { return false }
    let isEqual = compared.allSatisfy { (old[$0] ?? .null) == (row[$0] ?? .null) }
    session.transaction?.numbers[isEqual ? counting.equal : counting.0, default: 0] += 1
    if isEqual { return false }
    change(
      id, table, to: old.merging(set.map { ($0, row[$0] ?? .null) }) { $1 }, session)
    return true
  }
}

extension ModelServer.Transaction {
  func run(_ statement: ModelStatement) {
    switch statement {
    case .savepoint: saved = (changes, numbers)
    case .rollBackToSavepoint: (changes, numbers, hasFailed) = (saved.0, saved.numbers, false)
    default: break
    }
  }
}

extension ModelStatement {
  /// Whether a transaction with a failed statement accepts it.
  var endsFailure: Bool {
    if case .rollBackToSavepoint = self { true } else { false }
  }
}
