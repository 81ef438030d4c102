import Engine

/// Which columns of a table have a type that imports guessed from their values, so that another may be
/// guessed when the table is empty. A type that a program has declared, or a person has given by name, stays.
///
/// Stored with the table, as the columns' identifiers: four bytes each.
enum GuessedColumns {
  /// The name of the table's note for them.
  static let note = "guessed columns"

  /// True when the bytes are whole identifiers, ascending.
  static func areValid(_ bytes: [UInt8]) -> Bool {
    bytes.count % 4 == 0 && ColumnNumbers.encode(ColumnNumbers.decode(bytes)) == bytes
  }
}

extension TableEditor {
  /// Records that the types of these columns are guessed.
  func addGuessed(_ columns: [UInt32]) throws {
    let known = note(GuessedColumns.note).map(ColumnNumbers.decode) ?? []
    let all = known.union(columns).intersection(schema.columnIDs)
    if all != known { try setNote(GuessedColumns.note, ColumnNumbers.encode(all)) }
  }
}
