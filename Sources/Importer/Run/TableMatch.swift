import Engine

/// Matches the columns of an input with those of its table, by name.
struct TableMatch {
  /// The fields of a record that become columns; nil: all.
  let fields: [Int]?
  let plannedColumns: [ImportPlan.PlannedColumn]
  /// The columns of the primary key, given or existing, in the key's order.
  let keyColumns: [Int]
  let extras: ExtraColumns
  let types: ColumnTypes
  /// What points and commas in numbers mean.
  let marks: DecimalMarks
  /// Notes about the first records, with the columns' names.
  let columnNotes: [(column: String, note: String)]
  /// Conditions for every record.
  let rules: [ImportPlan.PlannedRule]
  /// The condition for records to be imported.
  let filter: ImportPlan.PlannedFilter?

  /// - Parameters:
  ///   - table: the existing table; nil when it is to be created.
  ///   - isResuming: true when an earlier run of this import has written to it.
  ///   - server: what the first records show of columns whose types are those of a server.
  ///   - appliesRules: false when the types are not yet those with which values are compared.
  /// - Throws: `ImportError.noSuchColumn` for a type, format or key of a column that does not exist,
  ///   `.missingColumn` for one that only the table has, `.invalidOption` when the table's types or nulls do
  ///   not allow the input.
  init(
    _ opened: InputPlanner.Opened, _ options: ImportOptions, table: TableContents?,
    isResuming: Bool = false, server: [String: ServerSpelling] = [:], appliesRules: Bool = true
  ) throws {
    let choice = try Self.choice(opened, options, table)
    let names = choice.names + opened.added.names
    let (options, schema) = (Self.typed(options, opened, choice, table?.schema), table?.schema)
    let compared = appliesRules ? options.comparedColumns : []
    for name in options.namedColumns where !names.contains(name) {
      throw Self.missing(name, names, opened, options, table)
    }
    let keys = try Self.keys(names, opened, options, table)
    keyColumns = keys
    var nextIdentifier = schema.map { $0.nextColumnID } ?? 1
    var (columns, states): ([ImportPlan.PlannedColumn], [ColumnTypes.State]) = ([], [])
    var notes: [(column: String, note: String)] = []
    let keepsValues = table.map { $0.count > 0 } ?? false && !options.truncate
    let drafts: [Draft]
    (drafts, marks) = try Self.drafts(
      names, keys, choice, opened, options, table, server, keepsValues, compared)
    for (position, name) in names.enumerated() {
      let draft = drafts[position]
      let (index, stored, type) = (draft.index, draft.stored, choice.type(position, opened))
      var reader = draft.reader
      if let type, draft.known?.notation == nil { reader.takeQueried(type) }
      var state = ColumnTypes.State(reader)
      let evolves = options.schemaPolicy == .evolve && !draft.isDeclared && !compared.contains(name)
      let begun = evolves ? state.beginWidening(reader) : nil
      if let table, let index {
        let column = table.schema.columns[index]
        try state.fit(
          column, stored,
          .init(
            isGuessed: draft.isGuessed, isTold: reader.isTold, isResuming: isResuming,
            isKey: keys.contains(position)))
      }
      if let begun { state.goOnWidening(from: begun) }
      notes += Self.noteOfPoints(name, reader, state).map { (name, $0) }
      if options.schemaPolicy == .freeze, let index, let notation = schema?.columns[index].notation
      {
        state.strictNotation = notation
      }
      if let hint = reader.hint { notes.append((name, "column '\(name)': \(hint)")) }
      let own = index.flatMap { schema?.columns[$0] }
      let spelling = try Self.spelling(
        type, draft.known, state, begun, isKey: keys.contains(position))
      columns.append(
        Self.planned(
          name, own, index.flatMap { schema?.columnIDs[$0] } ?? nextIdentifier, state, reader,
          options, spelling, isKey: keys.contains(position)))
      if index == nil { nextIdentifier &+= 1 }
      states.append(state)
    }
    try Self.checkMissing(names, opened, options, table)
    fields = choice.fields
    plannedColumns = columns
    (rules, filter) =
      appliesRules ? try Self.conditions(options, columns, opened.sample) : ([], nil)
    columnNotes = notes
    extras = ExtraColumns(names, table, nextIdentifier: nextIdentifier)
    let extended = keepsValues && options.ragged == .extend ? table : nil
    types = try Self.types(states, extended, extras, isResuming: isResuming)
  }

