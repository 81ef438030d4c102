/// `sheaf sample`: synthetic CSV, the same for the same seed everywhere.
enum SampleCommand {
  static let rows = Option<Int>("rows", .count, default: "47472", help: "How many records")
  static let seed = Option<Int>(
    "seed", .count, default: "1", help: "Another number gives other rows")
  static let shape = Option<SampleShape>(
    "shape", .choice, default: "apps",
    help: "apps: 13 columns like those of a well-known list of Android apps; numbers: 20 columns "
      + "of whole and decimal numbers; text: a number and about 1 kB of prose")
  static let output = Option<String>(
    "output", .path, defaultNote: "standard output",
    help:
      "Where to write; a file takes its place when it is complete, an earlier one stays until then")
  static let force = Flag(
    "force", help: "Let --output replace a Sheaf database that nobody has open")

  static let definition = CommandDefinition(
    name: "sample",
    summary: "Write synthetic CSV, any number of rows, from a seed",
    usage: "[OPTIONS]",
    options: [rows, seed, shape, output, force],
    examples: [
      .init(
        command: "sheaf sample --rows 1000000 --output million.csv",
        meaning: "A million rows (about 125 MB). Fewer rows of the same seed are the first of "
          + "more rows.")
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    var generator = SampleGenerator(
      shape: try arguments.required(shape), seed: UInt64(try arguments.required(seed)))
    let count = try arguments.required(rows)
    guard let path = try arguments.value(Self.output), path != "-" else {
      try generator.write(rows: count, to: output)
      return .done
    }
    let file = try BufferedOutput.file(path, replacesDatabases: arguments.isSet(force))
    try generator.write(rows: count, to: file)
    try file.close()
    return .done
  }
}
