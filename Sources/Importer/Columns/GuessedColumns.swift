import Engine

/// Which columns of a table have a type that imports have guessed from their values, so that another one
/// may be guessed when the table is empty. A type that a program has declared, or a person has given
/// by name, stays.
///
/// Kept with the table, as the columns' numbers: four bytes each.
enum GuessedColumns {
  /// The name under which a table keeps them.
  static let note = "guessed columns"

  /// True when these are whole numbers, ascending.
  static func areValid(_ bytes: [UInt8]) -> Bool {
    bytes.count % 4 == 0 && ColumnNumbers.encode(ColumnNumbers.decode(bytes)) == bytes
  }
}

extension TableEditor {
  /// Notes that the types of these columns are guessed.
  func addGuessed(_ columns: [UInt32]) throws {
    let known = note(GuessedColumns.note).map(ColumnNumbers.decode) ?? []
    let all = known.union(columns).intersection(schema.columnIDs)
    if all != known { try setNote(GuessedColumns.note, ColumnNumbers.encode(all)) }
  }
}
