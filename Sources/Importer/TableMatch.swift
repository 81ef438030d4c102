import Engine

/// Matches the columns of an input with those of the table it goes into, by name.
struct TableMatch {
  let plannedColumns: [ImportPlan.PlannedColumn]
  /// Which of them is the primary key, given or there already.
  let keyColumn: Int?
  let extras: ExtraColumns
  let types: ColumnTypes

  /// - Parameter table: the table as it is; nil when it is to be created.
  /// - Throws: `ImportError.noSuchColumn` for a type or key given to a column that is not there,
  ///   `.invalidOption` when the table's own types or nulls do not allow the input.
  init(_ header: Header, _ options: ImportOptions, table: Table?) throws {
    let names = header.names
    if case .named(let types) = options.types {
      for name in types.keys where !names.contains(name) {
        throw ImportError.noSuchColumn(name: name, known: names)
      }
    }
    if let key = options.key, !names.contains(key) {
      throw ImportError.noSuchColumn(name: key, known: names)
    }
    let schema = table?.schema
    keyColumn = (options.key ?? table?.keyColumn).flatMap { names.firstIndex(of: $0) }
    var nextIdentifier = schema.map { $0.nextColumnID } ?? 1
    var columns: [ImportPlan.PlannedColumn] = []
    var states: [ColumnTypes.State] = []
    let keepsValues = table.map { $0.count > 0 } ?? false && !options.truncate
    let guessed = table?.note(GuessedColumns.note).map(GuessedColumns.decode) ?? []
    for (position, name) in names.enumerated() {
      let strict: ColumnType? =
        switch options.types {
        case .infer: nil
        case .text: .text
        case .named(let types): types[name]
        }
      var state = ColumnTypes.State(strictType: strict)
      if let schema, let index = schema.index(of: name) {
        let column = schema.columns[index]
        if keepsValues {
          if let strict, strict != column.type, strict != .text {
            throw ImportError.invalidOption(
              "column '\(name)' of the table is \(column.type.name), not \(strict.name): "
                + "leave it out of --types, or use --truncate")
          }
          if strict == nil { state.classes = try table?.classes(ofColumn: index) ?? [] }
        }
        if strict == nil {
          // In an emptied table a type that an import has guessed may be guessed anew; one that somebody
          // has chosen stays, and is widened at most.
          if !guessed.contains(schema.columnIDs[index]) || column.default != nil {
            state.classes.formUnion(column.type.class)
          }
          // Bytes take everything.
          if column.type == .data { state.strictType = .data }
          state.sampled = state.classes
          state.isKnown = !state.classes.isEmpty
        }
        columns.append(
          ImportPlan.PlannedColumn(
            name: name, identifier: schema.columnIDs[index], strictType: state.strictType,
            isNullable: column.isNullable && position != keyColumn, isNew: false,
            isGuessed: false))
      } else {
        var isGuessed = true
        if case .named = options.types { isGuessed = strict == nil }
        columns.append(
          ImportPlan.PlannedColumn(
            name: name, identifier: nextIdentifier, strictType: strict,
            isNullable: position != keyColumn, isNew: true, isGuessed: isGuessed))
        nextIdentifier &+= 1
      }
      states.append(state)
    }
    // Elsewhere objects get the default; of a key one is of no use.
    if let missing = schema?.columns.first(where: {
      !$0.isNullable && !names.contains($0.name)
        && ($0.default == nil || $0.name == table?.keyColumn)
    }) {
      throw ImportError.invalidOption(
        "the table's column '\(missing.name)' may not be null, and the input does not have it")
    }
    plannedColumns = columns
    extras = Self.extras(names, schema, nextIdentifier)
    if let table, keepsValues, options.ragged == .extend {
      for extra in extras.existing {
        var state = ColumnTypes.State()
        state.classes = try table.schema.index(of: extra.name).map(table.classes) ?? []
        state.sampled = state.classes
        states.append(state)
      }
    }
    types = ColumnTypes(states)
  }

  private static func extras(_ names: [String], _ schema: TableSchema?, _ next: UInt32)
    -> ExtraColumns
  {
    var existing: [(name: String, identifier: UInt32)] = []
    if let schema {
      while let index = schema.index(of: "extra\(existing.count + 1)"),
        !names.contains("extra\(existing.count + 1)")
      {
        existing.append(("extra\(existing.count + 1)", schema.columnIDs[index]))
      }
    }
    let taken = Set(names).union(schema?.columns.map(\.name) ?? [])
    return ExtraColumns(existing: existing, nextIdentifier: next, taken: taken)
  }
}

extension Table {
  /// What a column's stored values look like, from its type and the clusters' minima and maxima.
  fileprivate func classes(ofColumn index: Int) throws -> TypeSet {
    let column = schema.columns[index]
    switch column.type {
    // Without a value in it, a column may have no type of its own yet.
    case .text: return try hasValues(inColumn: index) ? .text : []
    case .bool, .date, .dateTime, .data, .double: return column.type.class
    case .int:
      var classes: TypeSet = []
      let limit: Int64 = 1 << 53
      try forEachLeaf { leaf in
        let stored = try leaf.statistics(id: schema.columnIDs[index])
        guard stored.nullCount < leaf.rowCount else { return }
        classes.formUnion(.int)
        guard let bounds = stored.integers, bounds.lowerBound >= -limit,
          bounds.upperBound <= limit
        else {
          classes.formUnion(.bigInt)
          return
        }
      }
      return classes
    }
  }

  private func hasValues(inColumn index: Int) throws -> Bool {
    var found = false
    try forEachLeaf { leaf in
      if found { return }
      found = try leaf.statistics(id: schema.columnIDs[index]).nullCount < leaf.rowCount
    }
    return found
  }
}

extension ColumnType {
  /// What values of the type look like.
  fileprivate var `class`: TypeSet {
    switch self {
    case .bool: .bool
    case .int: .int
    case .double: .double
    case .date: .date
    case .dateTime: .dateTime
    case .text, .data: .text
    }
  }
}
