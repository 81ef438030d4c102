import Engine

/// Facts about the table of an input, in a version or in a transaction.
///
/// Thread rule: that of the source.
struct TableContents {
  let name: String
  let schema: TableSchema
  let count: Int
  let source: any LeafSource
  private let notes: (String) -> [UInt8]?
  /// The classes of the columns' values, by column identifier, as far as an earlier input of the same import
  /// has found them. Examining the table for each of many inputs would take longer the more there are.
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

  /// The names of the primary key's columns, in its order; empty when there is none.
  var keyColumns: [String] { schema.keyNames }

  func note(_ name: String) -> [UInt8]? { notes(name) }

  /// The classes of a column's stored values, from its type. Whether integers are larger than a double can
  /// represent is not checked: see `hasLargeIntegers`.
  func classes(ofColumn index: Int) throws -> TypeSet {
    let column = schema.columns[index]
    let known = seen[schema.columnIDs[index]]
    switch column.type {
    // Without a value, a column may have no type of its own yet.
    case _ where column.notation != nil || !column.type.hasClasses, .text:
      if let known { return known.isEmpty ? [] : .text }
      return try hasValues(inColumn: index) ? .text : []
    case .bool, .date, .dateTime, .time, .decimal, .uuid, .data, .double:
      if let known { return known.isEmpty ? [] : column.class }
      return try hasValues(inColumn: index) ? column.class : []
    case .int:
      if let known, known.isSubset(of: [.int, .bigInt]) { return known }
      return try hasValues(inColumn: index) ? .int : []
    }
  }

  /// Returns whether it is unknown if a column has larger integers than a double can represent.
  func mayHaveLargeIntegers(inColumn index: Int) -> Bool {
    let column = schema.columns[index]
    guard column.type == .int, column.notation == nil else { return false }
    return !(seen[schema.columnIDs[index]]?.isSubset(of: [.int, .bigInt]) ?? false)
  }

  /// Returns whether a column of integers has larger ones than a double can represent, by the clusters'
  /// minima and maxima.
  ///
  /// - Complexity: O(clusters), which are many in a large table.
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
