import Base
import Engine
import Importer

/// `sheaf log`: the imports that a file has seen.
enum LogCommand {
  static let table = Option<String>(
    "table", .name, defaultNote: "all", help: "Only imports into this table")
  static let limit = Option<Int>(
    "limit", .count, defaultNote: "all that are known, up to 1,000", help: "Only the newest N")

  static let definition = CommandDefinition(
    name: "log",
    summary: "List the imports that a database file has seen",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [table, limit, CommonOptions.wait, CommonOptions.report],
    examples: [
      .init(
        command: "sheaf log apps.sheaf",
        meaning:
          "When each import began, what became of it, how many records were new, changed and rejected, "
          + "which version it made, and its inputs; the newest last. What was undone is listed too, and "
          + "said to be."
      ),
      .init(
        command: "sheaf log apps.sheaf --limit 1 --report json",
        meaning: "The newest, with each input's size, bytes and checksum, for programs."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    return try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("log", path, arguments)
    ) { database in
      if let note = database.recoveryNote {
        StandardError.line("sheaf log: \(path): opened in spite of damage: \(note)")
      }
      let snapshot = try database.snapshot()
      let all = try ImportRuns.list(snapshot, table: arguments.value(table))
      if let table = try arguments.value(table), all.isEmpty { _ = try snapshot.table(table) }
      let undone = try UndoneRuns.find(all, in: snapshot)
      let runs = Array(all.suffix(try arguments.value(limit) ?? all.count))
      if try arguments.required(CommonOptions.report) == .json {
        let json: JSONValue = [
          "command": "log", "database": .string(path),
          "runs": .array(runs.map { Self.json($0, isUndone: undone.contains($0.number)) }),
        ]
        try output.write(json.line)
      } else {
        try print(runs, undone, output)
        try output.write("\n\(HumanFormat.count(runs.count, "import", "imports"))\n")
      }
      return .done
    }
  }

  // MARK: Reports

  private static func json(_ run: RunEntry, isUndone: Bool) -> JSONValue {
    .object(
      [
        .init(key: "run", value: .int(Int(run.number))),
        .init(key: "begun", value: .string("\(run.begun)")),
        .init(key: "noted", value: .string("\(run.noted)")),
        .init(key: "table", value: .string(run.table)),
        .init(key: "status", value: .string(run.status.rawValue)),
        .init(key: "undone", value: .bool(isUndone)),
        .init(key: "before", value: .int(Int(clamping: run.base))),
        .init(key: "version", value: .int(Int(clamping: run.version))),
        .init(key: "batches", value: .int(run.batches)),
      ] + members(run.counts) + [
        .init(key: "deleted", value: .int(run.deleted)),
        .init(key: "inputCount", value: .int(run.inputCount)),
        .init(key: "inputs", value: .array(run.inputs.map(json))),
      ])
  }

  private static func json(_ input: RunEntry.Input) -> JSONValue {
    .object(
      [
        .init(key: "path", value: .string(input.path)),
        .init(key: "size", value: .optional(input.size) { .int($0) }),
        .init(key: "bytesRead", value: .int(input.bytes)),
        .init(key: "checksum", value: .string(hexadecimal(input.checksum))),
        .init(key: "complete", value: .bool(input.isComplete)),
      ] + members(input.counts))
  }

  private static func members(_ counts: RunEntry.Counts) -> [JSONValue.Member] {
    [
      .init(key: "read", value: .int(counts.read)),
      .init(key: "imported", value: .int(counts.imported)),
      .init(key: "updated", value: .int(counts.updated)),
      .init(key: "skipped", value: .int(counts.skipped)),
      .init(key: "unchanged", value: .int(counts.unchanged)),
      .init(key: "rejected", value: .int(counts.rejected)),
      .init(key: "filtered", value: .int(counts.filtered)),
    ]
  }

  private static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func print(
    _ runs: [RunEntry], _ undone: Set<Int64>, _ output: BufferedOutput
  ) throws {
    let numbers = ["read", "imported", "updated", "deleted", "rejected", "version"].map {
      Column($0, .int)
    }
    let table = TextTable(
      [Column("run", .int)] + ["begun", "status", "table"].map { Column($0, .text) } + numbers
        + [Column("inputs", .text)],
      output, terminalWidth: System.terminalColumns(1),
      isRich: TerminalPolicy.standardOutput.isRich)
    for run in runs {
      let more = run.inputCount > run.inputs.count ? " (\(run.inputCount) in all)" : ""
      let inputs = run.inputs.prefix(10).map(\.path).joined(separator: " ") + more
      let counts = run.counts
      try table.add([
        "\(run.number)", "\(run.begun)",
        run.status.rawValue + (undone.contains(run.number) ? ", undone" : ""),
        StandardError.escaped(run.table),
        "\(counts.read)", "\(counts.imported)", "\(counts.updated)", "\(run.deleted)",
        "\(counts.rejected)", "\(run.version)", StandardError.escaped(inputs),
      ])
    }
    try table.end()
  }
}
