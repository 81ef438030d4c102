import Engine
import Importer

/// `sheaf check`: verifies a whole file.
enum CheckCommand {
  static let definition = CommandDefinition(
    name: "check",
    summary: "Verify every block, reference and invariant of a database file",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [CommonOptions.wait, CommonOptions.report],
    examples: [
      .init(
        command: "sheaf check apps.sheaf",
        meaning:
          "Ends with status 0 when the file is sound, 65 with every problem found, or 74 when the "
          + "disk could not read some of it."),
      .init(
        command: "sheaf check apps.sheaf --report json",
        meaning: "The same for programs: \"ok\", and a list of \"problems\"."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    let isJSON = try arguments.required(CommonOptions.report) == .json
    var report: CheckReport?
    var problems: [String]
    do {
      (report, problems) = try DatabaseFile.use(
        path, .readOnly, DatabaseFile.waiting("check", path, arguments)
      ) { database in
        let found = try database.check()
        // What imports have noted is theirs, and nothing that the engine knows of. It is looked at in place.
        if found.unreadable > 0 { return (found, found.problems) }
        return (found, found.problems + ImportNotes.problems(try database.snapshot()))
      }
    } catch let error as EngineError {
      // A file that cannot even be opened because of what is in it is a finding, not a failure.
      let failure = CommandError(unexpected: error)
      guard failure.status == .dataRefused else { throw failure }
      problems = [failure.message]
    }
    if isJSON {
      try output.write(
        JSONValue.object([
          .init(key: "command", value: "check"), .init(key: "ok", value: .bool(problems.isEmpty)),
          .init(key: "version", value: .optional(report) { .int(Int(clamping: $0.version)) }),
          .init(key: "tables", value: .optional(report) { .int($0.tables) }),
          .init(key: "objects", value: .optional(report) { .int($0.objects) }),
          .init(key: "clusters", value: .optional(report) { .int($0.clusters) }),
          .init(key: "blocks", value: .optional(report) { .int($0.blocks) }),
          .init(key: "unreadable", value: .optional(report) { .int($0.unreadable) }),
          .init(key: "problems", value: .array(problems.map { .string($0) })),
        ]).line)
    } else if let report, problems.isEmpty {
      try output.write(
        "\(StandardError.escaped(path)): sound: version \(report.version), "
          + "\(HumanFormat.count(report.tables, "table", "tables")), "
          + "\(HumanFormat.count(report.objects, "object", "objects")), "
          + "\(HumanFormat.count(report.blocks, "block", "blocks")) verified\n")
    } else {
      for problem in problems {
        // A file that cannot be opened is named by the error itself.
        let line = problem.contains(path) ? problem : "\(path): \(problem)"
        try output.write(StandardError.escaped(line) + "\n")
      }
    }
    if !problems.isEmpty {
      StandardError.line(
        "sheaf check: \(path): \(HumanFormat.count(problems.count, "problem", "problems")) found; "
          + "restore a copy, or save what can still be read with sheaf export --salvage")
    }
    if problems.isEmpty { return .done }
    // What is there is not known: the disk comes first.
    return (report?.unreadable ?? 0) > 0 ? .inputOutput : .dataRefused
  }
}
