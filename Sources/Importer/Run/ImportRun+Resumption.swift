import Base
import Engine

extension ImportRun {
  /// Where an input's import begins, with facts about the table. Only values, so that no snapshot of the old
  /// table is held during the import.
  struct Start {
    let checkpoint: Checkpoint
    /// The checkpoint in the table; nil when the import begins at the start.
    let known: Checkpoint?
    let schema: TableSchema?
    let match: TableMatch
    let types: ColumnTypes
    var resumes: Bool { known != nil }
  }

  /// Nil when the input was imported completely before.
  mutating func start(
    _ file: InputFile, _ opened: inout InputPlanner.Opened, _ digest: UInt64, _ state: TableState,
    _ rejects: RejectNamer.Choice
  ) throws -> Start? {
    let own: Checkpoint
    let table = state.contents
    switch try find(file, &opened, state) {
    case .complete(let checkpoint):
      try passOver(file, checkpoint, rejects)
      return nil
    case .goesOn(let checkpoint):
      resumed(file, checkpoint, isComplete: false)
      if checkpoint.input.name != file.key { noteGrown(file, checkpoint) }
      truncationIsDue = false
      own = checkpoint
    case .fresh, .changed:
      let match = try TableMatch(
        opened, truncationIsDue ? options : options.withoutTruncation, table: table)
      var checkpoint = Checkpoint(
        input: file.inputIdentity, options: digest,
        byteOffset: opened.splitter.byteOffset, checksum: opened.splitter.checksum.value,
        line: opened.splitter.line)
      checkpoint.given = given
      return Start(
        checkpoint: checkpoint, known: nil, schema: table?.schema, match: match, types: match.types)
    }
    // Records added to a complete input may be read with other options than its earlier records.
    guard own.options == digest || own.isComplete else {
      throw ImportError.cannotResume(
        path: file.name,
        reason:
          "the import was begun with other options for what a record becomes (\(OptionsDigest.names), "
          + "--newer-than, --ignore-blanks, --where)"
          + (own.input.name == file.key ? "" : ", as \(own.input.path)") + "; use the same ones")
    }
    let match = try TableMatch(
      opened, options.withoutTruncation, table: table, isResuming: true)
    var checkpoint = own
    checkpoint.input = file.inputIdentity
    checkpoint.isComplete = false
    (checkpoint.options, checkpoint.given) = (digest, given)
    var types = match.types.resuming(own.classes)
    try types.settle([]) { index in
      guard let table, let column = table.schema.columnIDs.firstIndex(of: match.identifier(index))
      else { return false }
      return try table.hasLargeIntegers(inColumn: column)
    }
    return Start(
      checkpoint: checkpoint, known: own, schema: table?.schema, match: match, types: types)
  }

  /// Skips an input that was imported completely before.
  ///
  /// - Parameter rejects: the place of its rejects; nil when no other input shares their file.
  mutating func passOver(
    _ file: InputFile, _ checkpoint: Checkpoint, _ rejects: RejectNamer.Choice?
  ) throws {
    try confirm()
    transaction?.journal.passOver(checkpoint, of: file.path)
    resumed(file, checkpoint, isComplete: true)
    truncationIsDue = false
    if checkpoint.input.name != file.key { noteTwin(file, checkpoint, isLeftOut: true) }
    if checkpoint.given != 0, !OptionsDigest(options: options).makeTheSame(as: checkpoint.given) {
      passedWithOthers.append(file.name)
    }
    try noteShortage(file, checkpoint.rejects)
    if let rejects { rejectFiles.add(checkpoint, to: rejects) }
  }

  /// Makes the version with a complete input's checkpoint durable. Its writer may have been killed before the
  /// last flush, and no later run would read the input again.
  private mutating func confirm() throws {
    guard let database = transaction?.database, !isConfirmed else { return }
    // Taking the writers' turn flushes the commits of other handles.
    if transaction?.isOpen != true { try database.beginWrite().rollBack() }
    isConfirmed = true
  }

