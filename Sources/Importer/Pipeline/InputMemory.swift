import Base
import Engine

/// A table's checkpoints of the inputs that were imported into it, however many there are.
///
/// The newest are in two notes of the table; the others are in a companion table, where an index finds them.
/// So the cost of a commit does not depend on their number, and a table of one input has no companion.
///
/// The companion's keys are a letter and 16 hexadecimal digits: `b` and the checksum of a path for an
/// unfinished input, `p` for a complete one. A complete one also has a row `c` with the checksum of the
/// input's bytes and, after a point, their number, so that it is found by its contents.
///
/// Thread rule: confined.
struct InputMemory {
  static let purpose = "imports"
  static let columns = [Column("key", .text), Column("checkpoint", .data)]
  /// The maximum number of checkpoints in a note.
  static let noted = 16

  private let begunNoted: [Checkpoint]
  private let completeNoted: [Checkpoint]
  /// The indices by the checksum of the path: a note of an older version of Sheaf may have many.
  private let places: [UInt64: Int]
  private let companion: Table?

  /// - Throws: `ImportError.cannotResume` for notes of another version of Sheaf.
  init(_ table: Table, in snapshot: Snapshot) throws {
    (begunNoted, completeNoted) = try Self.notes(of: table.name) { table.note($0) }
    companion = try snapshot.companion(Self.purpose, of: table)
    places = Dictionary(
      completeNoted.enumerated().map { ($1.input.name, $0) }, uniquingKeysWith: { $1 })
  }

  fileprivate static func notes(
    of table: String, _ known: KnownNotes = KnownNotes(), _ note: (String) -> [UInt8]?
  ) throws(ImportError) -> (begun: [Checkpoint], complete: [Checkpoint]) {
    func checkpoints(_ name: String) -> [Checkpoint]? {
      note(name).map { known.decoded($0, as: name) } ?? []
    }
    guard let begun = checkpoints(Checkpoint.note),
      let complete = checkpoints(Checkpoint.completeNote)
    else {
      throw ImportError.cannotResume(
        path: table,
        reason: "what table '\(table)' remembers of its imports was written by another version of "
          + "Sheaf; import it without --resume, with --truncate if its records are there already")
    }
    return (begun, complete)
  }

  /// The checkpoint of the input with a path; nil when there is none.
  ///
  /// - Parameter name: the checksum of the path.
  /// - Complexity: O(log inputs).
  func checkpoint(of name: UInt64) throws -> Checkpoint? {
    if let begun = begunNoted.last(where: { $0.input.name == name }) { return begun }
    if let place = places[name] { return completeNoted[place] }
    return try stored(Self.begunKey(name)) ?? stored(Self.completeKey(name))
  }

  /// The checkpoint of a complete input with certain contents.
  ///
  /// - Complexity: O(log inputs).
  func complete(checksum: UInt64, byteOffset: Int) throws -> Checkpoint? {
    try completeNoted.last { $0.checksum == checksum && $0.byteOffset == byteOffset }
      ?? stored(Self.contentsKey(checksum, byteOffset))
  }

  /// All unfinished inputs, the newest last where that is known.
  ///
  /// - Complexity: O(inputs).
  func begun() throws -> [Checkpoint] {
    var begun: [Checkpoint] = []
    try companion?.forEachRow { row in
      guard case .text(let key)? = row[Self.columns[0].name], key.utf8.first == UInt8(ascii: "b"),
        let checkpoint = Self.checkpoint(row)
      else { return }
      begun.append(checkpoint)
    }
    return begun + begunNoted
  }

  /// All complete inputs that can be found by their contents, in no order; some twice.
  ///
  /// - Complexity: O(inputs).
  func complete() throws -> [Checkpoint] {
    var complete = completeNoted
    try companion?.forEachRow { row in
      guard case .text(let key)? = row[Self.columns[0].name], key.utf8.first != UInt8(ascii: "b"),
        let checkpoint = Self.checkpoint(row)
      else { return }
      complete.append(checkpoint)
    }
    return complete
  }

