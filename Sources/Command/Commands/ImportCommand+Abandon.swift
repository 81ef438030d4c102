import Base
import Engine
import Importer

/// `sheaf import --abandon`: drops the pending rows of an import.
extension ImportCommand {
  static func runAbandoning(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = try arguments.required(into)
    guard !ServerAddress.isServer(path) else {
      throw CommandError.usage("--abandon is for a database file: nothing is pending in a server")
    }
    guard arguments.positionals.isEmpty else {
      throw CommandError.usage(
        "--abandon takes no CSV: it drops what is pending, and imports nothing; name the table with --table"
      )
    }
    for option in definition.options
    where !allowedWithAbandon.contains(option.name) && arguments.isGiven(option) {
      throw CommandError.usage("--abandon imports nothing: leave --\(option.name) out")
    }
    return try RunLog.keep(
      arguments, output, command: "import", files: [path],
      subject: [
        .init(key: "inputs", value: .array([])), .init(key: "database", value: .string(path)),
      ]
    ) { try abandon(path, arguments, output, $0) }
  }

  private static let allowedWithAbandon: Set<String> = [
    into.name, table.name, abandon.name, CommonOptions.wait.name, CommonOptions.jobReport.name,
    CommonOptions.reportFile.name, CommonOptions.quiet.name,
  ]

  private static func abandon(
    _ path: String, _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    let wanted = try arguments.value(table)
    let dropped = try DatabaseFile.change("import", path, arguments) { database in
      let pending = try database.snapshot().pendingTables
      guard let found = try choose(pending, wanted, path) else { return PendingTable?.none }
      try database.abandonPending(found.name)
      return found
    }
    let json: JSONValue = [
      "command": "import", "database": .string(path),
      "abandoned": .optional(dropped) {
        ["table": .string($0.name), "objects": .int($0.objects)]
      },
    ]
    log.report = { json }
    log.done = "what was pending is dropped"
    if arguments.isSet(CommonOptions.quiet) { return .done }
    let text = StandardError.escaped(
      dropped.map {
        "\(path): dropped \(HumanFormat.count($0.objects, "object", "objects")) that were pending for table "
          + "'\($0.name)', which is as it was"
      } ?? "\(path): nothing is pending" + (wanted.map { " for table '\($0)'" } ?? ""))
    switch try arguments.required(CommonOptions.jobReport) {
    case .text: try output.write(text + "\n")
    case .line: try output.write("\(Timestamp.now) \(text)\n")
    case .json: try output.write(json.line)
    }
    return .done
  }

  /// The pending tables to be dropped; nil when there are none.
  private static func choose(
    _ pending: [PendingTable], _ wanted: String?, _ path: String
  ) throws(CommandError) -> PendingTable? {
    if let wanted { return pending.first { $0.name == wanted } }
    guard pending.count > 1 else { return pending.first }
    throw CommandError.usage(
      "\(path): something is pending for several tables, \(pending.map(\.name).joined(separator: ", ")): say "
        + "which with --table")
  }
}
