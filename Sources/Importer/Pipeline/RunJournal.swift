import Base
import Engine

/// Notes in the database that an import is under way, and in its last transaction what became of it.
///
/// The note is written with the first batch and with the last, and between them as time goes by: what it
/// says of an import that was killed may be some batches old.
///
/// Thread rule: belongs to the writer's thread.
final class RunJournal {
  private let resumes: Bool
  private let paths: [String]
  private let table: String
  private let begun = RunJournal.now
  /// Nil until the import commits something.
  private var entry: RunEntry?
  /// Of every input, by its place among those that were come to.
  private var inputs: [RunEntry.Input] = []
  /// Whether the next commit has to say how things stand.
  private var isDue = true
  private var passedOver: [String: RunEntry.Input] = [:]
  private var batches = 0
  /// Objects that the import has deleted.
  var deleted = 0
  /// What an interrupted import had noted that this one goes on from.
  private var earlier: RunEntry?
  /// The newest version when the import began to write.
  private var base: UInt64?
  private var lastWritten: UInt64 = 0

  /// More are not kept.
  private static let mostRuns = 1000
  private static let pauseNanoseconds: UInt64 = 1_000_000_000

  /// - Parameter inputs: their paths, as they were given or found.
  init(_ options: ImportOptions, inputs: [String], table: String) {
    resumes = options.resume
    paths = inputs.map { PathText.shown($0) }
    self.table = table
  }

  private static var now: DateTime {
    DateTime(clamping: Int64(System.secondsSince1970) * 1_000_000)
  }

  // MARK: What has become of the inputs

  /// How far an input has come.
  ///
  /// - Parameter isFirst: the first time that the input is told of.
  func note(_ checkpoint: Checkpoint, of path: String, isFirst: Bool) {
    let input = Self.input(checkpoint, path)
    if isFirst || inputs.isEmpty { inputs.append(input) } else { inputs[inputs.count - 1] = input }
    // Who goes on later has to know which inputs were this import's.
    if isFirst, inputs.count <= RunEntry.mostInputs { isDue = true }
  }

  /// An input that had come to its end before.
  func passOver(_ checkpoint: Checkpoint, of path: String) {
    passedOver[PathText.shown(path)] = Self.input(checkpoint, path)
  }

  private static func input(_ checkpoint: Checkpoint, _ path: String) -> RunEntry.Input {
    var counts = RunEntry.Counts()
    counts.read = checkpoint.records
    (counts.updated, counts.skipped) = (checkpoint.updated, checkpoint.skipped)
    (counts.unchanged, counts.rejected) = (checkpoint.unchanged, checkpoint.rejected)
    counts.filtered = checkpoint.filtered
    counts.imported =
      counts.read - counts.updated - counts.skipped - counts.unchanged - counts.rejected
      - counts.filtered
    return RunEntry.Input(
      path: PathText.shown(path), size: checkpoint.input.size, bytes: checkpoint.byteOffset,
      checksum: checkpoint.checksum, isComplete: checkpoint.isComplete, counts: counts)
  }

  // MARK: Writing

  /// The import's first transaction begins.
  func begin(from version: UInt64) { base = base ?? version }

  /// All that the import changes becomes visible in a transaction that begins from this version.
  func rebase(on version: UInt64) {
    base = version
    entry?.base = version
    earlier?.base = version
  }

  /// Counts records as what they have turned out to be.
  func count(_ moves: [MergeOutcome.Move: Int]) {
    for (move, number) in moves {
      var rest = number
      for index in inputs.indices.reversed() { rest -= inputs[index].counts.move(rest, move) }
    }
  }

  /// Notes that all is done, in a transaction that is no batch.
  func complete(_ transaction: borrowing WriteTransaction) throws {
    try put(.complete, transaction)
  }

  /// Whether the import goes on where one was interrupted that this database knows of.
  func goesOn(_ transaction: borrowing WriteTransaction) throws -> Bool {
    if entry != nil || earlier != nil { return true }
    guard resumes, let table = try transaction.ownTable(RunEntry.purpose, columns: nil) else {
      return false
    }
    let count = try table.count
    guard count > 0, let last = try table.row(at: count - 1).flatMap(RunEntry.init),
      last.status != .complete, isSame(last)
    else { return false }
    earlier = last
    return true
  }

  /// A batch has ended, which is committed next or with the one after it.
  func endBatch() { batches += 1 }

  /// Notes what is going to be committed, if it is time to.
  ///
  /// - Parameter status: how things stand with that.
  func write(_ status: RunEntry.Status, _ transaction: borrowing WriteTransaction) throws {
    if status == .unfinished, !isDue,
      System.monotonicNanoseconds &- lastWritten < Self.pauseNanoseconds
    {
      return
    }
    try put(status, transaction)
  }

  /// Whether the database says that the import is under way, which it is not any more.
  var isLeftOpen: Bool { entry.map { $0.status == .unfinished } ?? false }

  /// Notes the end of an import whose last transaction did not say so.
  func close(_ status: RunEntry.Status, _ database: Database, _ durability: Durability) throws {
    guard isLeftOpen else { return }
    try database.write(durability: durability) { try put(status, $0) }
  }

  /// What is known of the import, when it is over; of one that had been over before, if nothing has been
  /// imported into the table since.
  func finished(_ newest: Snapshot, isNothingToDo: Bool) throws -> RunEntry? {
    if let entry { return entry }
    guard isNothingToDo, let last = try ImportRuns.list(newest, table: table).last,
      isSame(last)
    else { return nil }
    return last
  }

  /// Whether a run was one of these inputs: of those that it has come to; the others it would have come to.
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
    // What a file says may be anything.
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

  /// What an interrupted import had read to its end is not read again: what became of it is known, but for
  /// inputs that were not listed, of which the count may be some batches old.
  private func fill(_ own: inout RunEntry) {
    let known = Set(inputs.map(\.path))
    let listed = earlier?.inputs ?? []
    let before = listed.filter { !known.contains($0.path) }.map { passedOver[$0.path] ?? $0 }
    // What a file says may be anything.
    own.deleted = deleted + min(earlier?.deleted ?? 0, .max / 2)
    own.inputCount = paths.count
    own.inputs = Array((before + inputs).prefix(RunEntry.mostInputs))
    own.counts = earlier?.counts ?? RunEntry.Counts()
    for input in listed { own.counts.subtract(input.counts) }
    for input in before + inputs { own.counts.add(input.counts) }
  }

  /// Forgets the oldest, until there are so many.
  static func letGo(beyond most: Int, _ table: WritableTable) throws {
    while try table.count > most, let oldest = try table.row(at: 0) {
      guard try table.delete(oldest.key) else { return }
    }
  }
}

/// The imports that a database knows of.
package enum ImportRuns {
  /// Oldest first.
  ///
  /// - Parameter table: of this table alone; nil: of all.
  /// - Complexity: O(runs).
  /// - Throws: `EngineError.damaged`.
  package static func list(_ snapshot: Snapshot, table: String? = nil) throws -> [RunEntry] {
    var runs: [RunEntry] = []
    try snapshot.ownTable(RunEntry.purpose)?.forEachRow { row in
      if let entry = RunEntry(row), table.map({ $0 == entry.table }) ?? true { runs.append(entry) }
    }
    return runs
  }
}
