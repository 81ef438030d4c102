import Base
import Engine
import Importer

/// `sheaf verify`: checks that every record of the inputs is in the table, or among the rejects.
enum VerifyCommand {
  static let receipt = Option<String>(
    "receipt", .path.shown(as: "OUT.json"),
    help:
      "Write what was found to this file, with the SHA-256 of each input and each rejects file, by the "
      + "system's "
      + "sha256sum or shasum; also when something is missing")
  static let rejects = Option<String>(
    "rejects", .path, defaultNote: "CSV.rejects.csv beside the database file, and those numbered",
    help: "Where the import has put rejected records")

  static let definition = CommandDefinition(
    name: "verify",
    summary: "Look every record of CSV files up in a table",
    usage: "FILE CSV... [OPTIONS]",
    positionals: [
      CommonOptions.database,
      .init(
        name: "CSV", help: "What was imported: files, or patterns such as 'logs/*.csv.gz'",
        isRepeatable: true, completion: .files),
    ],
    options: [
      CommonOptions.table, CommonOptions.at, receipt, rejects, ImportCommand.delimiter,
      ImportCommand.quote, ImportCommand.escape, ImportCommand.quotes, ImportCommand.comment,
      ImportCommand.skipLines, ImportCommand.skipFooter, ImportCommand.header,
      ImportCommand.headerLines, ImportCommand.encoding, ImportCommand.types,
      ImportCommand.dateFormat, ImportCommand.decimal, ImportCommand.thousands, ImportCommand.null,
      ImportCommand.trim, ImportCommand.columns, ImportCommand.rename, ImportCommand.filename,
      ImportCommand.recordNumber, ImportCommand.set, ImportCommand.hive, ImportCommand.notNull,
      ImportCommand.check, ImportCommand.filter, ImportCommand.ragged, CommonOptions.wait,
      CommonOptions.report, CommonOptions.reportFile, CommonOptions.metricsFile,
    ],
    examples: [
      .init(
        command: "sheaf verify shop.sheaf orders.csv --receipt orders.receipt.json",
        meaning:
          "Status 0 when every record is in the table to the letter, or in the rejects file; 65 otherwise, "
          + "with "
          + "those that are not. Options that say how the file is read are to be those of the import."
      )
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    let inputs = Array(arguments.positionals.dropFirst())
    let receipt = try arguments.value(receipt)
    return try RunLog.keep(
      arguments, output, command: "verify",
      files: inputs + [path] + [receipt, try arguments.value(rejects)].compactMap(\.self),
      subject: [
        .init(key: "database", value: .string(path)),
        .init(key: "inputs", value: .array(inputs.map { .string($0) })),
      ]
    ) { try run(path, inputs, receipt, arguments, output, $0) }
  }

  private static func run(
    _ path: String, _ inputs: [String], _ receipt: String?, _ arguments: ParsedArguments,
    _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    if inputs.contains("-") || inputs.contains(where: ServerAddress.isURL) {
      throw CommandError.usage("files are verified, which can be read again: name them")
    }
    var options = ImportOptions(inputs: inputs, database: path)
    try ImportCommand.readDialect(arguments, &options)
    try ImportCommand.readColumns(arguments, &options)
    options.ragged = try arguments.required(ImportCommand.ragged)
    options.rejects = try arguments.value(rejects)
    Interrupt.install()
    options.shouldStop = { Interrupt.signal != nil }
    let file = try receipt.map { try ReceiptFile($0, others: inputs + [path]) }
    return try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("verify", path, arguments)
    ) { database in
      let snapshot = try CommonOptions.snapshot(arguments, database)
      let table = try snapshot.table(CommonOptions.tableName(arguments, snapshot))
      let found = try Importer.verify(options, against: table)
      if found.isInterrupted {
        throw CommandError(
          Interrupt.status ?? .interrupted, "\(path): interrupted; nothing is known")
      }
      var digests: [String: String] = [:]
      if file != nil {
        for name in found.inputs.map(\.path) + found.rejectFiles {
          digests[name] = try Digest.sha256(of: name)
          try checkSame(name, found.files[name])
        }
      }
      let json = json(found, path, made: snapshot.made, digests)
      log.report = { json }
      if !found.isGood { log.problem = problem(found) }
      try file?.write(json)
      if try arguments.required(CommonOptions.report) == .json {
        try output.write(json.line)
      } else {
        try print(found, path, receipt, output)
      }
      return found.isGood ? .done : .dataRefused
    }
  }

  /// A receipt must not have the digest of other bytes than those that were verified.
  private static func checkSame(_ name: String, _ before: FileStatus?) throws {
    let now = try? System.status(path: name)
    if let before, let now, now.identity == before.identity, now.size == before.size,
      now.modified == before.modified
    {
      return
    }
    throw CommandError(
      .dataRefused,
      "\(name): it was changed or replaced while it was verified; there is no receipt: run the command "
        + "again")
  }

  private static func problem(_ report: VerifyReport) -> String {
    "\(report.counts.missing) record\(report.counts.missing == 1 ? " is" : "s are") missing, "
      + "\(report.counts.differing) differ\(report.counts.differing == 1 ? "s" : "")"
  }

