import Base
import Engine

/// Dry runs: inputs are read as in an import, and nothing is written.
extension ServerRun {
  /// Reads all inputs as an import into the table would, and writes nothing. It cannot find rows that the
  /// server would reject, as it reads only the table's definition from the server.
  mutating func readAll(_ session: ServerSession) throws {
    let found = try foundTable(session)
    namesBefore = Set(found?.columns.map(\.name) ?? [])
    let table = try found.map { try withMissingColumns($0) } ?? plannedTable(session)
    report.table = found == nil ? tableName : table.shown
    for index in files.indices {
      if options.shouldStop() { report.isInterrupted = true }
      if report.isInterrupted { return }
      do {
        try read(index, table)
      } catch ImportError.emptyInput(let path) where files.count > 1 {
        report.notes.append("\(path) is empty: there is no header and no record")
        report.files.append(.init(path: path))
      }
    }
    if options.truncate, found != nil, report.imported == 0 { try refuseEmptying(table, session) }
  }

  /// The table as it would be created.
  private mutating func plannedTable(_ session: ServerSession) throws -> ServerTable {
    let types = try typesToMake()
    let place = try session.use { try ServerTable.place(tableName, $0) }
    _ = try ServerTable.creation(
      place, types, keys: options.keys, isNumeric: server.makesNumeric, server: target.shown)
    return ServerTable(
      schema: "", name: tableName,
      columns: types.map { name, type in
        .init(
          making: name, type, isNumeric: server.makesNumeric,
          isNullable: !options.keys.contains(name))
      })
  }

  /// The table as it would be with the missing columns added.
  private mutating func withMissingColumns(_ table: ServerTable) throws -> ServerTable {
    let missing = try missingColumns(table)
    if missing.isEmpty { return table }
    for column in missing {
      _ = try table.addition(
        of: column.name, column.type, isNumeric: server.makesNumeric, server: target.shown)
    }
    return ServerTable(
      schema: table.schema, name: table.name,
      columns: table.columns
        + missing.map {
          .init(making: $0.name, $0.type, isNumeric: server.makesNumeric, isNullable: true)
        },
      distribution: table.distribution)
  }

  private mutating func read(_ index: Int, _ table: ServerTable) throws {
    let file = files[index]
    let opened = try opened(index)
    let matched = try ServerMatch(opened, options, table, server: target.shown)
    let plan = ImportPlan(
      file, opened, matched.match, options, columns: matched.columns, encodes: true)
    var own = ImportReport()
    own.notes = (opened.told(options, namesBefore.contains) + matched.match.notes).map {
      "\(file.name): \($0)"
    }
    own.dialect = opened.report
    var tally = PieceTally(plan, options)
    let work = Pipeline.Work(
      opened.splitter, plan, options, isSmall: file.isSmall, threads, times)
    try Pipeline.run(work) {
      let builder = CopyPieceBuilder(plan)
      return { try builder.build($0) }
    } writing: { queue in
      while let piece = try queue.next() {
        try tally.add(piece)
        own.read += piece.recordCount
        own.imported += piece.rowCount
        own.rejected += piece.rejects.count
        own.bytesRead = piece.byteEnd
        for reject in piece.rejects { options.onReject(reject) }
        options.progress(
          ImportProgress(
            bytesRead: report.bytesRead + own.bytesRead, bytesTotal: bytesTotal,
            records: report.read + own.read, rejected: report.rejected + own.rejected,
            bytesWritten: 0))
        if options.shouldStop() {
          own.isInterrupted = true
          return
        }
      }
    }
    tally.fill(&own, file, opened)
    add(own)
  }
}