  mutating func resumed(_ file: InputFile, _ checkpoint: Checkpoint, isComplete: Bool) {
    let point = ImportReport.ResumePoint(
      record: checkpoint.records, byteOffset: checkpoint.byteOffset, isComplete: isComplete)
    // Among several inputs, the report names the one in which the import resumes.
    if report.resumedAt?.isComplete ?? true { report.resumedAt = point }
    report.files.append(.init(path: file.path, resumedAt: point))
  }

  /// Notes an input whose contents were imported under another path.
  mutating func noteTwin(_ file: InputFile, _ twin: Checkpoint, isLeftOut: Bool) {
    let other = twin.input.path.isEmpty ? "an input" : twin.input.path
    let what =
      isLeftOut
      ? "left out, as --same-input contents says"
      : file.canBeReadAgain
        ? "imported too; --resume --same-input contents leaves such inputs out"
        : "imported too, since the contents of a pipe are known at its end only; --resume --same-input "
          + "contents leaves such an input out if it is a file"
    note(["it has the same contents as \(other), which was imported before: it was \(what)"], file)
  }

  /// Notes an input that continues one that was imported under another path, which has it no more.
  private mutating func noteGrown(_ file: InputFile, _ before: Checkpoint) {
    note(
      [
        before.isComplete
          ? "it begins with all \(before.records) records of \(before.input.path), which was imported before "
            + "and is not there any more: only what comes behind them is imported"
          : "it begins with the \(before.records) records that an interrupted import has read of "
            + "\(before.input.path): it goes on behind them"
      ], file)
  }

  /// Notes rejects files that are shorter than at the checkpoint.
  mutating func noteShortage(_ file: InputFile, _ place: RejectPlace) throws {
    let path = rejectFiles.path(of: file.path, place)
    for (path, expected) in [
      (path, place.records), (RejectName.reasonsPath(path), place.reasons),
    ] where expected > 0 {
      let present = try System.statusIfPresent(path: path)?.size ?? 0
      guard present < expected else { continue }
      note(
        [
          "\(path) has \(present) bytes, and \(expected) were written to it before: rejected records "
            + "are missing there, which the input still has"
        ], file)
    }
  }

  /// Where `options.resume` continues. Never `changed`, which throws or begins at the start.
  mutating func find(
    _ file: InputFile, _ opened: inout InputPlanner.Opened, _ state: TableState
  ) throws -> CheckpointComparison.Finding {
    guard options.resume, !startsOver, let memory = state.memory else { return .fresh }
    let comparison = CheckpointComparison(file: file, memory: memory, options: options)
    let finding = try comparison.find(&opened, among: files) {
      try alike(file, open(file))
    }
    guard case .changed(let reason, _) = finding else { return finding }
    // Records of the common part find the existing objects by their keys, so repeating them is harmless.
    let isHarmless = try options.conflictPolicy != .error && !keys(of: state.contents).isEmpty
    guard isHarmless || truncationIsDue else {
      throw ImportError.inputChanged(
        path: file.name,
        reason: reason
          + "; import it alone, without --resume, if all its records are new, with --truncate if "
          + "they are to take the place of the earlier ones, or with --key and --on-conflict")
    }
    guard file.canBeReadAgain else {
      throw ImportError.inputChanged(
        path: file.name, reason: reason + "; send it again, without --resume")
    }
    opened = try alike(file, open(file))
    transaction?.journal.beginAnew(file.path)
    note(["\(reason): it is read from its beginning"], file)
    return .fresh
  }

  /// The last import into the table that was not undone; nil when none is known.
  private func lastRun(_ database: Database?) throws -> RunEntry? {
    guard let snapshot = try database?.snapshot() else { return nil }
    let runs = try ImportRuns.list(snapshot, table: tableName)
    let undone = try UndoneRuns.find(runs, in: snapshot)
    return runs.last { !undone.contains($0.number) }
  }

  /// True when `resume` must begin again with all inputs, since what is known of them does not tell that the
  /// table is what they make of it.
  func startsOver(_ memory: InputMemory?, _ database: Database?) throws -> Bool {
    guard options.resume, options.deletesMissing || options.truncate else { return false }
    guard let memory else { return true }
    if options.truncate {
      // A pending table was looked at when it was chosen.
      return try transaction?.hasPending != true && obstacle(memory, database) != nil
    }
    // The table would lack the records of a skipped input. In a pending table they are found by their keys.
    if transaction?.hasPending == true { return true }
    // The list of inputs is incomplete when there are many.
    guard let last = try lastRun(database), last.status == .complete,
      last.inputCount == files.count,
      last.inputs.map(\.path) == files.map({ PathText.shown($0.path) })
    else { return true }
    return try !areComplete(memory)
  }

