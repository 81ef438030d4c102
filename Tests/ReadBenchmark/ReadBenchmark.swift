import Base
import Engine
import TestSupport

/// Reads a table and prints the time of one read as a JSON object: processor time, which a busy machine
/// changes little; of a notification the elapsed time.
///
///     ReadBenchmark FILE lookup|scan|count|notify [--values copied|viewed] [--seconds S] [--seed N]
///
///     lookup  all columns of random objects by key
///     scan    all columns of all objects, as rows; viewed: in place
///     count   the objects with Rating >= 4.5
///     notify  from the beginning of a commit without a flush, which changes one object, to the call of
///             an observer of the same objects on another thread; the median
///
/// `scripts/bench` runs it beside scripts/benchmark/sqlite_reads.c, which does the same. Not a product.
@main
enum ReadBenchmark {
  static func main() {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      print(try TableReads(options).run())
    } catch {
      // Standard output is for JSON only.
      let line = Array("ReadBenchmark: \(error)\n".utf8)
      line.withUnsafeBytes { try? System.write(2, $0, path: "standard error") }
      System.exit(1)
    }
  }
}

/// One table, read in one way.
struct TableReads {
  private let options: Options
  private let database: Database
  private let table: Table
  /// How often the whole table is read; the best time counts.
  private static let scanTurns = 3

  init(_ options: Options) throws {
    self.options = options
    database = try Database.open(
      options.path, options: .init(access: options.what == "notify" ? .existing : .readOnly))
    let snapshot = try database.snapshot()
    guard let name = snapshot.tableNames.first, try snapshot.table(name).count > 0 else {
      throw Failure("\(options.path) has no objects to read: import some first")
    }
    table = try snapshot.table(name)
  }

  func run() throws -> String {
    let types = table.columns.map(\.type)
    switch (options.what, options.areCopied) {
    case ("lookup", true): return try lookup { try table.row(forKey: $0).map(Self.sum) }
    case ("scan", true):
      return try scan { sum in try table.forEachRow { sum &+= Self.sum($0) } }
    case ("scan", false):
      return try scan { sum in try table.forEachView { sum &+= Self.sum($0, types) } }
    case ("count", _): return try count()
    case ("notify", _): return try notify()
    default: throw Options.usage
    }
  }

  /// - Parameter read: reads all values of an object; nil if there is none.
  private func lookup(_ read: (Int64) throws -> Int?) throws -> String {
    var random = SplitMix64(seed: options.seed)
    let count = UInt64(table.count)
    var (reads, sum, took): (UInt64, Int, UInt64) = (0, 0, 0)
    // The first half second fills the caches and does not count.
    for seconds in [0.5, options.seconds] {
      reads = 0
      let began = System.processorNanoseconds
      let end = System.monotonicNanoseconds &+ UInt64(seconds * 1e9)
      repeat {
        for _ in 0..<100 {
          // An import without deletions gives the keys from 1 to the number of rows.
          let key = Int64(random.next(upperBound: count)) + 1
          guard let found = try read(key) else { throw Failure("no object has the key \(key)") }
          sum &+= found
        }
        reads &+= 100
      } while System.monotonicNanoseconds < end
      took = System.processorNanoseconds &- began
    }
    return report(reads: reads, rows: count, took, sum)
  }

  private func scan(_ read: (inout Int) throws -> Void) throws -> String {
    var best = UInt64.max
    var sum = 0
    for _ in 0..<Self.scanTurns {
      let began = System.processorNanoseconds
      try read(&sum)
      best = min(best, System.processorNanoseconds &- began)
    }
    let rows = UInt64(table.count)
    return report(reads: rows, rows: rows, best, sum)
  }

  private func count() throws -> String {
    let query = Query(column("Rating") >= 4.5)
    var best = UInt64.max
    var found = 0
    for _ in 0..<Self.scanTurns {
      let began = System.processorNanoseconds
      found = try query.count(in: table)
      best = min(best, System.processorNanoseconds &- began)
    }
    return report(reads: UInt64(table.count), rows: UInt64(found), best, found)
  }