  // MARK: Reports

  private static func members(_ counts: VerifyReport.Counts) -> [JSONValue.Member] {
    [
      ("read", counts.read), ("found", counts.found), ("repeated", counts.repeated),
      ("rejected", counts.rejected), ("filtered", counts.filtered), ("missing", counts.missing),
      ("differing", counts.differing),
    ].map { .init(key: $0.0, value: .int($0.1)) }
  }

  private static func json(
    _ report: VerifyReport, _ path: String, made: DateTime?, _ digests: [String: String]
  ) -> JSONValue {
    .object(
      [
        .init(key: "command", value: "verify"), .init(key: "ok", value: .bool(report.isGood)),
        .init(key: "time", value: .string(Timestamp.now)),
        .init(key: "database", value: .string(path)),
        .init(key: "table", value: .string(report.table)),
        .init(key: "version", value: .int(Int(clamping: report.version))),
        .init(key: "made", value: .optional(made) { .string("\($0)") }),
        .init(key: "objects", value: .int(report.objects)),
      ] + members(report.counts) + [
        .init(
          key: "inputs",
          value: .array(
            report.inputs.map { input in
              .object(
                [
                  .init(key: "path", value: .string(input.path)),
                  .init(
                    key: "size",
                    value: .optional(try? System.status(path: input.path)) { .int($0.size) }),
                  .init(key: "sha256", value: .optional(digests[input.path]) { .string($0) }),
                ] + members(input.counts))
            })),
        .init(
          key: "rejects",
          value: .array(
            report.rejectFiles.map { name in
              [
                "path": .string(name), "sha256": .optional(digests[name]) { .string($0) },
              ]
            })),
        .init(
          key: "problems",
          value: .array(
            report.problems.map {
              [
                "file": .string($0.position.file), "record": .int($0.record),
                "line": $0.position.line > 0 ? .int($0.position.line) : .null,
                "key": .optional($0.key) { .string($0) }, "reason": .string($0.reason),
              ]
            })),
        .init(key: "notes", value: .array(report.notes.map { .string($0) })),
      ])
  }

  private static let shownProblems = 20

  private static func print(
    _ report: VerifyReport, _ path: String, _ receipt: String?, _ output: BufferedOutput
  ) throws {
    let counts = report.counts
    var lines: [String] = []
    for problem in report.problems.prefix(shownProblems) {
      let key = problem.key.map { " (key '\($0)')" } ?? ""
      let place = problem.position
      let line = place.line > 0 ? ":\(place.line)" : ""
      lines.append("\(place.file)\(line): record \(problem.record)\(key): \(problem.reason)")
    }
    let bad = counts.missing + counts.differing
    if bad > lines.count {
      lines.append("and \(HumanFormat.count(bad - lines.count)) more, as --report json lists them")
    }
    let parts = [
      ("found", counts.found), ("repeated", counts.repeated), ("rejected", counts.rejected),
      ("filtered", counts.filtered), ("missing", counts.missing), ("differing", counts.differing),
    ].filter { $0.1 > 0 }.map { "\(HumanFormat.count($0.1)) \($0.0)" }
    lines.append(
      "\(report.isGood ? "all there" : "not all there"): "
        + "\(HumanFormat.count(counts.read, "record", "records"))"
        + " against table \"\(report.table)\" of \(path), version \(report.version)"
        + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
        + (receipt.map { "; receipt in \($0)" } ?? ""))
    try output.write(lines.map { StandardError.escaped($0) + "\n" }.joined())
  }
}

/// The file of `--receipt`. It gets its name only when it is complete.
private struct ReceiptFile {
  private let path: String
  private let file: ReplacementFile

  /// Creates the temporary file at once, so that a folder without write permission is found before the work.
  init(_ path: String, others: [String]) throws {
    if path == "-" {
      throw CommandError.usage("--receipt names a file; --report json prints the same")
    }
    for other in others where other == path || System.areTheSame(other, path) {
      throw CommandError.usage("--receipt \(path) is a file that the command reads; choose another")
    }
    try CommandError.refuseCompanion(path)
    self.path = path
    let isOther: Bool
    do throws(SystemError) {
      isOther = try Self.isOther(path)
      file = try ReplacementFile(for: path, like: nil)
    } catch {
      throw CommandError.creation(error)
    }
    if isOther {
      throw CommandError.usage(
        "--receipt \(path) is there already and is no receipt; choose another")
    }
  }

  private static func isOther(_ path: String) throws(SystemError) -> Bool {
    guard let status = try System.linkStatus(path: path), status.size > 0 || !status.isRegular
    else {
      return false
    }
    let descriptor = try System.openRegular(path, writable: true)
    defer { System.close(descriptor) }
    let mark = Array("{\"command\":\"verify\"".utf8)
    return try System.beginning(descriptor, count: mark.count, path: path) != mark
  }

  func write(_ json: JSONValue) throws {
    do {
      try json.line.withUnsafeBytes {
        try System.write(file.descriptor, at: 0, $0, path: file.path)
      }
      try file.putInPlace(replacing: true)
    } catch let error as SystemError {
      throw CommandError.creation(error)
    }
  }
}
