import Base
import Engine

/// The columns of an input, matched by name with those of a server's table, whose types are fixed.
struct ServerMatch {
  let match: TableMatch
  /// The input's columns, followed by the table's columns for surplus fields of long records.
  let columns: [ImportPlan.PlannedColumn]
  private let ownCount: Int

  /// - Throws: `ServerError` for a column that the table lacks or that cannot be written;
  ///   `ImportError.missingColumn` for one that the table requires, `.noSuchColumn` for one that only options
  ///   name.
  init(
    _ opened: InputPlanner.Opened, _ options: ImportOptions, _ table: ServerTable, server: String
  ) throws {
    let names = try ColumnChoice(opened.header.names, options).names + opened.added.names
    let known = Dictionary(table.columns.map { ($0.name, $0) }) { first, _ in first }
    for name in names {
      guard let column = known[name] else { throw Self.unknown(name, table, server) }
      if column.isGenerated {
        throw ServerError(
          .usage,
          "\(server): column '\(name)' of \(table.shown) is computed by the server: leave it out with "
            + "--columns"
        )
      }
      if column.isAlwaysIdentity, [.update, .replace].contains(options.conflictPolicy),
        !options.keys.isEmpty, !options.keys.contains(name)
      {
        throw ServerError(
          .usage,
          "\(server): column '\(name)' of \(table.shown) is GENERATED ALWAYS, so that rows that are there "
            + "keep what they have in it: leave it out with --columns"
        )
      }
    }
    for column in table.columns
    where !column.isNullable && !column.hasDefault && !column.isGenerated
      && !names.contains(column.name)
    {
      throw ImportError.missingColumn(path: opened.source.name, name: column.name, known: names)
    }
    // Spellings of null, and amounts, are found as in an import into a file without given types. Rules
    // compare values of the server's types.
    let found = try TableMatch(opened, options, table: nil, appliesRules: false)
    var typed = options
    let types = Self.types(names, known, options, found)
    typed.types = .named(types)
    var spellings: [String: ServerSpelling] = [:]
    for (position, name) in names.enumerated() where !options.tellsType(of: name) {
      spellings[name] = ServerSpelling(
        found.plannedColumns[position], as: types[name] ?? .text,
        doubt: found.marks.doubt(at: position))
    }
    match = try TableMatch(opened, typed, table: nil, server: spellings)
    let own = match.plannedColumns.map { planned in
      ImportPlan.PlannedColumn(
        name: planned.name, identifier: planned.identifier, strictType: planned.strictType,
        strictNotation: planned.strictNotation, spelling: planned.spelling,
        missing: planned.missing, candidates: [],
        // A null goes into a column as null, even if the column has a default.
        isNullable: (known[planned.name]?.isNullable ?? true) && planned.isNullable, isNew: false,
        isGuessed: false)
    }
    ownCount = own.count
    columns = own + Self.extras(match.extras, known, options)
  }

  /// The table's columns for surplus fields: up to the first that it lacks.
  private static func extras(
    _ extras: ExtraColumns, _ known: [String: ServerTable.ServerColumn], _ options: ImportOptions
  ) -> [ImportPlan.PlannedColumn] {
    var columns: [ImportPlan.PlannedColumn] = []
    while options.ragged == .extend, let column = known[extras.name(columns.count)],
      !column.isGenerated
    {
      columns.append(
        .init(
          name: column.name, identifier: extras.identifier(columns.count),
          strictType: options.types == .text ? .text : column.type ?? .text,
          isNullable: column.isNullable, isNew: false, isGuessed: false))
    }
    return columns
  }

  /// The given types, and the table's. A `numeric` stores the spelling of any double, and `NaN`; amounts are
  /// read as decimals.
  private static func types(
    _ names: [String], _ known: [String: ServerTable.ServerColumn], _ options: ImportOptions,
    _ found: TableMatch
  ) -> [String: ColumnType] {
    let amounts = found.plannedColumns.filter { column in
      column.strictType == .decimal || column.candidates.contains { $0.reading.type == .decimal }
    }.map(\.name)
    var types: [String: ColumnType] = [:]
    for name in names {
      types[name] = known[name]?.type ?? .text
      if known[name]?.isNumeric == true, amounts.contains(name) { types[name] = .decimal }
    }
    switch options.types {
    case .infer: break
    case .text: for name in names { types[name] = .text }
    case .named(let given): types.merge(given) { _, given in given }
    }
    return types
  }

  private static func unknown(_ name: String, _ table: ServerTable, _ server: String) -> ServerError
  {
    let similar = table.columns.first { $0.name.lowercased() == name.lowercased() }
    let advice =
      similar.map { "; did you mean '\($0.name)'? --rename '\(name):\($0.name)' takes it" }
      ?? "; leave it out with --columns, give it another name with --rename, or have it added with "
      + "--new-columns"
    let shown = table.columns.prefix(20).map(\.name).joined(separator: ", ")
    return ServerError(
      .usage,
      "\(server): table \(table.shown) has no column '\(name)' [42703]; it has: \(shown)"
        + (table.columns.count > 20 ? ", ..." : "") + advice)
  }

  /// A digest of everything that decides how a record of the input is loaded.
  func digest(_ opened: InputPlanner.Opened, _ options: ImportOptions) -> LoadDigest {
    var writer = ByteWriter()
    writer.append(OptionsDigest(options: options).whole(opened, keys: options.keys))
    writer.append(UInt64(bitPattern: Int64(options.limit ?? -1)))
    // Without the columns for surplus fields: other inputs may add some.
    for column in columns[..<ownCount] {
      writer.append(column.name)
      writer.append(column.strictType?.rawValue ?? 0)
      writer.append(column.strictNotation?.description ?? "")
      writer.append(column.isNullable)
      for null in column.missing?.spellings ?? [] {
        writer.append(String(decoding: null, as: UTF8.self))
      }
    }
    return LoadDigest(
      whole: RangeChecksum.text(Checksum.of(writer.bytes)),
      given: OptionsDigest(options: options).given)
  }
}

extension ImportOptions {
  /// Whether the user has given the type of a column.
  fileprivate func tellsType(of name: String) -> Bool {
    switch types {
    case .infer: false
    case .text: true
    case .named(let given): given[name] != nil
    }
  }
}
