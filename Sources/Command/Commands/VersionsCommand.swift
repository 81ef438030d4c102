import Base
import Engine

/// `sheaf versions`: the versions that a file has.
enum VersionsCommand {
  static let definition = CommandDefinition(
    name: "versions",
    summary: "List the versions that a database file keeps",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [CommonOptions.wait, CommonOptions.report],
    examples: [
      .init(
        command: "sheaf versions apps.sheaf",
        meaning:
          "Number, time, tags, what made it, objects, and the bytes that come free when it alone is "
          + "let go; the newest last."),
      .init(
        command: "sheaf versions apps.sheaf --report json", meaning: "The same for programs."),
    ],
    run: run)

  private struct Line {
    let number: UInt64
    let made: DateTime?
    let tags: [String]
    let madeBy: String
    let objects: Int
    /// Bytes of the file that only this version uses; nil for the newest.
    let alone: Int?
    let isAutomatic: Bool?
  }

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    return try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("versions", path, arguments)
    ) { database in
      if let note = database.recoveryNote {
        StandardError.line("sheaf versions: \(path): opened in spite of damage: \(note)")
      }
      let bytes = try database.keptBytes()
      let newest = try database.snapshot()
      let lines = try lines(database, newest, bytes.alone)
      let limit = try newest.keptVersionsLimit
      if try arguments.required(CommonOptions.report) == .json {
        try output.write(json(lines, path, limit: limit, bytes: bytes.all).line)
      } else {
        try print(lines, output)
        let kept = lines.count - 1
        let text =
          "\(HumanFormat.count(kept, "kept version", "kept versions")) beside the newest, "
          + "\(HumanFormat.size(bytes.all)) in all; "
          + (limit == 0
            ? "imports keep none by themselves (sheaf keep)"
            : "imports keep \(HumanFormat.count(limit))")
        try output.write("\n\(text)\n")
      }
      return .done
    }
  }

  private static func objects(_ snapshot: Snapshot) throws -> Int {
    try snapshot.tableNames.reduce(0) { try $0 + snapshot.table($1).count }
  }

  private static func lines(
    _ database: Database, _ newest: Snapshot, _ alone: [UInt64: Int]
  ) throws -> [Line] {
    var lines: [Line] = []
    for kept in try newest.keptVersions {
      do {
        let snapshot = try database.snapshot(at: .number(kept.number))
        lines.append(
          Line(
            number: kept.number, made: kept.made, tags: kept.tags, madeBy: kept.madeBy,
            objects: try objects(snapshot), alone: alone[kept.number] ?? 0,
            isAutomatic: kept.isAutomatic))
      } catch EngineError.noSuchVersion {
        // The version has been dropped meanwhile.
      }
    }
    lines.append(
      Line(
        number: newest.version, made: newest.made, tags: [], madeBy: newest.madeBy,
        objects: try objects(newest), alone: nil, isAutomatic: nil))
    return lines
  }

  private static func json(_ lines: [Line], _ path: String, limit: Int, bytes: Int) -> JSONValue {
    [
      "command": "versions", "database": .string(path), "limit": .int(limit),
      "bytes": .int(bytes),
      "versions": .array(
        lines.map { line in
          [
            "version": .int(Int(clamping: line.number)), "newest": .bool(line.alone == nil),
            "time": .optional(line.made) { .string("\($0)") },
            "tags": .array(line.tags.map { .string($0) }), "run": .string(line.madeBy),
            "objects": .int(line.objects), "bytesAlone": .optional(line.alone) { .int($0) },
            "automatic": .optional(line.isAutomatic) { .bool($0) },
          ]
        }),
    ]
  }

  private static func print(_ lines: [Line], _ output: BufferedOutput) throws {
    let columns = [
      Column("version", .int), Column("time", .text), Column("tags", .text), Column("run", .text),
      Column("objects", .int), Column("bytes", .int),
    ]
    let table = TextTable(
      columns, output, terminalWidth: System.terminalColumns(1),
      isRich: TerminalPolicy.standardOutput.isRich)
    for line in lines {
      try table.add([
        "\(line.number)", line.made.map { "\($0)" } ?? "", cell(line.tags.joined(separator: ", ")),
        cell(line.madeBy), "\(line.objects)", line.alone.map { "\($0)" } ?? "",
      ])
    }
    try table.end()
  }

  private static func cell(_ text: String) -> String { StandardError.escaped(text) }
}
