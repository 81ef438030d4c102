import Importer

/// The findings about an input, for people and for programs.
struct SniffPrinter {
  let report: ImportReport
  let options: ImportOptions

  private var file: ImportReport.FileReport? { report.files.first }
  private var findings: InputFindings { file?.findings ?? InputFindings() }
  private var notes: [String] { file?.notes ?? report.notes }

  /// The text lists at most this number of candidates; JSON lists all.
  private static let shownCandidates = 6

  // MARK: JSON

  var json: JSONValue {
    [
      "command": "sniff", "input": .string(report.inputs.first ?? ""),
      "dialect": .optional(file?.dialect) { $0.json },
      "headerReason": .optional(findings.header) { .string($0) },
      "candidates": .array(findings.candidates.map(json)),
      "columns": .array(
        report.columns.map { column in
          [
            "name": .string(column.name), "type": .string(column.type.name),
            "nulls": .int(column.nulls),
            "spelled": .optional(column.notation) { .array($0.patterns.map { .string($0) }) },
          ]
        }),
      "records": .int(report.read), "rejected": .int(report.rejected),
      "notes": .array(notes.map { .string($0) }), "import": .string(command),
    ]
  }

  private func json(_ candidate: InputFindings.Candidate) -> JSONValue {
    [
      "delimiter": .string(candidate.delimiter),
      "quote": .optional(candidate.quote) { .string($0) },
      "escape": .optional(candidate.escape) { .string($0) },
      "fields": .int(candidate.fields), "agreeing": .double(candidate.agreeing),
      "malformed": .int(candidate.malformed), "typedColumns": .int(candidate.typedColumns),
      "splitFields": .int(candidate.splitFields),
      "leavesDelimiters": .bool(candidate.leavesDelimiters), "score": .double(candidate.score),
      "chosen": .bool(candidate.isChosen),
    ]
  }

  // MARK: Text

  var text: String {
    var lines: [String] = []
    if let dialect = file?.dialect { lines.append("dialect     " + dialect.text) }
    if let header = findings.header {
      lines.append("header      \(file?.dialect?.hasHeader == true ? "yes" : "no"): \(header)")
    }
    for (index, column) in report.columns.enumerated() {
      let spelled = column.notation.map { " (\($0.summary))" } ?? ""
      lines.append(
        (index == 0 ? "columns     " : "            ")
          + "\(column.name) \(column.type.name)\(spelled)")
    }
    for (index, candidate) in findings.candidates.prefix(Self.shownCandidates).enumerated() {
      lines.append((index == 0 ? "candidates  " : "            ") + text(candidate))
    }
    lines += notes.map { "note        " + $0 }
    if report.rejected > 0 {
      lines.append(
        "rejected    \(HumanFormat.count(report.rejected)) of the first "
          + HumanFormat.count(report.read, "record", "records"))
    }
    lines.append("import      " + command)
    return lines.map { StandardError.escaped($0) + "\n" }.joined()
  }

  /// A dialect that was tried, with the reasons for it and against it.
  private func text(_ candidate: InputFindings.Candidate) -> String {
    let shown = ImportReport.DialectReport.shown
    var parts = [
      "\(HumanFormat.count(candidate.fields, "field", "fields")) in "
        + "\(HumanFormat.percent(candidate.agreeing)) of the records"
    ]
    if candidate.typedColumns > 0 {
      parts.append(HumanFormat.count(candidate.typedColumns, "typed column", "typed columns"))
    }
    if candidate.malformed > 0 {
      parts.append("\(HumanFormat.count(candidate.malformed)) malformed")
    }
    if candidate.splitFields > 0 {
      parts.append("\(HumanFormat.count(candidate.splitFields)) quoted fields cut in two")
    }
    if candidate.leavesDelimiters { parts.append("other delimiters left in every record") }
    let name =
      shown(candidate.delimiter) + " " + (candidate.quote.map(shown) ?? "none")
      + (candidate.escape == candidate.quote ? "" : " " + (candidate.escape.map(shown) ?? "none"))
    return "\(candidate.isChosen ? "*" : " ") \(name)  \(parts.joined(separator: ", "))"
  }

  // MARK: Command

  /// The import command with all findings as options, quoted for a shell.
  private var command: String {
    let path = report.inputs.first ?? "-"
    var words = ["sheaf", "import", path, "--into", "\(report.table).sheaf"]
    if let dialect = file?.dialect {
      let shown = ImportReport.DialectReport.shown
      words += ["--delimiter", shown(dialect.delimiter), "--quote", dialect.quote ?? "none"]
      words += ["--escape", dialect.escape ?? "none"]
      // A sign that was found leaves out only what cannot be a record. One that is given leaves out all.
      if dialect.comment == nil || !dialect.sniffed.contains("comment") {
        words += ["--comment", dialect.comment ?? "none"]
        words += ["--skip-lines", "\(dialect.skippedLines)"]
      }
      if options.skipFooter > 0 { words += ["--skip-footer", "\(options.skipFooter)"] }
      if case .names(let names) = options.header {
        words += ["--header", ColumnList.written(names)]
      } else {
        words += ["--header", dialect.hasHeader ? "yes" : "no"]
      }
      if options.headerLines > 1 { words += ["--header-lines", "\(options.headerLines)"] }
      words += ["--encoding", dialect.encoding.rawValue]
    }
    if options.quotes != .strict { words += ["--quotes", options.quotes.rawValue] }
    if options.ragged != .reject { words += ["--ragged", options.ragged.rawValue] }
    for null in options.nulls { words += ["--null", null] }
    if options.trimsFields { words.append("--trim") }
    return (words + toldOfColumns).map(ShellWord.quoted).joined(separator: " ")
  }

  /// The options for columns that were given, unchanged.
  private var toldOfColumns: [String] {
    var words: [String] = []
    switch options.types {
    case .infer: break
    case .text: words += ["--types", "text"]
    case .named(let types):
      let pairs = types.sorted { $0.key < $1.key }.map { ($0.key, $0.value.name) }
      words += ["--types", ColumnList.written(pairs)]
    }
    for format in options.dateFormats {
      let name = format.column.map {
        ColumnList.escaped($0).replacing(sign: "%", with: "\\%") + ":"
      }
      words += ["--date-format", (name ?? "") + format.format]
    }
    if let mark = options.decimalMark { words += ["--decimal", mark.rawValue] }
    if let byte = options.thousandsSeparator {
      words += ["--thousands", byte == 0x20 ? "space" : String(UnicodeScalar(byte))]
    }
    if options.hasNoThousands { words += ["--thousands", "none"] }
    if let columns = options.columns { words += ["--columns", ColumnList.written(columns)] }
    if !options.renames.isEmpty {
      let pairs = options.renames.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
      words += ["--rename", ColumnList.written(pairs)]
    }
    return words
  }
}
