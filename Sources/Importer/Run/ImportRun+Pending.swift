import Base
import Engine

/// `ImportOptions.publication`: builds the pending table beside the visible one, and publishes it.
extension ImportRun {
  /// The pending table of the import's table; nil when there is none.
  func pending(_ database: Database) throws -> PendingTable? {
    try database.snapshot().pendingTables.first { $0.name == tableName }
  }

  /// Decides whether the import continues the pending table.
  ///
  /// - Throws: `ImportError.cannotResume` when the import would write beside it.
  mutating func choosePending(_ database: Database) throws {
    guard let transaction, let old = try pending(database) else { return }
    let what =
      "\(old.objects) object\(old.objects == 1 ? "" : "s") of an import with --publish end "
      + (old.begun.map { "that was begun at \($0) " } ?? "")
      + "are pending for table '\(tableName)'"
    guard options.publishesAtEnd else {
      if options.resume {
        throw ImportError.cannotResume(
          path: options.database,
          reason:
            "\(what): give --publish end to go on with that, or drop it with sheaf import --abandon"
        )
      }
      report.notes.append(
        "\(what): when that is complete, what this import changes is merged with it by the key or keeps "
          + "it from being published; sheaf import --abandon drops what is pending")
      return
    }
    guard options.resume, let snapshot = try database.pendingSnapshot(of: tableName) else {
      report.notes.append("\(what): it is dropped for what is imported now")
      return
    }
    let memory = try InputMemory(snapshot.table(tableName), in: snapshot)
    for file in files
    where try CheckpointComparison(file: file, memory: memory, options: options).hasChanged() {
      if let lost = try unpublished(memory, database).first {
        throw ImportError.cannotResume(
          path: lost.input.path.isEmpty ? options.database : lost.input.path,
          reason:
            "its records are pending for table '\(tableName)', which is read anew, since \(file.name) has "
            + "changed: name it too, or drop what is pending with sheaf import --abandon")
      }
      // Its earlier records must not be published with this run's.
      return drop(what, since: "\(file.name) has changed")
    }
    if options.truncate, let obstacle = try obstacle(memory, nil) {
      return drop(what, since: obstacle)
    }
    if options.deletesMissing, let other = try others(in: memory).first {
      // Its objects would stay although no input has them.
      return drop(
        what,
        since: "it has records of "
          + "\(other.input.path.isEmpty ? "an input" : other.input.path), which is not named now")
    }
    transaction.hasPending = true
    // The table has the objects of earlier batches, from which the report counts.
    report.objectsBefore = old.objects
  }

  private mutating func drop(_ what: String, since reason: String) {
    report.notes.append("\(what): it is dropped, and all inputs are read anew, since \(reason)")
    transaction?.journal.dropEarlier()
  }

  /// The checkpoints of inputs that this run does not include.
  private func others(in memory: InputMemory) throws -> [Checkpoint] {
    let named = Set(files.map(\.key))
    return try memory.all().filter { !named.contains($0.input.name) }
  }

  /// The checkpoints of such inputs whose records only the pending table has, if the visible table keeps what
  /// other inputs have brought.
  private func unpublished(_ memory: InputMemory, _ database: Database) throws -> [Checkpoint] {
    if options.truncate || options.deletesMissing { return [] }
    let named = try named(in: memory)
    let others = try memory.all().filter { !named.contains($0.input.name) }
    let visible = try database.snapshot()
    guard !others.isEmpty, visible.tableNames.contains(tableName) else { return others }
    let known = try InputMemory(visible.table(tableName), in: visible).all()
    return others.filter { !known.contains($0) }
  }

  /// The version whose table the import continues: the pending table if there is one, otherwise the visible
  /// one.
  func shown(_ database: Database?) throws -> Snapshot? {
    guard let database else { return nil }
    if transaction?.hasPending == true, let pending = try database.pendingSnapshot(of: tableName) {
      return pending
    }
    return try database.snapshot()
  }

  /// True when an earlier batch is in the file. Dry runs and verifiers count batches, too.
  var hasCommitted: Bool { report.batches > 0 && !options.dryRun }

  /// Publishes the pending table.
  ///
  /// - Returns: false when there is no pending table, or the import was interrupted.
  /// - Throws: `ImportError.cannotResume` when a part of an input would become visible that this run does not
  ///   include; the errors of `ImportTransaction.publish`.
  mutating func publish() throws -> Bool {
    guard let transaction, transaction.hasPending else { return false }
    do {
      try checkWhole(transaction.database)
    } catch let error as ImportError where hasCommitted && error.isAboutOptions {
      throw ImportError.laterInputRefused(reason: "\(error)")
    }
    let isPublished: Bool
    do {
      isPublished = try transaction.publish(
        inputs: Set(files.map(\.key)), refusesEmpty: options.truncate || options.deletesMissing)
    } catch ImportError.interrupted {
      report.isInterrupted = true
      return false
    }
    if let merged = transaction.merged { count(merged) }
    return isPublished
  }

  /// Moves the report's counts of records to their final results.
  private mutating func count(_ merged: (outcome: MergeOutcome, objects: Int)) {
    let outcome = merged.outcome
    report.objectsBefore += merged.objects
    for (move, number) in outcome.moves {
      var rest = number
      for index in report.files.indices.reversed() { rest -= report.files[index].move(rest, move) }
      _ = report.move(number - rest, move)
      // The report does not count what an earlier run has read.
      if move.from == .imported { report.objectsBefore -= rest }
      if move.to == .imported { report.objectsBefore += rest }
    }
    report.merged = ImportReport.Merged(
      inserted: outcome.inserted, changed: outcome.changed, deleted: outcome.deleted,
      ofBoth: outcome.ofBoth)
  }

  private func checkWhole(_ database: Database) throws {
    guard options.resume, let snapshot = try database.pendingSnapshot(of: tableName) else { return }
    // As it was begun, since another import may have continued an input meanwhile.
    let visible = try database.pendingSnapshot(of: tableName, asBegun: true) ?? database.snapshot()
    let known =
      visible.tableNames.contains(tableName)
      ? try InputMemory(visible.table(tableName), in: visible).begun() : []
    let named = Set(files.map(\.key))
    for input in try InputMemory(snapshot.table(tableName), in: snapshot).begun()
    where !named.contains(input.input.name) && !known.contains(input) {
      throw ImportError.cannotResume(
        path: input.input.path.isEmpty ? options.database : input.input.path,
        reason:
          "a part of it is pending for table '\(tableName)', and would become visible without the rest: name "
          + "it too, or drop what is pending with sheaf import --abandon")
    }
  }
}
