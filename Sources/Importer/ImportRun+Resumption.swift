import Engine

extension ImportRun {
  /// Where an input's import begins, and what it knows of the table: values only, so that no snapshot
  /// of the table as it was stays held while the import goes on.
  struct Start {
    let checkpoint: Checkpoint
    /// The checkpoint as the table has it; nil: the import begins anew.
    let known: Checkpoint?
    let schema: TableSchema?
    let match: TableMatch
    let types: ColumnTypes
    var resumes: Bool { known != nil }
  }

  /// Nil when the input was imported completely before.
  mutating func start(
    _ file: InputFile, _ opened: inout InputPlanner.Opened, _ digest: UInt64, _ table: Table?,
    _ rejects: RejectFiles.Choice, isFirst: Bool
  ) throws -> Start? {
    let own: Checkpoint
    switch try find(file, &opened, table, isFirst: isFirst) {
    case .complete(let checkpoint):
      resumed(file, checkpoint, isComplete: true)
      rejectFiles.add(checkpoint, to: rejects)
      return nil
    case .goesOn(let checkpoint):
      resumed(file, checkpoint, isComplete: false)
      own = checkpoint
    case .fresh, .changed:
      let match = try TableMatch(
        opened, isFirst ? options : options.withoutTruncation, table: table)
      let checkpoint = Checkpoint(
        input: .init(name: file.key, size: file.size), options: digest,
        byteOffset: opened.splitter.byteOffset, checksum: opened.splitter.checksum.value,
        line: opened.splitter.line)
      return Start(
        checkpoint: checkpoint, known: nil, schema: table?.schema, match: match, types: match.types)
    }
    // What was added to a complete input may be read in another way than what it had.
    guard own.options == digest || own.isComplete else {
      throw ImportError.cannotResume(
        path: file.name,
        reason: "the import was begun with other options for --types, --date-format, --decimal, "
          + "--thousands, --columns, --rename, --header, --delimiter, --quote, --escape, --comment, "
          + "--encoding, --null, --ragged, --key or --on-conflict; use the same ones")
    }
    let match = try TableMatch(
      opened, options.withoutTruncation, table: table, isResuming: true)
    var checkpoint = own
    checkpoint.input = .init(name: file.key, size: file.size)
    checkpoint.isComplete = false
    checkpoint.options = digest
    return Start(
      checkpoint: checkpoint, known: own, schema: table?.schema, match: match,
      types: match.types.resuming(own.classes))
  }

  mutating func resumed(_ file: InputFile, _ checkpoint: Checkpoint, isComplete: Bool) {
    let point = ImportReport.ResumePoint(
      record: checkpoint.records, byteOffset: checkpoint.byteOffset, isComplete: isComplete)
    // Of several inputs, the one that the import goes on in is the one to tell of.
    if report.resumedAt?.isComplete ?? true { report.resumedAt = point }
    report.files.append(.init(path: file.path, resumedAt: point))
  }

  /// Where `options.resume` goes on. Never `changed`: that is an error, or begins anew.
  func find(
    _ file: InputFile, _ opened: inout InputPlanner.Opened, _ table: Table?, isFirst: Bool
  ) throws -> Resumption.Finding {
    guard options.resume, !startsOver else { return .fresh }
    guard let known = known(table) else {
      throw ImportError.cannotResume(
        path: file.name,
        reason:
          "what table '\(tableName)' remembers of its imports was written by another version of "
          + "Sheaf; import it without --resume, with --truncate if its records are there already")
    }
    let finding = try resumption(file, known).find(&opened)
    guard case .changed(let reason) = finding else { return finding }
    // Its records meet the objects of the common part by their keys, or none at all.
    let isHarmless = try options.conflictPolicy != .error && key(of: table) != nil
    guard isHarmless || (options.truncate && isFirst) else {
      throw ImportError.inputChanged(
        path: file.name,
        reason: reason
          + "; import it without --resume if all its records are new, with --truncate if "
          + "they are to take the place of the earlier ones, or with --key and --on-conflict")
    }
    guard file.canBeReadAgain else {
      throw ImportError.inputChanged(
        path: file.name, reason: reason + "; send it again, without --resume")
    }
    opened = try alike(file, open(file))
    return .fresh
  }

  func resumption(_ file: InputFile, _ known: [Checkpoint]) -> Resumption {
    Resumption(
      file: file, known: known, claimed: claimed, isCancelled: options.shouldStop,
      open: { try alike(file, open(file)) })
  }

  /// Makes the table forget what was imported of these inputs before: all of them are to be imported now,
  /// and a later run with `resume` must not take an earlier one's end for this one's.
  func forget(_ database: Database) throws {
    guard let known = try known(existingTable(database)),
      known.contains(where: { claimed.contains($0.input.name) })
    else { return }
    try database.write(durability: options.durability) { transaction in
      let editor = try transaction.table(tableName).editor
      for note in [Checkpoint.note, Checkpoint.completeNote] {
        let present = editor.note(note).flatMap(Checkpoint.decode) ?? []
        let others = present.filter { !claimed.contains($0.input.name) }
        guard others.count < present.count else { continue }
        try editor.setNote(note, others.isEmpty ? nil : Checkpoint.encode(others))
      }
    }
  }

  /// What a table remembers of its imports; nil: what cannot be understood.
  func known(_ table: Table?) -> [Checkpoint]? {
    table.map { table in Checkpoint.all { table.note($0) } } ?? []
  }
}
