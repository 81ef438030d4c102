import Base
import Foundation
import Testing
import TestSupport

@testable import Engine

/// Whatever bytes a file has, Sheaf throws or returns the right values. It never traps, loops or
/// returns what was not committed (I4). A file that it refuses is not changed.
@Suite("Damaged and foreign files")
struct DamageTests {
  private enum Outcome: Equatable {
    case refused(String)
    /// The file was opened and read without an error.
    case read(digest: UInt64, problems: [String])
    /// The file was opened; a read found damage.
    case damaged(String, problems: [String])
  }

  private enum Checks { case never, afterReading, always }

  /// Opens the file, reads everything and checks it. Errors of other types than the engine's are thrown
  /// on.
  private func outcome(
    _ storage: any Storage, _ access: Database.Options.Access = .readOnly, checks: Checks = .always
  ) throws -> Outcome {
    var options = Database.Options.tiny
    options.access = access
    let database: Database
    do {
      database = try Database.open(storage: storage, options: options)
    } catch let error as EngineError {
      return .refused("\(error)")
    }
    do {
      let digest = try Model.digest(database.snapshot())
      if let lost = try lostKey(database.snapshot()) {
        return .read(digest: 0, problems: ["'\(lost)' is not found"])
      }
      if let other = try differingRow(database.snapshot()) {
        return .read(digest: 0, problems: ["object \(other) reads otherwise by itself"])
      }
      return .read(digest: digest, problems: checks == .never ? [] : try database.check().problems)
    } catch let error as EngineError {
      if checks != .always { return .damaged("\(error)", problems: []) }
      let problems = (try? database.check().problems) ?? ["\(error)"]
      return .damaged("\(error)", problems: problems)
    }
  }

  /// A primary key that exists and is not found, without an error.
  private func lostKey(_ snapshot: Snapshot) throws -> Value? {
    var lost: Value?
    for name in snapshot.tableNames {
      let table = try snapshot.table(name)
      guard let column = table.schema.keyColumn else { continue }
      try table.forEachRow { row in
        if try table.row(forPrimaryKey: row.values[column])?.key != row.key {
          lost = row.values[column]
        }
      }
    }
    return lost
  }

  /// The key of an object that a scan, a read in place and a lookup do not read alike.
  private func differingRow(_ snapshot: Snapshot) throws -> Int64? {
    var other: Int64?
    for name in snapshot.tableNames {
      let table = try snapshot.table(name)
      var rows: [Row] = []
      try table.forEachRow { rows.append($0) }
      var next = 0
      try table.forEachView { view in
        let values = try (0..<view.count).map { try view.value($0) }
        if next >= rows.count || rows[next].values != values { other = view.key }
        next += 1
      }
      // In reverse order, so that the rows are not read as neighbours.
      for (position, row) in rows.enumerated().reversed() {
        if try table.row(forKey: row.key) != row { other = row.key }
        if position % 3 == 0, try table.position(ofKey: row.key) != position { other = row.key }
      }
    }
    return other
  }

  // MARK: Flips

