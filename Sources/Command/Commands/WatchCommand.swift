import Base
import Engine
import Importer

/// `sheaf watch`: prints the changes of commits as they come.
enum WatchCommand {
  static let since = Option<String>(
    "since", .text.shown(as: "VERSION"), defaultNote: "the newest version",
    help:
      "Begin with what has changed since this version, which has to be kept: the number of the last line "
      + "that has one, or a tag, or a moment")
  static let table = Option<String>("table", .name, defaultNote: "all", help: "Only this table")
  static let filter = Option<String>(
    "where", .text.shown(as: "EXPRESSION"),
    help: "Only objects that match before or after, see sheaf help query; needs --table")
  static let idle = Option<Int>(
    "idle", ValueKind.count.shown(as: "SECONDS"), defaultNote: "go on until it is interrupted",
    help: "End when nothing has been committed for so long; 0: say what has changed until now")

  static let definition = CommandDefinition(
    name: "watch",
    summary: "Print what commits change, as they come, as JSON Lines",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [since, table, filter, idle, CommonOptions.wait],
    examples: [
      .init(
        command: "sheaf watch apps.sheaf",
        meaning:
          "A line for each object that is new, changed or gone, as sheaf diff --format jsonl prints it, and "
          + "behind those of a version a line with its number. Commits that follow each other fast are one."
      ),
      .init(
        command: "sheaf watch apps.sheaf --since 41 --idle 0",
        meaning:
          "What has changed since version 41, which is kept. Who stores the last number that it has read "
          + "goes on from there and misses nothing; lines without a number behind them come again."),
    ],
    run: run)

  /// The pause between two checks for a newer version; a check is two reads of shared memory.
  private static let pauseMilliseconds: UInt32 = 50

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    let predicate = try arguments.value(filter).map { try Predicate($0) }
    let wanted = try arguments.value(table)
    if predicate != nil, wanted == nil {
      throw CommandError.usage("--where is about one table; name it with --table")
    }
    let pause = try arguments.value(idle).map { Double($0) * 1e9 }
    Interrupt.install()
    return try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("watch", path, arguments)
    ) { database in
      var last =
        try arguments.value(since).map { try database.snapshot(at: VersionName($0)) }
        ?? database.snapshot()
      // The table may have been created or renamed after the version to begin with.
      if let wanted, !last.tableNames.contains(wanted) { _ = try database.snapshot().table(wanted) }
      try say(last, output)
      var moved = System.monotonicNanoseconds
      while Interrupt.signal == nil {
        let newest = try database.snapshot()
        if newest.version != last.version {
          for pair in try TablePair.differing(last, newest) where pair.isNamed(wanted) {
            try print(pair, predicate, output)
          }
          last = newest
          try say(last, output)
          moved = System.monotonicNanoseconds
          continue
        }
        if let pause, Double(System.monotonicNanoseconds &- moved) >= pause { return .done }
        System.sleep(milliseconds: pauseMilliseconds)
      }
      return Interrupt.status ?? .interrupted
    }
  }

  /// Ends the changes of a version with a line, so that a reader knows that it has all of them.
  private static func say(_ snapshot: Snapshot, _ output: BufferedOutput) throws {
    let line: JSONValue = [
      "version": .int(Int(clamping: snapshot.version)),
      "time": .optional(snapshot.made) { .string("\($0)") },
    ]
    try output.write(line.line)
    try output.flush()
  }

  private static func print(
    _ pair: TablePair, _ filter: Predicate?, _ output: BufferedOutput
  ) throws {
    let reader = ChangeReader(from: pair.old, to: pair.new, where: filter)
    let formatter = ChangeFormatter(reader, .jsonl, table: pair.name)
    try reader.run { try output.write(formatter.bytes(of: $0)) }
  }
}
