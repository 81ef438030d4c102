import Base
import Engine

/// Records in the database that an import is running and, in its last transaction, how it ended.
///
/// The entry is written with the first batch, with the last, and from time to time in between: for a killed
/// import it may be some batches old.
///
/// Thread rule: confined to the writer's thread.
final class RunJournal {
  private let resumes: Bool
  private let paths: [String]
  /// The place of each path among the inputs.
  private let places: [String: Int]
  private let table: String
  private let begun = RunJournal.now
  /// Nil until the import commits something.
  private var entry: RunEntry?
  private var hasNothingOfEarlier = false
  /// The inputs reached so far, in order.
  private var inputs: [RunEntry.Input] = []
  /// True when the next commit must write the entry.
  private var isDue = true
  private var passedOver: [String: RunEntry.Input] = [:]
  /// The inputs that are read from their beginning although an earlier import has read a part of them.
  private var begunAnew: Set<String> = []
  private var batches = 0
  /// What the last commit has of all this.
  private var committed = (
    entry: RunEntry?.none, inputs: 0, last: RunEntry.Input?.none, batches: 0, deleted: 0
  )
  /// What a publication that fails would change.
  private var beforePublication:
    (inputs: [RunEntry.Input], base: UInt64?, earlier: RunEntry?, firstBase: UInt64?)?
  /// The number of objects that the import has deleted.
  var deleted = 0
  /// The entry of the interrupted import that this one continues, once that is known.
  private var earlier: RunEntry?
  private var isDecided = false
  /// The version before the first of its parts, if something else has changed the table between them.
  private var firstBase: UInt64?
  /// The newest version when the import began to write.
  private var base: UInt64?
  private var lastWritten: UInt64 = 0

  /// The maximum number of entries kept.
  private static let mostRuns = 1000
  private static let pauseNanoseconds: UInt64 = 1_000_000_000

  /// - Parameter inputs: the paths of the inputs, as given or found.
  init(_ options: ImportOptions, inputs: [String], table: String) {
    resumes = options.resume
    paths = inputs.map { PathText.shown($0) }
    places = Dictionary(zip(paths, 0...), uniquingKeysWith: { first, _ in first })
    self.table = table
  }

  private static var now: DateTime {
    DateTime(clamping: Int64(System.secondsSince1970) * 1_000_000)
  }

  // MARK: State of the inputs

  /// Records how far an input has come.
  ///
  /// - Parameters:
  ///   - isFirst: whether it is the first record of the input.
  ///   - start: the checkpoint from which the input goes on; nil: it is read from its beginning.
  func note(_ checkpoint: Checkpoint, of path: String, isFirst: Bool, from start: Checkpoint?) {
    var input = Self.input(checkpoint, path)
    if isFirst || inputs.isEmpty {
      let listed = earlier?.inputs.first { $0.path == input.path }
      if let start {
        input.base = listed?.base ?? Self.counts(start)
      } else {
        begunAnew.insert(input.path)
      }
      inputs.append(input)
    } else {
      input.base = inputs[inputs.count - 1].base
      inputs[inputs.count - 1] = input
    }
    inputs[inputs.count - 1].counts.subtract(input.base)
    // A later import that resumes must know which inputs belonged to this one.
    if isFirst, inputs.count <= RunEntry.mostInputs { isDue = true }
  }

  /// Records an input that was complete before.
  func passOver(_ checkpoint: Checkpoint, of path: String) {
    passedOver[PathText.shown(path)] = Self.input(checkpoint, path)
  }

  /// Records that an input is another one under the path of one of which an earlier import has read a part.
  func beginAnew(_ path: String) { begunAnew.insert(PathText.shown(path)) }

  private static func counts(_ checkpoint: Checkpoint) -> RunEntry.Counts {
    var counts = RunEntry.Counts()
    counts.read = checkpoint.records
    (counts.updated, counts.skipped) = (checkpoint.updated, checkpoint.skipped)
    (counts.unchanged, counts.rejected) = (checkpoint.unchanged, checkpoint.rejected)
    counts.filtered = checkpoint.filtered
    counts.imported =
      counts.read - counts.updated - counts.skipped - counts.unchanged - counts.rejected
      - counts.filtered
    return counts
  }

  private static func input(_ checkpoint: Checkpoint, _ path: String) -> RunEntry.Input {
    RunEntry.Input(
      path: PathText.shown(path), size: checkpoint.input.size, bytes: checkpoint.byteOffset,
      checksum: checkpoint.checksum, isComplete: checkpoint.isComplete, counts: counts(checkpoint))
  }

  /// Records that what an interrupted import has brought is dropped: it counts no more.
  func dropEarlier() { hasNothingOfEarlier = true }

  // MARK: Writing

  /// Begins with the import's first transaction.
  func begin(from version: UInt64) { base = base ?? version }

  /// Records that the import's changes become visible in a transaction that begins from this version.
  func rebase(on version: UInt64) {
    beforePublication = (inputs, base, earlier, firstBase)
    base = version
    entry?.base = version
    earlier?.base = version
    firstBase = nil
  }

