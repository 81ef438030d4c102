import Base

/// The database that a path names at some moment, for checking later that it still does.
///
/// Thread rule: a plain value, `Sendable`.
package struct DatabaseOrigin: Sendable {
  private let path: String
  private let file: FileIdentity
  /// Nil: the file had no readable version.
  private let newest: (identity: DatabaseIdentity, version: UInt64)?

  /// - Returns: nil when there is no file.
  /// - Throws: `EngineError.system`.
  package init?(at given: String) throws {
    do throws(SystemError) {
      path = try System.resolved(given)
      guard let status = try System.statusIfPresent(path: path) else { return nil }
      file = status.identity
    } catch {
      throw EngineError.system(error)
    }
    // Opening the file for use reports its faults.
    let storage = try? FileStorage(path: path, mode: .readOnly)
    let found = storage.flatMap { try? Recovery.runAmongWriters($0) }
    newest = found.map { ($0.identity, $0.record.version) }
  }

  /// Returns whether the file belongs to the same database as an open one, and has a version that is not
  /// older: it is a compacted copy, or a restored one.
  package func continues(_ database: Database, from version: UInt64) throws -> Bool {
    guard let newest else { return false }
    return try newest.identity == database.parts.pipeline.identity && newest.version >= version
  }

  /// - Throws: `EngineError.displaced` when the path names no file, or another database: neither the same
  ///   file nor its compacted replacement.
  package func check() throws {
    guard let present = try DatabaseOrigin(at: path) else {
      throw EngineError.displaced(
        path: path,
        reason:
          "the database file was removed or moved before it was opened; nothing was written: put it back, or "
          + "run the command again to begin with a new one")
    }
    if present.file == file { return }
    guard let newest else { return }
    if let other = present.newest, other.identity == newest.identity,
      other.version >= newest.version
    {
      return
    }
    throw EngineError.displaced(
      path: path,
      reason:
        "another file took the database file's place before it was opened; nothing was written: see that "
        + "it is the right one, and run the command again")
  }
}

extension Database {
  /// - Throws: `EngineError.displaced` when the file was removed, moved or replaced while it was open here;
  ///   `EngineError.system`.
  package func checkName() throws {
    try translatingErrors(path) { try parts.storage.checkName() }
  }
}
