import Base

/// A proxy that cuts connections to a server around a statement, so that the client does not know its
/// result.
///
/// Thread rule: any thread.
package final class CuttingProxy: @unchecked Sendable {
  // @unchecked: `lock` guards what changes.

  /// What happens to a message with the statement.
  package enum Cut: Sendable, CaseIterable {
    /// It is passed on, and so is its answer.
    case none
    /// It does not reach the server.
    case before
    /// It reaches the server, and the connection is cut at once.
    case after
    /// The server's answer is dropped.
    case answer
  }

  package let port: UInt16
  private let server: UInt16
  private let listener: Int32
  private let statement: [UInt8]
  private let lock = Lock()
  private let choose: @Sendable (Int) -> Cut
  private var seen = 0
  private var cuts = 0

  /// - Parameters:
  ///   - statement: a part of the client's messages.
  ///   - choose: returns what happens to the n-th of them, from 0.
  package init?(
    to server: UInt16, statement: String, _ choose: @escaping @Sendable (_ number: Int) -> Cut
  ) {
    guard let (descriptor, port) = Sockets.listen() else { return nil }
    (listener, self.port, self.server) = (descriptor, port, server)
    self.statement = Array(statement.utf8)
    self.choose = choose
    do {
      try Thread(name: "proxy") { [weak self] in
        while let client = Sockets.accept(descriptor) {
          guard let self else { return Sockets.end(client) }
          self.serve(client)
        }
      }.detach()
    } catch {
      return nil
    }
  }

  deinit {
    Sockets.shut(listener)
    Sockets.end(listener)
  }

  /// The number of connections cut.
  package var cutCount: Int { lock.withLock { cuts } }

  private func serve(_ client: Int32) {
    guard let upstream = Sockets.connect(port: server) else { return Sockets.end(client) }
    let pair = Pair(client: client, server: upstream)
    let up = try? Thread(name: "proxy-up") { self.pump(pair) }
    let down = try? Thread(name: "proxy-down") {
      while true {
        let bytes = Sockets.receive(pair.server)
        // A dropped answer was read, so the server has sent it.
        if bytes.isEmpty || pair.losesAnswers || !Sockets.send(pair.client, bytes) { break }
      }
      pair.shut()
      pair.leave()
    }
    up?.detach()
    down?.detach()
  }

  private func pump(_ pair: Pair) {
    defer { pair.leave() }
    while true {
      let bytes = Sockets.receive(pair.client)
      if bytes.isEmpty { break }
      var cut = Cut.none
      if Self.contains(bytes, statement) {
        cut = lock.withLock {
          seen += 1
          let cut = choose(seen - 1)
          if cut != .none { cuts += 1 }
          return cut
        }
      }
      if cut == .before { break }
      if cut == .answer { pair.losesAnswers = true }
      if !Sockets.send(pair.server, bytes) || cut == .after { break }
    }
    pair.shut()
  }

  private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard bytes.count >= part.count else { return false }
    return (0...bytes.count - part.count).contains { bytes[$0...].starts(with: part) }
  }

  /// Two connections, which are closed when both threads have left them.
  private final class Pair: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    let client: Int32
    let server: Int32
    private let lock = Lock()
    private var users = 2
    private var loses = false

    init(client: Int32, server: Int32) {
      self.client = client
      self.server = server
    }

    var losesAnswers: Bool {
      get { lock.withLock { loses } }
      set { lock.withLock { loses = newValue } }
    }

    func shut() {
      Sockets.shut(client)
      Sockets.shut(server)
    }

    func leave() {
      let isLast = lock.withLock {
        users -= 1
        return users == 0
      }
      if isLast {
        Sockets.end(client)
        Sockets.end(server)
      }
    }
  }
}