  /// All inputs, in no order.
  ///
  /// - Complexity: O(inputs).
  func all() throws -> [Checkpoint] {
    var complete: [Checkpoint] = []
    try companion?.forEachRow { row in
      guard case .text(let key)? = row[Self.columns[0].name], key.utf8.first == UInt8(ascii: "p"),
        let checkpoint = Self.checkpoint(row)
      else { return }
      complete.append(checkpoint)
    }
    return try begun() + complete + completeNoted
  }

  /// The checkpoints that were added and removed since an earlier version of the table.
  ///
  /// - Parameter names: inputs to ignore.
  /// - Complexity: O(inputs).
  func changes(
    since before: InputMemory, leavingOut names: Set<UInt64>
  ) throws -> (noted: [Checkpoint], forgotten: Set<UInt64>) {
    let now = try all().filter { !names.contains($0.input.name) }
    var then: [UInt64: Checkpoint] = [:]
    for checkpoint in try before.all() where !names.contains(checkpoint.input.name) {
      then[checkpoint.input.name] = checkpoint
    }
    let noted = now.filter { then[$0.input.name] != $0 }
    return (noted, Set(then.keys).subtracting(now.map(\.input.name)))
  }

  private func stored(_ key: String) throws -> Checkpoint? {
    guard let row = try companion?.row(forPrimaryKey: .text(key)) else { return nil }
    guard let checkpoint = Self.checkpoint(row) else {
      throw ImportError.cannotResume(
        path: companion?.name ?? "", reason: "what the table remembers of an import is damaged")
    }
    return checkpoint
  }

  // MARK: Coding

  fileprivate static func begunKey(_ name: UInt64) -> String { "b" + hexadecimal(name) }
  fileprivate static func completeKey(_ name: UInt64) -> String { "p" + hexadecimal(name) }
  fileprivate static func contentsKey(_ checksum: UInt64, _ count: Int) -> String {
    "c\(hexadecimal(checksum)).\(count)"
  }

  private static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Returns whether the key of a row in the companion agrees with its checkpoint.
  static func fits(_ row: Row) -> Bool {
    guard case .text(let key)? = row[columns[0].name], let own = checkpoint(row) else {
      return false
    }
    switch key.utf8.first {
    case UInt8(ascii: "b"): return !own.isComplete && key == begunKey(own.input.name)
    case UInt8(ascii: "p"): return own.isComplete && key == completeKey(own.input.name)
    case UInt8(ascii: "c"):
      return own.isComplete && key == contentsKey(own.checksum, own.byteOffset)
    default: return false
    }
  }

  fileprivate static func checkpoint(_ row: Row) -> Checkpoint? {
    guard case .data(let bytes)? = row[columns[1].name] else { return nil }
    return Checkpoint.decode(bytes)?.first
  }
}

/// The decoded notes of a table that a transaction has read or written. The next transaction finds the same
/// bytes and need not decode them again; every batch of an import needs them.
///
/// Thread rule: confined to the writer's thread.
final class KnownNotes {
  private var notes: [String: (bytes: [UInt8], checkpoints: [Checkpoint])] = [:]

  /// The content of a note; nil when it is damaged or of another version.
  func decoded(_ bytes: [UInt8], as name: String) -> [Checkpoint]? {
    if let known = notes[name], known.bytes == bytes { return known.checkpoints }
    let checkpoints = Checkpoint.decode(bytes)
    if let checkpoints { keep(bytes, checkpoints, as: name) }
    return checkpoints
  }

  func keep(_ bytes: [UInt8], _ checkpoints: [Checkpoint], as name: String) {
    notes[name] = (bytes, checkpoints)
  }
}

/// Changes a table's checkpoints in a transaction.
///
/// Thread rule: confined to the transaction's thread; valid until its end.
struct InputMemoryEditor {
  private let table: WritableTable
  private let known: KnownNotes
  /// The companion; created when something is to be stored in it.
  private let companion: (_ makes: Bool) throws -> WritableTable?

  /// - Parameters:
  ///   - known: the notes that earlier transactions have read and written.
  ///   - companion: returns the table's companion in its transaction; nil when it does not exist and is not
  ///     to be created.
  init(
    _ table: WritableTable, _ known: KnownNotes = KnownNotes(),
    companion: @escaping (_ makes: Bool) throws -> WritableTable?
  ) {
    self.table = table
    self.known = known
    self.companion = companion
  }