  /// Notes about the first records.
  var notes: [String] { columnNotes.map(\.note) }

  /// How the values of a query are spelled for a column; nil: as they are.
  ///
  /// - Parameters:
  ///   - type: that of the query's values; nil: not known, or those of a file.
  ///   - known: the table's column, if it has values or a fixed type.
  ///   - begun: the type of which it may be widened; nil: its type is in `state`.
  /// - Throws: `ImportError.invalidOption` when the column would read some as others.
  private static func spelling(
    _ type: ColumnType?, _ known: Column?, _ state: ColumnTypes.State, _ begun: Reading?,
    isKey: Bool
  ) throws(ImportError) -> QuerySpelling? {
    guard let type, state.strictType != .text else { return nil }
    if let known, QuerySpelling.mayBeMisread(type, known) {
      let spelled = known.notation?.description ?? ""
      throw .invalidOption(
        "column '\(known.name)' of the table has whole numbers, spelled '\(spelled)', and those of the "
          + "query may have decimal points: cast them to bigint in the query, take them as text with "
          + "\(ColumnList.types(known.name, "text")), or make the column text with sheaf alter --type"
      )
    }
    let stored = known.flatMap { $0.notation == nil ? nil : $0.reading }
    let reading = state.strictType.map { Reading($0, state.strictNotation) } ?? stored ?? begun
    return reading.flatMap { QuerySpelling(type, $0, isKey: isKey) }
  }

  /// The note about a column of doubles that the options make text.
  private static func noteOfPoints(
    _ name: String, _ reader: ColumnNotation, _ state: ColumnTypes.State
  ) -> [String] {
    guard reader.refusesPoints, let before = state.knownType, before != .text,
      state.type == .text, state.strictType == nil
    else { return [] }
    return [
      "column '\(name)' was \(before.name) and is text now: its values in the table have points, which "
        + "--decimal or --thousands gives another meaning"
    ]
  }

  /// What is known about a column alone, and how it is read beside the others.
  private struct Draft {
    var reader: ColumnNotation
    /// Its index in the table.
    let index: Int?
    /// The table's column, if it has values or a fixed type.
    let known: Column?
    let stored: StoredColumn?
    let isGuessed: Bool
    let isDeclared: Bool
  }

  private static func drafts(
    _ names: [String], _ keys: [Int], _ choice: ColumnChoice, _ opened: InputPlanner.Opened,
    _ options: ImportOptions, _ table: TableContents?, _ server: [String: ServerSpelling],
    _ keepsValues: Bool, _ compared: Set<String>
  ) throws -> ([Draft], DecimalMarks) {
    let schema = table?.schema
    let guessed = table?.note(GuessedColumns.note).map(ColumnNumbers.decode) ?? []
    let declared = try declared(table, options)
    var drafts: [Draft] = []
    var marks = DecimalMarks()
    for (position, name) in names.enumerated() {
      let index = schema?.index(of: name)
      let isDeclared = index.flatMap { schema?.columnIDs[$0] }.map(declared.contains) ?? false
      let own = try options.keeping(index.flatMap { schema?.columns[$0] }, isDeclared: isDeclared)
      let isGuessed = isGuessed(index, schema, guessed)
      let stored = try keepsValues ? stored(index, table) : nil
      let sample = sample(position, choice, opened)
      let hasValues = stored.map { !$0.classes.isEmpty } ?? false
      let known = index.flatMap { hasValues || !isGuessed ? schema?.columns[$0] : nil }
      var reader = try ColumnNotation(
        name, own, delimiter: opened.dialect.delimiter.first, isKey: keys.contains(position),
        sample: sample, stored: known,
        unused: known == nil ? index.flatMap { schema?.columns[$0] } : nil,
        isCompared: compared.contains(name), server: server[name])
      if options.newerThan == name, compared.contains(name) { try reader.order(name, sample) }
      // The points of a query are decimal ones.
      marks.add(
        reader, sample.fields, stored: known,
        hasPoints: keys.contains(position) || opened.types != nil)
      drafts.append(
        Draft(
          reader: reader, index: index, known: known, stored: stored, isGuessed: isGuessed,
          isDeclared: isDeclared))
    }
    marks.finish()
    for place in drafts.indices {
      drafts[place].reader = marks.settled(
        drafts[place].reader, at: place, isNew: drafts[place].known == nil)
    }
    return (drafts, marks)
  }

