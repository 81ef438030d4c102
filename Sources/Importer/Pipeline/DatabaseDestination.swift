import Engine

/// Writes batches into a table of a Sheaf database.
final class DatabaseDestination: Destination {
  private let database: Database
  private let tableName: String
  private let durability: Durability
  private let plan: ImportPlan
  private let keyed: KeyedAppender
  /// This import's checkpoint as the table has it; nil: it has none yet.
  private var stored: Checkpoint?
  private let truncates: Bool
  /// The table's schema when the import was planned; nil: there was no table.
  private var expected: TableSchema?
  private var transaction: WriteTransaction?
  private var table: WritableTable?
  private var isFirst = true

  /// - Parameter goesOnFrom: the checkpoint that the import was found to have in the table.
  init(
    _ database: Database, table: String, durability: Durability, plan: ImportPlan,
    policy: ConflictPolicy, expected: TableSchema?, goesOnFrom: Checkpoint?, truncates: Bool
  ) {
    self.database = database
    tableName = table
    self.durability = durability
    self.plan = plan
    keyed = KeyedAppender(policy, plan)
    self.expected = expected
    stored = goesOnFrom
    self.truncates = truncates
  }

  var bytesWritten: Int { database.bytesWritten }

  func begin() throws {
    transaction = try database.beginWrite()
    if isFirst, expected == nil {
      if transaction?.tableNames.contains(tableName) == true { throw changed() }
      try transaction?.createTable(
        tableName, columns: plan.columns.map(\.definition),
        key: plan.keyColumn.map { plan.columns[$0].name })
    }
    let table = try transaction?.table(tableName)
    self.table = table
    guard let editor = table?.editor else { return }
    if !isFirst || expected != nil, editor.schema != expected { throw changed() }
    if let stored,
      !checkpoints(editor, stored.isComplete ? Checkpoint.completeNote : Checkpoint.note)
        .contains(stored)
    {
      throw changed()
    }
    if isFirst {
      if truncates {
        try editor.deleteAll()
        // What earlier imports brought is gone: none of them is complete any more.
        try editor.setNote(Checkpoint.note, nil)
        try editor.setNote(Checkpoint.completeNote, nil)
      }
      if expected != nil {
        for column in plan.columns where column.isNew {
          try editor.addColumn(column.definition)
        }
      }
      try editor.addGuessed(plan.columns.filter(\.isGuessed).map(\.identifier))
      try setKey(editor)
    }
  }

  /// Gives a table its primary key that had none.
  private func setKey(_ editor: TableEditor) throws {
    guard let key = plan.keyColumn, editor.schema.keyColumn == nil,
      let column = editor.schema.index(of: plan.columns[key].name)
    else { return }
    do {
      try editor.setKey(column: column)
    } catch let error as EngineError {
      // What was asked for cannot be: no fault of the data that is to come.
      if case .invalidKey = error { throw ImportError.invalidOption("--key: \(error)") }
      throw error
    }
  }

  /// Another process or thread has written to the table between two batches.
  private func changed() -> EngineError {
    .busy(
      path: database.path,
      reason: "table '\(tableName)' was changed by somebody else during the import; "
        + (isFirst && stored == nil ? "run it again" : "run it again with --resume"))
  }

  /// The checkpoints that a note of the table has, the newest last.
  private func checkpoints(_ editor: TableEditor, _ note: String) -> [Checkpoint] {
    editor.note(note).flatMap(Checkpoint.decode) ?? []
  }

  /// Puts the import's checkpoint in the place of what the table remembers of this input.
  private func store(_ own: Checkpoint, _ editor: TableEditor) throws {
    // Read in this transaction: another import into the table may have added its own meanwhile.
    for note in [Checkpoint.note, Checkpoint.completeNote] {
      let isOwnNote = own.isComplete == (note == Checkpoint.completeNote)
      // A batch leaves the note of complete imports alone but for the first, which may take one back.
      if !isOwnNote, note == Checkpoint.completeNote, !isFirst { continue }
      let present = checkpoints(editor, note)
      let others = present.filter { $0.input.name != own.input.name && $0 != stored }
      if isOwnNote {
        try editor.setNote(note, Checkpoint.encode(others + [own]))
      } else if others.count < present.count {
        try editor.setNote(note, others.isEmpty ? nil : Checkpoint.encode(others))
      }
    }
  }

  func append(_ rows: BatchRows) throws {
    guard let editor = table?.editor else { return }
    switch rows {
    case .encoded(let cluster): try editor.append(cluster)
    case .spelled(let rows, let range):
      try addColumns(rows.columnCount, editor)
      try editor.append(
        rows, range, order: columnOrder(rows.columnCount, editor.schema))
    }
  }

  func hasConflicts(_ rows: KeyedRows) throws -> Bool {
    guard let editor = table?.editor else { return false }
    return try keyed.hasConflicts(rows, editor)
  }

  func append(_ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool) throws -> KeyedOutcome {
    guard let editor = table?.editor else { return KeyedOutcome() }
    try addColumns(rows.columnCount, editor)
    return try keyed.append(rows, range, editor, summarizes: summarizes)
  }

  /// Where each of the table's columns lies in a row of the input; nil: nowhere.
  private func columnOrder(_ columnCount: Int, _ schema: TableSchema) -> [Int?] {
    var positions: [UInt32: Int] = [:]
    for index in 0..<columnCount { positions[plan.identifier(index)] = index }
    return schema.columnIDs.map { positions[$0] }
  }

  /// Adds the columns for surplus fields that have come up.
  private func addColumns(_ columnCount: Int, _ editor: TableEditor) throws {
    for index in plan.columns.count..<max(plan.columns.count, columnCount)
    where editor.schema.index(of: plan.name(index)) == nil {
      try editor.addColumn(Column(plan.name(index), .text))
      try editor.addGuessed([plan.identifier(index)])
    }
  }

  func commit(_ types: ColumnTypes, _ checkpoint: Checkpoint) throws {
    guard let editor = table?.editor else { return }
    try addColumns(types.states.count, editor)
    let known = editor.schema
    let changes = types.states.enumerated().compactMap { index, state in
      known.index(of: plan.name(index)).map { (column: $0, reading: state.reading) }
    }.filter { known.columns[$0.column].reading != $0.reading }
    // All at once: each change of the schema copies it.
    if !changes.isEmpty { try editor.widen(changes) }
    let own = checkpoint.asStored
    try store(own, editor)
    let schema = editor.schema
    table = nil
    try transaction.take()?.commit(durability: durability)
    expected = schema
    stored = own
    isFirst = false
  }

  func rollBack() {
    table = nil
    transaction.take()?.rollBack()
  }

  func finish() throws {
    try database.flush()
  }
}

extension TableEditor {
  /// Adds rows of spellings whose columns stand in another order than the table's.
  fileprivate func append(_ rows: SpelledRows, _ range: Range<Int>, order: [Int?]) throws {
    var spans: [TextSpan] = []
    spans.reserveCapacity(range.count * order.count)
    for row in range {
      for column in order {
        spans.append(column.map { rows.spans[row * rows.columnCount + $0] } ?? .null)
      }
    }
    try rows.arena.withUnsafeBytes { arena in
      try spans.withUnsafeBufferPointer { spans in
        try append(
          arena: arena, spans: spans, rowCount: range.count,
          absent: order.indices.filter { order[$0] == nil })
      }
    }
  }
}
