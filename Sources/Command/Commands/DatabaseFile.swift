import Base
import Engine

/// Opens a database for the length of one command.
enum DatabaseFile {
  /// Runs `body` with the database at `path`, and closes it however `body` ends: a command that
  /// fails must not leave a lock file behind.
  ///
  /// - Throws: what opening, `body` and closing throw, the first of them.
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

  /// How long a command waits for others, as it was told; one line on standard error says so after a second.
  static func waiting(_ command: String, _ path: String, _ arguments: ParsedArguments) throws
    -> Waiting
  {
    let seconds = Double(try arguments.required(CommonOptions.wait))
    return Waiting(seconds: seconds, notice: notice(command, path, arguments))
  }

  /// Says what is waited for, each thing once.
  static func notice(
    _ command: String, _ path: String, _ arguments: ParsedArguments
  ) -> @Sendable (String) -> Void {
    if arguments.isSet(CommonOptions.quiet) { return { _ in } }
    // Where the option has no such choice, nobody can have made it.
    let isDated = (try? arguments.required(CommonOptions.jobReport)) == .line
    let said = Said()
    return { what in
      guard said.isNew(what) else { return }
      StandardError.line(
        "\(isDated ? Timestamp.now + " " : "")sheaf \(command): \(path): waiting for \(what)")
    }
  }

  /// What was said already.
  private final class Said: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var texts: Set<String> = []

    func isNew(_ text: String) -> Bool { lock.withLock { texts.insert(text).inserted } }
  }
}