  /// Returns whether the inputs were imported completely, with these options, and have not changed since.
  private func areComplete(_ memory: InputMemory) throws -> Bool {
    try files.allSatisfy {
      try CheckpointComparison(file: $0, memory: memory, options: options).complete()?.given
        == given
    }
  }

  /// Why an import with `truncate` cannot go on with a table: it has records that these inputs do not have in
  /// this order, or may have them. Nil: the table has nothing but a beginning of these inputs, and going on
  /// makes it what importing all of them into the emptied table would.
  ///
  /// - Parameters:
  ///   - memory: the table's checkpoints, the pending table's if there is one.
  ///   - database: nil: the table is pending, so that its import has not come to its end.
  func obstacle(_ memory: InputMemory, _ database: Database?) throws -> String? {
    func name(_ checkpoint: Checkpoint) -> String {
      checkpoint.input.path.isEmpty ? "an input" : checkpoint.input.path
    }
    let known = try memory.all()
    let named = try named(in: memory)
    if let other = known.first(where: { !named.contains($0.input.name) }) {
      return "it has records of \(name(other)), which is not named now"
    }
    // One that was begun does not say with which options.
    if let other = known.first(where: { $0.isComplete && $0.given != given }) {
      return "\(name(other)) was imported without --truncate, or with other options"
    }
    let last = try lastRun(database ?? transaction?.database)
    if try areComplete(memory) {
      // Where several have an object with one key, the order tells which one it is of. Of many inputs only
      // the first are listed.
      guard let last, last.inputCount == files.count,
        last.inputs.count == min(files.count, RunEntry.mostInputs),
        zip(last.inputs, files).contains(where: { $0.path != PathText.shown($1.path) })
      else { return nil }
      return "its inputs were imported in another order"
    }
    if database != nil, known.allSatisfy(\.isComplete) && last?.status == .complete {
      return "the last import came to its end, and its inputs are not those of now"
    }
    return try disorder(known.count, memory)
  }

  /// The names of the inputs, and of those that they were under another path.
  func named(in memory: InputMemory) throws -> Set<UInt64> {
    var named = Set(files.map(\.key))
    if options.sameInput == .contents {
      for file in files {
        let comparison = CheckpointComparison(file: file, memory: memory, options: options)
        if let same = try comparison.complete() { named.insert(same.input.name) }
      }
    }
    return named
  }

  /// Why the inputs that are known are not the first ones, all complete and unchanged but for the last.
  private func disorder(_ count: Int, _ memory: InputMemory) throws -> String? {
    for (index, file) in files.enumerated() {
      let comparison = CheckpointComparison(file: file, memory: memory, options: options)
      if index + 1 < count, try comparison.complete() == nil {
        return "\(file.name) is not as it was imported before others"
      }
      if try comparison.hasChanged() { return "\(file.name) has changed" }
    }
    return nil
  }

  /// Removes the table's checkpoints of these inputs. All of them are imported now, and a later run with
  /// `resume` must not mistake an earlier import's end for this one's.
  func forget(_ database: Database) throws {
    // Done in the first transaction, so that a small import is one commit. With a pending table it is done
    // when that is begun, as the visible table must not change.
    if !options.publishesAtEnd {
      guard let table = try existingTable(database), let memory = try knownMemory(table, database),
        try files.contains(where: { try memory.checkpoint(of: $0.key) != nil })
      else { return }
    }
    transaction?.forgotten = Set(files.map(\.key))
  }

  /// Nil for a checkpoint of another version of Sheaf, which only prevents `resume`.
  private func knownMemory(_ table: Table, _ database: Database) throws -> InputMemory? {
    do {
      return try InputMemory(table, in: database.snapshot())
    } catch ImportError.cannotResume {
      return nil
    }
  }
}

extension InputFile {
  var inputIdentity: Checkpoint.Origin {
    .init(name: key, path: location, size: size)
  }
}
