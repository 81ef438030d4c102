@testable import Importer

/// Rows that are copied, the table in which they wait for their keys to be looked at, and savepoints. The caller has
/// the server's lock.
extension ModelServer {
  /// The table in which rows wait; only the transaction that makes it sees it.
  static let stage = "sheaf_stage"
  /// The same with `sheaf_round`.
  static let rounds = "sheaf_stage with rounds"

  /// Takes rows, or none of them.
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
      let isTold = refused.0.contains(fields[0])
      if isTold || refused.untold.contains(fields[0]) {
        session.transaction?.hasFailed = true
        throw ServerError(
          .data, "not taken", sqlState: "22P02",
          context: isTold ? "COPY \(isStaged ? Self.stage : table), line \(number + 1)" : nil)
      }
      var row: Row = isStaged ? ["sheaf_row": .int(number)] : [:]
      for (column, field) in zip(columns, fields) { row[column] = .text(field) }
      _ = try insert(row, isStaged ? Self.stage : table, session)
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
}

extension ModelServer.Transaction {
  func run(_ statement: ModelStatement) {
    switch statement {
    case .savepoint: saved = changes
    case .rollBackToSavepoint: (changes, hasFailed) = (saved, false)
    default: break
    }
  }
}

extension ModelStatement {
  /// Whether a transaction in which a statement has failed takes it.
  var endsFailure: Bool {
    if case .rollBackToSavepoint = self { true } else { false }
  }
}
