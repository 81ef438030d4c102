import Base
import TestSupport

@testable import Engine

/// A file with one row in which transactions count, and what must hold for every user of it.
///
/// Thread rule: scheduled threads, or one thread that is not scheduled.
enum CountedFile {
  struct Unexpected: Error, CustomStringConvertible {
    let description: String
  }

  /// Has no time limit: any time may pass before a thread goes on.
  static func open(
    _ path: String, _ access: Database.Options.Access = .create
  ) throws -> Database {
    var options = Database.Options(access: access)
    options.waiting.seconds = 1e9
    return try Database.open(path, options: options)
  }

  static func make(_ path: String) throws {
    let database = try open(path)
    try make(database)
    try database.close()
  }

  static func make(_ database: Database) throws {
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("version", .int), Column("count", .int), Column("text", .text)])
      let version = transaction.baseVersion + 1
      try transaction.table("t").insert([.int(Int64(version)), .int(0), .text(text(0))])
    }
  }

  /// Adds one in an open transaction and notes the version that the commit makes.
  ///
  /// - Parameter pages: the length of a text that comes with it, whose pages come free later.
  @discardableResult
  static func count(_ transaction: borrowing WriteTransaction, pages: Int = 0) throws -> Int64 {
    let table = try transaction.table("t")
    guard case .int(let count)? = try table.row(forKey: 1)?["count"] else {
      throw Unexpected(description: "no count in version \(transaction.baseVersion)")
    }
    try table.update(
      1,
      [
        "version": .int(Int64(transaction.baseVersion) + 1), "count": .int(count + 1),
        "text": .text(text(pages)),
      ])
    return count + 1
  }

  @discardableResult
  static func count(
    _ database: Database, _ durability: Durability, pages: Int = 0
  ) throws -> Int64 {
    try database.write(durability: durability) { try count($0, pages: pages) }
  }

  /// Text that no encoding makes much smaller.
  private static let noise: String = {
    var random = SplitMix64(seed: 1)
    return String(
      decoding: (0..<4 * 4096).map { _ in UInt8.random(in: 48...111, using: &random) },
      as: UTF8.self)
  }()

  private static func text(_ pages: Int) -> String { String(noise.prefix(4096 * pages)) }

  /// What is wrong with a held version; nil if nothing is.
  ///
  /// - Parameter compacted: the most versions by compactions, which change nothing.
  static func problem(_ snapshot: Snapshot, compacted: Int64 = 0) throws -> String? {
    let row = try snapshot.table("t").row(forKey: 1)
    let version = Int64(snapshot.version)
    guard case .int(let noted)? = row?["version"], case .text(let text)? = row?["text"],
      (version - compacted...version).contains(noted), noise.hasPrefix(text)
    else { return "version \(version) reads \(String(describing: row).prefix(200))" }
    return nil
  }

  static func count(in snapshot: Snapshot) throws -> Int64 {
    guard case .int(let count)? = try snapshot.table("t").row(forKey: 1)?["count"] else {
      return -1
    }
    return count
  }

  /// Takes a version and reads it twice: at once, and after others have gone on.
  ///
  /// - Parameters:
  ///   - atLeast: the smallest right count.
  ///   - compacted: the most versions by compactions, which change nothing.
  static func read(
    _ database: Database, _ problems: Problems, atLeast: Int64 = 0, compacted: Int64 = 0
  ) throws {
    try read(database.snapshot(), problems, atLeast: atLeast, compacted: compacted)
  }

  static func read(
    _ snapshot: Snapshot, _ problems: Problems, atLeast: Int64 = 0, compacted: Int64 = 0
  ) throws {
    let first = try count(in: snapshot)
    if first < atLeast { problems.note("a count of \(atLeast) was committed, \(first) is read") }
    if let problem = try problem(snapshot, compacted: compacted) { problems.note(problem) }
    Scheduling.idle()
    if let problem = try problem(snapshot, compacted: compacted) { problems.note(problem) }
    let second = try count(in: snapshot)
    if second != first { problems.note("a held version read \(first), and then \(second)") }
  }

  /// What is wrong with the file after all have closed it.
  ///
  /// - Parameter counts: the right counts.
  static func problem(
    _ path: String, _ problems: Problems, counts: ClosedRange<Int64>, compacted: Int64 = 0
  ) throws -> String? {
    if let first = problems.first { return first }
    let database = try open(path)
    let found = try database.check().problems
    let snapshot = try database.snapshot()
    let count = try count(in: snapshot)
    let problem = try problem(snapshot, compacted: compacted)
    try database.close()
    if !counts.contains(count) { return "a count of \(count), not of \(counts)" }
    return problem ?? found.first
  }
}
