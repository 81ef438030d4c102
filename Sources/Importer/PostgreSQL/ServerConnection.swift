import Base

/// A server's answer to one statement.
struct ServerResult: Sendable {
  /// The server's command tag, such as `COPY 10` or `COMMIT`.
  let tag: String
  /// The number of rows that were changed or returned.
  let count: Int
  let rows: [ServerRow]
}

/// A row of a server's answer; a field that it does not have is nil, not an error.
struct ServerRow: Sendable {
  /// nil for null.
  let fields: [String?]

  /// A field; nil for null, and for a field that the row does not have.
  subscript(index: Int) -> String? { fields.indices.contains(index) ? fields[index] : nil }

  /// A field as a whole number; nil when it is not one.
  func int(_ index: Int) -> Int? { self[index].flatMap { Int($0) } }
}

/// A connection to a PostgreSQL server. While it waits, it repeatedly asks the caller whether to give up.
///
/// Thread rule: one thread at a time.
final class ServerConnection: ServerLink {
  let library: LibPQ
  private(set) var handle: LibPQ.Handle
  /// Called while the server is silent: true closes the connection.
  private let isCancelled: () -> Bool
  /// Seconds without an answer after which the connection is closed; nil: no limit.
  let silence: Double?
  private var isClosed = false
  /// The server's name in errors, without a password.
  let name: String

  /// The time limit for connecting when the address gives none, in seconds.
  private static let connectSeconds = 30.0
  static let pause: Int32 = 100

