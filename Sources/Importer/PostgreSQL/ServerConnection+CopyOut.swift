import Base

/// Results that come row by row.
extension ServerConnection {
  /// A column of a query's result.
  struct ResultColumn {
    let name: String
    /// The number of its type, which it has in every database; 0 where there is none.
    let type: Int
  }

  /// The columns of a statement's result, of which it gives no rows.
  ///
  /// - Parameter statement: one alone: the server refuses several.
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

  /// Begins a `COPY ... TO STDOUT`, whose rows `nextCopied` then gives.
  ///
  /// - Parameter statement: one alone: the server refuses several.
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
    /// The server has sent nothing more yet.
    case nothingYet
    /// Behind the last row, after which the server has found no error.
    case end
  }

  /// Calls `body` with the next row of a `COPY ... TO STDOUT`, its line's end included.
  ///
  /// - Parameter waits: whether for a row, if none is there yet.
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

  /// Takes all that is left of a statement's answer.
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