  /// The indices of the key's columns.
  ///
  /// - Throws: `ImportError.missingColumn` for a column that the input lacks.
  private static func keys(
    _ names: [String], _ opened: InputPlanner.Opened, _ options: ImportOptions,
    _ table: TableContents?
  ) throws(ImportError) -> [Int] {
    // For a table with a key, the options name the same key.
    let own = table?.keyColumns ?? []
    if let key = own.first(where: { !names.contains($0) }) {
      throw missing(key, names, opened, options, table, neededBy: "is in the table's key")
    }
    return (own.isEmpty ? options.keys : own).compactMap { names.firstIndex(of: $0) }
  }

  /// The options with the types that the input itself gives to its columns. An existing column of another
  /// type is matched as for a file.
  private static func typed(
    _ options: ImportOptions, _ opened: InputPlanner.Opened, _ choice: ColumnChoice,
    _ schema: TableSchema?
  ) -> ImportOptions {
    guard opened.types != nil, options.types != .text else { return options }
    var types: [String: ColumnType] = [:]
    for (position, name) in choice.names.enumerated() {
      let stored = schema?.index(of: name).flatMap { schema?.columns[$0].type }
      guard let type = choice.type(position, opened), stored ?? type == type else { continue }
      types[name] = type
    }
    if case .named(let given) = options.types { types.merge(given) { _, given in given } }
    var typed = options
    typed.types = .named(types)
    return typed
  }

  private static func sample(
    _ position: Int, _ choice: ColumnChoice, _ opened: InputPlanner.Opened
  ) -> FieldSample.ColumnSample {
    guard position < choice.names.count else {
      return .init(fields: opened.added.columns[position - choice.names.count].sample)
    }
    return opened.sample.column(choice.fields?[position] ?? position)
  }

  /// Returns whether the type of a column was not chosen by a user, or the column is to be created.
  private static func isGuessed(
    _ index: Int?, _ schema: TableSchema?, _ guessed: Set<UInt32>
  ) -> Bool {
    guard let index, let schema else { return true }
    return guessed.contains(schema.columnIDs[index]) && schema.columns[index].default == nil
  }

  private static func stored(_ index: Int?, _ table: TableContents?) throws -> StoredColumn? {
    guard let index, let table else { return nil }
    return try StoredColumn(table, index)
  }

  /// - Parameter stored: the table's column; nil when it is to be created.
  private static func planned(
    _ name: String, _ stored: Column?, _ identifier: UInt32, _ state: ColumnTypes.State,
    _ notation: ColumnNotation, _ options: ImportOptions, _ spelling: QuerySpelling?, isKey: Bool
  ) -> ImportPlan.PlannedColumn {
    ImportPlan.PlannedColumn(
      name: name, identifier: identifier, strictType: state.strictType,
      strictNotation: state.strictNotation, spelling: spelling, missing: notation.missing,
      candidates: state.candidates,
      isNullable: stored?.isNullable ?? true && !isKey && !options.requiredColumns.contains(name),
      isNew: stored == nil,
      isGuessed: stored == nil && (!notation.isTypeTold || options.types == .text))
  }

