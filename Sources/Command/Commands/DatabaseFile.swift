import Engine

/// Opens a database for the length of one command.
enum DatabaseFile {
  /// Runs `body` with the database at `path`, and closes it however `body` ends: a command that
  /// fails must not leave a lock file behind.
  ///
  /// - Throws: what opening, `body` and closing throw, the first of them.
  static func use<Result>(
    _ path: String, _ access: Database.Options.Access, _ body: (Database) throws -> Result
  ) throws -> Result {
    let database = try Database.open(path, options: .init(access: access))
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

  /// True when both paths lead to one existing file.
  static func areTheSame(_ first: String, _ second: String) -> Bool {
    guard let one = try? System.status(path: first), let other = try? System.status(path: second)
    else { return false }
    return one.inode == other.inode && one.device == other.device
  }
}
