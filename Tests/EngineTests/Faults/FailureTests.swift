import Base
import TestSupport
import Testing

@testable import Engine

/// Any write, growth or flush may fail: the error is clear, and what was committed stays, in this
/// handle and after reopening. A failed flush ends writing through the handle, since nobody knows what
/// the disk holds; any other failure before the commit slot does not.
@Suite("I/O failures")
struct FailureTests {
  private static let noSpace: Int32 = 28
  private static let badDisk: Int32 = 5

  /// A database with some contents, and its model.
  private func prepared(_ seed: UInt64) throws -> (RecordingStorage, Model) {
    var changes = RandomChanges(seed: seed)
    let journal = try Journal()
    try journal.commit(.full) { transaction, model in
      try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
      try changes.insert(30, into: "apps", transaction, &model)
    }
    try journal.commit(.full) { try changes.update(10, in: "apps", $0, &$1) }
    return (RecordingStorage(journal.storage.content, isRecording: false), journal.model)
  }

  /// Values that do not compress.
  private static let blobs: [Value] = {
    var random = SplitMix64(seed: 4)
    return (0..<4).map { _ in
      .data(
        (0..<12_500).flatMap { _ in
          withUnsafeBytes(of: random.next()) { Array($0) }
        })
    }
  }()

  /// The transaction whose operations fail: it makes the file grow, writes before its commit, and
  /// commits.
  private func change(
    _ changes: inout RandomChanges, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    try changes.update(5, in: "apps", transaction, &model)
    try changes.createTable("blobs", [Column("blob", .data)], transaction, &model)
    let table = try transaction.table("blobs")
    for blob in Self.blobs {
      try table.insert([blob])
      model.tables["blobs"]?.insert([blob])
    }
    try changes.insert(5, into: "apps", transaction, &model)
  }

  private func expectSound(
    _ database: Database, _ models: [Model], _ what: String
  ) throws {
    #expect(try database.check().problems == [], "\(what)")
    let differences = try models.map { try $0.difference(database.snapshot()) }
    #expect(differences.contains(nil), "\(what): \(differences)")
  }

  @Test("Every operation of a durable commit fails in turn", arguments: [noSpace, badDisk])
  func fullCommit(code: Int32) throws {
    var kinds: Set<FailingStorage.Kind> = []
    // A table's secret differs from pass to pass, and with it the moments of writes: one pass may miss
    // the only growth.
    for _ in 0..<10 where kinds != [.write, .resize, .flush] {
      kinds.formUnion(try failEach(code: code))
    }
    #expect(kinds == [.write, .resize, .flush], "every kind of operation has failed")
  }

  /// - Returns: the kinds that have failed.
  private func failEach(code: Int32) throws -> Set<FailingStorage.Kind> {
    var kinds: Set<FailingStorage.Kind> = []
    for number in 0..<200 {
      let (inner, before) = try prepared(1)
      let storage = FailingStorage(inner)
      let database = try Database.open(storage: storage, options: .tiny)
      let old = try database.snapshot()
      var changes = RandomChanges(seed: 2)
      var after = before
      storage.fail(after: number, code: code)
      do {
        try database.write { try change(&changes, $0, &after) }
      } catch let error as EngineError {
        let what = "operation \(number), \(storage.failure?.rawValue ?? "nothing"), \(error)"
        guard let kind = storage.failure else { throw error }
        kinds.insert(kind)
        try expectFailure(error, kind, code, what)
        #expect(try before.difference(old) == nil, "\(what)")
        try expectSound(database, [before], what)
        if case .poisoned = error {
          try expectPoisoned(database, what)
          try expectSound(database, [before], what)
          // The slot may have reached the disk before the flush failed.
          try expectReopened(inner, [before, after], what)
        } else {
          try expectReopened(inner, [before], what)
          try expectUsable(database, before, what)
        }
        continue
      }
      #expect(storage.failure == nil)
      #expect(number > 5)
      try expectSound(database, [after], "no failure")
      break
    }
    return kinds
  }

