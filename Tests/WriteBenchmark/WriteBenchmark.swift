import Base
import Engine
import TestSupport

/// Writes into a new table with a key and prints the time for one object as a JSON object: elapsed
/// time, since a commit waits, and processor time, which a busy machine changes little.
///
///     WriteBenchmark FILE single|many [--durability full|group|none] [--values array|codable]
///                    [--rows N] [--seed N]
///
///     single  one object a transaction, after 1,000 that do not count
///     many    all objects in one transaction, after as many in one that does not count
///
/// `scripts/bench` runs it beside scripts/benchmark/sqlite_writes.c, which does the same. Not a
/// product.
@main
enum WriteBenchmark {
  static func main() {
    do {
      print(try Writing(Options(Array(CommandLine.arguments.dropFirst()))).run())
    } catch {
      // Standard output is for JSON only.
      let line = Array("WriteBenchmark: \(error)\n".utf8)
      line.withUnsafeBytes { try? System.write(2, $0, path: "standard error") }
      System.exit(1)
    }
  }
}

/// An object as a program would declare it.
struct Article: Encodable {
  let id: Int64
  let name: String
  let price: Double
  let stock: Int64?

  init(_ id: Int64, _ random: inout SplitMix64) {
    self.id = id
    let number: UInt64 = random.next(upperBound: 1_000_000)
    name = "article \(number)"
    price = Double(number % 10_000) / 100
    stock = number % 10 == 0 ? nil : Int64(number % 1000)
  }

  var values: [Value] {
    [.int(id), .text(name), .double(price), stock.map { .int($0) } ?? .null]
  }
}

struct Writing {
  private let options: Options
  private let database: Database
  private static let warmUp = 1000

  init(_ options: Options) throws {
    self.options = options
    database = try Database.open(options.path, options: .init(durability: options.durability))
    try database.write { transaction in
      try transaction.createTable(
        "articles",
        columns: [
          Column("id", .int, nullable: false), Column("name", .text), Column("price", .double),
          Column("stock", .int),
        ],
        key: "id")
    }
  }

  func run() throws -> String {
    var random = SplitMix64(seed: options.seed)
    var next: Int64 = 1
    func insert(_ table: WritableTable) throws {
      let article = Article(next, &random)
      next += 1
      if options.isCodable { try table.insert(article) } else { try table.insert(article.values) }
    }
    func perform(_ rows: Int) throws {
      if options.isSingle {
        for _ in 0..<rows { try database.write { try insert($0.table("articles")) } }
      } else {
        try database.write { transaction in
          let table = try transaction.table("articles")
          for _ in 0..<rows { try insert(table) }
        }
      }
    }
    try perform(options.isSingle ? Self.warmUp : options.rows)
    let (wall, processor) = (System.monotonicNanoseconds, System.processorNanoseconds)
    try perform(options.rows)
    let tookWall = Double(System.monotonicNanoseconds &- wall) / Double(options.rows)
    let took = Double(System.processorNanoseconds &- processor) / Double(options.rows)
    let count = try database.snapshot().table("articles").count
    guard count == Int(next - 1) else { throw Failure("\(count) objects, not \(next - 1)") }
    try database.close()
    return "{\"rows\":\(options.rows),\"wall_ns\":\(tookWall),\"processor_ns\":\(took)}"
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

struct Options {
  var path = ""
  var isSingle = true
  var isCodable = false
  var durability = Durability.group
  var rows = 10_000
  var seed: UInt64 = 1

  static let usage = Failure(
    "usage: WriteBenchmark FILE single|many [--durability full|group|none] [--values array|codable] "
      + "[--rows N] [--seed N]")

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let word = rest.popFirst() {
      switch word {
      case "--durability":
        switch rest.popFirst() {
        case "full": durability = .full
        case "group": durability = .group
        case "none": durability = .none
        default: throw Self.usage
        }
      case "--values": isCodable = rest.popFirst() == "codable"
      case "--rows": rows = try Self.number(rest.popFirst())
      case "--seed": seed = try Self.number(rest.popFirst())
      case "single", "many": isSingle = word == "single"
      default:
        guard path.isEmpty else { throw Self.usage }
        path = word
      }
    }
    guard !path.isEmpty, rows > 0 else { throw Self.usage }
  }

  private static func number<Number: FixedWidthInteger>(_ word: String?) throws -> Number {
    guard let word, let number = Number(word) else { throw usage }
    return number
  }
}
