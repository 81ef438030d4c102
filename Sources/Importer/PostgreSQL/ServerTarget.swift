import Base

/// A server's address, for connecting any number of times, with the library that connects.
///
/// Thread rule: a plain value, `Sendable`.
struct ServerTarget: ServerAccess {
  let library: LibPQ
  /// The address for the user, without a password.
  let shown: String
  private let address: String

  /// - Throws: `ServerError` when the library is missing, or the address cannot be read.
  init(_ address: String) throws(ServerError) {
    library = try LibPQ.load()
    self.address = address
    shown = ServerAddress.shown(address)
    if address.utf8.contains(0) { throw ServerError(.usage, "\(shown): an address has no NUL") }
    var message: UnsafeMutablePointer<CChar>?
    guard let parsed = library.parse(address, &message) else {
      let reason = LibPQ.line(UnsafePointer(message))
      library.freeMemory(message)
      throw ServerError(.usage, "\(shown): the address cannot be read: \(Self.harmless(reason))")
    }
    library.freeParsed(parsed)
  }

  /// libpq's reason why it cannot read an address, without the parts of the address that it quotes, since one
  /// of them may be the password.
  static func harmless(_ reason: String) -> String {
    if reason.isEmpty { return "it is no URL and no list of key=value" }
    return reason.parts(at: "\"").enumerated().map { $0 % 2 == 0 ? $1 : "..." }
      .joined(separator: "\"")
  }

  /// A message about a connection without quoted parts of the address that are not shown. A password may have
  /// a sign that ends it, such as `/` or `@`; libpq then takes its rest for a port or a host.
  func withoutSecrets(_ text: String) -> String {
    let (given, visible) = (Array(address.utf8), Array(shown.utf8))
    return text.parts(at: "\"").enumerated().map { index, part in
      let bytes = Array(part.utf8)
      let isHidden = index % 2 == 1 && given.contains(bytes) && !visible.contains(bytes)
      return isHidden ? "..." : part
    }.joined(separator: "\"")
  }

  func connect(
    silence: Double?, isStopping: () -> Bool, isCancelled: @escaping () -> Bool
  ) throws(ServerError) -> any ServerLink {
    try ServerConnection(
      self, silence: silence, isStopping: isStopping, isCancelled: isCancelled)
  }

  /// Begins to connect; nil when there is no memory.
  ///
  /// - Parameter hosts: the hosts to try; empty: those of the address.
  func start(_ hosts: [ServerHost] = []) -> LibPQ.Handle? {
    // Parameters after `dbname` overrule those of the address; empty ones overrule nothing.
    let names = [
      "fallback_application_name", "keepalives_idle", "keepalives_interval", "keepalives_count",
      "dbname", "client_encoding", "host", "hostaddr", "port",
    ]
    func list(_ part: (ServerHost) -> String) -> String {
      hosts.allSatisfy { part($0).isEmpty } ? "" : hosts.map(part).joined(separator: ",")
    }
    // Keepalives detect a peer that is gone within a minute; a peer at work may take its time.
    let values = [
      "sheaf", "30", "10", "3", address, "UTF8", list(\.name), list(\.address), list(\.port),
    ]
    return withTexts(names) { names in
      withTexts(values) { values in library.connect(names, values, 1) }
    }
  }

  private func withTexts<Result>(
    _ texts: [String], _ body: (UnsafePointer<LibPQ.Text?>) -> Result
  ) -> Result {
    var bytes: [CChar] = []
    var starts: [Int] = []
    for text in texts {
      starts.append(bytes.count)
      bytes += text.utf8.map { CChar(bitPattern: $0) } + [0]
    }
    return bytes.withUnsafeBufferPointer { buffer in
      var pointers: [LibPQ.Text?] = starts.map { start in buffer.baseAddress.map { $0 + start } }
      pointers.append(nil)
      return pointers.withUnsafeBufferPointer { list -> Result in
        // Never nil: the list has at least its end.
        withExtendedLifetime(bytes) { body(list.baseAddress ?? Self.none) }
      }
    }
  }

  /// An empty list.
  nonisolated(unsafe) private static let none: UnsafePointer<LibPQ.Text?> = {
    let list = UnsafeMutablePointer<LibPQ.Text?>.allocate(capacity: 1)
    list.initialize(to: nil)
    return UnsafePointer(list)
  }()
}
