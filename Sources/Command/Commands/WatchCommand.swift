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
    let since = try arguments.value(since).map { VersionName($0) }
    let waiting = try DatabaseFile.waiting("watch", path, arguments)
    Interrupt.install()
    var watch = VersionWatch(table: wanted, filter: predicate, idle: pause, output: output)
    do {
      let first = try DatabaseFile.use(path, .readOnly, waiting) { database in
        try watch.follow(database, since: since)
      }
      if let first { return first }
    } catch {
      throw watch.named(error)
    }
    while true {
      do {
        let next = try DatabaseFile.use(path, .readOnly, waiting) { try watch.goOn($0) }
        if let next { return next }
      } catch {
        throw watch.named(error)
      }
    }
  }
}

/// Prints the changes of a database, version after version, also when another file of the same database takes
/// the place of the open one.
private struct VersionWatch {
  /// The pause between two checks for a newer version; a check is two reads of shared memory.
  private static let pauseMilliseconds: UInt32 = 50
  /// The time between two looks at the file's name, in nanoseconds.
  private static let lookInterval: UInt64 = 1_000_000_000

  private let table: String?
  private let filter: Predicate?
  /// Nanoseconds; nil: without an end.
  private let idle: Double?
  private let output: BufferedOutput
  private var moved = System.monotonicNanoseconds
  /// Whether the filter has fitted the table.
  private var isTested = false
  /// The version that was printed last, in a file that has lost its name or a table that the filter no longer
  /// fits.
  private var reached: Reached?

  init(table: String?, filter: Predicate?, idle: Double?, output: BufferedOutput) {
    (self.table, self.filter, self.idle, self.output) = (table, filter, idle, output)
  }

  /// Prints the changes from a version on; nil: from the newest.
  ///
  /// - Returns: nil when the path names another file of the same database.
  /// - Throws: `CommandError` when the file was removed, or another database has its name.
  mutating func follow(_ database: Database, since: VersionName?) throws -> ExitStatus? {
    let last = try since.map { try database.snapshot(at: $0) } ?? database.snapshot()
    // The table may have been created or renamed after the version to begin with.
    if let table, !last.tableNames.contains(table) { _ = try database.snapshot().table(table) }
    // Not when the table changes for the first time. An earlier version may have had other columns.
    let names = table.map { [$0] } ?? last.tableNames
    if since == nil, names.count == 1, last.tableNames.contains(names[0]) {
      let table = try last.table(names[0])
      try ChangeReader(from: table, to: table, where: filter).checkFilter()
      isTested = true
    }
    try say(last)
    moved = System.monotonicNanoseconds
    return try follow(database, last)
  }

  /// Goes on in the file that has taken the place of the one before.
  ///
  /// - Throws: `EngineError.noSuchVersion` when it does not have the version that was printed last.
  mutating func goOn(_ database: Database) throws -> ExitStatus? {
    guard let reached else { return try follow(database, since: nil) }
    moved = System.monotonicNanoseconds
    let number = reached.version
    if let same = try Self.version(number, of: database), try reached.is(same) {
      return try follow(database, same)
    }
    // A compaction gives its copy the next number.
    if let copy = try Self.version(number &+ 1, of: database), try reached.hasContents(of: copy) {
      try say(copy)
      return try follow(database, copy)
    }
    throw EngineError.noSuchVersion(
      name: "\(number)", newest: try database.snapshot().version,
      kept: try database.keptVersions().map(\.number))
  }

  private static func version(_ number: UInt64, of database: Database) throws -> Snapshot? {
    do {
      return try database.snapshot(at: .number(number))
    } catch EngineError.noSuchVersion {
      return nil
    }
  }

