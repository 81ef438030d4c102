import Engine

/// The differences between the columns of an input and those of its table. They must be reported, because
/// later it is unknown which columns the input had.
struct TableDrift {
  /// The notes for the report.
  let notes: [String]

  /// - Throws: `ImportError.unlikeTable` for an input that shares no column with the table, or has no names
  ///   and another width than a table without names.
  init(
    _ opened: InputPlanner.Opened, _ options: ImportOptions, _ schema: TableSchema, path: String,
    table: String
  ) throws(ImportError) {
    let own = opened.header.names
    let chosen = options.columns ?? own
    let inTable = Set(schema.columns.map(\.name))
    let added = chosen.filter { !inTable.contains(options.renames[$0] ?? $0) }
    let similar = Self.similar(added, options.renames, schema)
    let unlike = Unlike(path: path, table: table, own: chosen, schema: schema, similar: similar)
    if !options.newColumns {
      if added.count == chosen.count { throw unlike.error(hasHeader: opened.hasHeader) }
      try Self.checkWidth(opened, options, schema, unlike)
    }
    if options.schemaPolicy == .freeze {
      try Self.refuseDifferences(opened, options, schema, added: added, similar, unlike)
    }
    var notes: [String] = []
    let plain =
      added.filter { similar[$0] == nil }.map { options.renames[$0] ?? $0 }
      + opened.added.names.filter { !inTable.contains($0) }
    if !plain.isEmpty {
      notes.append(
        "the table does not have the \(Self.columns(plain)) yet: "
          + (plain.count == 1 ? "it is added" : "they are added"))
    }
    for name in added {
      guard let other = similar[name] else { continue }
      notes.append(
        "column '\(options.renames[name] ?? name)' is added beside the table's column '\(other)', whose name "
          + "differs in case or "
          + "blanks only; if they are the same: \(Self.rename([(name, other)]))")
    }
    let present = Set(own.map { options.renames[$0] ?? $0 } + opened.added.names)
    let missing = schema.columns.filter {
      !present.contains($0.name)
        && (options.ragged != .extend || !NumberedColumns.isExtra($0.name))
    }
    if !missing.isEmpty {
      notes.append(
        "the input does not have the table's \(Self.columns(missing.map(\.name))): "
          + (options.conflictPolicy == .replace
            ? "new and replaced objects get " : "new objects get ")
          + (missing.allSatisfy { $0.default == nil }
            ? "null there"
            : missing.allSatisfy { $0.default != nil }
              ? "the default there" : "the default there, or null"))
    }
    self.notes = notes
  }

  /// - Throws: `ImportError.unlikeTable` with all differences, if there are any.
  private static func refuseDifferences(
    _ opened: InputPlanner.Opened, _ options: ImportOptions, _ schema: TableSchema, added: [String],
    _ similar: [String: String], _ unlike: Unlike
  ) throws(ImportError) {
    let names = Set(schema.columns.map(\.name))
    let more =
      added.map { options.renames[$0] ?? $0 } + opened.added.names.filter { !names.contains($0) }
    // An import with a list of columns leaves others out on purpose.
    let own = Set(opened.header.names.map { options.renames[$0] ?? $0 } + opened.added.names)
    let missing =
      options.columns == nil ? schema.columns.map(\.name).filter { !own.contains($0) } : []
    if more.isEmpty, missing.isEmpty { return }
    func list(_ names: [String]) -> String {
      (names.count == 1 ? "column " : "columns ") + names.map { "'\($0)'" }.joined(separator: ", ")
    }
    var differences: [String] = []
    if !more.isEmpty { differences.append("the table does not have the \(list(more))") }
    if !missing.isEmpty { differences.append("the input does not have the \(list(missing))") }
    let pairs = added.compactMap { name in similar[name].map { (name, $0) } }
    throw .unlikeTable(
      path: unlike.path, table: unlike.table,
      reason: "--schema freeze lets nothing differ, and " + differences.joined(separator: "; ")
        + (pairs.isEmpty ? "" : "; if they are the same: \(rename(pairs))")
        + "; nothing of this input was imported")
  }

