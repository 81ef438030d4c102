import Base

/// Recognizes addresses of servers, and removes their passwords for display.
///
/// It does not need the client library, so an address can be shown when that is missing.
public enum ServerAddress {
  private static let schemes = ["postgresql://", "postgres://"]
  private static let keywords = [
    "host", "hostaddr", "port", "dbname", "user", "service", "sslmode",
  ]
  /// Other keys of libpq, whose values are not shown.
  private static let otherKeywords = [
    "password", "passfile", "require_auth", "channel_binding", "connect_timeout", "client_encoding",
    "options", "application_name", "fallback_application_name", "keepalives", "keepalives_idle",
    "keepalives_interval", "keepalives_count", "tcp_user_timeout", "gssencmode", "gsslib",
    "gssdelegation", "krbsrvname", "sslnegotiation", "sslcompression", "sslcert", "sslkey",
    "sslpassword", "sslcertmode", "sslrootcert", "sslcrl", "sslcrldir", "sslsni", "requirepeer",
    "ssl_min_protocol_version", "ssl_max_protocol_version", "servicefile", "target_session_attrs",
    "load_balance_hosts",
  ]

  /// Returns whether a word is the URL of a server.
  public static func isURL(_ word: String) -> Bool { scheme(of: word) != nil }

  // By bytes, as in libpq: `hasPrefix` does not find a `/` followed by a combining mark.
  private static func scheme(of word: String) -> String? {
    schemes.first { word.utf8.starts(with: $0.utf8) }
  }

  /// Returns whether a destination is a server: a URL, or `key=value` pairs that begin with a key of libpq. A
  /// file with such a name can be given as `./NAME`.
  public static func isServer(_ destination: String) -> Bool {
    if isURL(destination) { return true }
    // libpq allows blanks before and after a key.
    let pair = destination.unicodeScalars.drop { blanks.contains(sign: $0) }
    let key = pair.prefix { $0 != "=" && !blanks.contains(sign: $0) }
    guard pair[key.endIndex...].first(where: { !blanks.contains(sign: $0) }) == "=" else {
      return false
    }
    return (keywords + otherKeywords).contains(String(key))
  }

  private static let blanks = " \t\n\u{B}\u{C}\r"

  /// Returns whether a word is the URL of something else, which may also contain a password. A file with such
  /// a name can be given as `./NAME`.
  public static func isOfOther(_ word: String) -> Bool {
    !isURL(word) && otherScheme(of: word) != nil
  }

  /// The word; for an address, the part of it that may be shown.
  public static func withoutPassword(_ word: String) -> String {
    isServer(word) || isOfOther(word) ? shown(word) : word
  }

  private static func otherScheme(of word: String) -> String? {
    var rest = word.utf8[...]
    while let byte = rest.first, byte != UInt8(ascii: "/") {
      guard byte >= 0x20, byte < 0x7F else { return nil }
      rest.removeFirst()
      if byte == UInt8(ascii: ":"), rest.starts(with: "//".utf8) {
        return String(word[..<word.utf8.index(rest.startIndex, offsetBy: 2)])
      }
    }
    return nil
  }

  /// The address without passwords, for reports and errors.
  ///
  /// It removes too much rather than too little: in a URL, everything between the first `:` after the scheme
  /// and the last `@`.
  public static func shown(_ address: String) -> String {
    guard let scheme = scheme(of: address) ?? otherScheme(of: address) else {
      return shownPairs(address)
    }
    // Scalars, not characters: a combining mark would hide the sign before it, and so reveal a password.
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

  /// Returns whether a parameter of a URL is a password, or may be one in another spelling.
  private static func hidesSecrets(_ pair: String) -> Bool {
    pair.contains(sign: "%") || pair.utf8.contains { $0 >= 0x80 }
      || pair.lowercased().contains("pass")
  }

  /// Keeps the values of `host`, `port`, `dbname` and similar keys only.
  private static func shownPairs(_ address: String) -> String {
    var shown: [String] = []
    // A quoted value may contain anything, even another key.
    if address.contains(sign: "'") || address.contains(sign: "\\") {
      return "a server given by key=value pairs"
    }
    // Only the characters that are blanks for libpq; others belong to the value.
    for pair in address.unicodeScalars.split(whereSeparator: {
      blanks.contains(sign: $0)
    }) {
      guard let equals = pair.firstIndex(of: "=") else { continue }
      guard keywords.contains(String(pair[..<equals])) else { continue }
      // The name of the database may itself be an address.
      let value = String(pair[equals...].dropFirst())
      shown.append(
        String(pair[...equals])
          + (isURL(value) ? Self.shown(value) : value))
    }
    return shown.isEmpty ? "a server given by key=value pairs" : shown.joined(separator: " ")
  }
}
