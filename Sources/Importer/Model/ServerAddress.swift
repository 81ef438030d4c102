import Base

/// What tells a server from a file, and how a server is named without its password.
///
/// Nothing here needs the client library, so that an address can be shown when it is missing.
public enum ServerAddress {
  private static let schemes = ["postgresql://", "postgres://"]
  private static let keywords = [
    "host", "hostaddr", "port", "dbname", "user", "service", "sslmode",
  ]

  /// Whether a word is the URL of a server.
  public static func isURL(_ word: String) -> Bool { schemes.contains(where: word.hasPrefix) }

  /// Whether a destination is a server: a URL, or `key=value` pairs that begin with one of libpq's own keys.
  /// A file of such a name is meant by `./NAME`.
  public static func isServer(_ destination: String) -> Bool {
    if isURL(destination) { return true }
    return keywords.contains { destination.hasPrefix($0 + "=") }
  }

  /// The address without passwords, for reports and errors.
  ///
  /// Rather too much is left out than too little: of a URL all between the first `:` behind the scheme and
  /// the last `@`.
  public static func shown(_ address: String) -> String {
    guard let scheme = schemes.first(where: address.hasPrefix) else { return shownPairs(address) }
    // Scalars, not characters: a combining mark would hide the sign before it, and so show a password.
    var rest = address.unicodeScalars.dropFirst(scheme.unicodeScalars.count)
    if let at = rest.lastIndex(of: "@"), let colon = rest.firstIndex(of: ":"), colon < at {
      rest.removeSubrange(colon..<at)
    }
    guard let question = rest.firstIndex(of: "?") else { return scheme + String(rest) }
    let query = rest[question...].dropFirst().split(separator: "&").map { String($0) }
    let kept = query.filter { !hidesSecrets($0) }
    return scheme + String(rest[..<question])
      + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
  }

  /// Whether a part of a query is a password's, or may be one's in another spelling.
  private static func hidesSecrets(_ pair: String) -> Bool {
    pair.contains(sign: "%") || pair.utf8.contains { $0 >= 0x80 }
      || pair.lowercased().contains("pass")
  }

  /// The values of `host`, `port`, `dbname` and the like, and no others.
  private static func shownPairs(_ address: String) -> String {
    var shown: [String] = []
    // A value in quotes may have anything in it, another key too.
    if address.contains(sign: "'") || address.contains(sign: "\\") {
      return "a server given by key=value pairs"
    }
    for pair in address.unicodeScalars.split(whereSeparator: \.properties.isWhitespace) {
      guard let equals = pair.firstIndex(of: "=") else { continue }
      guard keywords.contains(String(pair[..<equals])) else { continue }
      // The database's name may be a whole address itself.
      let value = String(pair[equals...].dropFirst())
      shown.append(
        String(pair[...equals])
          + (schemes.contains(where: value.hasPrefix) ? Self.shown(value) : value))
    }
    return shown.isEmpty ? "a server given by key=value pairs" : shown.joined(separator: " ")
  }
}
