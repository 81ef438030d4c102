import Engine
import Importer

/// The options of an import into a server: additional ones, and those that it refuses.
extension ImportCommand {
  private static let serverGroup = "Servers"

  static let connections = Option<Int>(
    "connections", .positiveCount(upTo: ServerOptions.mostConnections), default: "4",
    group: serverGroup,
    help:
      "How many connections load at once; with --key, and where a foreign key of the table refers to "
      + "itself, it is one, since the order of records counts")
  static let create = Flag(
    "create", group: serverGroup,
    help:
      "Make the table where it is missing, of the types that all inputs together have: they are read once "
      + "for it")
  static let numeric = Flag(
    "numeric", group: serverGroup,
    help:
      "With --create: columns of numbers with fractions are numeric, which keeps every digit, and not double "
      + "precision")
  static let distributeBy = Option<String>(
    "distribute-by", .name.shown(as: "COLUMN"), group: serverGroup,
    help:
      "With --create and Citus: the column by whose values the rows of the table are distributed; a table "
      + "that is there has to be distributed by it")
  static let lease = Option<Int>(
    "lease", ValueKind.positiveCount(upTo: ServerOptions.longestLease).shown(as: "SECONDS"),
    default: "30", group: serverGroup,
    help:
      "After so many seconds without a sign of life another process goes on with an input; a process that "
      + "is killed leaves its input locked for so long")

  static let serverOptions: [any OptionEntry] = [
    connections, create, numeric, distributeBy, lease,
  ]

  /// The server that an import writes to; nil for a file.
  ///
  /// - Throws: `CommandError` for options of the other kind of destination.
  static func server(_ arguments: ParsedArguments) throws -> ServerOptions? {
    let destination = try arguments.required(into)
    guard ServerAddress.isServer(destination) else {
      for option in serverOptions where arguments.isGiven(option) {
        throw CommandError.usage(
          "--\(option.name) is for an import into a server, such as --into postgresql://host/database"
        )
      }
      if ServerAddress.isOfOther(destination) {
        throw CommandError.usage(
          "\(ServerAddress.shown(destination)) is no address of a PostgreSQL server: that begins with "
            + "postgresql://; a file with such a name is ./NAME")
      }
      return nil
    }
    for option in [ignoreBlanks, newerThan, deleteMissing, filter, schema] as [any OptionEntry]
    where arguments.isGiven(option) {
      throw CommandError.usage(
        "--\(option.name) is for an import into a file: load into a table of its own, and merge it there"
      )
    }
    guard !arguments.isGiven(publish) else {
      throw CommandError.usage("--publish is for an import into a file: a server shows each batch")
    }
    for option in [compactAbove, compactUsedBelow] as [any OptionEntry]
    where arguments.isGiven(option) {
      throw CommandError.usage(
        "--\(option.name) is for an import into a file: a server has none to compact")
    }
    return try server(arguments, address: destination)
  }

  /// - Throws: `CommandError` when options cannot be combined.
  static func server(_ arguments: ParsedArguments, address: String) throws -> ServerOptions {
    var options = ServerOptions(address: address)
    options.connections = try arguments.required(connections)
    options.creates = arguments.isSet(create)
    options.makesNumeric = arguments.isSet(numeric)
    options.distributionColumn = try arguments.value(distributeBy)
    options.leaseSeconds = try arguments.required(lease)
    if options.makesNumeric, !options.creates {
      throw CommandError.usage("--numeric says what --create makes: give both")
    }
    return options
  }
}
