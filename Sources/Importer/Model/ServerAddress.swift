import Base

/// Recognizes addresses of servers, and shows them without passwords.
///
/// Needs no client library, so that an address can be shown when the library is missing.
public enum ServerAddress {
  private static let schemes = ["postgresql://", "postgres://"]
  private static let keywords = [
    "host", "hostaddr", "port", "dbname", "user", "service", "sslmode",
  ]

  /// Whether a word is the URL of a server.
  public static func isURL(_ word: String) -> Bool { scheme(of: word) != nil }

  // By bytes, as libpq reads it: `hasPrefix` does not find a `/` that has an accent behind it.
  private static func scheme(of word: String) -> String? {
    schemes.first { word.utf8.starts(with: $0.utf8) }
  }

  /// Whether a destination is a server: a URL, or `key=value` pairs that begin with one of libpq's own keys.
  /// A file with such a name can be given as `./NAME`.
  public static func isServer(_ destination: String) -> Bool {
    if isURL(destination) { return true }
    return keywords.contains { destination.utf8.starts(with: ($0 + "=").utf8) }
  }

  /// The address without passwords, for reports and errors.
  ///
  /// Leaves out too much rather than too little: of a URL everything between the first `:` behind the scheme
  /// and the last `@`.
  public static func shown(_ address: String) -> String {
    guard let scheme = scheme(of: address) else { return shownPairs(address) }
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

  /// Whether a parameter of a URL is a password, or may be one in another spelling.
  private static func hidesSecrets(_ pair: String) -> Bool {
    pair.contains(sign: "%") || pair.utf8.contains { $0 >= 0x80 }
      || pair.lowercased().contains("pass")
  }

  /// The values of `host`, `port`, `dbname` and the like, and no others.
  private static func shownPairs(_ address: String) -> String {
    var shown: [String] = []
    // A value in quotes may contain anything, even another key.
    if address.contains(sign: "'") || address.contains(sign: "\\") {
      return "a server given by key=value pairs"
    }
    // The characters that libpq takes for blanks: others belong to the value.
    for pair in address.unicodeScalars.split(whereSeparator: {
      " \t\n\u{B}\u{C}\r".contains(sign: $0)
    }) {
      guard let equals = pair.firstIndex(of: "=") else { continue }
      guard keywords.contains(String(pair[..<equals])) else { continue }
      // The database's name may itself be a whole address.
      let value = String(pair[equals...].dropFirst())
      shown.append(
        String(pair[...equals])
          + (isURL(value) ? Self.shown(value) : value))
    }
    return shown.isEmpty ? "a server given by key=value pairs" : shown.joined(separator: " ")
  }
}
