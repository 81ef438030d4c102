import Engine

/// Deletes the objects whose keys no input has.
extension ImportRun {
  /// Refuses options that contradict each other.
  static func checkDeletions(_ options: ImportOptions) throws {
    guard options.deletesMissing else { return }
    for (portion, name) in [(options.maxDeletes, "maxDeletes"), (options.minRecords, "minRecords")]
    where portion?.isPossible == false {
      throw ImportError.invalidOption("\(name) must be 0 or more, and a share from 0 to 1")
    }
    if options.conflictPolicy == .error {
      throw ImportError.invalidOption(
        "--delete-missing makes the table what the inputs are: say with --on-conflict what becomes of "
          + "objects that they have, as update, replace or skip")
    }
    for (name, isGiven) in [
      ("--limit", options.limit != nil), ("--truncate", options.truncate),
      ("--batch-size", options.batchSize != nil && options.publication == .batches),
    ] where isGiven {
      throw ImportError.invalidOption(
        "--delete-missing takes the inputs as a whole, of which readers see all or nothing: leave \(name) out"
      )
    }
  }

  /// Deletes the objects that no input has, unless they exceed the limit: in the transaction of all inputs,
  /// or in the one that publishes the pending table.
  ///
  /// - Throws: `ImportError.tooManyDeletions`, `.tooFewRecords`, `.emptyBeforeDeletion`,
  ///   `.rejectedBeforeDeletion`.
  mutating func deleteMissing(_ database: Database?) throws {
    guard options.deletesMissing, !report.isInterrupted, !report.isNothingToDo else { return }
    // Objects that others have added meanwhile are not missing.
    let before = try transaction?.begunTable() ?? existingTable(database)
    let total = before?.count ?? 0
    let wanted = options.minRecords.atLeast(of: total)
    guard report.read >= wanted else {
      throw ImportError.tooFewRecords(
        read: report.read, wanted: wanted, table: tableName, objects: total)
    }
    guard let before, let transaction, let seen = transaction.seen else { return }
    var missing = 0
    try before.forEachKey { if !seen.contains($0) { missing += 1 } }
    if missing > 0, report.rejected > 0 {
      throw ImportError.rejectedBeforeDeletion(
        count: report.rejected, path: report.rejects?.path ?? "")
    }
    let most =
      options.maxDeletes?.atMost(of: total)
      ?? (total < 100 ? total : ImportOptions.Portion.share(0.1).atMost(of: total))
    guard missing <= most else {
      throw ImportError.tooManyDeletions(
        missing: missing, allowed: most, table: tableName, objects: total)
    }
    if missing > 0, report.files.count > 1,
      let empty = report.files.first(where: { $0.read == 0 })
    {
      throw ImportError.emptyBeforeDeletion(path: empty.path, missing: missing)
    }
    if missing == 0 { return }
    if options.publishesAtEnd {
      transaction.complete = before
    } else {
      try transaction.deleteMissing(of: before)
    }
  }
}