  /// Checks the width of an input for a table without names. Records without names are allowed if an option
  /// says so; another width means another table.
  private static func checkWidth(
    _ opened: InputPlanner.Opened, _ options: ImportOptions, _ schema: TableSchema, _ unlike: Unlike
  ) throws(ImportError) {
    guard !opened.hasHeader, options.header == .sniffed || options.header == .absent,
      options.columns == nil, options.renames.isEmpty,
      let width = NumberedColumns.count(schema)
    else { return }
    let count = opened.header.names.count
    if count == width || count < width && options.ragged != .reject { return }
    throw unlike.width(count, width)
  }

  /// For some columns of the input, those of the table whose names differ only in case and blanks.
  private static func similar(
    _ names: [String], _ renames: [String: String], _ schema: TableSchema
  ) -> [String: String] {
    if names.isEmpty { return [:] }
    let known = Dictionary(schema.columns.map { (folded($0.name), $0.name) }) { first, _ in first }
    var similar: [String: String] = [:]
    for name in names { similar[name] = known[folded(renames[name] ?? name)] }
    return similar
  }

  /// The name in lower case, without blanks and invisible characters.
  private static func folded(_ name: String) -> String {
    var folded = ""
    for scalar in name.lowercased().unicodeScalars
    where !scalar.properties.isWhitespace && scalar.properties.generalCategory != .format {
      folded.unicodeScalars.append(scalar)
    }
    return folded
  }

  /// `columns 'a', 'b'`, at most twenty of them.
  static func columns(_ names: [String]) -> String {
    let shown = names.prefix(20).map { "'\($0)'" }.joined(separator: ", ")
    return (names.count == 1 ? "column " : "columns ") + shown
      + (names.count > 20 ? " and \(names.count - 20) more" : "")
  }

  /// The option that renames columns to those of the table, quoted for a shell.
  static func rename(_ pairs: [(String, String)]) -> String {
    "--rename " + ShellWord.quoted(ColumnList.written(pairs))
  }

  /// Why an input is refused.
  struct Unlike {
    let path: String
    let table: String
    let own: [String]
    let schema: TableSchema
    let similar: [String: String]

    func error(hasHeader: Bool) -> ImportError {
      let known = own.compactMap { name in similar[name].map { (name, $0) } }
      let remedy =
        !known.isEmpty
        ? "if they are the same: \(TableDrift.rename(known))"
        : hasHeader
          ? "is it the right file? If its first record holds no names, give them with --header "
            + "NAMES; if they are other names for the same, say so with --rename; --new-columns adds them"
          : "it seems to have no header: say --header NAMES or --header yes, or add its columns with "
            + "--new-columns"
      return .unlikeTable(
        path: path, table: table,
        reason: "it has the \(TableDrift.columns(own)), the table has the "
          + "\(TableDrift.columns(schema.columns.map(\.name))), and no name is the same; \(remedy)")
    }

    func width(_ count: Int, _ width: Int) -> ImportError {
      .unlikeTable(
        path: path, table: table,
        reason:
          "neither has names, the records have \(count) field\(count == 1 ? "" : "s"), and the "
          + "table has \(width) column\(width == 1 ? "" : "s"); name the columns with --header NAMES"
          + (count > width
            ? ", or add the others with --new-columns"
            : ", or let short records pass with --ragged pad")
      )
    }

    /// The error for a first record that seems to have names but does not fit the table.
    var doubtful: ImportError {
      .unlikeTable(
        path: path, table: table,
        reason:
          "its first record seems to name the \(TableDrift.columns(own)), and the table's "
          + "columns have none; say --header no if it is a record like any other, or, if it has the "
          + "names, add them with --header yes --new-columns")
    }
  }
}

/// The columns of tables that were created from inputs without names: `column1`, `column2` and so on.
enum NumberedColumns {
  /// Their number; nil for a table with other columns, apart from those for surplus fields.
  static func count(_ schema: TableSchema) -> Int? {
    var count = 0
    while schema.index(of: "column\(count + 1)") != nil { count += 1 }
    let extras = schema.columns.filter { isExtra($0.name) }.count
    return count > 0 && count + extras == schema.columns.count ? count : nil
  }

  /// Returns whether a column is for surplus fields.
  static func isExtra(_ name: String) -> Bool {
    name.hasPrefix("extra") && Int(name.dropFirst(5)) != nil
  }
}
