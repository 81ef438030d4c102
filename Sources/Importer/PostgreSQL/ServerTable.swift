import Engine

/// A table of a server, as an import finds it.
struct ServerTable: Sendable {
  struct ServerColumn: Sendable, Equatable {
    let name: String
    /// The type as which values are read and sent; nil when they are sent as they are spelled, for the server
    /// to read.
    let type: ColumnType?
    /// True when it stores every digit.
    let isNumeric: Bool
    let isNullable: Bool
    /// True when a row may omit its value.
    let hasDefault: Bool
    /// True when the server computes it, so that no value can be given.
    let isGenerated: Bool
    let isIdentity: Bool
    /// True when the server always numbers the rows itself: an existing row keeps its number.
    let isAlwaysIdentity: Bool

    init(
      name: String, type: ColumnType?, isNumeric: Bool, isNullable: Bool, hasDefault: Bool,
      isGenerated: Bool, isIdentity: Bool, isAlwaysIdentity: Bool
    ) {
      (self.name, self.type, self.isNumeric) = (name, type, isNumeric)
      (self.isNullable, self.hasDefault) = (isNullable, hasDefault)
      (self.isGenerated, self.isIdentity) = (isGenerated, isIdentity)
      self.isAlwaysIdentity = isAlwaysIdentity
    }

    /// A column of a table that Sheaf makes.
    init(making name: String, _ type: ColumnType, isNumeric: Bool, isNullable: Bool) {
      self.init(
        name: name, type: type == .data ? nil : type,
        isNumeric: ServerTable.typeName(type, isNumeric: isNumeric) == "numeric",
        isNullable: isNullable,
        hasDefault: false, isGenerated: false, isIdentity: false, isAlwaysIdentity: false)
    }
  }

  let schema: String
  let name: String
  let columns: [ServerColumn]
  /// How Citus distributes the table; nil when it does not.
  var distribution: Distribution?
  /// True when a foreign key refers to the table itself, so that the order of its rows counts.
  var refersToItself = false
  /// True when a trigger may change rows before they are inserted; `findRowTriggers` finds out.
  private(set) var hasRowTriggers = false

  /// The table, qualified and quoted.
  var qualified: String { SQLText.name(schema) + "." + SQLText.name(name) }
  /// The name for the user, and for keys of the checkpoint tables.
  var shown: String { Self.shown(schema, name) }

  static func shown(_ schema: String, _ name: String) -> String { schema + "." + name }

  // MARK: Finding

  /// Finds a table; nil when there is none.
  ///
  /// - Parameters:
  ///   - given: a name, or a schema and a name with a point between them. The whole is tried as a name first.
  ///     The schema's name may have points, too.
  ///   - connection: to the database.
  /// - Throws: `ServerError`, also for a table or view that cannot be loaded exactly once.
  static func find(_ given: String, _ connection: any ServerLink) throws -> ServerTable? {
    for place in candidates(given) {
      let visible =
        place.schema.map { "n.nspname = \(SQLText.literal($0))" }
        ?? "pg_catalog.pg_table_is_visible(c.oid)"
      let row = try connection.run(
        "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relpersistence, EXISTS (SELECT 1 "
          + "FROM pg_catalog.pg_constraint f WHERE f.contype = 'f' AND f.conrelid = c.oid AND f.confrelid = "
          + "c.oid) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
          + "WHERE c.relname = "
          + "\(SQLText.literal(place.name)) AND \(visible) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') "
          + "ORDER BY 1 LIMIT 1"
      ).last?.rows.first
      guard let row, let oid = row.int(0), let schema = row[1], let name = row[2]
      else {
        continue
      }
      let table = ServerTable(
        schema: schema, name: name, columns: try columns(oid, connection),
        distribution: try Distribution(oid, connection), refersToItself: row[5] == "t")
      try table.check(kind: row[3] ?? "", persistence: row[4] ?? "", oid, connection)
      return table
    }
    return nil
  }

  /// The name of an existing table, or of one to be made.
  struct QualifiedName: Sendable, Equatable {
    /// nil: the search path determines the schema.
    let schema: String?
    let name: String

    /// Qualified and quoted.
    var qualified: String {
      (schema.map { SQLText.name($0) + "." } ?? "") + SQLText.name(name)
    }
  }