  private func notify() throws -> String {
    let observer = try SessionThread(database)
    let told = Told()
    let name = table.name
    try observer.perform { session in
      let good = try session.objects(name).filter(column("Rating") >= 4.5)
      try session.keep(good.observe { _ in told.add() })
    }
    told.wait(for: 1)
    var random = SplitMix64(seed: options.seed)
    let count = UInt64(table.count)
    var times: [UInt64] = []
    for turn in 0..<200 {
      let key = Int64(random.next(upperBound: count)) + 1
      // Into the results or out of them: both are changes. The value may have been changed by an
      // earlier turn, so it is read now.
      let now = try database.snapshot().table(name)
      let isGood = try now.value(forKey: key, column: "Rating").map { value in
        if case .double(let rating) = value { rating >= 4.5 } else { false }
      }
      let began = System.monotonicNanoseconds
      try database.write(durability: Durability.none) { transaction in
        try transaction.table(name).update(key, ["Rating": .double(isGood == true ? 1 : 5)])
      }
      told.wait(for: turn + 2)
      times.append(System.monotonicNanoseconds &- began)
    }
    observer.stop()
    try database.close()
    times.sort()
    let took = times[times.count / 2] &* UInt64(times.count)
    return report(reads: UInt64(times.count), rows: count, took, 0)
  }

  private func report(reads: UInt64, rows: UInt64, _ took: UInt64, _ sum: Int) -> String {
    let each = Double(took) / Double(max(reads, 1))
    return "{\"reads\":\(reads),\"read_ns\":\(each),\"rows\":\(rows),\"sum\":\(sum & 0xFFFF)}"
  }

  // MARK: Looking at values

  private static func sum(_ row: Row) -> Int {
    var sum = 0
    for value in row.values { sum &+= Self.sum(value) }
    return sum
  }

  @inline(__always)
  private static func sum(_ view: RowView, _ types: [ColumnType]) -> Int {
    var sum = 0
    for (column, type) in types.enumerated() {
      switch type {
      case .int: sum &+= Int(truncatingIfNeeded: view.int(column) ?? 0)
      case .double: sum &+= (view.double(column) ?? 0) > 0 ? 1 : 0
      default: sum &+= view.bytes(column)?.count ?? 0
      }
    }
    return sum
  }

  private static func sum(_ value: Value) -> Int {
    switch value {
    case .null: 0
    case .int(let int): Int(truncatingIfNeeded: int)
    case .double(let double): double > 0 ? 1 : 0
    case .text(let text): text.utf8.count
    case .bool, .date, .dateTime, .time, .decimal, .uuid, .data: 1
    }
  }
}

/// Counts calls on one thread for another.
private final class Told: @unchecked Sendable {
  // @unchecked: guarded by `lock`.
  private let lock = Lock()
  private var count = 0

  func add() {
    lock.withLock {
      count += 1
      lock.wakeAll()
    }
  }

  func wait(for count: Int) {
    lock.withLock { while self.count < count { lock.wait() } }
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

struct Options {
  var path = ""
  var what = ""
  var areCopied = true
  var seconds = 1.0
  var seed: UInt64 = 1

  static let usage = Failure(
    "usage: ReadBenchmark FILE lookup|scan|count|notify [--values copied|viewed] [--seconds S] [--seed N]"
  )

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let word = rest.popFirst() {
      switch word {
      case "--values": areCopied = try Self.value(&rest) { $0 } == "copied"
      case "--seconds": seconds = try Self.value(&rest) { Double($0) }
      case "--seed": seed = try Self.value(&rest) { UInt64($0) }
      default:
        if path.isEmpty { path = word } else { what = word }
      }
    }
    guard !path.isEmpty, seconds > 0, seconds < 3600 else { throw Self.usage }
  }

  private static func value<T>(
    _ rest: inout ArraySlice<String>, _ parse: (String) -> T?
  ) throws -> T {
    guard let word = rest.popFirst(), let value = parse(word) else { throw usage }
    return value
  }
}
