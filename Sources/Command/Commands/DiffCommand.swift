import Base
import Engine
import Importer

/// `sheaf diff`: the differences between two versions.
enum DiffCommand {
  static let from = Option<String>(
    "from", .text.shown(as: "VERSION"), defaultNote: "the newest kept version",
    help: "The earlier version: a number, a tag, or a moment, as sheaf versions lists them")
  static let to = Option<String>(
    "to", .text.shown(as: "VERSION"), defaultNote: "the newest version", help: "The later version")
  static let table = Option<String>(
    "table", .name, defaultNote: "all that differ", help: "Only this table")
  static let filter = Option<String>(
    "where", .text.shown(as: "EXPRESSION"),
    help:
      "Only objects that match in one of the versions, see sheaf help query; needs --table when several "
      + "tables differ")
  static let format = Option<DiffPrinter.Format>(
    "format", .choice, default: "table", help: "What to print")
  static let summary = Flag("summary", help: "Print only how many objects differ")

  static let definition = CommandDefinition(
    name: "diff",
    summary: "Tell what has changed from one kept version to another",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [from, to, table, filter, format, summary, CommonOptions.wait],
    examples: [
      .init(
        command: "sheaf diff apps.sheaf",
        meaning:
          "What the last import has changed: objects that are new, that are gone, and values before "
          + "and after. It costs what has changed, however large the table is."),
      .init(
        command: "sheaf diff apps.sheaf --from 2026-11-20 --to 2026-11-21 --summary",
        meaning: "How many objects a day has changed."),
      .init(
        command: "sheaf diff apps.sheaf --where 'Rating < 2' --format jsonl",
        meaning: "A JSON object for each object that differs."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    let predicate = try arguments.value(filter).map { try Predicate($0) }
    return try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("diff", path, arguments)
    ) { database in
      if let note = database.recoveryNote {
        StandardError.line("sheaf diff: \(path): opened in spite of damage: \(note)")
      }
      let new = try snapshot(try arguments.value(to), database)
      let name = try arguments.value(table)
      let old = try earlier(try arguments.value(from), new, of: name, database, path)
      let pairs = try pairs(old, new, name)
      let printer = DiffPrinter(
        try arguments.required(format), isSummary: arguments.isSet(summary), output)
      // Before the header: nothing is printed when the filter does not fit one of the tables.
      for pair in pairs {
        try ChangeReader(from: pair.old, to: pair.new, where: predicate).checkFilter()
      }
      // Where nothing differs either, so that a name misspelled is not taken for a day without changes.
      let names = name.map { [$0] } ?? new.tableNames
      if pairs.isEmpty, names.count == 1, new.tableNames.contains(names[0]) {
        let table = try new.table(names[0])
        try ChangeReader(from: table, to: table, where: predicate).checkFilter()
      }
      try printer.begin()
      for pair in pairs { try printer.print(pair.name, pair.old, pair.new, predicate) }
      try printer.end()
      return .done
    }
  }

  private static func snapshot(_ name: String?, _ database: Database) throws -> Snapshot {
    guard let name else { return try database.snapshot() }
    return try database.snapshot(at: VersionName(name))
  }

  private static func earlier(
    _ name: String?, _ new: Snapshot, of table: String?, _ database: Database, _ path: String
  ) throws -> Snapshot {
    if let name { return try database.snapshot(at: VersionName(name)) }
    let isHalf = try ImportRuns.halves(database, table: table)
    let ended = try ImportRuns.list(new, table: table).last { $0.status == .complete }?.version ?? 0
    func last(of table: String?) throws -> KeptVersion? {
      try database.keptVersions().last {
        guard try $0.number < new.version && !isHalf($0.number) else { return false }
        // The last import may have changed nothing. One that has not come to its end may have kept the
        // version that readers still see, and so may a tag.
        if $0.isAutomatic, $0.number < ended { return true }
        let pairs = try TablePair.differing(database.snapshot(at: .number($0.number)), new)
        return pairs.contains { $0.isNamed(table) }
      }
    }
    // A table that is as it was in all of them has not changed.
    guard let kept = try last(of: table) ?? last(of: nil) else {
      let before = try database.keptVersions().map(\.number).filter { $0 < new.version }
      if !before.isEmpty {
        let list = before.map { "\($0)" }.joined(separator: ", ")
        throw CommandError.usage(
          "\(path): no version that is kept differs from \(new.version), or is that before an import; name "
            + "one with --from: \(list)")
      }
      throw CommandError.usage(
        "\(path): no version before \(new.version) is kept; sheaf keep has imports keep them")
    }
    return try database.snapshot(at: .number(kept.number))
  }

  /// The tables that differ, each in both versions.
  private static func pairs(
    _ old: Snapshot, _ new: Snapshot, _ wanted: String?
  ) throws -> [TablePair] {
    if let wanted, !old.tableNames.contains(wanted), !new.tableNames.contains(wanted) {
      // Throws an error that lists the tables.
      _ = try new.table(wanted)
    }
    return try TablePair.differing(old, new).filter { $0.isNamed(wanted) }
  }
}