  /// What a name may mean: a table, or a schema and a table with one of the points between them.
  static func candidates(_ given: String) -> [QualifiedName] {
    let bytes = given.utf8
    let points = bytes.indices.filter { bytes[$0] == UInt8(ascii: ".") }
    return [QualifiedName(schema: nil, name: given)]
      + points.compactMap { point in
        let schema = String(Substring(bytes[..<point]))
        let name = String(Substring(bytes[bytes.index(after: point)...]))
        return schema.isEmpty || name.isEmpty ? nil : QualifiedName(schema: schema, name: name)
      }
  }

  /// Where a table that does not exist is to be made: in the first existing schema with which its name may
  /// begin.
  ///
  /// - Throws: `ServerError`.
  static func place(_ given: String, _ connection: any ServerLink) throws -> QualifiedName {
    let places = candidates(given).dropFirst()
    // The server reports a schema that does not exist.
    guard let first = places.first else { return QualifiedName(schema: nil, name: given) }
    guard places.count > 1 else { return first }
    let schemas = places.compactMap { $0.schema.map { SQLText.literal($0) } }
    let found =
      try connection.run(
        "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname IN "
          + "(\(schemas.joined(separator: ", ")))"
      ).last?.rows.compactMap { $0[0] } ?? []
    return places.first { place in
      found.contains { place.schema?.utf8.elementsEqual($0.utf8) == true }
    } ?? first
  }

  private func refusal(_ reason: String, _ connection: any ServerLink) -> ServerError {
    ServerError(.usage, "\(connection.name): \(shown) \(reason)")
  }

  private func check(
    kind: String, persistence: String, _ oid: Int, _ connection: any ServerLink
  ) throws {
    if CheckpointTables.names.contains(name) {
      throw refusal(
        "is where Sheaf keeps how far imports have come: choose another table", connection)
    }
    guard kind == "r" || kind == "p" else {
      throw refusal("is a view or a foreign table: rows are imported into tables only", connection)
    }
    guard persistence == "p" else {
      throw refusal(
        "is unlogged or temporary: a crash of the server would empty it, while what says that its rows are "
          + "there stays; ALTER TABLE ... SET LOGGED first", connection)
    }
    if kind == "p" {
      let foreign = try connection.run(
        "SELECT c.relname FROM pg_catalog.pg_partition_tree(\(oid)::regclass) t JOIN pg_catalog.pg_class "
          + "c ON c.oid = t.relid WHERE c.relkind = 'f' OR c.relpersistence <> 'p' LIMIT 1"
      ).last?.rows.first
      if let foreign {
        throw refusal(
          "has the partition \(foreign[0] ?? "") on another server, or unlogged: such a one is not committed "
            + "together with the others, so nobody could tell what is imported", connection)
      }
    }
  }

  private static func columns(_ oid: Int, _ connection: any ServerLink) throws -> [ServerColumn] {
    let generated =
      connection.serverVersion >= 120_000 ? "a.attgenerated <> ''" : "false"
    let rows =
      try connection.run(
        "SELECT a.attname, a.atttypid::bigint, a.attnotnull, a.atthasdef, \(generated), "
          + "a.attidentity <> '', a.attidentity = 'a' FROM "
          + "pg_catalog.pg_attribute a WHERE a.attrelid = \(oid) AND a.attnum > 0 AND NOT "
          + "a.attisdropped ORDER BY a.attnum"
      ).last?.rows ?? []
    let isKnown = rows.allSatisfy { $0.int(1).flatMap(type) != nil }
    let domains = isKnown ? [:] : try domains(connection)
    return rows.map { row in
      var oid = row.int(1) ?? 0
      // Domains may be made of domains; the limit is for a server whose answer has a cycle.
      for _ in 0..<64 { oid = domains[oid] ?? oid }
      return ServerColumn(
        name: row[0] ?? "", type: type(oid), isNumeric: oid == numeric, isNullable: row[2] != "t",
        hasDefault: row[3] == "t" || row[5] == "t", isGenerated: row[4] == "t",
        isIdentity: row[5] == "t", isAlwaysIdentity: row[6] == "t")
    }
  }

  /// What each domain of the database is made of, by OIDs: a type, or another domain.
  private static func domains(_ connection: any ServerLink) throws -> [Int: Int] {
    let rows =
      try connection.run(
        "SELECT oid::bigint, typbasetype::bigint FROM pg_catalog.pg_type WHERE typtype = 'd'"
      ).last?.rows ?? []
    return Dictionary(rows.map { ($0.int(0) ?? 0, $0.int(1) ?? 0) }) { first, _ in first }
  }

