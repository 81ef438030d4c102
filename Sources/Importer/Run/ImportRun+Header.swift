import Engine

/// Inputs whose first record may be a header.
extension ImportRun {
  /// Reads an input consistently with the table and the first input.
  func alike(_ file: InputFile, _ opened: InputPlanner.Opened) throws
    -> InputPlanner.Opened
  {
    let opened = try byPosition(file, opened)
    try checkShortHeader(file, opened)
    guard let first, options.header == .sniffed, opened.hasHeader != first.opened.hasHeader else {
      return opened
    }
    if first.opened.hasHeader, file.canBeReadAgain {
      let again = try open(file) { $0.header = .firstRecord }
      if again.header.names.contains(where: first.opened.header.names.contains) { return again }
    }
    throw ImportError.invalidOption(
      "\(file.name) seems to have \(opened.hasHeader ? "a" : "no") header, unlike \(first.name): "
        + "say so with --header yes or --header no, or import it by itself")
  }

  /// Refuses a header with one name less than the records have fields, if the existing table has these names.
  /// In a new table the first column would have the names of rows; here a name was probably lost, and all
  /// values would go into the column beside their own.
  ///
  /// - Throws: `ImportError.malformedHeader`.
  private func checkShortHeader(_ file: InputFile, _ opened: InputPlanner.Opened) throws {
    guard opened.isWithoutFirstName, let schema = tableSchema,
      let first = opened.header.names.first,
      schema.index(of: options.renames[first] ?? first) == nil
    else { return }
    throw ImportError.malformedHeader(
      position: SourcePosition(
        file: file.name, line: opened.report.skippedLines + 1, column: 1, byteOffset: 0),
      reason:
        "it has one name less than the records have fields, and table '\(tableName)' has no column "
        + "'\(first)' for the names of rows")
  }

  /// Reads an input by position when its first record was taken for names, although the table has none and
  /// the values fit: the record must not be lost.
  ///
  /// - Throws: `ImportError.unlikeTable` if they do not fit, or the input cannot be read again.
  private func byPosition(_ file: InputFile, _ opened: InputPlanner.Opened) throws
    -> InputPlanner.Opened
  {
    guard options.header == .sniffed, opened.hasHeader, !options.newColumns,
      let schema = tableSchema, let width = NumberedColumns.count(schema),
      !opened.header.names.contains(where: {
        schema.index(of: options.renames[$0] ?? $0) != nil
      })
    else { return opened }
    let unlike = TableDrift.Unlike(
      path: file.name, table: tableName, own: opened.header.names, schema: schema, similar: [:])
    let fields = opened.header.fields
    guard file.canBeReadAgain, fields.count == width, fits(fields, schema) else {
      throw unlike.doubtful
    }
    var again = try open(file) { $0.header = .absent }
    again.notes.append(
      "the first record, which begins with "
        + "'\((fields.compactMap(\.self).first ?? "").prefix(60))', was imported, since "
        + "the table's columns have no names; if it has the names, use --header yes --new-columns")
    return again
  }

  /// Returns whether the fields are values of the table's columns, by position.
  private func fits(_ fields: [String?], _ schema: TableSchema) -> Bool {
    fields.enumerated().allSatisfy { position, field in
      guard let field, !options.nulls.contains(field),
        let index = schema.index(of: "column\(position + 1)")
      else { return true }
      let reading = schema.columns[index].reading
      return reading.type == .data
        || Array(field.utf8).withUnsafeBytes { Value(spelling: $0, as: reading) != nil }
    }
  }
}
