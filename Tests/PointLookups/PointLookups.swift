import Base
import Engine
import TestSupport

/// Looks random keys up for a while and prints how long one lookup takes, as one JSON object.
///
///     PointLookups FILE [--seconds S] [--refresh-every N] [--seed N]
///
/// `scripts/bench` runs it alone and beside an import. Not a product: it only uses the library.
@main
enum PointLookups {
  static func main() {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      print(try run(options))
    } catch {
      // Standard output is for JSON only.
      let line = Array("PointLookups: \(error)\n".utf8)
      line.withUnsafeBytes { try? System.write(2, $0, path: "standard error") }
      System.exit(1)
    }
  }

  /// Looks up objects of the file's first table; an import may fill another one.
  ///
  /// Measures `Table.row(forKey:)`, with every value of the row. The time to take a snapshot is
  /// measured separately.
  static func run(_ options: Options) throws -> String {
    let database = try Database.open(options.path, options: .init(access: .readOnly))
    var random = SplitMix64(seed: options.seed)
    var lookups = Latencies()
    var refreshes = Latencies()
    let name = try firstTable(of: database)
    var table = try database.snapshot().table(name)
    let firstVersion = try database.snapshot().version
    var lastVersion = firstVersion
    let count = UInt64(table.count)
    let began = System.monotonicNanoseconds
    let end = began &+ UInt64(options.seconds * 1e9)
    var now = began
    while now < end {
      let start = System.monotonicNanoseconds
      let snapshot = try database.snapshot()
      table = try snapshot.table(name)
      lastVersion = snapshot.version
      refreshes.add(System.monotonicNanoseconds &- start)
      for _ in 0..<options.refreshEvery {
        // An import without deletions gives the keys from 1 to the number of rows.
        let key = Int64(random.next(upperBound: count)) + 1
        let start = System.monotonicNanoseconds
        let row = try table.row(forKey: key)
        now = System.monotonicNanoseconds
        lookups.add(now &- start)
        guard row?.key == key else { throw Failure("no object has the key \(key) of \(name)") }
      }
    }
    try database.close()
    return """
      {"lookups":\(lookups.count),\(lookups.json("lookup")),"refreshes":\(refreshes.count),\
      \(refreshes.json("refresh")),"versions":\(lastVersion &- firstVersion)}
      """
  }

  private static func firstTable(of database: Database) throws -> String {
    let snapshot = try database.snapshot()
    guard let name = snapshot.tableNames.first, try snapshot.table(name).count > 0 else {
      throw Failure("\(database.path) has no objects to look up: import some first")
    }
    return name
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

struct Options {
  var path = ""
  var seconds = 1.0
  var refreshEvery = 1000
  var seed: UInt64 = 1

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let word = rest.popFirst() {
      switch word {
      case "--seconds": seconds = try Self.value(word, &rest) { Double($0) }
      case "--refresh-every": refreshEvery = try Self.value(word, &rest) { Int($0) }
      case "--seed": seed = try Self.value(word, &rest) { UInt64($0) }
      default: path = word
      }
    }
    guard !path.isEmpty, seconds > 0, seconds < 3600, refreshEvery > 0 else {
      throw Failure("usage: PointLookups FILE [--seconds S] [--refresh-every N] [--seed N]")
    }
  }

  private static func value<T>(
    _ name: String, _ rest: inout ArraySlice<String>, _ parse: (String) -> T?
  ) throws -> T {
    guard let word = rest.popFirst(), let value = parse(word) else {
      throw Failure("\(name) needs a number")
    }
    return value
  }
}