  /// The file's length is looked at before a transaction, and once the slot is written: a handle that
  /// continued from the version before would write over the pages of the one in the file.
  @Test("The file cannot be looked at once a version is in it")
  func looks() throws {
    var poisoned = 0
    // The number of looks differs from time to time.
    for attempt in 0..<96 {
      let number = attempt % 8
      let (inner, before) = try prepared(11)
      let storage = FailingStorage(inner)
      let database = try Database.open(storage: storage, options: .tiny)
      var changes = RandomChanges(seed: 11)
      var after = before
      storage.fail(after: number, code: Self.badDisk, kinds: [.length])
      do {
        try database.write { try change(&changes, $0, &after) }
      } catch let error as EngineError {
        let what = "look \(number): \(error)"
        try #require(storage.failure == .length, "\(what)")
        let copy = RecordingStorage(inner.content, isRecording: false)
        let reopened = try Database.open(storage: copy, options: .tiny)
        if case .poisoned = error {
          poisoned += 1
          try expectPoisoned(database, what)
          try expectSound(reopened, [before, after], what)
        } else {
          try expectSound(reopened, [before], what)
          try expectUsable(database, before, what)
        }
      }
    }
    #expect(poisoned > 0)
  }

  private func expectFailure(
    _ error: EngineError, _ kind: FailingStorage.Kind, _ code: Int32, _ what: String
  ) throws {
    let reason = SystemError(operation: kind.rawValue, path: "memory.sheaf", code: code)
    switch error {
    case .system(let error): #expect(error == reason && kind != .flush, "\(what)")
    case .poisoned(let path, let cause):
      #expect(path == "memory.sheaf" && cause.contains(reason.reason), "\(what)")
    default: Issue.record("\(what)")
    }
    #expect("\(error)".contains("memory.sheaf"), "\(what)")
  }

