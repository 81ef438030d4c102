import Base
import Engine
import Importer

/// `sheaf tune CSV --into postgresql://...`: batch sizes and connections against a server.
extension TuneCommand {
  private static let group = "Servers"

  static let into = Option<String>(
    "into", .path, group: group,
    help:
      "Measure loading into a PostgreSQL server: batch sizes (1000,10000,100000 unless given) with numbers "
      + "of connections, in a schema sheaf_tune_... that is removed afterwards")
  static let connections = Option<[CountOrAll]>(
    "connections", .batchSizes, default: "1,2,4", group: group,
    help: "With --into: how many connections load at once, one experiment each")

  /// The measurements of one combination.
  private struct Measured {
    let batchRecords: Int
    let connections: Int
    let durability: Durability
    var seconds: [Double] = []
    var records = 0

    var median: Double { seconds.sorted()[seconds.count / 2] }
    var rate: Double { Double(records) / max(median, 1e-9) }

    var json: JSONValue {
      [
        "batchSize": .int(batchRecords), "connections": .int(connections),
        "durability": .string(durability.rawValue),
        "seconds": .array(seconds.map { .double($0) }), "records": .int(records),
        "recordsPerSecond": .double(rate),
      ]
    }
  }

  static func runOnServer(
    _ arguments: ParsedArguments, _ address: String, _ output: BufferedOutput
  ) throws -> ExitStatus {
    var measured = try combinations(arguments, address)
    var options = ImportOptions(inputs: [arguments.positionals[0]], database: "")
    try ImportCommand.readDialect(arguments, &options)
    try ImportCommand.readColumns(arguments, &options)
    options.ragged = try arguments.required(ImportCommand.ragged)
    options.keys = try ImportCommand.keys(arguments)
    options.limit = try arguments.value(limit)
    options.maxRejects = .unlimited
    // The rejects of a measurement are not needed and are removed.
    let folder =
      "\(System.temporaryFolder)/sheaf-tune-\(System.processIdentifier)-"
      + "\(System.monotonicNanoseconds)"
    guard try System.makeFolder(folder) else {
      throw CommandError(.cannotCreate, "\(folder) is there already; try again")
    }
    defer { remove(folder) }
    options.rejects = folder + "/rejects.csv"
    Interrupt.install()
    options.shouldStop = { Interrupt.signal != nil }
    let progress = StepProgress(
      arguments.isSet(CommonOptions.quiet) ? .never : try arguments.required(ImportCommand.progress)
    )
    defer { progress.erase() }
    let shown = ServerAddress.shown(address)
    do {
      progress.show("loading once into \(shown)")
      let trial = try ServerTrial(options, into: ServerOptions(address: address))
      defer {
        if let schema = trial.end() {
          StandardError.line(
            "sheaf tune: \(shown): remove the schema \(schema), which is left there")
        }
      }
      let rounds = try arguments.required(repeats)
      for round in 0..<rounds {
        for index in measured.indices {
          let one = measured[index]
          progress.show(
            "round \(round + 1) of \(rounds): \(one.batchRecords) records a batch, \(one.connections) "
              + "connections, \(one.durability.rawValue)")
          let report = try trial.run(
            batchRecords: one.batchRecords, connections: one.connections, one.durability)
          measured[index].seconds.append(report.seconds)
          measured[index].records = report.read
        }
      }
    } catch ImportError.interrupted {
      throw CommandError(
        Interrupt.status ?? .interrupted, "interrupted; what was measured is not whole")
    }
    progress.erase()
    if !arguments.isSet(CommonOptions.quiet) { try write(measured, arguments, shown, output) }
    return .done
  }

  private static func remove(_ folder: String) {
    for name in (try? System.names(in: folder)) ?? [] { try? System.remove(folder + "/" + name) }
    try? System.removeFolder(folder)
  }

  /// - Throws: `CommandError` for options that do not apply to a server.
  private static func combinations(
    _ arguments: ParsedArguments, _ address: String
  ) throws -> [Measured] {
    guard ServerAddress.isServer(address) else {
      throw CommandError.usage(
        "--into is a PostgreSQL server, such as postgresql://host/database; without it files are measured"
      )
    }
    for option in [maxSeconds, Self.output] as [any OptionEntry] where arguments.isGiven(option) {
      throw CommandError.usage("--\(option.name) is for measuring files; --limit shortens each run")
    }
    try checkInput(arguments.positionals[0])
    let sizes =
      arguments.isGiven(batchSizes)
      ? try counts(arguments.required(batchSizes), batchSizes.name) : [1000, 10_000, 100_000]
    let lanes = try counts(arguments.required(connections), connections.name)
    if let most = lanes.max(), most > ServerOptions.mostConnections {
      throw CommandError.usage("--connections must be from 1 to \(ServerOptions.mostConnections)")
    }
    let durabilities =
      arguments.isGiven(durabilities) ? try arguments.required(durabilities) : [.full, .group]
    if durabilities.contains(.none) {
      throw CommandError.usage("--durability none is for files: a server has full and group")
    }
    return durabilities.flatMap { durability in
      sizes.flatMap { size in
        lanes.map { Measured(batchRecords: size, connections: $0, durability: durability) }
      }
    }
  }

  private static func counts(_ given: [CountOrAll], _ name: String) throws -> [Int] {
    try given.map {
      guard case .count(let count) = $0 else {
        throw CommandError.usage("--\(name) takes numbers with --into, not all")
      }
      return count
    }
  }

  /// The combination with the fewest connections, then the smallest batches, among those that reach 95% of
  /// the highest rate: it leaves the largest part of the server to others.
  private static func best(_ measured: [Measured]) -> Measured? {
    let most = measured.map(\.rate).max() ?? 0
    return measured.filter { $0.rate >= 0.95 * most }.min {
      ($0.connections, $0.batchRecords) < ($1.connections, $1.batchRecords)
    }
  }

  private static func write(
    _ measured: [Measured], _ arguments: ParsedArguments, _ server: String,
    _ output: BufferedOutput
  ) throws {
    let best = best(measured)
    if try arguments.required(CommonOptions.report) == .json {
      let json: JSONValue = [
        "command": "tune", "input": .string(arguments.positionals[0]), "database": .string(server),
        "runs": .array(measured.map(\.json)),
        "recommended": .optional(best) { $0.json },
      ]
      return try output.write(json.line)
    }
    var lines = ["loading \(arguments.positionals[0]) into \(server), records a second (median)"]
    for one in measured {
      let rate = HumanFormat.count(Int(min(one.rate, 1e12)))
      let range = [one.seconds.min() ?? 0, one.seconds.max() ?? 0].map {
        HumanFormat.duration(seconds: $0)
      }
      lines.append(
        "  \(one.durability.rawValue)  batch \(HumanFormat.count(one.batchRecords))  connections "
          + "\(one.connections)  \(rate)/s  (\(range[0]) to \(range[1]))")
    }
    if let best {
      lines.append(
        "  best: --batch-size \(best.batchRecords) --connections \(best.connections) --durability "
          + best.durability.rawValue)
    }
    try output.write(lines.map { StandardError.escaped($0) + "\n" }.joined())
  }
}
