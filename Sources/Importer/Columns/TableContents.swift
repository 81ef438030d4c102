import Engine

/// What an import has to know of the table that an input goes into: as a version has it, or a transaction.
///
/// Thread rule: that of the source.
struct TableContents {
  let name: String
  let schema: TableSchema
  let count: Int
  let source: any LeafSource
  private let notes: (String) -> [UInt8]?
  /// What values of the columns look like, by the columns' numbers, as far as an earlier input of
  /// the same import has found it out. Looking at the table for each of many inputs would take the
  /// longer the more there are.
  private let seen: [UInt32: TypeSet]

  init(_ table: Table, seen: [UInt32: TypeSet] = [:]) {
    name = table.name
    schema = table.schema
    count = table.count
    source = table
    notes = { table.note($0) }
    self.seen = seen
  }

  init(_ table: WritableTable, seen: [UInt32: TypeSet] = [:]) throws {
    let editor = table.editor
    name = editor.name
    schema = editor.schema
    count = try editor.count()
    source = editor
    notes = { editor.note($0) }
    self.seen = seen
  }

  var columns: [Column] { schema.columns }
  /// The name of the primary key's column; nil when there is none.
  var keyColumn: String? { schema.keyColumn.map { schema.columns[$0].name } }

  func note(_ name: String) -> [UInt8]? { notes(name) }

  /// What a column's stored values look like, from its type. Of integers nobody looks whether there
  /// are larger ones than a double holds: see `hasLargeIntegers`.
  func classes(ofColumn index: Int) throws -> TypeSet {
    let column = schema.columns[index]
    let known = seen[schema.columnIDs[index]]
    switch column.type {
    // Without a value in it, a column may have no type of its own yet.
    case _ where column.notation != nil || !column.type.hasClasses, .text:
      if let known { return known.isEmpty ? [] : .text }
      return try hasValues(inColumn: index) ? .text : []
    case .bool, .date, .dateTime, .time, .decimal, .uuid, .data, .double: return column.class
    case .int:
      if let known, known.isSubset(of: [.int, .bigInt]) { return known }
      return try hasValues(inColumn: index) ? .int : []
    }
  }

  /// Whether it is not known yet if a column has larger integers than a double holds.
  func mayHaveLargeIntegers(inColumn index: Int) -> Bool {
    let column = schema.columns[index]
    guard column.type == .int, column.notation == nil else { return false }
    return !(seen[schema.columnIDs[index]]?.isSubset(of: [.int, .bigInt]) ?? false)
  }

  /// Whether a column of integers has larger ones than a double holds, by the clusters' minima and maxima.
  ///
  /// - Complexity: O(clusters), which a large table has many of.
  func hasLargeIntegers(inColumn index: Int) throws -> Bool {
    var found = false
    let limit: Int64 = 1 << 53
    try source.walkLeaves { leaf in
      let stored = try leaf.statistics(id: schema.columnIDs[index])
      guard stored.nullCount < leaf.rowCount else { return true }
      guard let bounds = stored.integers, bounds.lowerBound >= -limit,
        bounds.upperBound <= limit
      else {
        found = true
        return false
      }
      return true
    }
    return found
  }

  private func hasValues(inColumn index: Int) throws -> Bool {
    var found = false
    try source.walkLeaves { leaf in
      found = try leaf.statistics(id: schema.columnIDs[index]).nullCount < leaf.rowCount
      return !found
    }
    return found
  }
}
