/// What a server's code of five characters means for an import.
struct SQLState: Equatable {
  let code: String

  init(_ code: String) { self.code = code }

  private var codeClass: Substring { code.prefix(2) }

  /// Violated unique constraint.
  static let uniqueViolation = "23505"

  /// The kind of error that it is.
  var kind: ServerError.Kind {
    switch code {
    case "42501", "3D000", "25006": return .missing
    case "42804": return .data
    case "53300", "57P03", "55P03", "57014": return .busy
    default: break
    }
    switch codeClass {
    case "42", "0A", "3F", "54": return .usage
    case "22", "23", "P0", "44": return .data
    case "28": return .missing
    case "40": return .busy
    default: return .inputOutput
    }
  }

  /// Whether the same transaction may succeed when it is begun anew.
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

  /// Whether single rows are refused, so that the others may be imported.
  var isOfRows: Bool {
    ["22", "23", "44", "P0"].contains(codeClass) || code == "42804"
  }

  /// Advice for the user; empty where the server's message suffices.
  var advice: String {
    switch code {
    case "28P01", "28000":
      "; check user and password (PGPASSWORD, PGPASSFILE or ~/.pgpass keep it out of the command)"
    case "3D000": "; create the database first, or name another one"
    case "42501": "; have the rights granted: docs/distributed.md lists what an import needs"
    case "25006": "; name the primary server: this one only reads"
    case "53300": "; wait for connections to come free, or use fewer --connections"
    case "53100": "; free some space on the server, and go on with --resume"
    case "57P03": "; wait until the server has started"
    case "57014": "; a limit of the server's or a person ended the statement: go on with --resume"
    case "42P10":
      "; --on-conflict needs a unique constraint on the columns of the key and no others"
    default: ""
    }
  }

  /// The code in the message of a refused connection, which includes it because errors are verbose: `FATAL:
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
