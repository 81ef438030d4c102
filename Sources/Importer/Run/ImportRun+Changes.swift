import Base
import Engine

/// `ImportOptions.changes`: the import's changes, from a comparison with the version before it.
extension ImportRun {
  /// Refuses a path at which the file of changes cannot be created.
  func checkChanges() throws {
    guard let path = options.changes else { return }
    if path == "-" || path.isEmpty {
      throw ImportError.invalidOption("--changes names a file; sheaf diff prints what has changed")
    }
    let rejects = rejectFiles.names.flatMap { [$0.base, RejectName.reasonsPath($0.base)] }
    for other in [options.database] + files.map(\.path) + rejects
    where other == path || System.areTheSame(other, path) {
      throw ImportError.invalidOption(
        "--changes \(path) is a file that the import reads or writes; choose another")
    }
    try ChangesFile.check(path)
  }

  /// Writes the changes of the import once it is durable. After an interrupted import it writes nothing: the
  /// run that resumes it writes the changes of both.
  ///
  /// - Throws: `ImportError.changesNotWritten`.
  mutating func writeChanges(_ file: ChangesFile, _ database: Database) throws {
    if report.isInterrupted {
      report.notes.append(
        "\(file.path) is written when the import has come to its end: what an interrupted part has changed "
          + "is not in it yet")
      return
    }
    do {
      let newest = try database.snapshot()
      var counts = ImportReport.Changes(path: file.path)
      let base = try transaction?.journal.finishedBase(newest, isNothingToDo: report.isNothingToDo)
      if base == nil, report.isNothingToDo {
        if try isWritten(file, newest) { return }
        throw ImportError.changesNotWritten(
          path: file.path,
          cause:
            "these inputs were imported before, and others have come since: sheaf diff --from --to tells "
            + "what that import has changed, as long as its versions are kept; once that is settled, touch "
            + "\(ShellWord.quoted(file.path)), and it is left as it is"
        )
      }
      if let base, base != newest.version {
        try tell(from: database.snapshot(at: .number(base)), to: newest, file, &counts)
      }
      try file.putInPlace()
      report.changes = counts
    } catch let error as ImportError {
      throw error
    } catch EngineError.noSuchVersion(let name, _, _) {
      if try isWritten(file, database.snapshot()) { return }
      throw ImportError.changesNotWritten(
        path: file.path,
        cause:
          "version \(name), from before the import, is not kept: it was begun without --changes and "
          + "--keep-versions, or somebody has let go of it; once what has changed is settled otherwise, "
          + "touch \(ShellWord.quoted(file.path)), and runs with nothing to do leave it as it is")
    } catch {
      throw ImportError.changesNotWritten(path: file.path, cause: "\(error)")
    }
  }

  /// Whether there was nothing to do, and the file is not older than the end of the import that had: then it
  /// has that import's changes, or somebody has settled what became of them.
  private mutating func isWritten(_ file: ChangesFile, _ newest: Snapshot) throws -> Bool {
    guard report.isNothingToDo, let end = try transaction?.journal.lastEnd(newest),
      let present = try System.statusIfPresent(path: file.path),
      // Some file systems know whole seconds only.
      present.modified / 1_000_000_000 >= end.microsecondsSince1970 / 1_000_000
    else { return false }
    report.notes.append(
      "\(file.path) is left as it is: nothing has changed since the import that ended at \(end)")
    return true
  }

  /// Counts and writes the objects that differ.
  func tell(
    from before: Snapshot, to after: Snapshot, _ file: ChangesFile?,
    _ counts: inout ImportReport.Changes
  ) throws {
    let new = try after.table(tableName)
    let reader = ChangeReader(from: try before.table(number: new.number), to: new)
    let formatter = ChangeFormatter(reader, .jsonl, table: tableName)
    try reader.run { object in
      switch object.kind {
      case .inserted: counts.inserted += 1
      case .deleted: counts.deleted += 1
      case .changed: counts.changed += 1
      }
      try file?.append(formatter.bytes(of: object))
    }
  }
}