  /// Moves records from one count to another.
  func count(_ moves: [MergeOutcome.Move: Int]) {
    for (move, number) in moves {
      var rest = number
      for index in inputs.indices.reversed() { rest -= inputs[index].counts.move(rest, move) }
    }
  }

  /// Records the end of the import in a transaction that is not a batch.
  func complete(_ transaction: borrowing WriteTransaction) throws {
    try put(.complete, transaction)
  }

  /// Returns whether the import continues an interrupted one in this database's list, whatever has been
  /// imported into other tables since. One that was undone is not continued, nor one whose inputs were
  /// replaced by others.
  ///
  /// - Parameter isUndisturbed: whether nothing else has changed the table since that import. Otherwise this
  ///   import is one of its own, so that it can be undone without undoing the others.
  func goesOn(
    _ transaction: borrowing WriteTransaction,
    isUndisturbed: (RunEntry) throws -> Bool = { _ in true }
  ) throws -> Bool {
    if isDecided { return entry != nil || earlier != nil }
    isDecided = true
    guard resumes, let list = try transaction.ownTable(RunEntry.purpose, columns: nil) else {
      return false
    }
    var runs: [RunEntry] = []
    try list.forEachRow { row in
      if row["table"] == .text(table) { runs += RunEntry(row).map { [$0] } ?? [] }
    }
    guard let newest = runs.last(where: isSame), newest.status != .complete else { return false }
    let parts = parts(runs, undone: UndoneRuns.find(runs, try RestoreNote.list(transaction)))
    guard let last = parts.last else { return false }
    let isReplaced = last.inputs.contains { begunAnew.contains($0.path) }
    if try !isReplaced && isUndisturbed(last) { earlier = last }
    if hasNothingOfEarlier {
      earlier?.forgetWork()
    }
    if parts.count > 1 || earlier == nil { firstBase = parts[0].base }
    return earlier != nil
  }

  /// The parts of an import that has not come to its end, oldest first.
  ///
  /// - Parameter runs: imports into the table, oldest first, until this one.
  private func parts(_ runs: [RunEntry], undone: Set<Int64>) -> [RunEntry] {
    let same = runs.filter(isSame)
    let end = same.lastIndex { $0.status == .complete || undone.contains($0.number) }
    return Array(same[(end.map { $0 + 1 } ?? 0)...])
  }

  /// Counts a batch that is committed next, or with the one after it.
  func endBatch() { batches += 1 }

  /// Writes the entry into a transaction, if it is due.
  ///
  /// - Parameter status: the import's state after this transaction.
  func write(_ status: RunEntry.Status, _ transaction: borrowing WriteTransaction) throws {
    if status == .unfinished, !isDue,
      System.monotonicNanoseconds &- lastWritten < Self.pauseNanoseconds
    {
      return
    }
    try put(status, transaction)
  }

  /// Records that what was noted until now is committed.
  func commit() {
    committed = (entry, inputs.count, inputs.last, batches, deleted)
    beforePublication = nil
  }

  /// Forgets what was noted since the last commit: it was rolled back.
  func rollBack() {
    if let before = beforePublication { (inputs, base, earlier, firstBase) = before }
    beforePublication = nil
    (entry, batches, deleted) = (committed.entry, committed.batches, committed.deleted)
    inputs.removeLast(inputs.count - committed.inputs)
    if let last = committed.last { inputs[inputs.count - 1] = last }
  }

  /// True when the database says that the import is running although it has ended.
  var isLeftOpen: Bool { entry.map { $0.status == .unfinished } ?? false }

  /// Records how an import has ended whose last transaction did not record it, or how far it has come.
  func close(_ status: RunEntry.Status, _ database: Database, _ durability: Durability) throws {
    guard isLeftOpen else { return }
    try database.write(durability: durability) { try put(status, $0) }
    commit()
  }

  /// The version before the first part of the import when it has ended; of one without new records, before
  /// the last entry, if nothing has been imported into the table since.
  func finishedBase(_ newest: Snapshot, isNothingToDo: Bool) throws -> UInt64? {
    if let entry { return firstBase ?? entry.base }
    guard isNothingToDo else { return nil }
    let runs = try ImportRuns.list(newest, table: table)
    guard let last = runs.last, isSame(last) else { return nil }
    let undone = UndoneRuns.find(runs, try RestoreNote.list(newest))
    return parts(runs.dropLast(), undone: undone).first?.base ?? last.base
  }

  /// When the last import of these inputs came to its end; nil if none is known.
  func lastEnd(_ newest: Snapshot) throws -> DateTime? {
    try ImportRuns.list(newest, table: table).last { isSame($0) && $0.status == .complete }?.noted
  }

  /// Returns whether an earlier run had the same inputs, as far as it reached them.
  private func isSame(_ run: RunEntry) -> Bool {
    run.table == table && run.inputCount == paths.count
      && Set(run.inputs.map(\.path)).isSubset(of: paths)
  }