  /// Removes all checkpoints.
  func removeAll() throws {
    for note in [Checkpoint.note, Checkpoint.completeNote] {
      try table.editor.setNote(note, nil)
    }
    try companion(false)?.deleteAll()
  }

  /// Returns whether exactly this checkpoint is stored.
  func contains(_ checkpoint: Checkpoint) throws -> Bool {
    let notes = try notes()
    if (checkpoint.isComplete ? notes.complete : notes.begun).contains(checkpoint) { return true }
    let name = checkpoint.input.name
    // The path of a complete one may be another input's by now.
    let keys =
      checkpoint.isComplete
      ? [
        InputMemory.completeKey(name),
        InputMemory.contentsKey(checkpoint.checksum, checkpoint.byteOffset),
      ] : [InputMemory.begunKey(name)]
    let companion = try companion(false)
    return try keys.contains { key in
      try companion?.row(forPrimaryKey: .text(key)).flatMap(InputMemory.checkpoint) == checkpoint
    }
  }

  /// The checkpoint of a complete input with the same contents under another path; nil when there is none.
  func twin(of checkpoint: Checkpoint) throws -> Checkpoint? {
    func isTwin(_ other: Checkpoint) -> Bool {
      other.input.name != checkpoint.input.name && other.checksum == checkpoint.checksum
        && other.byteOffset == checkpoint.byteOffset
    }
    if let twin = try notes().complete.last(where: isTwin) { return twin }
    let key = InputMemory.contentsKey(checkpoint.checksum, checkpoint.byteOffset)
    let stored = try companion(false)?.row(forPrimaryKey: .text(key))
    return stored.flatMap(InputMemory.checkpoint).flatMap { isTwin($0) ? $0 : nil }
  }

  /// Replaces the checkpoint of an input.
  ///
  /// - Parameters:
  ///   - replaced: the other checkpoint that it continues.
  ///   - isFirst: true for the first one of this run for the input; later ones are only in the note of
  ///     unfinished inputs.
  ///   - keepsContents: whether a complete input with this path and other contents can still be found by its
  ///     contents.
  func store(
    _ own: Checkpoint, replacing replaced: Checkpoint?, isFirst: Bool, keepsContents: Bool
  ) throws {
    func isOther(_ checkpoint: Checkpoint) -> Bool {
      checkpoint.input.name != own.input.name && checkpoint != replaced
    }
    var (begun, complete) = try notes()
    if isFirst {
      let gone = complete.filter { !isOther($0) }
      complete.removeAll { !isOther($0) }
      let isMoved = replaced.map { $0.input.name != own.input.name } ?? false
      if keepsContents, isMoved || replaced == nil { try keepBegun(own.input.name) }
      try remove(own.input.name, keepsContents: keepsContents && (isMoved || replaced == nil))
      if isMoved, let replaced { try removeMoved(replaced) }
      if keepsContents {
        for checkpoint in gone where checkpoint != replaced { try storeContents(checkpoint) }
      }
    }
    if isFirst, keepsContents, replaced?.input.name != own.input.name {
      begun = begun.map { $0.input.name == own.input.name ? Self.withoutPath($0) : $0 }
    }
    begun = begun.filter(isOther)
    if own.isComplete { complete.append(own) } else { begun.append(own) }
    if begun.count > InputMemory.noted || complete.count > InputMemory.noted {
      try move(&begun)
      try move(&complete)
    }
    try setNote(Checkpoint.note, begun)
    if own.isComplete || isFirst { try setNote(Checkpoint.completeNote, complete) }
  }

  /// Removes the checkpoints of inputs with these paths.
  ///
  /// - Complexity: O(places × log inputs).
  func forget(_ names: Set<UInt64>) throws {
    var (begun, complete) = try notes()
    begun.removeAll { names.contains($0.input.name) }
    complete.removeAll { names.contains($0.input.name) }
    try setNote(Checkpoint.note, begun)
    try setNote(Checkpoint.completeNote, complete)
    guard try companion(false) != nil else { return }
    for name in names { try remove(name, keepsContents: false) }
  }

