/// The meaning of a server's five-character code for an import.
struct SQLState: Equatable {
  let code: String

  init(_ code: String) { self.code = code }

  private var codeClass: Substring { code.prefix(2) }

  /// Violated unique constraint.
  static let uniqueViolation = "23505"
  /// Violated foreign key.
  static let foreignKeyViolation = "23503"
  /// The server, or the transaction, is read-only.
  static let readOnly = "25006"

  /// The kind of error.
  var kind: ServerError.Kind {
    switch code {
    case "42501", "3D000", Self.readOnly: return .missing
    case "42804", "54000", "54001": return .data
    case "53300", "57P03", "55P03", "57014": return .busy
    // The key's constraint is DEFERRABLE.
    case "55000": return .usage
    default: break
    }
    switch codeClass {
    case "42", "0A", "3F", "54": return .usage
    case _ where isOfFunctions: return .data
    case "22", "23", "44": return .data
    case "28": return .missing
    case "40": return .busy
    default: return .inputOutput
    }
  }

  /// True when the same transaction may succeed if it is repeated.
  var isTransient: Bool {
    switch code {
    case "57P01", "57P02", "57P03", "53300", "55P03", "40001", "40P01", "40003": true
    // The server's limits for silent clients, inside a transaction and outside.
    case "25P03", "57P05": true
    // Errors between a coordinator and its shards or nodes.
    case "XX000": true
    default: codeClass == "08" || codeClass == "40" || codeClass == "58"
    }
  }

  /// True when the error is about single rows, so that the others may be imported.
  var isOfRows: Bool {
    // 54000: a row, or its part in an index, that is longer than a page.
    ["22", "23", "44"].contains(codeClass) || ["42804", "54000", "54001"].contains(code)
      || isOfFunctions
  }

  /// True when a trigger or a function in the database raised the error, with `raise` alone or with a code of
  /// its own that no server has.
  private var isOfFunctions: Bool {
    ["09", "21", "27", "38", "39", "45", "P0"].contains(codeClass)
      || code.utf8.first.map { [UInt8(ascii: "U"), UInt8(ascii: "Z")].contains($0) } ?? false
  }

  static let passwordAdvice =
    "; check user and password (PGPASSWORD, PGPASSFILE or ~/.pgpass keep it out of the command)"

  /// Advice for the user; empty when the server's message suffices.
  var advice: String {
    switch code {
    case "28P01", "28000": Self.passwordAdvice
    case "3D000": "; create the database first, or name another one"
    case "3F000": "; create the schema first, or choose a name without a point with --table"
    case "42501": "; have the rights granted: docs/distributed.md lists what an import needs"
    case Self.readOnly:
      "; this server only reads: name the primary, or several hosts and target_session_attrs=read-write"
    case "53300": "; wait for connections to come free, or use fewer --connections"
    case "53100": "; free some space on the server, and go on with --resume"
    case "57P03": "; wait until the server has started"
    case "57014": "; a limit of the server's or a person ended the statement: go on with --resume"
    case "42P10":
      "; --on-conflict needs a unique constraint on the columns of the key and no others"
    default: ""
    }
  }

  /// The code in the message of a refused connection, which contains it because errors are verbose: `FATAL:
  /// 28P01: password authentication failed`.
  static func inMessage(_ message: String) -> SQLState? {
    // The word before the code is in the server's language.
    for part in message.split(separator: ":").dropFirst() {
      let code = part.drop { $0 == " " }
      if code.utf8.count == 5, part.first == " ", code.contains(where: \.isNumber),
        code.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
      {
        return SQLState(String(code))
      }
    }
    return nil
  }
}
