import Base

/// A server that answers some statements by a script and passes the others to a real one: it plays
/// engines and failures that cannot be produced here.
///
/// It speaks version 3 of PostgreSQL's protocol, message by message.
///
/// Thread rule: any thread.
package final class ScriptedServer: @unchecked Sendable {
  // @unchecked: `script` is `Sendable`; `lock` guards what changes.

  /// What happens to a query.
  package enum Answer: Sendable {
    /// The real server receives it.
    case pass
    /// The real server receives another query instead.
    case instead(String)
    /// The answer is one row with one field.
    case value(String)
    /// The answer is an error; the real server does not receive the query.
    case failure(code: String)
    /// The real server executes it, and the answer is an error.
    case doneAndFailure(code: String)
    /// The real server executes it; the number in its tag is changed by this.
    case miscounted(Int)
  }

  package let port: UInt16
  private let server: UInt16
  private let listener: Int32
  private let script: @Sendable (String) -> Answer
  private let lock = Lock()
  private var seen: [String] = []

  /// - Parameter script: called with each query as it was sent: one statement, or several with
  ///   semicolons.
  package init?(before server: UInt16, _ script: @escaping @Sendable (_ query: String) -> Answer) {
    guard let (descriptor, port) = Sockets.listen() else { return nil }
    (listener, self.port, self.server, self.script) = (descriptor, port, server, script)
    do {
      try Thread(name: "scripted") { [weak self] in
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

  /// All queries so far, in order.
  package var queries: [String] { lock.withLock { seen } }

  private func serve(_ client: Int32) {
    guard let upstream = Sockets.connect(port: server) else { return Sockets.end(client) }
    let talk = Talk(client: client, server: upstream)
    let up = try? Thread(name: "scripted-up") { self.talk(talk) }
    let down = try? Thread(name: "scripted-down") { talk.listen() }
    up?.detach()
    down?.detach()
  }

  /// Reads the client's messages.
  private func talk(_ talk: Talk) {
    defer { talk.leave() }
    var input = Frames(talk.client)
    // It offers no encryption.
    while let start = input.start() {
      if !start.isRequest {
        guard Sockets.send(talk.server, start.bytes) else { return }
        break
      }
      guard Sockets.send(talk.client, Array("N".utf8)) else { return }
    }
    while let frame = input.next() {
      guard frame.type == UInt8(ascii: "Q") else {
        guard Sockets.send(talk.server, frame.bytes) else { return }
        continue
      }
      let query = String(decoding: frame.bytes.dropFirst(5).dropLast(), as: UTF8.self)
      lock.withLock { seen.append(query) }
      guard answer(query, frame.bytes, talk) else { return }
    }
  }

  private func answer(_ query: String, _ bytes: [UInt8], _ talk: Talk) -> Bool {
    switch script(query) {
    case .pass: return Sockets.send(talk.server, bytes)
    case .instead(let other):
      return Sockets.send(talk.server, Frames.frame("Q", Array(other.utf8) + [0]))
    case .value(let value): return Sockets.send(talk.client, Self.row(value) + talk.ready())
    case .failure(let code):
      return Sockets.send(talk.client, Self.error(code) + talk.ready(isFailed: true))
    case .doneAndFailure(let code):
      talk.replace(Self.error(code))
      return Sockets.send(talk.server, bytes)
    case .miscounted(let difference):
      talk.miscount(difference)
      return Sockets.send(talk.server, bytes)
    }
  }

  private static func error(_ code: String) -> [UInt8] {
    let fields = ["SERROR", "VERROR", "C" + code, "Mscripted"].map { Array($0.utf8) + [0] }
    return Frames.frame("E", fields.flatMap(\.self) + [0])
  }

  private static func row(_ value: String) -> [UInt8] {
    let text = Array(value.utf8)
    // One column of type text that belongs to no table.
    let column =
      Array("value".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
      + [0, 0]
    return Frames.frame("T", [0, 1] + column)
      + Frames.frame("D", [0, 1] + Frames.number(text.count) + text)
      + Frames.frame("C", Array("SELECT 1".utf8) + [0])
  }

  /// A client and its real server, which are closed when both threads have left them.
  private final class Talk: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    let client: Int32
    let server: Int32
    private let lock = Lock()
    private var users = 2
    private var status = UInt8(ascii: "I")
    private var replacement: [UInt8]?
    private var difference = 0

    init(client: Int32, server: Int32) {
      self.client = client
      self.server = server
    }

    /// Replaces the next answer.
    func replace(_ bytes: [UInt8]) { lock.withLock { replacement = bytes } }
    func miscount(_ difference: Int) { lock.withLock { self.difference = difference } }

    func ready(isFailed: Bool = false) -> [UInt8] {
      lock.withLock {
        let isOpen = status != UInt8(ascii: "I")
        return Frames.frame("Z", [isFailed && isOpen ? UInt8(ascii: "E") : status])
      }
    }

    /// Reads the server's messages.
    func listen() {
      defer { leave() }
      var output = Frames(server)
      while let frame = output.next() {
        guard Sockets.send(client, changed(frame.type, frame.bytes)) else { return }
      }
    }

    private func changed(_ type: UInt8, _ bytes: [UInt8]) -> [UInt8] {
      lock.withLock {
        if type == UInt8(ascii: "Z") {
          status = bytes.last ?? status
          defer { replacement = nil }
          return (replacement ?? []) + bytes
        }
        if replacement != nil, type != UInt8(ascii: "S") { return [] }
        guard type == UInt8(ascii: "C"), difference != 0 else { return bytes }
        let words = String(decoding: bytes.dropFirst(5).dropLast(), as: UTF8.self).split(
          separator: " ")
        guard words.count > 1, let count = words.last.flatMap({ Int($0) }) else { return bytes }
        let tag = words.dropLast() + ["\(count + difference)"]
        difference = 0
        return Frames.frame("C", Array(tag.joined(separator: " ").utf8) + [0])
      }
    }

    func leave() {
      Sockets.shut(client)
      Sockets.shut(server)
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

/// Splits a socket's bytes into messages of PostgreSQL's protocol.
private struct Frames {
  private let socket: Int32
  private var bytes: [UInt8] = []

  init(_ socket: Int32) { self.socket = socket }

  static func number(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
  }

  static func frame(_ type: Unicode.Scalar, _ body: [UInt8]) -> [UInt8] {
    [UInt8(ascii: type)] + number(body.count + 4) + body
  }

  private mutating func fill(_ count: Int) -> Bool {
    while bytes.count < count {
      let more = Sockets.receive(socket)
      if more.isEmpty { return false }
      bytes += more
    }
    return true
  }

  private func length(at start: Int) -> Int {
    bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  private mutating func take(_ count: Int) -> [UInt8]? {
    guard count < 1 << 30, fill(count) else { return nil }
    let taken = Array(bytes[..<count])
    bytes.removeFirst(count)
    return taken
  }

  /// The first message, which has no type; nil at the end.
  mutating func start() -> (bytes: [UInt8], isRequest: Bool)? {
    guard fill(8), let message = take(max(8, length(at: 0))) else { return nil }
    let code = message[4..<8].reduce(0) { $0 << 8 | Int($1) }
    return (message, [80_877_103, 80_877_104].contains(code))
  }

  /// The next whole message; nil at the end.
  mutating func next() -> (type: UInt8, bytes: [UInt8])? {
    guard fill(5), let message = take(1 + max(4, length(at: 1))) else { return nil }
    return (message[0], message)
  }
}