  private mutating func follow(_ database: Database, _ first: Snapshot) throws -> ExitStatus? {
    var last = first
    var looked = System.monotonicNanoseconds
    while Interrupt.signal == nil {
      let now = System.monotonicNanoseconds
      let isIdle = idle.map { Double(now &- moved) >= $0 } ?? false
      var displacement: EngineError?
      // Before the newest version is read: what was committed before the file lost its name is printed.
      if isIdle || now &- looked >= Self.lookInterval {
        looked = now
        displacement = try Self.displacement(of: database)
      }
      let newest = try database.snapshot()
      if newest.version != last.version {
        for pair in try TablePair.differing(last, newest) where pair.isNamed(table) {
          try print(pair, after: last)
        }
        last = newest
        try say(last)
        moved = System.monotonicNanoseconds
        continue
      }
      if let displacement {
        reached = try Reached(last)
        guard
          try DatabaseOrigin(at: database.path)?.continues(database, from: last.version) == true
        else { throw named(displacement) }
        try reached?.read(last)
        return nil
      }
      if isIdle { return .done }
      System.sleep(milliseconds: Self.pauseMilliseconds)
    }
    return Interrupt.status ?? .interrupted
  }

  private static func displacement(of database: Database) throws -> EngineError? {
    do {
      try database.checkName()
      return nil
    } catch let error as EngineError {
      guard case .displaced = error else { throw error }
      return error
    }
  }

  /// The error with the version that was printed last.
  func named(_ error: any Error) -> CommandError {
    let error = CommandError(unexpected: error)
    guard let reached, error != .closedPipe else { return error }
    return CommandError(
      error.status, error.message + "; what was printed ends with --since \(reached.version)")
  }

  /// Ends the changes of a version with a line, so that a reader knows that it has all of them.
  private func say(_ snapshot: Snapshot) throws {
    let line: JSONValue = [
      "version": .int(Int(clamping: snapshot.version)),
      "time": .optional(snapshot.made) { .string("\($0)") },
    ]
    try output.write(line.line)
    try output.flush()
  }

  /// - Parameter last: the version that was printed last.
  private mutating func print(_ pair: TablePair, after last: Snapshot) throws {
    let reader = ChangeReader(from: pair.old, to: pair.new, where: filter)
    do {
      try reader.checkFilter()
      isTested = true
    } catch let error where isTested {
      // The command was right until the table's columns changed.
      reached = try Reached(last)
      throw CommandError(
        .dataRefused, "--where does not fit table '\(pair.name)' any more: \(error)")
    }
    let formatter = ChangeFormatter(reader, .jsonl, table: pair.name)
    try reader.run { try output.write(formatter.bytes(of: $0)) }
  }
}

/// What tells a version from another one of its number, and its compacted copy from a version that came after
/// it.
private struct Reached {
  let version: UInt64
  private let made: DateTime?
  private let madeBy: String
  private let tables: [String: Extent]
  private var contents: Int?

  private struct Extent: Equatable {
    let number: UInt32
    let count: Int
  }

  init(_ snapshot: Snapshot) throws {
    version = snapshot.version
    (made, madeBy) = (snapshot.made, snapshot.madeBy)
    tables = try Self.extents(snapshot)
  }

  func `is`(_ snapshot: Snapshot) throws -> Bool {
    try made == snapshot.made && madeBy == snapshot.madeBy && tables == Self.extents(snapshot)
  }

  /// Reads all objects, for `hasContents`: versions that are not kept have no time.
  mutating func read(_ snapshot: Snapshot) throws { contents = try Self.contents(snapshot) }

  func hasContents(of snapshot: Snapshot) throws -> Bool {
    try self.is(snapshot) && contents == Self.contents(snapshot)
  }

  /// The hash of all objects, with a key of this process.
  private static func contents(_ snapshot: Snapshot) throws -> Int {
    var hasher = Hasher()
    for name in snapshot.tableNames.sorted() {
      let table = try snapshot.table(name)
      hasher.combine(name)
      hasher.combine(table.columns.map(\.name))
      try table.forEachRow { row in
        if let status = Interrupt.status { throw CommandError(status, "interrupted") }
        hasher.combine(row.key)
        hasher.combine(row.values)
      }
    }
    return hasher.finalize()
  }

  private static func extents(_ snapshot: Snapshot) throws -> [String: Extent] {
    var extents: [String: Extent] = [:]
    for name in snapshot.tableNames {
      let table = try snapshot.table(name)
      extents[name] = Extent(number: table.number, count: table.count)
    }
    return extents
  }
}
