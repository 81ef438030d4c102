import Base
import Engine

/// What a table remembers of the inputs that were imported into it, however many they are.
///
/// The newest lie in two notes of the table; what there is no room for there goes into a companion
/// table, where it is found by an index. So a commit costs the same whatever is remembered, and a
/// table of one input has no companion.
///
/// The companion's keys are a letter and 16 hexadecimal digits: `b` and the checksum of a path for
/// an input that goes on, `p` for one that came to its end, `c` with the checksum of the input's
/// bytes and, behind a point, their number for the same one once more, to be found by its contents.
///
/// Thread rule: confined.
struct InputMemory {
  static let purpose = "imports"
  static let columns = [Column("key", .text), Column("checkpoint", .data)]
  /// So many checkpoints stay in a note.
  static let noted = 16

  private let begunNoted: [Checkpoint]
  private let completeNoted: [Checkpoint]
  /// By the checksum of the path: there are many where an older version of Sheaf wrote the note.
  private let places: [UInt64: Int]
  private let companion: Table?

  /// - Throws: `ImportError.cannotResume` where another version of Sheaf wrote what is there.
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

  /// How far the input that is read from a place has come; nil when nothing is known of it.
  ///
  /// - Parameter name: the checksum of its path.
  /// - Complexity: O(log inputs).
  func checkpoint(of name: UInt64) throws -> Checkpoint? {
    if let begun = begunNoted.last(where: { $0.input.name == name }) { return begun }
    if let place = places[name] { return completeNoted[place] }
    return try stored(Self.begunKey(name)) ?? stored(Self.completeKey(name))
  }

  /// The input of some contents that came to its end.
  ///
  /// - Complexity: O(log inputs).
  func complete(checksum: UInt64, byteOffset: Int) throws -> Checkpoint? {
    try completeNoted.last { $0.checksum == checksum && $0.byteOffset == byteOffset }
      ?? stored(Self.contentsKey(checksum, byteOffset))
  }

  /// All inputs that go on, the newest last where that is known.
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

  /// What was remembered and forgotten since an earlier version of the table.
  ///
  /// - Parameter names: of inputs that do not count.
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

  /// True when a row of the companion has the key of the input that it speaks of.
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

/// What the notes of a table say that a transaction has read or written, so that the next one,
/// which finds the very bytes, need not decode them again: every batch of an import asks for them.
///
/// Thread rule: belongs to the writer's thread.
final class KnownNotes {
  private var notes: [String: (bytes: [UInt8], checkpoints: [Checkpoint])] = [:]

  /// What the bytes of a note say; nil when they are damaged, or another version's.
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

/// Changes what a table remembers of its inputs, in a transaction.
///
/// Thread rule: confined to the transaction's thread; not to be kept beyond it.
struct InputMemoryEditor {
  private let table: WritableTable
  private let known: KnownNotes
  /// The companion; made when there is something to put into it.
  private let companion: (_ makes: Bool) throws -> WritableTable?

  /// - Parameters:
  ///   - known: what the transactions before it have read and written.
  ///   - companion: the table's, with its transaction; nil unless it is there or to be made.
  init(
    _ table: WritableTable, _ known: KnownNotes = KnownNotes(),
    companion: @escaping (_ makes: Bool) throws -> WritableTable?
  ) {
    self.table = table
    self.known = known
    self.companion = companion
  }

  /// Forgets all inputs.
  func removeAll() throws {
    for note in [Checkpoint.note, Checkpoint.completeNote] {
      try table.editor.setNote(note, nil)
    }
    try companion(false)?.deleteAll()
  }

  /// Whether a checkpoint is remembered as it is.
  func contains(_ checkpoint: Checkpoint) throws -> Bool {
    let notes = try notes()
    if (checkpoint.isComplete ? notes.complete : notes.begun).contains(checkpoint) { return true }
    let name = checkpoint.input.name
    let key =
      checkpoint.isComplete ? InputMemory.completeKey(name) : InputMemory.begunKey(name)
    return try companion(false)?.row(forPrimaryKey: .text(key)).flatMap(InputMemory.checkpoint)
      == checkpoint
  }

  /// What came to its end under another path, with the same contents; nil when nothing did.
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

  /// Puts a checkpoint in the place of what is remembered of its input.
  ///
  /// - Parameters:
  ///   - replaced: another one that it goes on from.
  ///   - isFirst: the first one of this run for the input: later ones need not look beyond the note of
  ///     inputs that go on.
  ///   - keepsContents: an input that came to its end under this path, with other contents, is
  ///     still to be found by them.
  func store(
    _ own: Checkpoint, replacing replaced: Checkpoint?, isFirst: Bool, keepsContents: Bool
  ) throws {
    func isOther(_ checkpoint: Checkpoint) -> Bool {
      checkpoint.input.name != own.input.name && checkpoint != replaced
    }
    var (begun, complete) = try notes()
    if isFirst {
      let names = Set([own.input.name, replaced?.input.name].compactMap(\.self))
      let gone = complete.filter { !isOther($0) }
      complete.removeAll { !isOther($0) }
      for name in names { try remove(name, keepsContents: keepsContents && replaced == nil) }
      if keepsContents, replaced == nil {
        for checkpoint in gone { try storeContents(checkpoint) }
      }
    }
    if isFirst, keepsContents, replaced == nil {
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

  /// Forgets the inputs that are read from some places.
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

  /// The checkpoint of an input that is not at its path any more.
  private static func withoutPath(_ checkpoint: Checkpoint) -> Checkpoint {
    var copy = checkpoint
    copy.input.name = Checksum.of(
      Array("\(checkpoint.input.path)\0\(checkpoint.checksum)".utf8))
    return copy
  }

  // MARK: Notes

  private func notes() throws(ImportError) -> (begun: [Checkpoint], complete: [Checkpoint]) {
    // What another version wrote is nothing to this one, which does not resume: it is written over.
    (try? InputMemory.notes(of: table.name, known) { table.editor.note($0) }) ?? ([], [])
  }

  private func setNote(_ name: String, _ checkpoints: [Checkpoint]) throws {
    let bytes = checkpoints.isEmpty ? nil : Checkpoint.encode(checkpoints)
    if let bytes { known.keep(bytes, checkpoints, as: name) }
    if table.editor.note(name) != bytes { try table.editor.setNote(name, bytes) }
  }

  // MARK: The companion

  /// Moves the checkpoints of a note, but for the newest, into the companion.
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
