import Base

/// Names and values as parts of statements.
enum SQLText {
  /// The maximum length of a name: PostgreSQL silently cuts longer ones, which can make two of them equal.
  static let longestName = 63

  /// A quoted name, whatever characters the name has.
  static func name(_ name: String) -> String {
    "\"" + name.replacing(sign: "\"", with: "\"\"") + "\""
  }

  /// A text as a literal, whatever `standard_conforming_strings` is.
  static func literal(_ text: String) -> String {
    var quoted = "'"
    var hasBackslash = false
    for scalar in text.unicodeScalars {
      switch scalar {
      case "'": quoted += "''"
      case "\\":
        hasBackslash = true
        quoted += "\\\\"
      // PostgreSQL stores no NUL, and libpq would end the statement there.
      case "\0": quoted += "\u{FFFD}"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return (hasBackslash ? " E" : "") + quoted + "'"
  }

  /// The text as a literal, or NULL.
  static func literal(_ text: String?) -> String { text.map { literal($0) } ?? "NULL" }

  /// Bytes as a literal of type `bytea`.
  static func literal(_ bytes: [UInt8]) -> String {
    var text = " E'\\\\x"
    text.reserveCapacity(bytes.count * 2 + 16)
    let digits = Array("0123456789abcdef".unicodeScalars)
    for byte in bytes {
      text.unicodeScalars.append(digits[Int(byte >> 4)])
      text.unicodeScalars.append(digits[Int(byte & 15)])
    }
    return text + "'::bytea"
  }

  /// Why the server cannot have a thing with this name; nil when it can.
  static func problem(withName name: String) -> String? {
    if name.isEmpty { return "it is empty" }
    if name.utf8.contains(0) { return "it has a NUL character" }
    if name.utf8.count > longestName {
      return "it has \(name.utf8.count) bytes, and PostgreSQL cuts names off behind \(longestName)"
    }
    return nil
  }
}
