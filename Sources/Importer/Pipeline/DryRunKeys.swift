import Base
import Engine

/// The primary keys that a dry run has met: exact, in bounded memory, however many there are.
///
/// They lie in a scratch database without a name in the folder for temporary files (`TMPDIR`, or
/// `/tmp`), which ends with the process. Keys that objects of the table have are looked up there.
///
/// Thread rule: one thread at a time.
final class DryRunKeys: @unchecked Sendable {
  // @unchecked: used by the thread of the import only.
  let present: Table?
  /// Those of its objects that have been met; nil: nobody asks.
  let seen: SeenObjects?
  private let scratch: Database
  private var transaction: WriteTransaction?
  private var editor: TableEditor?

  /// - Parameter present: the table, when it is to keep its objects and has a primary key.
  init(present: Table?, notesSeen: Bool) throws {
    self.present = present
    seen = notesSeen ? SeenObjects() : nil
    let folder = System.environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
    let path =
      "\(folder)/sheaf-dry-run-\(System.processIdentifier)-\(System.monotonicNanoseconds)"
    let storage = try FileStorage(path: path, mode: .createNew, isScratch: true)
    scratch = try Database.open(
      storage: storage, options: .init(access: .create, durability: Durability.none))
    try scratch.write { try $0.createTable("keys", columns: [Column("key", .text)], key: "key") }
  }

  func begin() throws {
    if editor != nil { return }
    transaction = try scratch.beginWrite()
    editor = try transaction?.table("keys").editor
  }

  func commit() throws {
    editor = nil
    try transaction.take()?.commit(durability: Durability.none)
  }

  func rollBack() {
    editor = nil
    transaction.take()?.rollBack()
  }

  /// What the keys of some rows are.
  enum Meeting {
    case new
    /// An object of the table has it.
    case known(object: Int64)
    /// A row before it has it.
    case repeated
  }

  /// Looks the keys of rows up and remembers the new ones.
  func meet(_ rows: KeyedRows, _ range: Range<Int>) throws -> [Meeting] {
    guard let editor else { return [] }
    var found = [Int64](repeating: -1, count: range.count)
    let keys = range.map(rows.key)
    try rows.withBase { _, base in
      try keys.withUnsafeBufferPointer { keys in
        try found.withUnsafeMutableBufferPointer {
          try editor.find(base: base, keys: keys, into: $0)
        }
      }
    }
    var meetings: [Meeting] = []
    var new: [TextSpan] = []
    for row in range {
      let isRepeated = !rows.earlier.isEmpty && Int(rows.earlier[row]) >= range.lowerBound
      if let object = try present?.object(forKeySpelling: rows.text(rows.key(row))) {
        seen?.insert(object)
        meetings.append(.known(object: object))
      } else if found[row - range.lowerBound] >= 0 || isRepeated {
        meetings.append(.repeated)
      } else {
        meetings.append(.new)
        new.append(rows.key(row))
      }
    }
    if new.isEmpty { return meetings }
    try rows.withBase { memory, _ in
      try new.withUnsafeBufferPointer {
        try editor.append(arena: memory, spans: $0, rowCount: new.count, keysAreNew: true)
      }
    }
    return meetings
  }
}

/// Where a dry run's batches go: nowhere. Their keys are looked at.
final class NoDestination: Destination {
  let bytesWritten = 0
  private let keys: DryRunKeys?
  private let policy: ConflictPolicy

  /// - Parameter keys: nil for an import without a primary key.
  init(_ keys: DryRunKeys?, _ policy: ConflictPolicy) {
    self.keys = keys
    self.policy = policy
  }

  func begin() throws { try keys?.begin() }
  func append(_ rows: BatchRows) {}
  func hasConflicts(_ rows: KeyedRows) -> Bool { false }
  func hasLargeIntegers(inColumn identifier: UInt32) -> Bool { false }

  func append(
    _ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool, isTentative: Bool
  ) throws -> KeyedOutcome {
    guard let keys else { return KeyedOutcome(imported: range.count) }
    var outcome = KeyedOutcome()
    for (row, meeting) in zip(range, try keys.meet(rows, range)) {
      let object: Int64
      switch meeting {
      case .new:
        outcome.imported += 1
        continue
      case .known(let known): object = known
      case .repeated: object = -1
      }
      switch policy {
      case .error: outcome.conflicts.append((row, object))
      case .skip: outcome.skipped += 1
      // Whether anything differs is not looked at.
      case .replace, .update: outcome.updated += 1
      }
    }
    return outcome
  }

  func commit(
    _ types: ColumnTypes, _ checkpoint: Checkpoint, mayJoin: Bool
  ) throws -> BatchOutcome {
    try keys?.commit()
    return .committed
  }
  func commitJoined() {}
  func rollBack() { keys?.rollBack() }
}
