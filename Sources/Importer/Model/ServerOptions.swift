/// The server that is the destination of an import, and options for it beside `ImportOptions`.
///
/// Thread rule: a plain value, `Sendable`.
public struct ServerOptions: Sendable, Equatable {
  /// The server and its database, in a form for libpq: a URL, or `key=value` pairs. Missing parts come from
  /// libpq's own sources: `PGHOST`, `PGPASSFILE`, `PGSERVICE` and the like.
  public var address: String
  /// Connections that load at once, from 1 to 64; an import with a key uses one.
  public var connections = 4
  /// Whether to create a missing table, with the types that all inputs together have.
  public var creates = false
  /// Whether columns of numbers with fractions become `numeric`, which keeps every digit, in a new table;
  /// otherwise `double precision`.
  public var makesNumeric = false
  /// The column by whose values Citus distributes a new table; nil: it is not distributed. An existing table
  /// must be distributed by it already.
  public var distributionColumn: String?
  /// The number of seconds without a sign of life after which another process may take over an input, from 1
  /// to 3600.
  public var leaseSeconds = 30

  /// The most connections.
  package static let mostConnections = 64
  /// The longest lease, in seconds.
  package static let longestLease = 3600
  /// Records in a transaction by default.
  package static let batchRecords = 10_000

  /// - Parameter address: a URL or `key=value` pairs.
  public init(address: String) { self.address = address }
}
