import Engine

/// The columns of a table whose type imports guessed from their values, so that another type may be guessed
/// when the table is empty. A type that a program has declared, or a user has given by name, stays.
///
/// Stored with the table, as the columns' identifiers: four bytes each.
enum GuessedColumns {
  /// The name of the table's note.
  static let note = "guessed columns"

  /// Returns whether the bytes are whole identifiers, ascending.
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
