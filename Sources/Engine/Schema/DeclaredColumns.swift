import Base

/// The columns of a table that a program has declared by its `Schema`. Imports do not change their types, nor
/// the key, and a later declaration must account for them. Anybody may add other columns.
///
/// Kept with the table as a note, as the columns' numbers: four bytes each.
package enum DeclaredColumns {
  /// The name under which a table keeps them.
  package static let note = "declared columns"
}

/// Some columns' numbers as bytes.
package enum ColumnNumbers {
  package static func encode(_ columns: Set<UInt32>) -> [UInt8] {
    var writer = ByteWriter()
    for column in columns.sorted() { writer.append(column) }
    return writer.bytes
  }

  /// True when these are whole numbers, ascending, below the one that the table's next column gets.
  package static func areValid(_ bytes: [UInt8], next: UInt32) -> Bool {
    let columns = decode(bytes)
    return bytes.count % 4 == 0 && encode(columns) == bytes && columns.allSatisfy { $0 < next }
  }

  package static func decode(_ bytes: [UInt8]) -> Set<UInt32> {
    bytes.withUnsafeBytes { buffer in
      var reader = ByteReader(buffer)
      var columns: Set<UInt32> = []
      while let column = try? reader.read(UInt32.self, "column") { columns.insert(column) }
      return columns
    }
  }
}

/// A table of the file, to be compared with a program's declaration.
struct FoundTable {
  let definition: TableDefinition
  /// The names of the columns that a program has declared before; nil when none has declared the table.
  let declared: Set<String>?

  /// - Parameter note: the table's note `DeclaredColumns.note`.
  init(_ definition: TableDefinition, _ schema: TableSchema, note: [UInt8]?) {
    self.definition = definition
    declared = note.map { schema.names(of: ColumnNumbers.decode($0)) }
  }

  /// True when the program has declared exactly these columns before.
  func isMarked(as wanted: TableDefinition) -> Bool {
    declared == Set(wanted.columns.map(\.name))
  }
}

extension TableSchema {
  /// The names of those columns that the schema has.
  func names(of ids: some Sequence<UInt32>) -> Set<String> {
    let ids = Set(ids)
    return Set(zip(columnIDs, columns).filter { ids.contains($0.0) }.map(\.1.name))
  }
}

extension [FoundTable] {
  /// A dictionary, because many tables are looked up.
  var byName: [String: FoundTable] {
    Dictionary(map { ($0.definition.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