  private func put(
    _ status: RunEntry.Status, _ transaction: borrowing WriteTransaction
  ) throws {
    _ = try goesOn(transaction)
    guard let table = try transaction.ownTable(RunEntry.purpose, columns: RunEntry.columns) else {
      return
    }
    var own =
      entry ?? earlier
      ?? RunEntry(
        begun: begun, noted: begun, table: self.table, base: base ?? transaction.baseVersion)
    own.status = status
    (own.noted, own.version) = (Self.now, transaction.baseVersion + 1)
    // A number from the file may have any value.
    own.batches = batches + min(earlier?.batches ?? 0, .max / 2)
    fill(&own)
    if own.number == 0 {
      own.number = try table.insert(own.values)
      try Self.letGo(beyond: Self.mostRuns, table)
    } else {
      let values = Dictionary(uniqueKeysWithValues: zip(RunEntry.columns.map(\.name), own.values))
      try table.update(own.number, values)
    }
    (entry, isDue) = (own, false)
    lastWritten = System.monotonicNanoseconds
  }

  /// Adds the counts of inputs that an interrupted import had read completely and this one has not. For
  /// inputs that were not listed the count may be some batches old.
  private func fill(_ own: inout RunEntry) {
    let known = Set(inputs.map(\.path))
    let listed = earlier?.inputs ?? []
    let before = listed.filter { !known.contains($0.path) }.map { input in
      guard var passed = passedOver[input.path] else { return input }
      passed.base = input.base
      passed.counts.subtract(input.base)
      return passed
    }
    // A number from the file may have any value.
    own.deleted = deleted + min(earlier?.deleted ?? 0, .max / 2)
    own.inputCount = paths.count
    var all = before + inputs
    if !before.isEmpty {
      all.sort { places[$0.path, default: .max] < places[$1.path, default: .max] }
    }
    own.inputs = Array(all.prefix(RunEntry.mostInputs))
    own.counts = earlier?.counts ?? RunEntry.Counts()
    // What was done before stays, so its counts do.
    for input in listed where !begunAnew.contains(input.path) || !known.contains(input.path) {
      own.counts.subtract(input.counts)
    }
    for input in before + inputs { own.counts.add(input.counts) }
  }

  /// Drops the oldest entries, down to `most`.
  static func letGo(beyond most: Int, _ table: WritableTable) throws {
    while try table.count > most, let oldest = try table.row(at: 0) {
      guard try table.delete(oldest.key) else { return }
    }
  }
}

/// The imports in a database's list.
package enum ImportRuns {
  /// The imports, oldest first.
  ///
  /// - Parameter table: only imports into this table; nil: all imports.
  /// - Complexity: O(runs).
  /// - Throws: `EngineError.damaged`.
  package static func list(_ snapshot: Snapshot, table: String? = nil) throws -> [RunEntry] {
    var runs: [RunEntry] = []
    try snapshot.ownTable(RunEntry.purpose)?.forEachRow { row in
      if let entry = RunEntry(row), table.map({ $0 == entry.table }) ?? true { runs.append(entry) }
    }
    return runs
  }

  /// The imports that have changed objects of a version and were not undone in it, oldest first. Among those
  /// that did not come to their end it has only the last one into each table: whether others were visible is
  /// not recorded.
  ///
  /// - Parameter table: only imports into this table; nil: all imports.
  /// - Throws: `EngineError.damaged`.
  package static func effective(_ snapshot: Snapshot, table: String? = nil) throws -> [RunEntry] {
    let runs = try list(snapshot, table: table)
    let undone = try UndoneRuns.find(runs, in: snapshot)
    let pending = Set(try snapshot.pendingTables.map(\.name))
    let last = Dictionary(runs.map { ($0.table, $0.number) }, uniquingKeysWith: { $1 })
    return runs.filter { run in
      let isVisible =
        run.status == .complete || last[run.table] == run.number && !pending.contains(run.table)
      return isVisible && !undone.contains(run.number)
        && (run.counts.imported > 0 || run.counts.updated > 0 || run.deleted > 0)
    }
  }

  /// Returns whether a kept version has a part of an import that did not end with it: one that something else
  /// made or kept between its batches. What goes back by itself passes it over, to the version before the
  /// import, if that is kept.
  ///
  /// - Parameter table: only imports into this table; nil: all imports.
  /// - Throws: `EngineError.damaged`, also when the result is called.
  package static func halves(
    _ database: Database, table: String? = nil
  ) throws -> (UInt64) throws -> Bool {
    let newest = try database.snapshot()
    let runs = try list(newest, table: table)
    let undone = try UndoneRuns.find(runs, in: newest)
    let kept = Set(try newest.keptVersions.map(\.number))
    let pending = Set(try newest.pendingTables.map(\.name))
    let inside = runs.filter { run in
      // What is pending is not visible yet.
      if run.status != .complete, pending.contains(run.table) { return false }
      return !undone.contains(run.number) && kept.contains(run.base)
    }
    return { version in
      try inside.contains { run in
        guard run.base < version, version < run.version else { return false }
        // A batch may have changed nothing.
        let changes = try database.snapshot(at: .number(version))
          .changes(since: database.snapshot(at: .number(run.base)))
        return (changes.changed + changes.created).contains(run.table)
      }
    }
  }
}