  /// The checkpoint of an input that no longer has its path.
  private static func withoutPath(_ checkpoint: Checkpoint) -> Checkpoint {
    var copy = checkpoint
    copy.input.name = Checksum.of(
      Array("\(checkpoint.input.path)\0\(checkpoint.checksum)".utf8))
    return copy
  }

  // MARK: Notes

  private func notes() throws(ImportError) -> (begun: [Checkpoint], complete: [Checkpoint]) {
    // Notes of another version are overwritten, as this import does not resume them.
    (try? InputMemory.notes(of: table.name, known) { table.editor.note($0) }) ?? ([], [])
  }

  private func setNote(_ name: String, _ checkpoints: [Checkpoint]) throws {
    let bytes = checkpoints.isEmpty ? nil : Checkpoint.encode(checkpoints)
    if let bytes { known.keep(bytes, checkpoints, as: name) }
    if table.editor.note(name) != bytes { try table.editor.setNote(name, bytes) }
  }

  // MARK: The companion

  /// Moves the checkpoints of a note, except the newest, into the companion.
  private func move(_ checkpoints: inout [Checkpoint]) throws {
    for checkpoint in checkpoints.dropLast() {
      let name = checkpoint.input.name
      try remove(name, keepsContents: false)
      if checkpoint.isComplete {
        try put(InputMemory.completeKey(name), checkpoint)
        try storeContents(checkpoint)
      } else {
        try put(InputMemory.begunKey(name), checkpoint)
      }
    }
    checkpoints.removeFirst(max(0, checkpoints.count - 1))
  }

  private func storeContents(_ checkpoint: Checkpoint) throws {
    try put(InputMemory.contentsKey(checkpoint.checksum, checkpoint.byteOffset), checkpoint)
  }

  private func put(_ key: String, _ checkpoint: Checkpoint) throws {
    let values: [String: Value] = [
      InputMemory.columns[0].name: .text(key),
      InputMemory.columns[1].name: .data(Checkpoint.encode([checkpoint])),
    ]
    _ = try companion(true)?.upsert(values)
  }

  /// Removes the checkpoint of an input that has another path now. Another input may have its own.
  private func removeMoved(_ moved: Checkpoint) throws {
    guard let companion = try companion(false) else { return }
    let name = moved.input.name
    for key in [
      InputMemory.begunKey(name), InputMemory.completeKey(name),
      InputMemory.contentsKey(moved.checksum, moved.byteOffset),
    ] {
      guard let row = try companion.row(forPrimaryKey: .text(key)),
        InputMemory.checkpoint(row) == moved
      else { continue }
      _ = try companion.delete(row.key)
    }
  }

  /// Keeps an unfinished input of which another one has taken the path: it may go on under a new one.
  private func keepBegun(_ name: UInt64) throws {
    guard
      let row = try companion(false)?.row(forPrimaryKey: .text(InputMemory.begunKey(name))),
      let begun = InputMemory.checkpoint(row)
    else { return }
    let kept = Self.withoutPath(begun)
    try put(InputMemory.begunKey(kept.input.name), kept)
  }

  private func remove(_ name: UInt64, keepsContents: Bool) throws {
    guard let companion = try companion(false) else { return }
    func remove(_ key: String) throws {
      if let row = try companion.row(forPrimaryKey: .text(key)) {
        _ = try companion.delete(row.key)
      }
    }
    try remove(InputMemory.begunKey(name))
    let key = InputMemory.completeKey(name)
    guard let row = try companion.row(forPrimaryKey: .text(key)) else { return }
    _ = try companion.delete(row.key)
    guard !keepsContents, let checkpoint = InputMemory.checkpoint(row) else { return }
    let contents = InputMemory.contentsKey(checkpoint.checksum, checkpoint.byteOffset)
    let stored = try companion.row(forPrimaryKey: .text(contents))
    if stored.flatMap(InputMemory.checkpoint)?.input.name == name { try remove(contents) }
  }
}