  @Test("Every byte flipped in turn, all bits of the slots", arguments: 0..<4)
  func flips(part: Int) throws {
    let sample = try DamageSample()
    let storage = RecordingStorage(sample.bytes, isRecording: false)
    #expect(try outcome(storage) == .read(digest: sample.digest, problems: []))
    for position in sample.bytes.indices
    where position % 4 == part && position / 4 % Effort.stride == 0 {
      let isSlot = position < Layout.firstBlockOffset
      // A test of its own covers the zeros behind the slots.
      if isSlot && position % Layout.pageBytes >= 88 { continue }
      for bit in isSlot ? Array(0..<8) : [position / 4 % 8] {
        let flipped = sample.bytes[position] ^ (1 << UInt8(bit))
        try withUnsafeBytes(of: flipped) { try storage.write($0, at: position) }
        let place = "byte \(position), bit \(bit)"
        let isReachable = sample.reachable.contains(position)
        let checks = isReachable || position / 4 % 16 == 0
        switch try outcome(storage, checks: checks ? .afterReading : .never) {
        case .refused: #expect(isReachable, "\(place): refused for a byte that nobody uses")
        case .read(let digest, let problems):
          #expect(digest == sample.digest, "\(place): other values")
          if checks { #expect(problems.isEmpty != isReachable, "\(place): \(problems)") }
        case .damaged(let error, _):
          #expect(isReachable, "\(place): \(error)")
          if position / 4 % 8 == 0 {
            let found = try outcome(storage, checks: .always)
            guard case .damaged(_, let problems) = found, !problems.isEmpty else {
              Issue.record("\(place): \(error), and check is silent")
              continue
            }
          }
        }
      }
      try withUnsafeBytes(of: sample.bytes[position]) { try storage.write($0, at: position) }
    }
    #expect(storage.viewsOutside == [])
  }

  @Test("Every byte of the slots' pages flipped in turn")
  func flippedSlotPages() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage)
    try database.write { try $0.createTable("a", columns: [Column("x", .int)]) }
    try database.close()
    let bytes = storage.content
    for position in 0..<Layout.firstBlockOffset {
      let flipped = bytes[position] ^ (1 << UInt8(position % 8))
      try withUnsafeBytes(of: flipped) { try storage.write($0, at: position) }
      defer { try? withUnsafeBytes(of: bytes[position]) { try storage.write($0, at: position) } }
      let page = try #require(
        storage.view(at: position / Layout.pageBytes * Layout.pageBytes, count: Layout.pageBytes))
      if case .valid = CommitSlot.read(page) {
        #expect(!CommitSlot.restIsZero(page), "byte \(position)")
      } else {
        #expect(position % Layout.pageBytes < CommitSlot.encodedBytes, "byte \(position)")
      }
      guard position % 16 == position / 16 % 16, position / 256 % Effort.stride == 0 else {
        continue
      }
      switch try outcome(storage) {
      case .refused: Issue.record("byte \(position): refused although the other slot is sound")
      case .read(_, let problems): #expect(!problems.isEmpty, "byte \(position)")
      case .damaged(let error, _): Issue.record("byte \(position): \(error)")
      }
    }
  }

  @Test("A slot that was erased is told, also where the other one has the same version")
  func erasedSlots() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage)
    // The second slot is not written yet.
    #expect(try database.check().problems == [])
    #expect(try Recovery.run(RecordingStorage(storage.content, isRecording: false)).fallback == nil)
    try database.write { try $0.createTable("a", columns: [Column("x", .int)]) }
    let unclosed = storage.content
    try database.close()
    for (bytes, slots) in [(storage.content, [0, 1]), (unclosed, [0])] {
      for slot in slots {
        var erased = bytes
        let start = slot * Layout.pageBytes
        erased.replaceSubrange(
          start..<start + Layout.pageBytes, with: [UInt8](repeating: 0, count: Layout.pageBytes))
        let found = try Recovery.run(RecordingStorage(erased, isRecording: false))
        #expect(found.fallback?.contains("slot \(slot): it has nothing but zeros") == true)
        switch try outcome(RecordingStorage(erased, isRecording: false)) {
        case .read(_, let problems): #expect(problems.count == 1, "\(problems)")
        default: Issue.record("slot \(slot): the other one is not read")
        }
      }
    }
    // The mark of a compaction stands for a slot.
    var marked = storage.content
    marked.replaceSubrange(0..<Layout.pageBytes, with: CommitSlot.temporaryPage)
    #expect(try Recovery.run(RecordingStorage(marked, isRecording: false)).fallback == nil)
  }

  @Test("Flips in the slots of a file that was not closed lead to the version before, or an error")
  func flippedSlots() throws {
    let sample = try DamageSample(isClosed: false)
    let storage = RecordingStorage(sample.bytes, isRecording: false)
    var fallbacks = 0
    for position in (0..<88).flatMap({ [$0, $0 + Layout.pageBytes] }) {
      for bit in 0..<8 where (position + bit) % Effort.stride == 0 {
        let flipped = sample.bytes[position] ^ (1 << UInt8(bit))
        try withUnsafeBytes(of: flipped) { try storage.write($0, at: position) }
        switch try outcome(storage) {
        case .refused: break
        case .read(let digest, let problems):
          #expect(!problems.isEmpty, "byte \(position)")
          #expect([sample.digest, sample.before].contains(digest), "byte \(position)")
          if digest == sample.before { fallbacks += 1 }
        case .damaged(let error, let problems):
          #expect(!problems.isEmpty, "byte \(position): \(error)")
        }
      }
      try withUnsafeBytes(of: sample.bytes[position]) { try storage.write($0, at: position) }
    }
    #expect(fallbacks > 0)
  }

  @Test("A slot whose version has a damaged root is passed over for the other one")
  func damagedRoot() throws {
    let sample = try DamageSample(isClosed: false)
    let storage = RecordingStorage(sample.bytes, isRecording: false)
    let root = try Recovery.run(storage).record.root
    let place = Int(root.offset) + Int(root.length) / 2
    try withUnsafeBytes(of: sample.bytes[place] ^ 1) { try storage.write($0, at: place) }
    guard case .read(let digest, let problems) = try outcome(storage) else {
      Issue.record("it is not read")
      return
    }
    #expect(digest == sample.before)
    #expect(problems.contains { $0.contains("root block at offset \(root.offset)") }, "\(problems)")
  }

  /// Damaged files whose checksums are all right: nothing vouches for these bytes, and still nothing
  /// may trap, read outside the file or loop.
  @Test("Random changes with checksums made to fit", .timeLimit(.minutes(60)))
  func forged() throws {
    let sample = try DamageSample()
    var random = SplitMix64(seed: 99)
    let rounds = Effort.rounds(1200, long: 40_000)
    let original = try Forger(sample.bytes)
    for round in 0..<rounds {
      var forger = original
      forger.forge(&random)
      let storage = RecordingStorage(forger.bytes, isRecording: false)
      _ = try outcome(storage, checks: round % 3 == 0 ? .always : .never)
      if round % 4 == 0 { try? change(storage, &random) }
      if round % 4 == 1 { try? lookUp(storage) }
      #expect(storage.viewsOutside == [], "round \(round) of seed 99")
    }
  }

  /// Asks the secondary indexes, whose answers may be anything.
  private func lookUp(_ storage: RecordingStorage) throws {
    let snapshot = try Database.open(storage: storage, options: .tiny).snapshot()
    let questions: [String: [Engine.Predicate]] = [
      "keyed": [column("id") == "7", column("id").beginsWith("k"), column("id") <= "key 21"],
      "encodings": [
        column("decimals") == 1.25, column("decimals") >= 7, column("decimals").isNull,
      ],
    ]
    for (name, predicates) in questions {
      guard let table = try? snapshot.table(name) else { continue }
      for predicate in predicates {
        let reader = try? ResultReader(Query(predicate), table, indexUse: .always)
        _ = try? reader?.count()
        _ = try? Query(predicate).explain(in: table)
      }
    }
  }

  private func change(_ storage: RecordingStorage, _ random: inout SplitMix64) throws {
    try change(Database.open(storage: storage, options: .tiny), &random)
  }

  private func change(_ database: Database, _ random: inout SplitMix64) throws {
    try database.write { transaction in
      for name in transaction.tableNames {
        let table = try transaction.table(name)
        _ = try? table.delete(.random(in: 0..<30, using: &random))
        _ = try? table.update(.random(in: 0..<30, using: &random), ["integers": .int(1)])
        _ = try? table.row(at: .random(in: 0..<30, using: &random))
        _ = try? table.insert(["integers": .int(1)])
        for id in ["7", "key 11", "new"] {
          _ = try? table.row(forPrimaryKey: .text(id))
          _ = try? table.upsert(["id": .text(id)])
        }
        _ = try? table.insert(["id": .text("\(random.next())")])
        if name == "encodings" { _ = try? table.setKey("integers") }
      }
      if Bool.random(using: &random) {
        for name in transaction.tableNames { _ = try? transaction.table(name).deleteAll() }
      }
    }
  }

  /// A forged version can be compared with the next one and with a sound one: nothing traps, also in
  /// what follows.
  @Test("Versions with checksums made to fit are compared", .timeLimit(.minutes(60)))
  func comparedForged() throws {
    let sample = try DamageSample()
    var random = SplitMix64(seed: 77)
    let rounds = Effort.rounds(300, long: 20_000)
    let original = try Forger(sample.bytes)
    let sound = try Database.open(storage: RecordingStorage(sample.bytes, isRecording: false))
      .snapshot()
    var compared = 0
    for round in 0..<rounds {
      var forger = original
      forger.forge(&random)
      let storage = RecordingStorage(forger.bytes, isRecording: false)
      do {
        let database = try Database.open(storage: storage, options: .tiny)
        let old = try database.snapshot()
        try? change(database, &random)
        let new = try database.snapshot()
        for pair in [(old, new), (sound, new), (old, sound)] {
          compared += try compare(pair.0, pair.1)
        }
      } catch is EngineError {
      } catch is QueryError {
      }
      #expect(storage.viewsOutside == [], "round \(round) of seed 77")
    }
    #expect(compared > rounds / 2)
  }

  /// The number of tables that could be compared.
  private func compare(_ old: Snapshot, _ new: Snapshot) throws -> Int {
    var compared = 0
    _ = try TableChanges(from: old, to: new)
    for name in old.tableNames {
      let before = try old.table(name)
      guard let after = try new.table(number: before.number) else { continue }
      var sorted = Query()
      sorted.sort = [.ascending(before.columns[0].name)]
      let filtered = Query(!column(before.columns[0].name).isNull)
      for query in [Query(), filtered, sorted] {
        do {
          let tracker = ChangeSetTracker(query, tableNumber: before.number)
          _ = try tracker.advance(to: before)
          if case .update(let update) = try tracker.advance(to: after) { _ = update.changes() }
          compared += 1
        } catch is EngineError {
        }
      }
      _ = try? ObjectDifference(ofKey: 5, from: before, to: after)
    }
    return compared
  }

  // MARK: Other lengths, other files

  @Test("Cut off at every length")
  func truncated() throws {
    let sample = try DamageSample()
    let storage = RecordingStorage(sample.bytes, isRecording: false)
    for length in sample.bytes.indices.reversed() where length % Effort.stride == 0 {
      try storage.resize(to: length)
      let found = try outcome(storage, length / Effort.stride % 2 == 0 ? .existing : .readOnly)
      guard case .refused = found else {
        Issue.record("\(length) bytes: \(found)")
        return
      }
      #expect(storage.length() == length)
    }
    #expect(storage.viewsOutside == [])
  }

  @Test("Files that are no databases are refused and left as they are")
  func foreign() throws {
    var random = SplitMix64(seed: 5)
    let folder = TemporaryFolder()
    var contents: [(String, [UInt8])] = [
      ("text", Array(String(repeating: "App,Category,Rating\n", count: 1000).utf8)),
      ("one byte", [7]), ("zeros", [UInt8](repeating: 0, count: 100_000)),
      ("many zeros", [UInt8](repeating: 0, count: 5_000_000)),
      ("the magic alone", CommitSlot.magic),
      ("the magic and zeros", CommitSlot.magic + [UInt8](repeating: 0, count: 20_000)),
      ("zeros, then something", [UInt8](repeating: 0, count: 9000) + Array("my notes".utf8)),
    ]
    for length in [1, 79, 80, 4095, 4096, 8191, 8192, 8193, 30_000] {
      contents.append(("noise", (0..<length).map { _ in .random(in: 0...255, using: &random) }))
    }
    for (name, bytes) in contents {
      for access in [Database.Options.Access.create, .existing, .readOnly] {
        let path = folder.path("file")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        do {
          _ = try Database.open(path, options: .init(access: access))
          Issue.record("\(name) of \(bytes.count) bytes was opened (\(access))")
        } catch let error as EngineError {
          switch error {
          case .notADatabase, .damaged: #expect("\(error)".contains(path))
          default: Issue.record("\(name): \(error)")
          }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes), "\(name)")
        #expect(folder.names() == ["file"], "\(name)")
      }
    }
  }

  @Test("An empty file is a new database, but not for those who only read")
  func empty() throws {
    let folder = TemporaryFolder()
    let path = folder.path("file")
    for length in [0, 4096, 12_288] {
      let bytes = Data(count: length)
      try bytes.write(to: URL(fileURLWithPath: path))
      for access in [Database.Options.Access.existing, .readOnly] {
        #expect(throws: EngineError.notADatabase(path: path, reason: "it is empty")) {
          _ = try Database.open(path, options: .init(access: access))
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
      }
      let database = try Database.open(path)
      #expect(try database.check().problems == [])
      try database.close()
    }
    let nothing = folder.path("nothing")
    #expect(throws: EngineError.missing(path: nothing)) {
      _ = try Database.open(nothing, options: .init(access: .readOnly))
    }
    #expect(folder.names() == ["file"])
  }

  @Test("A later format is named, whichever slot has it", arguments: [[0], [1], [0, 1]])
  func newerFormat(slots: [Int]) throws {
    let sample = try DamageSample()
    let folder = TemporaryFolder()
    let path = folder.path("file")
    var bytes = sample.bytes
    for slot in slots {
      let start = slot * Layout.pageBytes
      bytes[start + 8] = 7
      let sum = Checksum.of(Array(bytes[start..<start + 72]))
      for index in 0..<8 {
        bytes[start + 72 + index] = UInt8(truncatingIfNeeded: sum >> (8 * index))
      }
    }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    #expect(throws: EngineError.newerFormat(path: path, format: 7)) { _ = try Database.open(path) }
    let newest = CommitSlot.formats.upperBound
    let message = "\(EngineError.newerFormat(path: path, format: newest + 1))"
    #expect(message.contains("(1 to \(newest))"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes))
  }

  /// A reader that believed the slot would write over the pages of kept versions, or look for a history
  /// that is not there.
  @Test(
    "A slot whose format is not its version's is found, and nothing is written",
    arguments: [1, 2, 3, 4, 5, 6] as [UInt8], [1, 2, 3, 4, 5, 6] as [UInt8])
  func formatOfAnother(own: UInt8, format: UInt8) throws {
    // A slot may claim keys of several columns where there are none any more.
    if own == format || own + 3 == format { return }
    let storage = RecordingStorage(isRecording: false)
    do {
      let database = try Database.open(storage: storage, options: .tiny)
      let columns = [Column("a", .int), Column("b", .int)]
      try database.write {
        try $0.createTable("t", columns: columns, keys: own > 3 ? ["b", "a"] : [])
      }
      if [2, 5].contains(own) { try database.write { try $0.tag("kept") } }
      if [3, 6].contains(own) { try database.write { _ = try $0.beginPending("t") } }
      try database.close()
    }
    var bytes = storage.content
    for start in [0, Layout.pageBytes] {
      #expect(bytes[start + 8] == own)
      bytes[start + 8] = format
      let sum = Checksum.of(Array(bytes[start..<start + 72]))
      for index in 0..<8 {
        bytes[start + 72 + index] = UInt8(truncatingIfNeeded: sum >> (8 * index))
      }
    }
    let forged = RecordingStorage(bytes, isRecording: false)
    let database = try Database.open(storage: forged, options: .tiny)
    #expect(try database.snapshot().tableNames == ["t"])
    #expect(try !database.check().isSound)
    #expect(throws: EngineError.self) {
      try database.write { try $0.createTable("u", columns: [Column("a", .int)]) }
    }
    #expect(forged.content == bytes)
  }

  @Test("Check sees what has gone bad since it was last read")
  func damageWhileOpen() throws {
    let sample = try DamageSample()
    let storage = RecordingStorage(sample.bytes, isRecording: false)
    let database = try Database.open(storage: storage)
    #expect(try database.check().problems == [])
    #expect(try Model.digest(database.snapshot()) == sample.digest)
    let position = sample.inCluster
    try withUnsafeBytes(of: ~sample.bytes[position]) { try storage.write($0, at: position) }
    #expect(try database.check().problems.count == 1)
  }
}
