import Base
import Engine
import TestSupport

/// Writes in every possible way, as fast as it can.
struct CrowdWriter {
  private struct GiveUp: Error {}

  private let path: String
  private let writer: Int64
  private let promises: String
  private let log: Int32
  private var random: SplitMix64
  private var database: Database

  init(_ path: String, seed: UInt64, promises: String) throws {
    self.path = path
    self.promises = promises
    writer = Int64(clamping: seed % 1000)
    random = SplitMix64(seed: seed &+ System.monotonicNanoseconds)
    log = try System.open(promises, .append)
    database = try Database.open(path)
    try CrowdRules.create(database)
  }

  mutating func step() throws {
    let durability = Durability.allCases[Int.random(in: 0..<3, using: &random)]
    let (amount, rows) = (
      Int64.random(in: -9...9, using: &random), Int64.random(in: 1...4, using: &random)
    )
    let counters = (0..<2).map { _ in
      Int64.random(in: 1...Int64(CrowdRules.counters), using: &random)
    }
    let writer = writer
    let change: @Sendable (borrowing WriteTransaction) throws -> Int64 = {
      try Self.change($0, writer, rows: rows, amount: amount, counters)
    }
    switch Int.random(in: 0..<40, using: &random) {
    case 0..<4:
      do {
        try database.write { transaction in
          _ = try change(transaction)
          throw GiveUp()
        }
      } catch is GiveUp {
      }
    case 4..<8:
      let outcome = Outcome()
      database.asyncWrite(change) { outcome.set($0) }
      try promise(outcome.wait())
    case 8:
      let snapshot = try database.snapshot()
      let before = try CrowdRules.check(snapshot)
      _ = try database.write(durability: durability, change)
      guard try CrowdRules.check(snapshot) == before else {
        throw Crowd.Problem(description: "the held version \(snapshot.version) has changed")
      }
    case 9:
      try database.close()
      // If it is alone for a moment, the file may even be compacted.
      database = try Database.open(path)
      if Bool.random(using: &random) { _ = try database.compact() }
    case 10: try database.trim()
    case 11: _ = try database.activeVersions()
    case 12: _ = try database.compactInUse(waiting: Waiting(seconds: 0.1))
    default:
      let number = try database.write(durability: durability, change)
      if durability == .full {
        try promise(number)
      } else if Int.random(in: 0..<8, using: &random) == 0 {
        try database.flush()
        try promise(number)
      }
    }
  }

  func finish() throws { try database.close() }

  private static func change(
    _ transaction: borrowing WriteTransaction, _ writer: Int64, rows: Int64, amount: Int64,
    _ counters: [Int64]
  ) throws -> Int64 {
    let writers = try transaction.table("writers")
    var last: Int64 = 0
    if case .int(let noted)? = try writers.row(forPrimaryKey: .int(writer))?["last"] {
      last = noted
    }
    let log = try transaction.table("log")
    for number in last + 1...last + rows {
      try log.insert([.int(writer), .int(number), .text(CrowdRules.text(writer, number))])
    }
    for _ in 0...rows where try log.count > CrowdRules.mostRows {
      if let oldest = try log.row(at: 0) { try log.delete(oldest.key) }
    }
    try writers.upsert(["writer": .int(writer), "last": .int(last + rows)])
    let table = try transaction.table("counters")
    for (key, change) in zip(counters, [amount, -amount]) {
      guard case .int(let value)? = try table.row(forKey: key)?["value"] else {
        throw Crowd.Problem(description: "counter \(key) is gone")
      }
      try table.update(key, ["value": .int(value + change)])
    }
    return last + rows
  }

  // MARK: Promises

  private func promise(_ number: Int64) throws {
    try withUnsafeBytes(of: (writer, number)) { try System.write(log, $0, path: promises) }
  }

  /// The writer and the last number in a file of promises; nil if it has none.
  static func lastPromise(_ path: String) throws -> (writer: Int64, number: Int64)? {
    guard let size = try? System.status(path: path).size, size >= 16 else { return nil }
    let descriptor = try System.open(path, .readOnly)
    defer { System.close(descriptor) }
    var words: [Int64] = [0, 0]
    let count = try words.withUnsafeMutableBytes {
      // A killed writer leaves whole promises: each is one small write.
      try System.read(descriptor, at: size / 16 * 16 - 16, into: $0, path: path)
    }
    return count == 16 ? (words[0], words[1]) : nil
  }

  /// The outcome that the completion of an asynchronous write reported.
  private final class Outcome: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var result: Result<Int64, any Error>?

    func set(_ result: Result<Int64, any Error>) {
      lock.withLock {
        self.result = result
        lock.wakeAll()
      }
    }

    func wait() throws -> Int64 {
      lock.lock()
      defer { lock.unlock() }
      while true {
        if let result { return try result.get() }
        lock.wait()
      }
    }
  }
}
