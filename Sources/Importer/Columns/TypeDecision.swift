import Engine

/// Gives a column of a table a type after its values were imported, as an import with `--types` would.
/// Spellings are stored, so it only has to check that each of them is a value of the type.
///
/// Thread rule: that of the transaction.
package struct TypeDecision {
  /// The name of the column.
  package let column: String
  /// The new reading of its values.
  package let reading: Reading
  private let isKey: Bool

  private static let sampleValues = 1000

  /// Chooses the notation: none, that of the options, or that of the first values. A column that has the type
  /// already keeps its notation, unless the options set one.
  ///
  /// - Parameter options: `dateFormats`, `decimalMark` and `thousandsSeparator` apply.
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`; `ImportError.invalidOption` for invalid formats.
  package init(
    _ column: String, _ type: ColumnType, _ table: WritableTable, _ options: ImportOptions
  ) throws {
    self.column = column
    isKey = table.keyColumns.contains(column)
    guard let index = table.editor.schema.index(of: column) else {
      throw EngineError.noSuchColumn(
        table: table.name, column: column, known: table.columns.map(\.name))
    }
    let stored = table.editor.schema.columns[index]
    if stored.type == type, !Self.tellsNotation(options, column, type) {
      reading = stored.reading
      return
    }
    var sample: [[UInt8]] = []
    try table.editor.forEachSpelling(ofColumn: index) { _, _, spelling in
      if let spelling { sample.append(Array(spelling)) }
      return sample.count < Self.sampleValues
    }
    var options = options
    options.types = .named([column: type])
    let notation = try ColumnNotation(
      column, options, delimiter: 0x2C, isKey: isKey, sample: .init(fields: sample))
    reading = Reading(type, notation.strictNotation)
  }

  /// Returns whether options say how a column's values are spelled.
  private static func tellsNotation(
    _ options: ImportOptions, _ column: String, _ type: ColumnType
  ) -> Bool {
    switch type {
    case .int, .double, .decimal:
      options.decimalMark != nil || options.thousandsSeparator != nil || options.hasNoThousands
    case .date, .dateTime: options.dateFormats.contains { ($0.column ?? column) == column }
    case .bool, .time, .text, .data, .uuid: false
    }
  }

  /// The values that do not have the type.
  ///
  /// - Parameter most: the maximum number listed; all are counted.
  package func misfits(_ table: WritableTable, most: Int) throws -> (count: Int, first: [Misfit]) {
    try table.misfits(column, as: reading, most: most, isFit: isFit)
  }

  /// Gives the column the type, which imports then keep.
  ///
  /// - Returns: what has changed, in words; nil when nothing has.
  /// - Throws: `EngineError.invalidSchema`.
  package func apply(_ table: WritableTable) throws -> String? {
    let editor = table.editor
    guard let index = editor.schema.index(of: column) else { return nil }
    let before = editor.schema.columns[index].reading
    if before != reading { try table.setReading(column, to: reading, isFit: isFit) }
    var guessed = editor.note(GuessedColumns.note).map(ColumnNumbers.decode) ?? []
    let wasGuessed = guessed.remove(editor.schema.columnIDs[index]) != nil
    if wasGuessed { try editor.setNote(GuessedColumns.note, ColumnNumbers.encode(guessed)) }
    if before.type != reading.type { return "column '\(column)' is \(reading.type.name)" }
    if before != reading {
      return "column '\(column)' is read as "
        + (reading.notation.map { "'\($0)'" } ?? "\(reading.type.name) as usual")
    }
    return wasGuessed ? "column '\(column)' stays \(reading.type.name)" : nil
  }

  private func isFit(_ spelling: UnsafeRawBufferPointer) -> Bool {
    let isTyped = reading.type != .text && reading.type != .data
    return !(isKey && isTyped && KeySpelling.isUnfit(spelling, reading.type))
  }
}

/// The columns of a table that programs have declared, which must not be changed without these programs.
package enum DeclaredTable {
  /// The columns that a program has declared.
  package static func columns(_ table: WritableTable) -> Set<String> {
    guard let note = table.editor.note(DeclaredColumns.note) else { return [] }
    let numbers = ColumnNumbers.decode(note)
    let schema = table.editor.schema
    return Set(
      zip(schema.columnIDs, schema.columns).filter { numbers.contains($0.0) }.map(\.1.name))
  }
}
