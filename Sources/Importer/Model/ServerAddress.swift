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
    var rest = address.dropFirst(scheme.count)
    if let at = rest.lastIndex(of: "@"), let colon = rest.firstIndex(of: ":"), colon < at {
      rest = rest[..<colon] + rest[at...]
    }
    guard let question = rest.firstIndex(of: "?") else { return scheme + rest }
    let query = rest[rest.index(after: question)...].split(separator: "&")
    let kept = query.filter { !$0.lowercased().contains("pass") && !$0.contains("%") }
    return scheme + rest[..<question] + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
  }

  /// The values of `host`, `port`, `dbname` and the like, and no others.
  private static func shownPairs(_ address: String) -> String {
    var shown: [String] = []
    // A value in quotes may have anything in it, another key too.
    if address.contains("'") || address.contains("\\") {
      return "a server given by key=value pairs"
    }
    for pair in address.split(whereSeparator: \.isWhitespace) {
      guard let equals = pair.firstIndex(of: "=") else { continue }
      guard keywords.contains(String(pair[..<equals])) else { continue }
      // The database's name may be a whole address itself.
      let value = String(pair[pair.index(after: equals)...])
      shown.append(
        pair[...equals] + (schemes.contains(where: value.hasPrefix) ? Self.shown(value) : value))
    }
    return shown.isEmpty ? "a server given by key=value pairs" : shown.joined(separator: " ")
  }
}
