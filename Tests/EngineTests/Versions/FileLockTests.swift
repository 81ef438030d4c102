import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Readers and writers with different lock files respect each other by locks on the database file.
@Suite("Locks on the file", .timeLimit(.minutes(60)))
struct FileLockTests {
  private static let rows = 300

  private static func create(_ path: String) throws -> Database {
    let database = try Database.open(path, options: Self.options)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("v", .int), Column("s", .text)])
      for _ in 0..<rows { try transaction.table("t").insert([.int(2), .text("2")]) }
      try transaction.createTable("filler", columns: [Column("n", .int)])
      for n in 0..<2000 { try transaction.table("filler").insert([.int(Int64(n * n))]) }
    }
    return database
  }

  /// Filling rewrites the clusters: blocks of changes would leave them where they are, and so the file long.
  private static var options: Database.Options {
    var options = Database.Options.tiny
    options.limits.columnsPercent = 0
    return options
  }

  /// Gives every object the number of the version that is made.
  private static func fill(
    _ database: Database, _ durability: Durability = .full, empties: Bool = false
  ) throws {
    try database.write(durability: durability) { transaction in
      if empties { try transaction.table("filler").deleteAll() }
      let version = transaction.baseVersion + 1
      let table = try transaction.table("t")
      for key in 1...Int64(rows) {
        try table.update(key, ["v": .int(Int64(version)), "s": .text("\(version)")])
      }
    }
  }

  /// What is wrong with a snapshot; nil if each object has the version's number.
  private static func problem(_ snapshot: Snapshot) throws -> String? {
    var count = 0
    var wrong: String?
    try snapshot.table("t").forEachRow { row in
      count += 1
      let expected: [Value] = [.int(Int64(snapshot.version)), .text("\(snapshot.version)")]
      if row.values != expected { wrong = "version \(snapshot.version): \(row.values)" }
    }
    return wrong ?? (count == rows ? nil : "version \(snapshot.version): \(count) objects")
  }

  private static func link(_ folder: TemporaryFolder) throws -> (String, String) {
    let (path, other) = (folder.path("a.sheaf"), folder.path("b.sheaf"))
    try create(path).close()
    try FileManager.default.linkItem(atPath: path, toPath: other)
    return (path, other)
  }

  @Test(
    "A reader of another user, who cannot write the lock file, reads the version that it took",
    .enabled(
      if: getuid() == 0 && TemporaryFolder.canBeEnteredByOthers,
      "only root can become another user, who must be able to enter the folder"),
    arguments: [false, true])
  func otherUser(isOpenBefore: Bool) async throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    #expect(chmod(folder.path(""), 0o755) == 0)
    let (ready, go) = (folder.path("ready"), folder.path("go"))
    for name in [ready, go] {
      _ = FileManager.default.createFile(atPath: name, contents: nil)
      #expect(chmod(name, 0o666) == 0)
    }
    let database = try Self.create(path)
    if !isOpenBefore { try database.close() }
    let parent = try Background {
      while (try? System.status(path: ready).size) != 1 { System.sleep(milliseconds: 2) }
      for _ in 0..<20 { if isOpenBefore { try Self.fill(database) } }
      if isOpenBefore { try database.close() }
      for round in 0..<12 {
        let database = try Database.open(path, options: Self.options)
        // Cutting off the file's end must keep what the reader has.
        try Self.fill(database, Durability.allCases[round % 3], empties: round == 6)
        for _ in 0..<round % 3 { try Self.fill(database, Durability.allCases[round % 3]) }
        try database.close()
      }
      try Data([1]).write(to: URL(fileURLWithPath: go))
    }
    await #expect(processExitsWith: .exitCode(7)) {
      [path = path as String, ready = ready as String, go = go as String] in
      guard setgid(65534) == 0, setuid(65534) == 0 else { exit(2) }
      let database = try Database.open(path, options: .init(access: .readOnly))
      let snapshot = try database.snapshot()
      let handle = try System.open(ready, .readWrite)
      try withUnsafeBytes(of: UInt8(1)) { try System.write(handle, $0, path: ready) }
      while (try System.status(path: go).size) != 1 {
        System.sleep(milliseconds: 2)
        // New versions are made while the old one is held.
        if let problem = try Self.problem(database.snapshot()) {
          print(problem)
          exit(3)
        }
      }
      if let problem = try Self.problem(snapshot) {
        print(problem)
        exit(4)
      }
      exit(try database.newestVersion > snapshot.version + 10 ? 7 : 5)
    }
    try parent.join()
    let last = try Database.open(path, options: Self.options)
    // Nobody holds a version any more: the pages that the reader kept are used again.
    for _ in 0..<8 { try Self.fill(last) }
    #expect(try last.check().problems == [])
    try last.close()
    let length = try System.status(path: path).size
    let fresh = TemporaryFolder()
    let other = try Self.create(fresh.path("a.sheaf"))
    for _ in 0..<8 { try Self.fill(other) }
    try other.close()
    #expect(try length <= 2 * System.status(path: fresh.path("a.sheaf")).size)
  }

  @Test(
    "Two names of one file: who writes by one keeps writers of the other out, and sees its readers")
  func hardLinks() throws {
    let folder = TemporaryFolder()
    let (path, other) = try Self.link(folder)
    let writer = try Database.open(path, options: Self.options)
    #expect {
      _ = try Database.open(other)
    } throws: {
      if case EngineError.busy(_, let reason) = $0 { reason.contains("hard link") } else { false }
    }
    let reader = try Database.open(other, options: .init(access: .readOnly))
    var held = [try reader.snapshot()]
    for round in 0..<12 {
      try Self.fill(writer, Durability.allCases[round % 3])
      try writer.flush()
      #expect(try reader.newestVersion == writer.newestVersion)
      if round % 4 == 0 { held.append(try reader.snapshot()) }
    }
    #expect(Set(held.map(\.version)).count == held.count)
    for snapshot in held { #expect(try Self.problem(snapshot) == nil) }
    #expect(throws: EngineError.self) { _ = try Database.open(other) }
    try writer.close()
    let second = try Database.open(other, options: Self.options)
    for _ in 0..<6 { try Self.fill(second) }
    for snapshot in held { #expect(try Self.problem(snapshot) == nil) }
    try second.close()
    held = []
    try reader.close()
    #expect(folder.names() == ["a.sheaf", "b.sheaf"])
  }

  @Test("Writers by turns take no room in advance that they would not find again")
  func growsSparingly() throws {
    let folder = TemporaryFolder()
    let (path, other) = try Self.link(folder)
    let reader = try Database.open(other, options: .init(access: .readOnly))
    let held = try reader.snapshot()
    let start = try System.status(path: path).size
    let writers = [
      try Database.open(path, options: Self.options),
      try Database.open(path, options: Self.options),
    ]
    // No writer knows the held version's pages: each counts all pages of the file that it has not
    // written itself.
    for round in 0..<60 { try Self.fill(writers[round % 2]) }
    let length = try System.status(path: path).size
    let written = writers.reduce(0) { $0 + $1.bytesWritten }
    #expect(length <= start + 2 * written + 1 << 20, "\(length) bytes, \(written) were written")
    #expect(try Self.problem(held) == nil)
    for writer in writers { try writer.close() }
    try reader.close()
  }

  @Test("A reader that came before its file got a second name keeps writers of that name out")
  func linkedLater() throws {
    let folder = TemporaryFolder()
    let (path, other) = (folder.path("a.sheaf"), folder.path("b.sheaf"))
    try Self.create(path).close()
    let reader = try Database.open(path, options: .init(access: .readOnly))
    let snapshot = try reader.snapshot()
    try FileManager.default.linkItem(atPath: path, toPath: other)
    #expect(throws: EngineError.self) { _ = try Database.open(other) }
    try reader.close()
    // The snapshot is still held.
    #expect(throws: EngineError.self) { _ = try Database.open(other) }
    withExtendedLifetime(snapshot) {}
    let writer = try Database.open(path, options: Self.options)
    try Self.fill(writer)
    #expect(try Self.problem(snapshot) == nil)
    try writer.close()
  }

  @Test("A writer asks which versions are locked, however many, and of whom")
  func lockedVersions() throws {
    let folder = TemporaryFolder()
    let (path, other) = try Self.link(folder)
    let writer = try Database.open(path, options: Self.options)
    let readers = try (0..<3).map { _ in
      try Database.open(other, options: .init(access: .readOnly))
    }
    var held: [Snapshot] = []
    var random = SplitMix64(seed: 5)
    for round in 0..<40 {
      try Self.fill(writer)
      for reader in readers where Int.random(in: 0..<3, using: &random) == 0 {
        held.append(try reader.snapshot())
      }
      if round % 5 == 4 {
        held.remove(at: .random(in: 0..<held.count, using: &random))
      }
      let found = try #require(try writer.parts.locks).lockedVersions()
      let versions = Set(found.flatMap { Array($0) })
      #expect(versions == Set(held.map(\.version)))
    }
    for snapshot in held { #expect(try Self.problem(snapshot) == nil) }
    held = []
    #expect(try writer.parts.locks?.lockedVersions() == [])
    for reader in readers { try reader.close() }
    try writer.close()
  }

  @Test(
    "Readers and writers by two names, any order of taking, releasing and opening anew",
    arguments: 1..<5 as Range<UInt64>)
  func anyOrder(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let (path, other) = try Self.link(folder)
    var random = SplitMix64(seed: seed)
    var writer = try Database.open(path, options: Self.options)
    let reader = try Database.open(other, options: .init(access: .readOnly))
    var held: [Snapshot] = []
    for _ in 0..<120 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4: try Self.fill(writer, Durability.allCases.randomElement(using: &random) ?? .full)
      case 4..<6: held.append(try reader.snapshot())
      case 6 where !held.isEmpty: held.remove(at: .random(in: 0..<held.count, using: &random))
      case 7:
        try writer.close()
        writer = try Database.open(
          Bool.random(using: &random) ? path : other, options: Self.options)
      case 8: try writer.trim()
      default:
        if let snapshot = held.randomElement(using: &random) {
          #expect(try Self.problem(snapshot) == nil, "seed \(seed)")
        }
      }
    }
    for snapshot in held { #expect(try Self.problem(snapshot) == nil, "seed \(seed)") }
    held = []
    try reader.close()
    for _ in 0..<3 { try Self.fill(writer) }
    #expect(try writer.check().problems == [], "seed \(seed)")
    #expect(try writer.fileUse().pinned == 0, "seed \(seed)")
    try writer.close()
  }

  #if DEBUG
    @Test("A reader by another name opens the file while the version that it finds is written over")
    func openingAmongWriters() throws {
      let folder = TemporaryFolder()
      let (path, other) = try Self.link(folder)
      let writer = try Database.open(path, options: Self.options)
      try Self.fill(writer)
      var interruptions = 0
      for look in 1...12 {
        let interrupter = Interrupter(beforeLook: look) {
          for _ in 0..<4 { try Self.fill(writer) }
        }
        let outcome = interrupter.run {
          try Database.open(other, options: .init(access: .readOnly))
        }
        interruptions += interrupter.count
        let reader = try outcome.get()
        #expect(try Self.problem(reader.snapshot()) == nil, "before look \(look)")
        try reader.close()
      }
      #expect(interruptions > 2)
      try writer.close()
    }
  #endif
}

