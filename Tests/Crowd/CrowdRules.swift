import Engine

/// What the file holds, and what is true of every version of it.
///
/// Each transaction of a writer adds rows with its next numbers, notes the last number, moves an
/// amount from one counter to another, and removes the oldest rows of the log once there are many.
enum CrowdRules {
  static let counters = 20
  static let mostRows = 300

  /// What was found in a version.
  struct State: Equatable {
    /// Each writer's last number.
    var last: [Int64: Int64] = [:]
    /// A digest of all tables.
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325
  }

  static func create(_ database: Database) throws {
    try database.write { transaction in
      if !transaction.tableNames.isEmpty { return }
      try transaction.createTable(
        "log", columns: [Column("writer", .int), Column("number", .int), Column("text", .text)])
      try transaction.createTable(
        "writers", columns: [Column("writer", .int), Column("last", .int)], key: "writer")
      try transaction.createTable("counters", columns: [Column("value", .int)])
      for _ in 0..<counters { try transaction.table("counters").insert([.int(0)]) }
    }
  }

  static func text(_ writer: Int64, _ number: Int64) -> String {
    String(repeating: "row \(number) of \(writer) ", count: Int(number % 5) + 1)
  }

  /// Imports of the same rows, some of them killed, must have left the first rows of their inputs,
  /// unchanged.
  private static func checkImported(
    _ snapshot: Snapshot, _ problem: (Int64, String) -> Crowd.Problem
  ) throws {
    guard snapshot.tableNames.contains("imported") else { return }
    var last: Int64 = 0
    try snapshot.table("imported").forEachRow { row in
      guard row.values.count == 2, case .int(let number) = row.values[0], number == last + 1,
        row.values[1] == .text(text(0, number))
      else { throw problem(0, "imported row \(last + 1) is \(row.values)") }
      last = number
    }
    _ = problem(last, "")
  }

  /// How many rows an import that becomes visible at once has.
  static let publishedRows: Int64 = 400

  private static func checkPublished(_ snapshot: Snapshot, _ fail: (String) -> Crowd.Problem) throws
  {
    guard snapshot.tableNames.contains("published") else { return }
    var last: Int64 = 0
    try snapshot.table("published").forEachRow { row in
      guard row.values == [.int(last + 1), .text(text(0, last + 1))] else {
        throw fail("published row \(last + 1) is \(row.values)")
      }
      last += 1
    }
    if last != publishedRows { throw fail("\(last) rows of an import are to be seen") }
  }

  /// - Throws: `Crowd.Problem` if a rule does not hold.
  static func check(_ snapshot: Snapshot) throws -> State {
    var state = State()
    func mix(_ value: Int64) {
      state.digest = (state.digest ^ UInt64(bitPattern: value)) &* 0x100_0000_01B3
    }
    func fail(_ what: String) -> Crowd.Problem {
      Crowd.Problem(description: "version \(snapshot.version): \(what)")
    }
    try snapshot.table("writers").forEachRow { row in
      guard case .int(let writer) = row.values[0], case .int(let last) = row.values[1] else {
        throw fail("a writer without a number")
      }
      state.last[writer] = last
      mix(writer)
      mix(last)
    }
    var sum: Int64 = 0
    var count = 0
    try snapshot.table("counters").forEachRow { row in
      guard case .int(let value) = row.values[0] else { throw fail("a counter without a value") }
      sum += value
      count += 1
      mix(value)
    }
    if sum != 0 || count != counters { throw fail("\(count) counters, their sum is \(sum)") }
    var seen: [Int64: Int64] = [:]
    let log = try snapshot.table("log")
    var rows = 0
    try log.forEachRow { row in
      guard case .int(let writer) = row.values[0], case .int(let number) = row.values[1],
        row.values[2] == .text(text(writer, number))
      else { throw fail("row \(row.key) is \(row.values)") }
      if let before = seen[writer], number != before + 1 {
        throw fail("writer \(writer)'s row \(number) comes after its row \(before)")
      }
      seen[writer] = number
      rows += 1
      mix(row.key)
      mix(number)
    }
    if rows != log.count { throw fail("\(rows) rows, counted as \(log.count)") }
    try checkImported(snapshot) {
      mix($0)
      return fail($1)
    }
    try checkPublished(snapshot, fail)
    for (writer, number) in seen where state.last[writer] != number {
      throw fail("writer \(writer) ends with \(number), and noted \(state.last[writer] ?? 0)")
    }
    return state
  }
}
