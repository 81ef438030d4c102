import Base
import Engine

extension Importer {
  /// Compares every record of the inputs with a table: its exact values must be there, or in a rejects file.
  ///
  /// With a primary key, the object may have the values of any of several records with that key. Without a
  /// key, at least as many objects must have a record's values as there are equal records.
  ///
  /// Thread rule: any thread; it starts threads of its own and returns when they have ended. Nothing is
  /// written.
  ///
  /// - Parameters:
  ///   - options: the inputs, and the options with which they were imported; `database`, `rejects`, `filter`
  ///     and `shouldStop` apply too.
  ///   - table: a table of a snapshot.
  /// - Complexity: reads the inputs and the table once. Memory: with a key, that of the records not found;
  ///   without one, 50 bytes a record; in both cases the rejects files.
  /// - Throws: the errors of `run` for the inputs and the options; `EngineError.damaged`.
  public static func verify(_ options: ImportOptions, against table: Table) throws -> VerifyReport {
    var options = options
    options.dryRun = true
    options.table = table.name
    options.maxRejects = .unlimited
    options.resume = false
    options.truncate = false
    options.deletesMissing = false
    options.conflictPolicy = .error
    if let column = options.addedColumns.first(where: { $0.template.contains("{now}") }) {
      throw ImportError.invalidOption(
        "column '\(column.name)' has the moment of the import, which is not in the inputs: leave it out of "
          + "--set "
          + "and name the others with --columns")
    }
    let files = try InputFile.list(options.inputs)
    let paths = try RejectNamer(options, files).present()
    var statuses: [String: FileStatus] = [:]
    for path in files.map(\.path) + paths {
      statuses[path] = try System.statusIfPresent(path: path)
    }
    let rejects = RejectedRecords()
    for path in paths { try rejects.add(path) }
    let verifier = RecordVerifier(
      table, rejects, leavesOthersOut: options.columns != nil, isCancelled: options.shouldStop)
    options.onReject = { [onReject = options.onReject] reject in
      verifier.refuse(reject)
      onReject(reject)
    }
    options.verifier = VerifierBox(verifier)
    let report = try run(options)
    if !report.isInterrupted { try verifier.finish() }
    var result = verifier.report
    result.rejectFiles = paths
    result.files = statuses
    result.notes = report.notes
    result.isInterrupted = report.isInterrupted
    return result
  }
}

extension RejectNamer {
  /// The existing rejects files of all inputs.
  func present() throws(SystemError) -> [String] {
    var paths: [String] = []
    for name in names {
      var gap = 0
      var number = 1
      // Some may have been removed.
      while gap < 10 {
        let path = name.path(number)
        if let status = try RejectName.status(path), status.isRegular {
          if !paths.contains(path) { paths.append(path) }
          gap = 0
        } else {
          gap += 1
        }
        number += 1
      }
    }
    return paths
  }
}
