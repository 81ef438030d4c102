import Importer

extension ImportReport.DialectReport {
  /// The form for programs.
  var json: JSONValue {
    [
      "delimiter": .string(delimiter),
      "quote": .optional(quote) { .string($0) },
      "escape": .optional(escape) { .string($0) },
      "comment": .optional(comment) { .string($0) },
      "header": .bool(hasHeader), "encoding": .string(encoding.rawValue),
      "skippedLines": .int(skippedLines),
      "recordEnd": .optional(recordEnd) { .string($0) },
      "sniffed": .array(sniffed.map { .string($0) }),
    ]
  }

  /// The dialect in words; findings stand in parentheses, given settings do not.
  var text: String {
    func part(_ name: String, _ text: String, _ key: String) -> String {
      sniffed.contains(key) ? "\(name) (\(text))" : "\(name) \(text)"
    }
    var parts = [
      part("delimiter", Self.shown(delimiter), "delimiter"),
      part("quote", quote.map(Self.shown) ?? "none", "quote"),
      part("escape", escapeText, "escape"),
    ]
    if let comment { parts.append(part("comment", Self.shown(comment), "comment")) }
    parts.append(part("header", hasHeader ? "yes" : "no", "header"))
    parts.append(part("encoding", encoding.rawValue, "encoding"))
    if skippedLines > 0 {
      parts.append(part("skipped lines", "\(skippedLines)", "skippedLines"))
    }
    if let end = recordEnd { parts.append("record end \(Self.shown(end))") }
    return parts.joined(separator: ", ")
  }

  private var escapeText: String {
    quote != nil && escape == quote ? "doubled" : escape.map(Self.shown) ?? "none"
  }

  /// A delimiter, a quote or a record end, with invisible characters spelled out.
  static func shown(_ text: String) -> String {
    let escaped = text.map { character in
      switch character {
      case "\t": "\\t"
      case "\r": "\\r"
      case "\n": "\\n"
      case "\r\n": "\\r\\n"
      default: String(character)
      }
    }
    return escaped.joined()
  }
}
