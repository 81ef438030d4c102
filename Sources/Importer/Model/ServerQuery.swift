/// A query of a server as an input: the URL of the server with a parameter `query=`.
///
/// Thread rule: a plain value, `Sendable`.
package struct ServerQuery: Sendable, Equatable {
  /// The URL without the query.
  package let address: String
  /// The query, without a final semicolon.
  package let text: String
  /// The query in errors and reports: without a password, in one line.
  package let shown: String

  /// The default name for tables and files of rejects of a query.
  package static let name = "query"

  /// - Parameter word: an input as given.
  /// - Returns: nil when it is not the URL of a server.
  /// - Throws: `ImportError.invalidOption` for a URL without a query, or one that cannot be read.
  package init?(_ word: String) throws(ImportError) {
    guard ServerAddress.isURL(word) else { return nil }
    let server = ServerAddress.shown(word)
    let parts = Self.parts(word)
    var queries: [Substring] = []
    var others: [Substring] = []
    for parameter in parts.parameters {
      if parameter.utf8.starts(with: Self.key.utf8) {
        queries.append(Substring(parameter.utf8.dropFirst(Self.key.utf8.count)))
      } else {
        others.append(parameter)
      }
    }
    guard let query = queries.first, queries.count == 1 else {
      throw .invalidOption(
        "\(server) is a server: as an input it needs one query, as in "
          + "'postgresql://host/database?query=SELECT * FROM t'")
    }
    guard let decoded = Self.decoded(query) else {
      throw .invalidOption(
        "\(server): the query cannot be read: in a URL a % is %25, an & is %26, and what is behind a % are "
          + "two hexadecimal digits of UTF-8")
    }
    let text = Self.trimmed(decoded)
    guard !text.isEmpty else { throw .invalidOption("\(server): the query is empty") }
    self.text = text
    address = parts.server + (others.isEmpty ? "" : "?" + others.joined(separator: "&"))
    shown =
      ServerAddress.shown(address) + (others.isEmpty ? "?" : "&") + Self.key + Self.shown(text)
  }

  private static let key = "query="

  /// The server and the parameters of a URL. The password may contain a `?`.
  private static func parts(_ url: String) -> (server: String, parameters: [Substring]) {
    let bytes = url.utf8
    var start = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.startIndex
    start = bytes.index(start, offsetBy: 3, limitedBy: bytes.endIndex) ?? bytes.endIndex
    let stop = bytes[start...].firstIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "/") }
    if let stop, bytes[stop] == UInt8(ascii: "@") { start = stop }
    guard let question = bytes[start...].firstIndex(of: UInt8(ascii: "?")) else { return (url, []) }
    let parameters = bytes[bytes.index(after: question)...].split(separator: UInt8(ascii: "&"))
    return (String(url[..<question]), parameters.map { Substring($0) })
  }

  /// The text with percent encoding decoded; nil when a percent sign begins no code, or the bytes are not
  /// text.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst(), let low = rest.popFirst(),
        let value = hexadecimal(high, low), value != 0
      else { return nil }
      bytes.append(value)
    }
    return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
  }

  private static func hexadecimal(_ high: UInt8, _ low: UInt8) -> UInt8? {
    // `UInt8(_:radix:)` would accept a sign.
    let digits = [high, low].compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    return digits.count == 2 ? UInt8(digits[0] * 16 + digits[1]) : nil
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }

  private static func trimmed(_ text: String) -> String {
    var bytes = Array(text.utf8)[...]
    while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
    while let last = bytes.last, isBlank(last) || last == UInt8(ascii: ";") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The query may also contain a password, for another server.
  private static func shown(_ text: String) -> String {
    if text.lowercased().contains("pass") { return "..." }
    return text.utf8.split(whereSeparator: isBlank).map { String(Substring($0)) }
      .joined(separator: " ")
  }
}
