/// The primary keys of rows that are added to a table inside a write transaction.
extension TableEditor {
  /// The key of a row of spellings.
  ///
  /// - Throws: `EngineError.invalidValue` when a part of it is null.
  func keyBytes(_ base: UnsafeRawPointer, _ row: UnsafePointer<TextSpan>) throws -> [UInt8] {
    KeyTuple.bytes(
      try schema.keyColumns.map { column in
        guard !row[column].isNull else {
          throw EngineError.invalidValue(
            table: name, column: schema.columns[column].name, value: "null",
            expected: "allowed there")
        }
        return Array(row[column].bytes(from: base))
      })
  }

  /// The key of an object after some changes; nil when none of them changes a column of the key.
  ///
  /// - Throws: `EngineError.noSuchObject`, `.damaged`.
  func changedKey(of object: Int64, _ changes: [(column: Int, value: Value)]) throws -> [UInt8]? {
    guard changes.contains(where: { schema.isInKey($0.column) }) else { return nil }
    var present = ObjectReader(self)
    return KeyTuple.bytes(
      try schema.keyColumns.map { column in
        if let change = changes.last(where: { $0.column == column }) {
          return change.value.spelling
        }
        guard try present.go(to: object) else {
          throw EngineError.noSuchObject(table: name, key: object)
        }
        return try present.withSpelling(column) { $0.map { Array($0) } ?? [] }
      })
  }

  /// Calls `body` with the keys of rows of spellings; not at all when the table has no key.
  ///
  /// - Parameter first: the first of the rows' spans; each row has as many as the table has columns.
  func withKeys(
    _ base: UnsafeRawPointer, _ first: UnsafePointer<TextSpan>, _ rowCount: Int,
    _ body: (UnsafeRawPointer, UnsafeBufferPointer<TextSpan>) throws -> Void
  ) throws {
    let (columns, width) = (schema.keyColumns, schema.columns.count)
    if columns.isEmpty { return }
    if columns.count == 1 {
      let column = columns[0]
      let keys = (0..<rowCount).map { first[$0 * width + column] }
      return try keys.withUnsafeBufferPointer { try body(base, $0) }
    }
    var keys = KeyTuples(columns: columns.count)
    for row in 0..<rowCount {
      try keys.append { part in
        let span = first[row * width + columns[part]]
        return span.isNull ? nil : span.bytes(from: base)
      }
    }
    try keys.withKeys(body)
  }
}
