/// Tables whose rows Citus distributes over several machines.
extension ServerTable {
  /// How a table is distributed.
  struct Distribution: Sendable, Equatable {
    /// The distribution column; nil when every machine has all rows.
    let column: String?
    /// True when this server is the coordinator, which has all checkpoint tables.
    let isCoordinator: Bool
    /// `h` by hashes, `n` not at all, `a` by appending shards, `r` by ranges.
    let method: String

    /// Nil when the table is not distributed.
    init?(_ oid: Int, _ connection: any ServerLink) throws {
      let isThere = try connection.run(
        "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL"
      ).last?.rows.first?[0]
      guard isThere == "t" else { return nil }
      let rows = try connection.run(
        "SELECT partmethod, CASE WHEN partkey IS NOT NULL THEN "
          + "pg_catalog.column_to_column_name(logicalrelid, partkey) END, (SELECT groupid FROM "
          + "pg_catalog.pg_dist_local_group) FROM "
          + "pg_catalog.pg_dist_partition WHERE logicalrelid = \(oid)::regclass"
      ).last?.rows
      guard let row = rows?.first else { return nil }
      (method, column, isCoordinator) = (row[0] ?? "", row[1], row[2] == "0")
    }
  }

  /// Refuses tables into which an import over several machines cannot be exactly once, and tables that are
  /// not distributed as the user asked for.
  ///
  /// - Throws: `ServerError` of the kind `usage`.
  func check(
    distributedBy column: String?, keys: [String], _ policy: ConflictPolicy, server: String
  ) throws(ServerError) {
    func refusal(_ reason: String) -> ServerError {
      ServerError(.usage, "\(server): table \(shown) \(reason)")
    }
    guard let distribution else {
      guard let column else { return }
      throw refusal(
        "is there and is not distributed: distribute it by '\(column)' with create_distributed_table, or "
          + "leave --distribute-by out")
    }
    if let column, distribution.column.map({ $0.utf8.elementsEqual(column.utf8) }) != true {
      throw refusal(
        "is distributed by \(distribution.column.map { "'\($0)'" } ?? "no column"), not by '\(column)': "
          + "leave --distribute-by out")
    }
    guard distribution.isCoordinator else {
      throw refusal(
        "is distributed, and this server is one of the workers, which has checkpoint tables of its own: "
          + "connect to the coordinator")
    }
    guard ["h", "n"].contains(distribution.method) else {
      throw refusal("has shards that are appended or ranges, which are not supported")
    }
    if !keys.isEmpty, policy != .skip { throw Self.keyRefusal(server) }
  }

  private static func keyRefusal(_ server: String) -> ServerError {
    ServerError(
      .usage,
      "\(server): into a table that Citus distributes, --key needs --on-conflict skip: what became of each "
        + "row is not told there for the other ways")
  }

  /// The statement that distributes a new table.
  ///
  /// - Parameters:
  ///   - place: the table.
  ///   - names: the names of its columns.
  ///   - keys: the columns of the primary key; empty when the table has none.
  /// - Throws: `ServerError` for a column that the table does not have, or that is not part of the key.
  static func distribution(
    _ place: QualifiedName, by column: String, of names: [String], keys: [String],
    _ policy: ConflictPolicy,
    server: String
  ) throws(ServerError) -> String {
    guard names.contains(where: { $0.utf8.elementsEqual(column.utf8) }) else {
      throw ServerError(
        .usage, "\(server): --distribute-by names '\(column)', which the input has not")
    }
    if !keys.isEmpty, policy != .skip { throw keyRefusal(server) }
    if let key = keys.first, !keys.contains(where: { $0.utf8.elementsEqual(column.utf8) }) {
      throw ServerError(
        .usage,
        "\(server): a key of a distributed table has to hold the column that it is distributed by: give "
          + "--distribute-by '\(key)', or leave --key out")
    }
    return
      "SELECT pg_catalog.create_distributed_table(\(SQLText.literal(place.qualified)), "
      + "\(SQLText.literal(column)))"
  }
}
