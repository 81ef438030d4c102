import Base

/// Results that arrive row by row.
extension ServerConnection {
  /// A column of a query's result.
  struct ResultColumn {
    let name: String
    /// The OID of its type, the same in every database; 0 when it has none.
    let type: Int
  }

  /// The columns of a statement's result. Its rows are not fetched.
  ///
  /// - Parameter statement: a single one; the server refuses several.
  func columns(of statement: String) throws(ServerError) -> [ResultColumn] {
    try sendAlone(statement)
    var columns: [ResultColumn] = []
    try finish { result in
      columns = (0..<max(0, library.columnCount(result))).map { index in
        ResultColumn(
          name: library.columnName(result, index).map { String(cString: $0) } ?? "",
          type: Int(library.columnType(result, index)))
      }
    }
    return columns
  }

  /// Begins a `COPY ... TO STDOUT`; `nextCopied` then returns its rows.
  ///
  /// - Parameter statement: a single one; the server refuses several.
  func beginCopyingOut(_ statement: String) throws(ServerError) {
    try sendAlone(statement)
    guard let result = try nextResult() else { throw lost("copying") }
    defer { library.clear(result) }
    if library.resultStatus(result) == LibPQ.Code.copyOut { return }
    let failure = error(result, statement: 0)
    while let rest = try nextResult() { library.clear(rest) }
    throw failure
  }

  enum Copied {
    case row
    /// No row has arrived yet.
    case nothingYet
    /// There are no more rows, and the server has reported no error.
    case end
  }

  /// Calls `body` with the next row of a `COPY ... TO STDOUT`, including its line end.
  ///
  /// - Parameter waits: true: wait for a row that has not arrived yet.
  func nextCopied(waits: Bool, _ body: (UnsafeRawBufferPointer) -> Void) throws(ServerError)
    -> Copied
  {
    var limit = SilenceLimit(silence)
    while true {
      var row: UnsafeMutablePointer<CChar>?
      let count = library.getCopyData(handle, &row, 1)
      defer { library.freeMemory(row) }
      switch count {
      case 1...:
        body(UnsafeRawBufferPointer(start: row, count: Int(count)))
        return .row
      case 0:
        if !waits { return .nothingYet }
        System.waitForSocket(library.socket(handle), writing: false, milliseconds: Self.pause)
        guard library.consumeInput(handle) == 1 else { throw lost("copying") }
        try look(&limit, "copying")
      case -1:
        try finish { _ in }
        return .end
      default: throw lost("copying")
      }
    }
  }

  private func sendAlone(_ statement: String) throws(ServerError) {
    guard isOpen, library.sendQueryParams(handle, statement, 0, nil, nil, nil, nil, 0) == 1 else {
      throw lost("sending a statement")
    }
    try flush()
  }

  /// Reads the rest of the answer to a statement.
  private func finish(_ body: (OpaquePointer) -> Void) throws(ServerError) {
    var failure: ServerError?
    var isAnswered = false
    while let result = try nextResult() {
      defer { library.clear(result) }
      switch library.resultStatus(result) {
      case LibPQ.Code.commandOK, LibPQ.Code.tuplesOK:
        isAnswered = true
        body(result)
      case LibPQ.Code.copyIn, LibPQ.Code.copyOut:
        close()
        throw ServerError(
          .inputOutput, "\(name): the server began to copy unasked", isDisconnected: true)
      default: if failure == nil { failure = error(result, statement: 0) }
      }
    }
    if let failure { throw failure }
    if !isAnswered { throw lost("waiting for an answer") }
  }
}
