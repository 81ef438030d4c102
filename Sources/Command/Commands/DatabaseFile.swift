import Base
import Engine
import Importer

/// Opens a database for the duration of one command.
enum DatabaseFile {
  /// Runs `body` with the database at `path`, and closes it however `body` ends: a command that fails must
  /// not leave a lock file behind.
  ///
  /// - Throws: the first error of opening, `body` and closing.
  static func use<Result>(
    _ path: String, _ access: Database.Options.Access, _ waiting: Waiting,
    _ body: (Database) throws -> Result
  ) throws -> Result {
    var options = Database.Options(access: access)
    options.waiting = waiting
    let database = try Database.open(path, options: options)
    let result: Result
    do {
      result = try body(database)
    } catch {
      try? database.close()
      throw error
    }
    try database.close()
    return result
  }

  /// Runs `body` with a copy of the database at `path` whose changes end with the process. The file is only
  /// read, and others may write to it meanwhile.
  ///
  /// - Throws: the errors of `use`; those of the scratch file.
  static func rehearse<Result>(
    _ command: String, _ path: String, _ arguments: ParsedArguments,
    _ body: (Database) throws -> Result
  ) throws -> Result {
    try use(path, .readOnly, waiting(command, path, arguments)) { file in
      let (copy, version) = try Database.rehearsal(
        of: file, path: path, options: Database.Options(), folder: System.temporaryFolder)
      return try withExtendedLifetime(version) {
        defer { try? copy.close() }
        return try body(copy)
      }
    }
  }

  /// Runs `body` with the database at `path`, for a short change, while no import or compaction is at work.
  static func change<Result>(
    _ command: String, _ path: String, _ arguments: ParsedArguments,
    _ body: (Database) throws -> Result
  ) throws -> Result {
    Interrupt.install()
    var waiting = try waiting(command, path, arguments)
    waiting.shouldStop = { Interrupt.signal != nil }
    var patience = Patience(waiting)
    do {
      let job = try lockJob(path, &patience)
      let rest = patience.rest
      return try withExtendedLifetime(job) {
        try use(path, .existing, rest) { database in
          database.turnWaiting = rest
          return try body(database)
        }
      }
    } catch EngineError.cancelled {
      throw CommandError(
        Interrupt.status ?? .interrupted, "\(path): interrupted; the file is as it was")
    } catch {
      // A database that cannot be opened for writing is an output that cannot be created.
      throw CommandError(writing: error)
    }
  }

  /// Locks the job of an import or compaction, of which a file has one at a time.
  static func lockJob(_ path: String, _ patience: inout Patience) throws -> JobLock {
    do {
      return try JobLock(path, creates: false, &patience)
    } catch JobLock.Refusal.cancelled {
      throw EngineError.cancelled
    } catch JobLock.Refusal.busy {
      throw ImportError.busy(database: path, seconds: patience.seconds.rounded())
    } catch let error as JobLock.NoFile {
      throw EngineError.isNoFile(error.path)
    } catch let error as SystemError {
      throw error.isMissing ? EngineError.missing(path: path) : EngineError.system(error)
    }
  }

  /// The time that the command waits for other processes, from its arguments; after a second it prints one
  /// line about the wait to standard error.
  static func waiting(_ command: String, _ path: String, _ arguments: ParsedArguments) throws
    -> Waiting
  {
    let seconds = Double(try arguments.required(CommonOptions.wait))
    return Waiting(seconds: seconds, notice: notice(command, path, arguments))
  }

  /// Prints the reasons for waiting, each one once.
  static func notice(
    _ command: String, _ path: String, _ arguments: ParsedArguments
  ) -> @Sendable (String) -> Void {
    if arguments.isSet(CommonOptions.quiet) { return { _ in } }
    // A command whose option has no choice `line` does not date its messages.
    let isDated = (try? arguments.required(CommonOptions.jobReport)) == .line
    let said = Said()
    return { what in
      guard said.isNew(what) else { return }
      StandardError.line(
        "\(isDated ? Timestamp.now + " " : "")sheaf \(command): \(path): waiting for \(what)")
    }
  }

  /// The messages printed so far.
  private final class Said: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var texts: Set<String> = []

    func isNew(_ text: String) -> Bool { lock.withLock { texts.insert(text).inserted } }
  }
}
