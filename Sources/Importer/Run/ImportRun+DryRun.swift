import Base
import Engine

/// Dry runs: the import itself, in a copy of the database whose changes end with the process.
extension ImportRun {
  /// Imports into the copy, and compares the table before and after.
  mutating func rehearse() throws {
    if options.isSniffing || verifier != nil { return try importAll(nil) }
    guard let rehearsal = try openRehearsal() else { return try importAll(nil) }
    defer {
      transaction = nil
      rehearsal.close()
    }
    let database = rehearsal.database
    let before = try database.snapshot()
    let transaction = ImportTransaction(
      database, options, inputs: files.map(\.path), table: tableName)
    self.transaction = transaction
    do {
      report.objectsBefore = try existingTable(database)?.count ?? 0
      let changes = try options.changes.map { try ChangesFile($0, like: options.database) }
      try importAll(database)
      report.objects = try existingTable(database)?.count ?? 0
      try tellChanges(since: before, try database.snapshot(), changes)
    } catch {
      transaction.rollBack()
      throw error
    }
  }

  /// The copy of the database in which a dry run writes.
  private final class Rehearsal {
    let database: Database
    /// The file; nil when it does not exist.
    private let file: Database?
    /// The version from which the copy begins, held until `close`.
    private var version: Snapshot?

    init(_ database: Database, _ file: Database?, _ version: Snapshot?) {
      (self.database, self.file, self.version) = (database, file, version)
    }

    func close() {
      try? database.close()
      // The last holder of a version or the file removes the lock file.
      version = nil
      try? file?.close()
    }
  }

  /// Nil when there is no database and nothing requires one: several inputs do, as each meets a table that
  /// those before it have made.
  private func openRehearsal() throws -> Rehearsal? {
    var file: Database?
    if try System.statusIfPresent(path: options.database) != nil {
      var settings = Database.Options(access: .readOnly)
      settings.waiting = options.waiting
      do {
        file = try Database.open(options.database, options: settings)
      } catch EngineError.cancelled {
        throw ImportError.interrupted
      }
    } else if options.keys.isEmpty, options.changes == nil, files.count == 1 {
      return nil
    }
    do {
      let (database, version) = try Database.rehearsal(
        of: file, path: options.database, options: options.engine,
        folder: System.temporaryFolder)
      return Rehearsal(database, file, version)
    } catch {
      // The first error is the one to report; the lock file must be removed all the same.
      try? file?.close()
      throw error
    }
  }

  /// Counts the objects that would change, if keys identify objects, and writes them if requested.
  private mutating func tellChanges(
    since before: Snapshot, _ after: Snapshot, _ file: ChangesFile?
  ) throws {
    if report.isInterrupted { return }
    guard after.tableNames.contains(tableName) else { return }
    let table = try after.table(tableName)
    guard !table.keyColumns.isEmpty || file != nil else { return }
    var counts = ImportReport.Changes(path: file?.path)
    if before.version != after.version { try tell(from: before, to: after, file, &counts) }
    try file?.putInPlace()
    report.changes = counts
  }
}