  /// - Throws: `ImportError.invalidOption` for conditions that the columns' types do not allow.
  private static func conditions(
    _ options: ImportOptions, _ columns: [ImportPlan.PlannedColumn], _ sample: FieldSample
  ) throws(ImportError) -> ([ImportPlan.PlannedRule], ImportPlan.PlannedFilter?) {
    do {
      return (try rules(options.rules, columns), try filter(options.filter, columns))
    } catch {
      // A day without records says nothing of the types, and has none that could be tested.
      if sample.isWithoutRecords { return ([], nil) }
      throw error
    }
  }

  private static func rules(
    _ rules: [RecordRule], _ columns: [ImportPlan.PlannedColumn]
  ) throws(ImportError) -> [ImportPlan.PlannedRule] {
    var planned: [ImportPlan.PlannedRule] = []
    for rule in rules {
      do {
        let test = try RecordTest(.not(rule.predicate), columns.map(\.definition))
        planned.append(.init(expression: rule.expression, refusal: test))
      } catch {
        throw .invalidOption(
          "--check '\(rule.expression)': \(error); columns have the types of their first values, or of "
            + "--types NAME:TYPE")
      }
    }
    return planned
  }

  /// - Throws: `ImportError.invalidOption` for a filter that the columns' types do not allow.
  private static func filter(
    _ filter: RecordRule?, _ columns: [ImportPlan.PlannedColumn]
  ) throws(ImportError) -> ImportPlan.PlannedFilter? {
    guard let filter else { return nil }
    do {
      let test = try RecordTest(filter.predicate, columns.map(\.definition))
      let names = filter.predicate.columnNames
      return .init(test: test, columns: columns.indices.filter { names.contains(columns[$0].name) })
    } catch {
      throw .invalidOption(
        "--where '\(filter.expression)': \(error); columns have the types of their first values, or of "
          + "--types NAME:TYPE")
    }
  }

  /// - Throws: `ImportError.missingColumn` for a column that every object requires and the input lacks.
  private static func checkMissing(
    _ names: [String], _ opened: InputPlanner.Opened, _ options: ImportOptions,
    _ table: TableContents?
  ) throws {
    // In other columns objects get the default, which is useless in a key.
    if let missing = table?.schema.columns.first(where: {
      !$0.isNullable && !names.contains($0.name)
        && ($0.default == nil || table?.keyColumns.contains($0.name) == true)
    }) {
      throw Self.missing(
        missing.name, names, opened, options, table, neededBy: "the table requires")
    }
  }

  /// The types of the columns, and of the table's columns for surplus fields.
  ///
  /// - Parameter table: nil when there are no such fields, or its values do not stay.
  private static func types(
    _ own: [ColumnTypes.State], _ table: TableContents?, _ extras: ExtraColumns, isResuming: Bool
  ) throws -> ColumnTypes {
    guard let table else { return ColumnTypes(own) }
    var states = own
    var awaited = try Self.states(of: extras, table, isResuming: isResuming)
    // Those after a gap come with the first record that has a field for them.
    while let state = awaited.removeValue(forKey: states.count - own.count) {
      states.append(state)
    }
    return ColumnTypes(
      states,
      awaited: Dictionary(
        awaited.map { ($0 + own.count, $1) }, uniquingKeysWith: { first, _ in first }))
  }

  /// The table's columns for surplus fields, by the index of the field.
  private static func states(
    of extras: ExtraColumns, _ table: TableContents, isResuming: Bool
  ) throws -> [Int: ColumnTypes.State] {
    var states: [Int: ColumnTypes.State] = [:]
    for (field, identifier) in extras.existing {
      guard let index = table.schema.columnIDs.firstIndex(of: identifier) else { continue }
      var state = ColumnTypes.State()
      try state.fit(
        table.schema.columns[index], StoredColumn(table, index),
        .init(isGuessed: true, isTold: false, isResuming: isResuming))
      states[field] = state
    }
    return states
  }

  /// The number of the column for a field of a record, including surplus fields.
  func identifier(_ index: Int) -> UInt32 {
    index < plannedColumns.count
      ? plannedColumns[index].identifier : extras.identifier(index - plannedColumns.count)
  }

