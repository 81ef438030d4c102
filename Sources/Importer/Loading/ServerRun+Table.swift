import Base
import Engine

/// The table for the inputs: an existing one, one created with their types, or one with missing columns
/// added.
extension ServerRun {
  /// The existing table; nil when it is to be created.
  func foundTable(_ session: ServerSession) throws -> ServerTable? {
    if var table = try session.use({ try ServerTable.find(tableName, $0) }) {
      try table.check(
        distributedBy: server.distributionColumn, keys: options.keys, options.conflictPolicy,
        server: target.shown)
      if !options.keys.isEmpty, options.conflictPolicy == .error {
        try session.use { try table.findRowTriggers($0) }
      }
      return table
    }
    guard server.creates else {
      throw ServerError(
        .usage,
        "\(target.shown): there is no table '\(tableName)' [42P01]: make it, name another one with "
          + "--table, or have it made with --create")
    }
    return nil
  }

  /// Creates the table. With a distribution column it is created and distributed in one transaction, so that
  /// no failure leaves a table on one machine alone.
  private mutating func make(
    _ types: [(name: String, type: ColumnType)], _ engine: ServerEngine, _ session: ServerSession
  ) throws {
    let place = try session.use { try ServerTable.place(tableName, $0) }
    let statement = try ServerTable.creation(
      place, types, keys: options.keys, isNumeric: server.makesNumeric, server: target.shown)
    let distribution = try server.distributionColumn.map { column throws(ServerError) in
      try ServerTable.distribution(
        place, by: column, of: types.map(\.name), keys: options.keys, options.conflictPolicy,
        server: target.shown)
    }
    let making = TableMaking(
      place: place, statements: [statement] + [distribution].compactMap(\.self), engine: engine,
      server: target.shown)
    do {
      let count = try making.run(session)
      if count > 0 {
        let inputs = count == 1 ? "1 input that was" : "\(count) inputs that were"
        report.notes.append(
          "the table was made anew: what was known of \(inputs) imported into an earlier table of this name "
            + "is forgotten")
      }
    } catch let error as ServerError where distribution != nil && error.sqlState == "42883" {
      throw error.saying(
        "\(target.shown): --distribute-by is for Citus, which this database does not have: CREATE "
          + "EXTENSION citus, or leave it out [42883]")
    }
  }

  /// The columns of the table to create.
  mutating func typesToMake() throws -> [(name: String, type: ColumnType)] {
    try table?.columns.map { ($0.name, $0.type) } ?? scanned().types
  }

  /// The existing table, or a new one.
  mutating func table(_ session: ServerSession, _ engine: ServerEngine) throws -> ServerTable {
    if let table = try foundTable(session) {
      namesBefore = Set(table.columns.map(\.name))
      return try addColumns(to: table, session)
    }
    try make(typesToMake(), engine, session)
    guard let table = try foundTable(session) else {
      throw ServerError(
        .usage,
        "\(target.shown): the table '\(tableName)' was made, and is not found: name its schema, too"
      )
    }
    return table
  }

  /// The columns' types, found by reading all inputs.
  ///
  /// - Parameter known: the columns that the table has.
  private mutating func scanned(beside known: Set<String> = []) throws -> TypeScan {
    var scan = TypeScan(options, appliesRules: known.isEmpty)
    for (index, file) in files.enumerated() {
      do {
        if file.canBeReadAgain {
          try scan.add(file, open(file), threads)
          continue
        }
        let opened = try pipes[index] ?? open(file)
        pipes[index] = opened
        guard
          try !TableMatch(opened, options, table: nil).plannedColumns.map(\.strictType).contains(
            nil)
        else {
          throw ImportError.invalidOption(
            "\(file.name) can be read only once, so the types of its columns cannot be found before it is "
              + "loaded: make the table first, give the types of all columns with --types NAME:TYPE,..., or "
              + "say --types text")
        }
        try scan.add(file, opened, threads)
      } catch ImportError.emptyInput where files.count > 1 {
        continue
      }
    }
    report.notes += scan.notes(beside: known)
    return scan
  }

  // MARK: Adding columns

  /// Adds columns that inputs have and the table lacks, where options allow it.
  ///
  /// - Throws: as `foundTable`, and the errors of reading the inputs.
  private mutating func addColumns(to table: ServerTable, _ session: ServerSession) throws
    -> ServerTable
  {
    let missing = try missingColumns(table)
    if missing.isEmpty { return table }
    let statements = try missing.map { column in
      try table.addition(
        of: column.name, column.type, isNumeric: server.makesNumeric, server: target.shown)
    }
    // Each column is added on its own, and only if it is missing: other processes may do the same at once.
    for statement in statements {
      try session.use { connection in
        do { try connection.run(statement) } catch let error as ServerError
          where error.sqlState == "42701"
        {}
      }
    }
    return try foundTable(session) ?? table
  }

  /// The columns to add: with any name if `newColumns`, otherwise only those for surplus fields. None when an
  /// input has other columns that the table lacks, for which the import is refused.
  mutating func missingColumns(_ table: ServerTable) throws -> [(name: String, type: ColumnType)] {
    let known = Set(table.columns.map(\.name))
    guard self.table == nil, options.newColumns || options.ragged == .extend else { return [] }
    let areNew = try !names().allSatisfy(known.contains)
    if areNew, !options.newColumns { return [] }
    // An input that can be read only once gets no new columns; its longer records are rejected.
    let canScan = files.allSatisfy(\.canBeReadAgain)
    guard areNew || (options.ragged == .extend && canScan) else { return [] }
    return try scanned(beside: known).types.filter { !known.contains($0.name) }
  }

  /// The names of the columns of all inputs.
  private mutating func names() throws -> [String] {
    var names: [String] = []
    for (index, file) in files.enumerated() {
      do {
        let opened = try pipes[index] ?? open(file)
        if !file.canBeReadAgain { pipes[index] = opened }
        names += try TableMatch(opened, options, table: nil, appliesRules: false)
          .plannedColumns.map(\.name)
      } catch ImportError.emptyInput {
        continue
      }
    }
    return names
  }
}
