import Base

@testable import Importer

/// Connects a scenario's process to the model of a server.
struct ModelAccess: ServerAccess {
  let server: ModelServer
  let client: ModelClient

  var shown: String { "model" }

  func connect(
    silence: Double?, isStopping: () -> Bool, isCancelled: @escaping () -> Bool
  ) throws(ServerError) -> any ServerLink {
    if isStopping() || isCancelled() { throw ServerError(.interrupted, "interrupted") }
    return ModelLink(server, try server.connect(client))
  }
}

/// A connection to the model of a server.
final class ModelLink: ServerLink {
  private let server: ModelServer
  private let session: ModelServer.Session
  private(set) var isOpen = true

  init(_ server: ModelServer, _ session: ModelServer.Session) {
    (self.server, self.session) = (server, session)
  }

  var name: String { "model" }
  var serverVersion: Int { 150_000 }
  func parameter(_ name: String) -> String? { name == "server_encoding" ? "UTF8" : nil }

  @discardableResult
  func run(_ statements: String) throws(ServerError) -> [ServerResult] {
    try ask { () throws(ServerError) in try server.answer(statements, session) }
  }

  func copy(
    _ statement: String,
    _ write: (_ put: (UnsafeRawBufferPointer) throws(ServerError) -> Void) throws(ServerError) ->
      Void
  ) throws(ServerError) -> Int {
    var text: [UInt8] = []
    try write { (bytes) throws(ServerError) in text += Array(bytes) }
    let lines = text.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    return try ask { () throws(ServerError) in
      try server.answer(statement, session, copies: lines)
    }.first?.count ?? 0
  }

  private func ask(_ question: () throws(ServerError) -> [ServerResult]) throws(ServerError)
    -> [ServerResult]
  {
    guard isOpen else { throw ModelServer.lost() }
    do throws(ServerError) { return try question() } catch {
      if error.isDisconnected { isOpen = false }
      throw error
    }
  }

  func rollBack() {
    guard isOpen, server.isInTransaction(session) else { return }
    do { try run("ROLLBACK") } catch { close() }
  }

  /// A live client says goodbye; of one that was cut off the server hears nothing.
  func close() {
    if isOpen { server.bye(session) }
    isOpen = false
  }
}

extension ModelServer {
  func isInTransaction(_ session: Session) -> Bool { lock.withLock { session.transaction != nil } }

  func bye(_ session: Session) { lock.withLock { if !session.isCut { leave(session) } } }
}