  private static func choice(
    _ opened: InputPlanner.Opened, _ options: ImportOptions, _ table: TableContents?
  ) throws(ImportError) -> ColumnChoice {
    do throws(ImportError) {
      return try ColumnChoice(opened.header.names, options)
    } catch {
      guard case .noSuchColumn(let name, let known) = error,
        table?.schema.index(of: options.renames[name] ?? name) != nil
      else { throw error }
      throw .missingColumn(path: opened.source.name, name: name, known: known)
    }
  }

  /// The error for a column that options name, or the table requires: a usage error if neither the input nor
  /// the table has it, or `columns` leaves it out; an error of the input if the table has it.
  private static func missing(
    _ name: String, _ names: [String], _ opened: InputPlanner.Opened, _ options: ImportOptions,
    _ table: TableContents?, neededBy need: String = "another option names"
  ) -> ImportError {
    if opened.header.names.contains(where: { (options.renames[$0] ?? $0) == name }) {
      return .invalidOption(
        "--columns leaves out '\(name)', which \(need): list it there too")
    }
    return table?.schema.index(of: name) == nil
      ? .noSuchColumn(name: name, known: names)
      : .missingColumn(path: opened.source.name, name: name, known: names)
  }

  /// The numbers of the columns that a program has declared; none when it has not declared the table.
  private static func declared(
    _ table: TableContents?, _ options: ImportOptions
  ) throws -> Set<UInt32> {
    guard let table, let note = table.note(DeclaredColumns.note) else { return [] }
    if !options.keys.isEmpty, table.keyColumns.isEmpty {
      throw ImportError.invalidOption(
        "a program has declared table '\(table.name)' without a key, and would not open the file with "
          + "the key '\(options.keys.joined(separator: ", "))': leave --key out, or name another table with "
          + "--table"
      )
    }
    return ColumnNumbers.decode(note)
  }
}

extension ColumnChoice {
  /// The type that the input itself gives to a column; nil: none.
  fileprivate func type(_ position: Int, _ opened: InputPlanner.Opened) -> ColumnType? {
    guard let types = opened.types, position < names.count else { return nil }
    let field = fields?[position] ?? position
    return types.indices.contains(field) ? types[field] : nil
  }
}

extension ImportOptions {
  /// The columns with compared values, by their names in the table; they keep their types.
  fileprivate var comparedColumns: Set<String> {
    Set(
      (rules + [filter].compactMap(\.self)).flatMap(\.predicate.columnNames)
        + [newerThan].compactMap(\.self))
  }

  /// The columns named in options, by their names in the table.
  fileprivate var namedColumns: [String] {
    var named = dateFormats.compactMap(\.column)
    if case .named(let types) = types { named += types.keys.sorted() }
    return named + keys + requiredColumns + comparedColumns.sorted()
  }

  /// The options for a column whose type is fixed because a program has declared it or the schema is frozen.
  fileprivate func keeping(_ column: Column?, isDeclared: Bool) throws -> ImportOptions {
    var own = self
    if let column {
      if isDeclared { try own.keepType(of: column) }
      if schemaPolicy == .freeze { try own.freezeType(of: column) }
    }
    return own
  }

  /// Makes a column keep its type.
  fileprivate mutating func freezeType(of column: Column) throws {
    if case .named(let types) = types, let told = types[column.name], told != column.type {
      throw ImportError.invalidOption(
        "column '\(column.name)' of the table is \(column.type.name), not \(told.name), and --schema "
          + "freeze keeps "
          + "it: leave it out of --types")
    }
    types = .named([column.name: column.type])
    dateFormats.removeAll { $0.column == column.name }
  }

  /// Makes a declared column keep its type, since the program would not open the file with another type.
  fileprivate mutating func keepType(of column: Column) throws {
    if case .named(let types) = types, let told = types[column.name], told != column.type {
      throw ImportError.invalidOption(
        "a program has declared column '\(column.name)' of the table as \(column.type.name), not "
          + "\(told.name): leave it out of --types")
    }
    types = .named([column.name: column.type])
  }
}
