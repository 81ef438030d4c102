import Engine
import Importer

/// `sheaf check`: verifies a whole file.
enum CheckCommand {
  private static let deep = Flag(
    "deep",
    help:
      "Compare everything that the file says twice, too: index entries with objects, bounds with "
      + "values, free pages with blocks, older versions that are still there; takes several times as long"
  )

  static let definition = CommandDefinition(
    name: "check",
    summary: "Verify every block, reference and invariant of a database file",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [deep, CommonOptions.at, CommonOptions.wait, CommonOptions.report],
    examples: [
      .init(
        command: "sheaf check apps.sheaf",
        meaning:
          "Ends with status 0 when the file is sound, 65 with every problem found, or 74 when the "
          + "disk could not read some of it."),
      .init(
        command: "sheaf check apps.sheaf --report json",
        meaning: "The same for programs: \"ok\", and a list of \"problems\"."),
      .init(
        command: "sheaf check apps.sheaf --deep",
        meaning: "The most that can be said of a file, after a crash or before it is archived."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    output.isReport = true
    let path = arguments.positionals[0]
    let isDeep = arguments.isSet(deep)
    let isJSON = try arguments.required(CommonOptions.report) == .json
    var report: CheckReport?
    var problems: [String]
    var isReadable = true
    do {
      (report, problems) = try DatabaseFile.use(
        path, .readOnly, DatabaseFile.waiting("check", path, arguments)
      ) { database in
        if arguments.isGiven(CommonOptions.at) {
          let snapshot = try CommonOptions.snapshot(arguments, database)
          let found = try database.check(deep: isDeep, only: snapshot)
          if found.unreadable > 0 { return (found, found.problems) }
          return (found, found.problems + ImportNotes.problems(snapshot, deep: isDeep))
        }
        let found = try database.check(deep: isDeep)
        // The notes of imports belong to `Importer`; the engine does not know their contents.
        if found.unreadable > 0 { return (found, found.problems) }
        return (found, found.problems + ImportNotes.problems(try database.snapshot(), deep: isDeep))
      }
    } catch let error as EngineError {
      // A file whose content prevents opening it is a finding, not a failure.
      let failure = CommandError(unexpected: error)
      guard failure.status == .dataRefused else { throw failure }
      problems = [failure.message]
      if case .notADatabase = error { isReadable = false }
    }
    if isJSON {
      try output.write(json(report, problems, isDeep: isDeep).line)
    } else if let report, problems.isEmpty {
      try output.write(
        "\(StandardError.escaped(path)): sound: version \(report.version), "
          + "\(HumanFormat.count(report.tables, "table", "tables")), "
          + "\(HumanFormat.count(report.objects, "object", "objects")), "
          + "\(HumanFormat.count(report.blocks, "block", "blocks")) verified\(keptText(report))"
          + "\(deepText(report))\n")
    } else {
      for problem in problems {
        // The error of a file that cannot be opened names it already.
        let line = problem.contains(path) ? problem : "\(path): \(problem)"
        try output.write(StandardError.escaped(line) + "\n")
      }
    }
    if !problems.isEmpty {
      StandardError.line(
        "sheaf check: \(path): \(HumanFormat.count(problems.count, "problem", "problems")) found; "
          + (isReadable
            ? "restore a copy, or save what can still be read with sheaf export --salvage"
            : "restore a copy: what says where its tables are is gone, or nothing was committed"))
    }
    if problems.isEmpty { return .done }
    // Blocks that the disk does not return are not known to be damaged: the status names the disk.
    return (report?.unreadable ?? 0) > 0 ? .inputOutput : .dataRefused
  }
  private static func json(
    _ report: CheckReport?, _ problems: [String], isDeep: Bool
  ) -> JSONValue {
    func versions(_ list: [UInt64]) -> JSONValue { .array(list.map { .int(Int(clamping: $0)) }) }
    return .object([
      .init(key: "command", value: "check"), .init(key: "ok", value: .bool(problems.isEmpty)),
      .init(key: "deep", value: .bool(isDeep)),
      .init(key: "version", value: .optional(report) { .int(Int(clamping: $0.version)) }),
      .init(key: "keptVersions", value: .optional(report) { versions($0.keptVersions) }),
      .init(key: "olderVersions", value: .optional(report) { versions($0.olderVersions) }),
      .init(key: "passedOver", value: .optional(report) { versions($0.passedOver) }),
      .init(key: "tables", value: .optional(report) { .int($0.tables) }),
      .init(key: "objects", value: .optional(report) { .int($0.objects) }),
      .init(key: "clusters", value: .optional(report) { .int($0.clusters) }),
      .init(key: "blocks", value: .optional(report) { .int($0.blocks) }),
      .init(key: "values", value: .optional(report) { .int($0.values) }),
      .init(key: "indexEntries", value: .optional(report) { .int($0.indexEntries) }),
      .init(key: "outdatedEntries", value: .optional(report) { .int($0.outdatedEntries) }),
      .init(key: "unreadable", value: .optional(report) { .int($0.unreadable) }),
      .init(key: "problems", value: .array(problems.map { .string($0) })),
    ])
  }

  /// The kept versions that were checked too.
  private static func keptText(_ report: CheckReport) -> String {
    guard !report.keptVersions.isEmpty else { return "" }
    let list = report.keptVersions.map { "\($0)" }.joined(separator: ", ")
    return "; also kept: version \(list)"
  }

  /// The comparisons that a deep check has made.
  private static func deepText(_ report: CheckReport) -> String {
    guard report.isDeep else { return "" }
    var text = "; \(HumanFormat.count(report.values, "value", "values"))"
    if report.indexEntries > 0 {
      text += ", \(HumanFormat.count(report.indexEntries, "index entry", "index entries"))"
      if report.outdatedEntries > 0 {
        text += " (\(HumanFormat.count(report.outdatedEntries)) outdated, as updates leave them)"
      }
    }
    text += " and the free pages compared"
    func list(_ versions: [UInt64]) -> String { versions.map { "\($0)" }.joined(separator: ", ") }
    if !report.olderVersions.isEmpty { text += "; also version \(list(report.olderVersions))" }
    if !report.passedOver.isEmpty {
      text += "; passed over: version \(list(report.passedOver)), whose pages are in use again"
    }
    return text
  }
}
