import Engine

/// Writes batches into a table of a Sheaf database.
final class DatabaseDestination: Destination {
  private let transaction: ImportTransaction
  private let plan: ImportPlan
  private let keyed: KeyedAppender
  /// The version of the table in which parsers look up their rows.
  let keys: SharedKeyView?
  /// Bytes of input since that version was replaced.
  private var bytesSinceView = 0
  /// A held version keeps its pages from reuse, so it is replaced after this many bytes of input.
  private static let viewedBytes = 2 << 20
  /// This import's checkpoint in the table; nil when there is none yet.
  private var stored: Checkpoint?
  private let truncates: Bool
  private let keepsContents: Bool
  private let path: String
  private let isLastInput: Bool
  /// The table's schema when the import was planned; nil when there was no table.
  private var expected: TableSchema?
  private var isFirst = true
  /// A completely imported input with the same contents under another path.
  private(set) var twin: Checkpoint?

  /// - Parameters:
  ///   - goesOnFrom: the import's checkpoint in the table.
  ///   - keepsContents: whether an earlier input with the same path can still be recognized by its contents.
  ///   - input: the input's path, as given or found.
  ///   - isLastInput: whether no further input follows.
  init(
    _ transaction: ImportTransaction, plan: ImportPlan, conflict: ConflictRule,
    expected: TableSchema?, goesOnFrom: Checkpoint?, truncates: Bool, keepsContents: Bool,
    input: String, isLastInput: Bool
  ) {
    self.transaction = transaction
    self.plan = plan
    keyed = KeyedAppender(conflict, plan, transaction.changes, transaction.seen)
    keys = plan.keyColumns.isEmpty ? nil : SharedKeyView()
    self.expected = expected
    stored = goesOnFrom
    transaction.goesOn = goesOnFrom.map { !$0.isComplete } ?? false
    self.truncates = truncates
    self.keepsContents = keepsContents
    path = input
    self.isLastInput = isLastInput
  }

  private var tableName: String { transaction.tableName }
  private var table: WritableTable? { transaction.table }

  var bytesWritten: Int { transaction.database.bytesWritten }

  func begin() throws {
    let isNew = isFirst && expected == nil
    let isThere = try transaction.begin(
      creating: isNew ? plan.columns.map(\.definition) : nil,
      keys: plan.keyColumns.map { plan.columns[$0].name })
    guard isThere else { throw changed() }
    guard let editor = table?.editor else { return }
    if !isNew, editor.schema != expected { throw changed() }
    // If others have not written, the stored checkpoint still exists.
    if transaction.followsOthers, let stored, try transaction.memory?.contains(stored) == false {
      throw changed()
    }
    try renewKeys(editor)
    if isFirst {
      if truncates { try transaction.truncate() }
      try editor.rememberSurplus(
        before: plan.columns.filter(\.isNew).map(\.name), isNew: expected == nil)
      if expected != nil {
        for column in plan.columns where column.isNew {
          try editor.addColumn(column.definition)
        }
      }
      try editor.addGuessed(plan.columns.filter(\.isGuessed).map(\.identifier))
      try setKey(editor)
    }
  }

  /// Gives the parsers a newer version of the table, when much has changed since the current one.
  private func renewKeys(_ editor: TableEditor) throws {
    guard let keys else { return }
    if let view = keys.view, bytesSinceView < Self.viewedBytes, !view.isOutdated(editor) { return }
    guard let view = try transaction.keyView() else { return }
    keys.view = view
    bytesSinceView = 0
  }

  /// Sets the primary key from the options for a table without one.
  private func setKey(_ editor: TableEditor) throws {
    guard !plan.keyColumns.isEmpty, editor.schema.keyColumns.isEmpty else { return }
    let columns = plan.keyColumns.compactMap { editor.schema.index(of: plan.columns[$0].name) }
    guard columns.count == plan.keyColumns.count else { return }
    do {
      try editor.refuseUnfitKeys(columns: columns)
      try editor.setKey(columns: columns)
    } catch let error as EngineError {
      // The option is wrong, not the data of the input.
      if case .invalidKey = error { throw ImportError.invalidOption("--key: \(error)") }
      throw error
    }
  }

  /// Another process or thread has written to the table between two batches.
  private func changed() -> EngineError {
    .busy(
      path: transaction.database.path,
      reason: "table '\(tableName)' was changed by somebody else during the import; "
        + (isFirst && stored == nil ? "run it again" : "run it again with --resume"))
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

  func append(
    _ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool, isTentative: Bool
  ) throws -> KeyedOutcome {
    guard let editor = table?.editor else { return KeyedOutcome() }
    try addColumns(rows.columnCount, editor)
    if range.lowerBound == 0 { bytesSinceView += rows.chunk.byteCount }
    return try keyed.append(
      rows, range, editor, summarizes: summarizes, isTentative: isTentative)
  }

  /// The index in a row of the input for each of the table's columns; nil: the input lacks it.
  private func columnOrder(_ columnCount: Int, _ schema: TableSchema) -> [Int?] {
    var positions: [UInt32: Int] = [:]
    for index in 0..<columnCount { positions[plan.identifier(index)] = index }
    return schema.columnIDs.map { positions[$0] }
  }

  /// Adds columns for new surplus fields.
  private func addColumns(_ columnCount: Int, _ editor: TableEditor) throws {
    let surplus = plan.columns.count..<max(plan.columns.count, columnCount)
    if surplus.isEmpty { return }
    let schema = editor.schema
    try editor.addSurplus(surplus.map(plan.name).filter { schema.index(of: $0) == nil })
  }

  func hasLargeIntegers(inColumn identifier: UInt32) throws -> Bool {
    guard let table, let index = table.editor.schema.columnIDs.firstIndex(of: identifier) else {
      return false
    }
    return try TableContents(table).hasLargeIntegers(inColumn: index)
  }

  func commit(
    _ types: ColumnTypes, _ checkpoint: Checkpoint, mayJoin: Bool
  ) throws -> BatchOutcome {
    guard let editor = table?.editor else { return .waits }
    try addColumns(types.states.count, editor)
    let known = editor.schema
    let changes = types.states.enumerated().compactMap { index, state in
      known.index(of: plan.name(index)).map { (column: $0, reading: state.reading) }
    }.filter { known.columns[$0.column].reading != $0.reading }
    // The types follow from values that were there when the input was begun, and from its own.
    if transaction.isDisturbed {
      for change in changes {
        let name = known.columns[change.column].name
        let misfits = try table?.misfits(name, as: change.reading, most: 1).count ?? 0
        if misfits > 0 { throw changed() }
      }
    }
    // All at once, since each change of the schema copies it.
    if !changes.isEmpty { try editor.widen(changes) }
    let own = checkpoint.asStored
    let memory = transaction.memory
    if own.isComplete { twin = try memory?.twin(of: own) }
    try memory?.store(own, replacing: stored, isFirst: isFirst, keepsContents: keepsContents)
    let schema = editor.schema
    transaction.journal.note(own, of: path, isFirst: isFirst, from: stored)
    let outcome = try transaction.commitBatch(
      isLast: isLastInput && own.isComplete, mayJoin: mayJoin)
    expected = schema
    stored = own
    isFirst = false
    return outcome
  }

  func commitJoined() throws { try transaction.commitJoined() }

  func rollBack() { transaction.rollBack() }
}

extension TableEditor {
  /// Adds rows of spellings whose columns have another order than the table's.
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
