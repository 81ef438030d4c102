/// `sheaf compact`: reclaims free space.
enum CompactCommand {
  static let ifAbove = Option<Int>(
    "if-above", .size, help: "Only when the file is larger than this")
  static let ifUsedBelow = Option<Percent>(
    "if-used-below", .percent, help: "Only when less than this share of the file is used")
  static let into = Option<String>(
    "into", .path, help: "Write a compact copy and leave the file as it is")

  static let definition = CommandDefinition(
    name: "compact",
    summary: "Reclaim the free space of a database file",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [ifAbove, ifUsedBelow, into, CommonOptions.report, CommonOptions.quiet],
    examples: [
      .init(
        command: "sheaf compact apps.sheaf --if-above 70MB --if-used-below 50%",
        meaning: "Compact when it is worth it: both conditions must hold. Without conditions the "
          + "file is always compacted.")
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    throw CommandError(.bug, "not wired")
  }
}
