import Base

extension Database {
  /// Removes a database's files: the database, its lock file, and leftovers of a killed compaction.
  ///
  /// A damaged database is removed; a file that is not a Sheaf database is not. Where the path is a symbolic
  /// link, its targets are removed and the link stays. A file with the temporary's name that no compaction
  /// made stays.
  ///
  /// Thread rule: any thread. The database cannot be opened meanwhile.
  ///
  /// - Returns: false when there was no database file.
  /// - Throws: `EngineError.busy` when this process or another has it open, or has closed it and still holds
  ///   a snapshot; `.notADatabase`; `.newerFormat`; `.obstructed` when something else has the lock file's
  ///   name; `.system`. The database is then unchanged.
  @discardableResult
  public static func deleteFiles(at given: String) throws -> Bool {
    try translatingErrors(given) { try System.checkPath(given) }
    let path = try translatingErrors(given) { try System.resolved(given) }
    return try translatingErrors(path) {
      // Without any of these files there is nothing to lock, and no lock file is created. A killed process
      // may have left one.
      guard try exists(path) || exists(temporaryPath(path)) || exists(lockPath(path)) else {
        return false
      }
      var found = false
      let isUnused = try Coordination.whileUnused(lockPath(path), database: path) {
        found = try exists(path)
        if found { try refuseForeign(path) }
        // The temporary first: without its database no later call would remove it.
        try removeTemporary(path)
        try System.remove(path)
        if found { try System.flushDirectory(of: path) }
      }
      guard isUnused else {
        throw EngineError.busy(
          path: path, reason: "it is open, or a snapshot of it is held; close it everywhere first")
      }
      return found
    }
  }

  /// Runs `body` while the database is not open and cannot be opened, for putting another file in its place.
  ///
  /// - Throws: `EngineError.busy` when it is open; the errors of `body`.
  package static func whileUnused(_ given: String, _ body: () throws -> Void) throws {
    let path = try translatingErrors(given) { try System.resolved(given) }
    let isUnused: Bool
    do {
      isUnused = try Coordination.whileUnused(lockPath(path), database: path, body)
    } catch let error as CoordinationError {
      throw EngineError.busy(path: path, reason: "\(error)")
    }
    guard isUnused else {
      throw EngineError.busy(
        path: path, reason: "it is open, or a snapshot of it is held; close it everywhere first")
    }
  }

  /// Whether a file is a Sheaf database, damaged or not.
  ///
  /// - Throws: `SystemError` when the file cannot be read and so may be one.
  package static func isDatabase(at path: String) throws(SystemError) -> Bool {
    let beginning = try CompanionFile.beginning(of: path, count: Layout.firstBlockOffset)
    return beginning.starts(with: CommitSlot.magic)
      || beginning.dropFirst(Layout.pageBytes).starts(with: CommitSlot.magic)
  }

  private static func exists(_ path: String) throws(SystemError) -> Bool {
    try System.statusIfPresent(path: path) != nil
  }

  private static func refuseForeign(_ path: String) throws {
    let storage = try FileStorage(path: path, mode: .readOnly)
    if try Recovery.isForeign(storage),
      try !Recovery.isUnborn(storage, catalogue: Catalogue().encode())
    {
      throw EngineError.notADatabase(path: path, reason: "it has no commit slot")
    }
  }
}