  /// Connects.
  ///
  /// - Parameters:
  ///   - silence: seconds without an answer after which the connection is closed; nil: no limit.
  ///   - isStopping: called while connecting: true stops it.
  ///   - isCancelled: called while the server is silent: true closes the connection.
  /// - Throws: `ServerError`.
  init(
    _ target: ServerTarget, silence: Double? = nil, isStopping: () -> Bool,
    isCancelled: @escaping () -> Bool
  ) throws(ServerError) {
    library = target.library
    name = target.shown
    self.isCancelled = isCancelled
    self.silence = silence
    guard let handle = target.start() else {
      throw ServerError(.inputOutput, "\(target.shown): no memory for a connection")
    }
    self.handle = handle
    prepare()
    do {
      try connect(target, isStopping)
    } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  private func prepare() {
    _ = library.setVerbosity(handle, LibPQ.Code.verbose)
    // libpq would print notices to standard error.
    _ = library.setNoticeReceiver(handle, { _, _ in }, nil)
  }

  /// Closes the connection; the server rolls an open transaction back.
  func close() {
    if isClosed { return }
    isClosed = true
    library.finish(handle)
  }

  /// True when the connection can still be used.
  var isOpen: Bool { !isClosed && library.status(handle) == LibPQ.Code.connectionOK }

  /// True when a transaction is open, failed or not.
  private var isInTransaction: Bool {
    !isClosed && LibPQ.Code.inTransaction.contains(library.transactionStatus(handle))
  }

  /// The server's version: 150018 for 15.18.
  var serverVersion: Int { Int(library.serverVersion(handle)) }

  /// A parameter that the server has reported.
  func parameter(_ name: String) -> String? {
    library.parameter(handle, name).map { String(cString: $0) }
  }

  private func connect(_ target: ServerTarget, _ isStopping: () -> Bool) throws(ServerError) {
    if library.status(handle) == 1 { throw refused(target) }
    let options = library.options(of: handle)
    let seconds = try seconds(options["connect_timeout"])
    var hosts = ServerHost.list(options)
    var host = self.host
    var patience = SilenceLimit(seconds)
    var state = LibPQ.Code.pollingWriting
    while true {
      switch state {
      case LibPQ.Code.pollingReading, LibPQ.Code.pollingWriting:
        let socket = library.socket(handle)
        if state == LibPQ.Code.pollingReading {
          System.waitForSocket(socket, writing: false, milliseconds: Self.pause)
        } else {
          System.waitForRoom(socket, milliseconds: Self.pause)
        }
        if isStopping() || isCancelled() {
          throw ServerError(.interrupted, "interrupted while connecting to \(name)")
        }
        if self.host != host {
          // Each host has its own time.
          (host, patience) = (self.host, SilenceLimit(seconds))
        } else if patience.isOver {
          guard startElsewhere(target, &hosts) else {
            throw ServerError(
              .busy, "\(name): no answer within \(Int(seconds)) seconds; check host and port",
              isDisconnected: true)
          }
          if library.status(handle) == 1 { throw refused(target) }
          (host, patience) = (self.host, SilenceLimit(seconds))
          state = LibPQ.Code.pollingWriting
          continue
        }
        state = library.connectPoll(handle)
      case LibPQ.Code.pollingOK:
        guard library.setNonblocking(handle, 1) == 0 else { throw lost("connecting") }
        return
      default: throw refused(target)
      }
    }
  }

  /// The host that libpq tries to connect to, and its port.
  private var host: [String] {
    [library.host(handle), library.port(handle)].map { $0.map { String(cString: $0) } ?? "" }
  }

  /// Starts to connect to the other hosts, without the one that does not answer: libpq tries the next host
  /// only when one refuses.
  ///
  /// - Returns: false when there are no others.
  private func startElsewhere(_ target: ServerTarget, _ hosts: inout [ServerHost]) -> Bool {
    let silent = host
    let index = hosts.firstIndex { $0.isCalled(silent[0], port: silent[1]) } ?? 0
    if hosts.count < 2 { return false }
    hosts.remove(at: index)
    guard let other = target.start(hosts) else { return false }
    library.finish(handle)
    handle = other
    prepare()
    return true
  }

  /// The time that each host has to answer, in seconds.
  private func seconds(_ given: String?) throws(ServerError) -> Double {
    let text = (given ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    if text.isEmpty { return Self.connectSeconds }
    guard let seconds = Int32(text) else {
      throw ServerError(
        .usage, "\(name): connect_timeout is '\(text)', which is no whole number of seconds",
        isDisconnected: true)
    }
    return seconds > 0 ? Double(min(seconds, 3600)) : Self.connectSeconds
  }

  /// The error for a failed connection, from libpq's message.
  private func refused(_ target: ServerTarget) -> ServerError {
    let message = LibPQ.line(library.errorMessage(handle))
    // The place in the server's source code is of no use here.
    let said = message.split(separator: "; ").filter { !$0.hasPrefix("LOCATION:") }
    let text =
      said.isEmpty
      ? "the connection failed" : target.withoutSecrets(said.joined(separator: "; "))
    guard let state = SQLState.inMessage(message) else {
      let isTrust = [
        "certificate", "SSL", "GSSAPI", "password supplied", "private key", "channel binding",
        "requirepeer",
      ].contains(where: text.contains)
      let kind: ServerError.Kind = isTrust ? .missing : Self.isOfAddress(text) ? .usage : .busy
      let advice = text.contains("no password supplied") ? SQLState.passwordAdvice : ""
      return ServerError(kind, "\(name): \(text)\(advice)", isDisconnected: true)
    }
    return ServerError(
      state.kind, "\(name): \(text)\(state.advice)", sqlState: state.code, isDisconnected: true)
  }

  /// True when libpq did not try to connect because the address is not valid. Its message is in English,
  /// since no program here selects another language.
  static func isOfAddress(_ message: String) -> Bool {
    [
      "invalid ", "could not match ", "could not parse network address", "definition of service ",
      "service file ", "syntax error in service file ", "nested service specifications ",
      "Unix-domain socket path ",
    ].contains { message.hasPrefix($0) } || message.contains(" failed: invalid integer value ")
  }

  func lost(_ what: String) -> ServerError {
    let message = LibPQ.line(library.errorMessage(handle))
    return ServerError(
      .inputOutput,
      "\(name): the connection was lost while \(what)"
        + (message.isEmpty ? "" : ": \(message)") + "; go on with --resume",
      sqlState: nil, isDisconnected: true)
  }

  // MARK: Statements

  /// Runs statements that are sent together, and returns the answer to each.
  ///
  /// - Throws: `ServerError` for the first that failed; the statements after it were not run.
  @discardableResult
  func run(_ statements: String) throws(ServerError) -> [ServerResult] {
    try send(statements)
    var results: [ServerResult] = []
    var failure: ServerError?
    while let result = try nextResult() {
      defer { library.clear(result) }
      switch library.resultStatus(result) {
      case LibPQ.Code.commandOK, LibPQ.Code.tuplesOK, LibPQ.Code.emptyQuery:
        results.append(answer(result))
      case LibPQ.Code.copyIn, LibPQ.Code.copyOut:
        // No statement here copies: closing the connection is the only way out.
        close()
        throw ServerError(
          .inputOutput, "\(name): the server began to copy unasked", isDisconnected: true)
      default:
        if failure == nil { failure = error(result, statement: results.count) }
      }
    }
    if let failure { throw failure }
    return results
  }

  /// Rolls a failed transaction back; closes the connection when that fails, too.
  func rollBack() {
    guard isOpen else { return close() }
    guard isInTransaction else { return }
    do { try run("ROLLBACK") } catch { close() }
  }

  private func send(_ statements: String) throws(ServerError) {
    guard isOpen else { throw lost("sending a statement") }
    guard library.sendQuery(handle, statements) == 1 else { throw lost("sending a statement") }
    try flush()
  }

  /// Sends the buffered bytes, and meanwhile reads what the server sends, so that neither waits for the
  /// other.
  func flush() throws(ServerError) {
    var limit = SilenceLimit(silence)
    while true {
      switch library.flush(handle) {
      case 0: return
      case 1: break
      default: throw lost("sending")
      }
      System.waitForSocket(library.socket(handle), writing: true, milliseconds: Self.pause)
      guard library.consumeInput(handle) == 1 else { throw lost("sending") }
      try look(&limit, "sending")
    }
  }

  func look(_ limit: inout SilenceLimit, _ what: String) throws(ServerError) {
    if isCancelled() {
      close()
      throw ServerError(.interrupted, "interrupted while \(what)", isDisconnected: true)
    }
    if limit.isOver {
      close()
      throw ServerError(
        .inputOutput, "\(name): the server gave no answer while \(what); go on with --resume",
        isDisconnected: true)
    }
  }

  /// The next answer; nil after the last one.
  func nextResult() throws(ServerError) -> OpaquePointer? {
    var limit = SilenceLimit(silence)
    while library.isBusy(handle) == 1 {
      System.waitForSocket(library.socket(handle), writing: false, milliseconds: Self.pause)
      guard library.consumeInput(handle) == 1 else { throw lost("waiting for an answer") }
      if library.isBusy(handle) == 1 { try look(&limit, "waiting for an answer") }
    }
    return library.getResult(handle)
  }

  private func answer(_ result: OpaquePointer) -> ServerResult {
    let tag = library.commandTag(result).map { String(cString: $0) } ?? ""
    let count = library.commandTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    let columns = library.columnCount(result)
    let rows = (0..<max(0, library.rowCount(result))).map { row in
      ServerRow(
        fields: (0..<max(0, columns)).map { column in
          if library.isNull(result, row, column) == 1 { return nil }
          return library.value(result, row, column).map { String(cString: $0) }
        })
    }
    return ServerResult(tag: tag, count: count, rows: rows)
  }

  func error(_ result: OpaquePointer, statement: Int) -> ServerError {
    func field(_ code: Int32) -> String? {
      library.resultError(result, code).map { LibPQ.line($0) }
    }
    guard let given = field(LibPQ.Code.sqlState) else {
      let text = LibPQ.line(library.resultMessage(result))
      return ServerError(
        .inputOutput,
        "\(name): \(text.isEmpty ? "the connection was lost" : text); go on with --resume",
        statement: statement, isDisconnected: true)
    }
    // A standby reports this code when a transaction that may write begins.
    let code = given == "0A000" && parameter("in_hot_standby") == "on" ? SQLState.readOnly : given
    let state = SQLState(code)
    let detail = field(LibPQ.Code.detail).map { " (\($0))" } ?? ""
    let words = "\(field(LibPQ.Code.message) ?? "")\(detail) [\(code)]"
    return ServerError(
      state.kind, "\(name): \(words)\(state.advice)", sqlState: code, words: words,
      context: field(LibPQ.Code.context), statement: statement,
      isDisconnected: !isOpen)
  }

  // MARK: Copying

  /// Runs a `COPY ... FROM STDIN` with the bytes that `write` passes to `put`.
  ///
  /// - Returns: the number of rows that the server reports to have taken.
  func copy(
    _ statement: String,
    _ write: (_ put: (UnsafeRawBufferPointer) throws(ServerError) -> Void) throws(ServerError) ->
      Void
  ) throws(ServerError) -> Int {
    try send(statement)
    try beginCopy()
    var isRefused = false
    try write { (bytes: UnsafeRawBufferPointer) throws(ServerError) in
      if isRefused { return }
      isRefused = try !put(bytes)
    }
    try end()
    var count: Int?
    var failure: ServerError?
    while let result = try nextResult() {
      defer { library.clear(result) }
      switch library.resultStatus(result) {
      case LibPQ.Code.commandOK: count = answer(result).count
      default: if failure == nil { failure = error(result, statement: 0) }
      }
    }
    if let failure { throw failure }
    guard let count else { throw lost("copying") }
    return count
  }

  private func beginCopy() throws(ServerError) {
    guard let result = try nextResult() else { throw lost("copying") }
    let status = library.resultStatus(result)
    if status == LibPQ.Code.copyIn { return library.clear(result) }
    let failure = error(result, statement: 0)
    library.clear(result)
    while let rest = try nextResult() { library.clear(rest) }
    throw failure
  }

  /// Sends a piece; false when the server has refused the copy, for the reason in its answer.
  private func put(_ bytes: UnsafeRawBufferPointer) throws(ServerError) -> Bool {
    var limit = SilenceLimit(silence)
    var done = 0
    while done < bytes.count, let base = bytes.baseAddress {
      let length = min(bytes.count - done, 256 << 10)
      switch library.putCopyData(handle, base + done, Int32(truncatingIfNeeded: length)) {
      case 1:
        done += length
        limit = SilenceLimit(silence)
        guard library.consumeInput(handle) == 1 else { throw lost("copying") }
      case 0:
        System.waitForSocket(library.socket(handle), writing: true, milliseconds: Self.pause)
        guard library.consumeInput(handle) == 1 else { throw lost("copying") }
        try look(&limit, "copying")
      default: return false
      }
    }
    return true
  }

  private func end() throws(ServerError) {
    var limit = SilenceLimit(silence)
    while true {
      switch library.putCopyEnd(handle, nil) {
      case 1: return try flush()
      case 0:
        System.waitForSocket(library.socket(handle), writing: true, milliseconds: Self.pause)
        guard library.consumeInput(handle) == 1 else { throw lost("copying") }
        try look(&limit, "copying")
      // The answer has the reason.
      default: return
      }
    }
  }
}

/// How long the other side may be silent.
struct SilenceLimit {
  private let end: UInt64?

  init(_ seconds: Double?) {
    end = seconds.map { System.monotonicNanoseconds &+ UInt64(max(0, min($0, 1e9)) * 1e9) }
  }

  var isOver: Bool { end.map { System.monotonicNanoseconds >= $0 } ?? false }
}

@available(*, unavailable)
extension ServerConnection: Sendable {}
