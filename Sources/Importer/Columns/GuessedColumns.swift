import Engine

/// Which columns of a table have a type that imports have guessed from their values, so that another one
/// may be guessed when the table is empty. A type that a program has declared, or a person has given
/// by name, stays.
///
/// Kept with the table, as the columns' numbers: four bytes each.
enum GuessedColumns {
  /// The name under which a table keeps them.
  static let note = "guessed columns"

  static func encode(_ columns: Set<UInt32>) -> [UInt8] {
    var writer = ByteWriter()
    for column in columns.sorted() { writer.append(column) }
    return writer.bytes
  }

  /// True when these are whole numbers, ascending.
  static func areValid(_ bytes: [UInt8]) -> Bool {
    bytes.count % 4 == 0 && encode(decode(bytes)) == bytes
  }

  static func decode(_ bytes: [UInt8]) -> Set<UInt32> {
    bytes.withUnsafeBytes { buffer in
      var reader = ByteReader(buffer)
      var columns: Set<UInt32> = []
      while let column = try? reader.read(UInt32.self, "column") { columns.insert(column) }
      return columns
    }
  }
}

extension TableEditor {
  /// Notes that the types of these columns are guessed.
  func addGuessed(_ columns: [UInt32]) throws {
    let known = note(GuessedColumns.note).map(GuessedColumns.decode) ?? []
    let all = known.union(columns).intersection(schema.columnIDs)
    if all != known { try setNote(GuessedColumns.note, GuessedColumns.encode(all)) }
  }
}
