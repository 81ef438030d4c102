/// Where and how an import goes into a PostgreSQL server, beside what `ImportOptions` says.
///
/// Thread rule: a plain value, `Sendable`.
public struct ServerOptions: Sendable, Equatable {
  /// The server and its database, as libpq takes them: a URL, or `key=value` pairs. What it leaves out comes
  /// from where libpq takes it: `PGHOST`, `PGPASSFILE`, `PGSERVICE` and the like.
  public var address: String
  /// Connections that load at once, from 1 to 64; an import with a key uses one.
  public var connections = 4
  /// Whether a table that is not there is made, of the types that all inputs together have.
  public var creates = false
  /// Whether columns of numbers with fractions become `numeric`, which keeps every digit, in a table that is
  /// made; otherwise `double precision`.
  public var makesNumeric = false
  /// The column by whose values Citus distributes a table that is made; nil: it is not distributed. A table
  /// that is there has to be distributed so.
  public var distributionColumn: String?
  /// After how many seconds without a sign of life another process may go on with an input, from 1 to 3600.
  public var leaseSeconds = 30

  /// The most connections.
  package static let mostConnections = 64
  /// The longest lease, in seconds.
  package static let longestLease = 3600
  /// Records in a transaction where nothing else is said.
  package static let batchRecords = 10_000

  /// - Parameter address: a URL or `key=value` pairs.
  public init(address: String) { self.address = address }
}