#if DEBUG
  /// Runs a closure when the calling thread is about to look at the file's state.
  private final class Interrupter: ThreadScheduler, @unchecked Sendable {
    // @unchecked: only the thread that calls `run` uses it; others pass through.
    private let look: Int
    private let body: () throws -> Void
    private let thread = ExecutionContext.thread
    private var looks = 0
    private var isInside = false
    private(set) var count = 0

    init(beforeLook look: Int, _ body: @escaping () throws -> Void) {
      self.look = look
      self.body = body
    }

    func run<Outcome>(_ body: () throws -> Outcome) -> Result<Outcome, any Error> {
      var outcome: Result<Outcome, any Error>?
      Scheduling.run(0, of: self) { outcome = Result { try body() } }
      return outcome ?? .failure(CancellationError())
    }

    func reach(_ point: SwitchPoint) {
      guard ExecutionContext.thread == thread, !isInside, point.object >= 1 << 62, !point.changes
      else { return }
      looks += 1
      guard looks == look else { return }
      isInside = true
      defer { isInside = false }
      count += 1
      do {
        try Scheduling.without { try body() }
      } catch {
        Issue.record(error)
      }
    }

    func lock(_ lock: UInt) {}
    func unlock(_ lock: UInt) {}
    func wait(_ lock: UInt, on condition: UInt, milliseconds: Int?) {}
    func wake(_ condition: UInt, all: Bool) {}
    func pause(milliseconds: Int) {}
    func start() -> Int { 1 }
    func began(_ thread: Int) {}
    func ended() {}
    func join(_ thread: Int) {}
    var nanoseconds: UInt64 { UInt64(looks) }
  }
#endif
