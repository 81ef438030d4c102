/// The server as the destination of an import, with options in addition to `ImportOptions`.
///
/// Thread rule: a plain value, `Sendable`.
public struct ServerOptions: Sendable, Equatable {
  /// The server and its database, as a URL or `key=value` pairs for libpq. Missing parts come from the
  /// sources of libpq: `PGHOST`, `PGPASSFILE`, `PGSERVICE` and similar.
  public var address: String
  /// The number of concurrent connections, from 1 to 64; an import with a key uses one.
  public var connections = 4
  /// Whether to create a missing table, with types that fit all inputs together.
  public var creates = false
  /// Whether columns of numbers with fractions become `numeric`, which keeps every digit, instead of `double
  /// precision`, in a new table.
  public var makesNumeric = false
  /// The column by whose values Citus distributes a new table; nil: the table is not distributed. An existing
  /// table must already be distributed by it.
  public var distributionColumn: String?
  /// The seconds without a sign of life after which another process may take over an input, from 1 to 3600.
  public var leaseSeconds = 30

  /// The maximum number of connections.
  package static let mostConnections = 64
  /// The longest lease, in seconds.
  package static let longestLease = 3600
  /// The default number of records in a transaction.
  package static let batchRecords = 10_000

  /// - Parameter address: a URL or `key=value` pairs.
  public init(address: String) { self.address = address }
}