  private func expectPoisoned(_ database: Database, _ what: String) throws {
    for durability in Durability.allCases {
      #expect(throws: EngineError.self, "\(what)") {
        do {
          try database.write(durability: durability) { try $0.table("apps").deleteAll() }
        } catch EngineError.poisoned(let path, let cause) {
          throw EngineError.poisoned(path: path, cause: cause)
        } catch {
          Issue.record("\(what): then \(error)")
        }
      }
    }
    #expect(throws: EngineError.self, "\(what)") { try database.flush() }
  }

  private func expectReopened(_ inner: RecordingStorage, _ models: [Model], _ what: String) throws {
    let copy = RecordingStorage(inner.content, isRecording: false)
    let database = try Database.open(storage: copy, options: .tiny)
    try expectSound(database, models, "reopened after \(what)")
  }

  private func expectUsable(_ database: Database, _ before: Model, _ what: String) throws {
    var changes = RandomChanges(seed: 3)
    var after = before
    try after.learnNextKeys(database)
    try database.write { try change(&changes, $0, &after) }
    try expectSound(database, [after], "used again after \(what)")
  }

  @Test("Group commits: what fails is told to every completion, in order, once")
  func groupCommits() throws {
    var poisoned = 0
    for number in 0..<60 {
      let (inner, before) = try prepared(4)
      let storage = FailingStorage(inner)
      let database = try Database.open(storage: storage, options: .tiny)
      var changes = RandomChanges(seed: 5)
      var models = [before]
      let outcomes = Outcomes()
      var accepted = 0
      storage.fail(after: number, code: Self.badDisk)
      for round in 0..<6 {
        var next = models[models.count - 1]
        do {
          let transaction = try database.beginWrite()
          try changes.insert(3, into: "apps", transaction, &next)
          try transaction.commit(durability: .group) { outcomes.add(round, $0) }
          models.append(next)
          accepted += 1
        } catch is EngineError {
          #expect(storage.failure != nil)
          models[models.count - 1] = learned(models[models.count - 1], database)
        }
      }
      var failed = false
      do { try database.close() } catch is EngineError { failed = true }
      if failed { poisoned += 1 }
      let list = outcomes.list
      // A commit may fail after its completion was accepted; the completion is called all the same.
      #expect(list.count >= accepted, "operation \(number): \(list) of \(accepted)")
      #expect(list.map(\.0) == list.map(\.0).sorted(), "operation \(number): \(list)")
      let durable = list.filter { $0.1 == nil }.count
      let copy = RecordingStorage(inner.content, isRecording: false)
      let again = try Database.open(storage: copy, options: .tiny)
      try expectSound(
        again, Array(models[min(durable, models.count - 1)...]), "operation \(number)")
      if storage.failure == nil { break }
    }
    #expect(poisoned > 0)
  }

  /// A model that knows the next keys, unless the handle's flush has failed: then the handle gives
  /// none.
  private func learned(_ model: Model, _ database: Database) -> Model {
    var model = model
    do { try model.learnNextKeys(database) } catch {}
    return model
  }

  private final class Outcomes: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var outcomes: [(Int, String?)] = []
    var list: [(Int, String?)] { lock.withLock { outcomes } }
    func add(_ round: Int, _ failure: String?) {
      lock.withLock { outcomes.append((round, failure)) }
    }
  }

  @Test("Creating and closing fail in turn, and the file stays usable")
  func createAndClose() throws {
    var failures = 0
    for number in 0..<60 {
      let inner = RecordingStorage(isRecording: false)
      let storage = FailingStorage(inner)
      storage.fail(after: number, code: Self.noSpace)
      var model = Model()
      var promised: Model?
      do {
        let database = try Database.open(storage: storage, options: .tiny)
        try database.write { transaction in
          var changes = RandomChanges(seed: 6)
          try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
          try changes.insert(10, into: "apps", transaction, &model)
        }
        promised = model
        try database.close()
      } catch is EngineError {
        failures += 1
        #expect(storage.failure != nil)
      }
      let copy = RecordingStorage(inner.content, isRecording: false)
      let again = try Database.open(storage: copy, options: .tiny)
      if let promised {
        #expect(try promised.difference(again.snapshot()) == nil, "operation \(number)")
      } else {
        try expectSound(again, [Model(), model], "operation \(number)")
      }
      if storage.failure == nil { break }
    }
    #expect(failures > 8)
  }

  @Test("Completions may use the database")
  func completionUsesDatabase() throws {
    let (inner, _) = try prepared(7)
    let database = try Database.open(storage: inner, options: .tiny)
    let outcomes = Outcomes()
    let transaction = try database.beginWrite()
    try transaction.createTable("one", columns: [Column("x", .int)])
    try transaction.commit(durability: .full) { failure in
      outcomes.add(1, failure)
      do {
        try database.write(durability: .full) {
          try $0.createTable("two", columns: [Column("x", .int)])
        }
        try database.flush()
        outcomes.add(2, nil)
      } catch {
        outcomes.add(2, "\(error)")
      }
    }
    while outcomes.list.count < 2 { System.sleep(milliseconds: 1) }
    #expect(outcomes.list.map(\.1) == [nil, nil])
    #expect(try database.snapshot().tableNames.suffix(2) == ["one", "two"])
  }

  @Test("A catalogue that went bad before it was first read is not gone on from")
  func rottenCatalogue() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage)
    // The handle keeps the right to write and does not look at the slots again.
    try database.write(durability: Durability.none) {
      try $0.createTable("soon to be bad", columns: [Column("a", .int)])
      // More than a handle remembers of its writes, and more than its copy of the catalogue has.
      let name = String(repeating: "n", count: 400)
      for index in 0..<200 { try $0.createTable("\(name)\(index)", columns: [Column("a", .int)]) }
    }
    try spoilCatalogue(database, storage)
    let error = #expect(throws: EngineError.self) {
      try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    }
    guard case .damaged? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  private func spoilCatalogue(_ database: Database, _ storage: RecordingStorage) throws {
    let root = try database.parts.pipeline.visible().root
    let name = Array("soon to be bad".utf8)
    let content = storage.content
    let place = try #require(
      (Int(root.offset)..<Int(root.offset) + Int(root.length)).first {
        content[$0...].starts(with: name)
      })
    try [name[0] ^ 1].withUnsafeBytes { try storage.write($0, at: place) }
  }

  @Test("A small catalogue that went bad is written again as it was")
  func rottenSmallCatalogue() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage)
    try database.write(durability: Durability.none) {
      try $0.createTable("soon to be bad", columns: [Column("a", .int)])
    }
    try spoilCatalogue(database, storage)
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    #expect(try database.snapshot().tableNames == ["soon to be bad", "t"])
    #expect(try database.check().isSound)
  }

  @Test("A commit without changes is durable when it says so")
  func emptyCommit() throws {
    let journal = try Journal()
    var changes = RandomChanges(seed: 8)
    try journal.commit(.none) { try changes.createTable("a", RandomChanges.columns, $0, &$1) }
    try journal.commit(.full) { _, _ in }
    let durable = RecordingStorage(journal.storage.content, isRecording: false)
    #expect(try Database.open(storage: durable).snapshot().tableNames == ["a"])
  }
}