  private static let numeric = 1700

  /// The type by which values of a PostgreSQL type are read, by its OID, the same in every database.
  static func type(_ oid: Int) -> ColumnType? {
    switch oid {
    case 16: .bool
    case 20, 21, 23: .int
    case 700, 701, numeric: .double
    case 1082: .date
    case 1083: .time
    // Both types get the moment in UTC; the type without a zone would silently drop any other zone.
    case 1114, 1184: .dateTime
    case 2950: .uuid
    case 25, 1042, 1043: .text
    default: nil
    }
  }

  /// Finds out whether the table, or a partition of it, has a trigger that runs for each row before its
  /// insertion.
  ///
  /// - Throws: `ServerError`.
  mutating func findRowTriggers(_ connection: any ServerLink) throws {
    let table = SQLText.literal(qualified) + "::regclass"
    // 1: for each row, 2: before, 4: of insertions.
    hasRowTriggers =
      try connection.run(
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger WHERE tgtype & 7 = 7 AND tgenabled IN "
          + "('O', 'A') AND tgrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(\(table)) UNION ALL "
          + "SELECT \(table)))"
      ).last?.rows.first?[0] == "t"
  }

  // MARK: Making

  /// PostgreSQL's limit for a table.
  static let mostColumns = 1600

  /// The statement that makes a table.
  ///
  /// - Parameter keys: the columns of the primary key, in its order; empty when the table has none.
  /// - Throws: `ServerError` for names and numbers that PostgreSQL does not take.
  static func creation(
    _ place: QualifiedName, _ columns: [(name: String, type: ColumnType)], keys: [String],
    isNumeric: Bool,
    server: String
  ) throws(ServerError) -> String {
    let name = place.name
    for part in [place.schema, name].compactMap(\.self) {
      if let problem = SQLText.problem(withName: part) {
        throw ServerError(
          .usage,
          "\(server): a table cannot be called '\(part)': \(problem); choose a name with --table")
      }
    }
    if CheckpointTables.names.contains(name) {
      throw ServerError(
        .usage,
        "\(server): '\(name)' is where Sheaf keeps how far imports have come: choose another --table"
      )
    }
    guard columns.count <= mostColumns else {
      throw ServerError(
        .usage,
        "\(server): the input has \(columns.count) columns, and PostgreSQL takes \(mostColumns): choose some "
          + "with --columns")
    }
    for column in columns {
      if let problem = SQLText.problem(withName: column.name) {
        throw ServerError(
          .usage,
          "\(server): a column cannot be called '\(column.name)': \(problem); --rename gives it another name"
        )
      }
    }
    let list = columns.map { "\(SQLText.name($0.name)) \(typeName($0.type, isNumeric: isNumeric))" }
    let key = keys.map({ SQLText.name($0) }).joined(separator: ", ")
    let constraint = keys.isEmpty ? "" : ", PRIMARY KEY (\(key))"
    return "CREATE TABLE \(place.qualified) (\(list.joined(separator: ", "))\(constraint))"
  }

  /// The statement that adds a column unless the table has it.
  ///
  /// - Throws: `ServerError` for a name that PostgreSQL does not take.
  func addition(
    of column: String, _ type: ColumnType, isNumeric: Bool, server: String
  ) throws(ServerError) -> String {
    if let problem = SQLText.problem(withName: column) {
      throw ServerError(
        .usage,
        "\(server): a column cannot be called '\(column)': \(problem); --rename gives it another name"
      )
    }
    return "ALTER TABLE \(qualified) ADD COLUMN IF NOT EXISTS \(SQLText.name(column)) "
      + Self.typeName(type, isNumeric: isNumeric)
  }

  static func typeName(_ type: ColumnType, isNumeric: Bool) -> String {
    switch type {
    case .int: "bigint"
    case .double: isNumeric ? "numeric" : "double precision"
    case .bool: "boolean"
    case .date: "date"
    case .dateTime: "timestamp with time zone"
    case .time: "time"
    case .decimal: "numeric"
    case .uuid: "uuid"
    case .text: "text"
    case .data: "bytea"
    }
  }
}
