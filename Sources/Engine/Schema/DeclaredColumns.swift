import Base

/// The columns of a table that a program has declared by its `Schema`. Imports do not change their types or
/// the key, and a later declaration must account for them. Other columns may be added by anyone.
///
/// Stored with the table as a note with the columns' numbers, four bytes each.
package enum DeclaredColumns {
  /// The name of the note.
  package static let note = "declared columns"
}

/// The numbers of columns as bytes.
package enum ColumnNumbers {
  package static func encode(_ columns: Set<UInt32>) -> [UInt8] {
    var writer = ByteWriter()
    for column in columns.sorted() { writer.append(column) }
    return writer.bytes
  }

  /// Returns whether the bytes are ascending numbers below that of the table's next column.
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

/// A table of the file, for comparison with a program's declaration.
struct FoundTable {
  let definition: TableDefinition
  /// The names of the columns that a program has declared before; nil when the table was not declared.
  let declared: Set<String>?

  /// - Parameter note: the table's note `DeclaredColumns.note`.
  init(_ definition: TableDefinition, _ schema: TableSchema, note: [UInt8]?) {
    self.definition = definition
    declared = note.map { schema.names(of: ColumnNumbers.decode($0)) }
  }

  /// Returns whether exactly these columns were declared before.
  func isMarked(as wanted: TableDefinition) -> Bool {
    declared == Set(wanted.columns.map(\.name))
  }
}

extension TableSchema {
  /// The names of the given columns that the schema has.
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
