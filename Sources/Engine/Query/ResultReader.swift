/// Runs a query on a table and returns the rows, some at a time.
///
/// Thread rule: one thread at a time.
package final class ResultReader {
  private let query: Query
  let table: any LeafSource
  package let schema: TableSchema
  let filter: CompiledPredicate?
  private let indexUse: IndexPolicy
  /// The indices of the requested columns among the table's columns.
  package let columnIndices: [Int]
  /// The indices of the columns that make rows distinct; empty for a query that is not distinct.
  private let distinctIndices: [Int]
  private let scan = LeafScan()
  /// Whether what is read of a large file is released again, since mapped pages count as the process's
  /// memory. A query that follows would have to map it anew.
  package var releasesMemory = false
  /// How much of a sorted result is in memory.
  var sortedLimits = SortedWindows.Limits()

  /// - Parameters:
  ///   - readsColumns: false when no values are needed.
  /// - Throws: `QueryError`, `EngineError.noSuchColumn`, `.invalidArgument`.
  package init(
    _ query: Query, _ table: any LeafSource, readsColumns: Bool = true,
    indexUse: IndexPolicy = .whenItPays
  ) throws {
    self.query = query
    self.indexUse = indexUse
    self.table = table
    schema = try table.schema
    filter = try query.filter.map { [schema] in try CompiledPredicate($0, schema) }
    guard query.offset >= 0, query.limit ?? 0 >= 0 else {
      throw EngineError.invalidArgument("the offset and the limit of a query are 0 or more")
    }
    columnIndices =
      readsColumns
      ? try query.columns.map { try table.indices(of: $0) } ?? Array(schema.columns.indices) : []
    distinctIndices =
      query.isDistinct
      ? try (query.distinctColumns ?? query.columns).map { try table.indices(of: $0) }
        ?? Array(schema.columns.indices) : []
    for order in query.sort {
      let index = try table.indices(of: [order.column])[0]
      guard !query.isDistinct || distinctIndices.contains(index) else {
        throw EngineError.invalidArgument(
          "distinct rows can be sorted by their own columns only; '\(order.column)' is none of them"
        )
      }
    }
  }

  /// The requested columns, as a schema of rows.
  private func rowSchema() throws -> TableSchema {
    try TableSchema(columnIndices.map { schema.columns[$0] }, table: table.name)
  }

  /// The number of selected rows that suffices; nil: all are needed.
  var enough: Int? {
    guard query.sort.isEmpty, !query.isDistinct, let limit = query.limit else { return nil }
    let (end, overflow) = query.offset.addingReportingOverflow(limit)
    return overflow ? nil : end
  }

  /// The keys of the objects that may match, ascending; nil when the whole table must be read.
  private func candidates() throws -> [Int64]? {
    guard indexUse != .never, let filter else { return nil }
    return try translatingErrors(table.path) {
      guard let plan = try IndexPlan(filter, table),
        try indexUse == .always || plan.pays(objects: table.objectCount, limit: enough)
      else { return nil }
      return try plan.candidates()
    }
  }

  /// Calls `body` with leaves in order and the rows in them that match the filter, without regard to order
  /// and limit, until it returns false. Skipped leaves have no such row.
  func forEachLeaf(_ body: (Leaf, RowBits) throws -> Bool) throws {
    if let filter, let candidates = try candidates() {
      try translatingErrors(table.path) {
        try table.walkLeaves(holding: candidates) { leaf, rows in
          try body(leaf, try scan.rows(leaf, filter, among: rows))
        }
      }
      return
    }
    try table.walkLeaves { leaf in
      let rows =
        try filter.map { try scan.rows(leaf, $0) } ?? RowBits(count: leaf.rowCount, all: true)
      return try body(leaf, rows)
    }
  }

  /// Like `forEachLeaf`, without rows that repeat earlier ones.
  private func forEachDistinctLeaf(_ body: (Leaf, RowBits) throws -> Bool) throws {
    guard query.isDistinct else { return try forEachLeaf(body) }
    let keys = try KeyReader(table, distinctIndices.map { ($0, isDescending: false) })
    var seen = KeyTable()
    try forEachLeaf { leaf, rows in
      var rows = rows
      try keys.read(leaf, rows) { row, key in
        let known = seen.count
        if seen.number(of: key) < known { rows[row] = false }
      }
      return try body(leaf, rows)
    }
  }

  package func count() throws -> Int {
    var total = 0
    if filter == nil, !query.isDistinct {
      total = try table.objectCount
    } else {
      let (end, overflow) = query.offset.addingReportingOverflow(query.limit ?? .max)
      try forEachDistinctLeaf { _, rows in
        total += rows.population
        return overflow || total < end
      }
    }
    return min(max(0, total - query.offset), query.limit ?? .max)
  }

  /// Calls `body` with all rows, in order.
  package func forEachWindow(
    withKeys: Bool = false, _ body: (ResultWindow) throws -> Void
  ) throws {
    let reader = windowReader()
    if !query.sort.isEmpty {
      let windows = try SortedWindows(places: sortedPlaces(), reader, sortedLimits)
      return try translatingErrors(table.path) {
        try windows.read(withKeys: withKeys, body)
      }
    }
    try walkChosenLeaves { leaf, rows in
      try reader.read(leaf, rows, withKeys: withKeys) { window, _ in try body(window) }
      return true
    }
  }

  /// Calls `body` with a copy of every row, in order. `body` must not change the table.
  func forEachRow(_ body: (Row) throws -> Void) throws {
    let changes = table.changeCount
    try forEachRow(unchecked: { row in
      try body(row)
      try table.checkUnchanged(since: changes)
    })
  }

  private func forEachRow(unchecked body: (Row) throws -> Void) throws {
    let shape = RowShape(try rowSchema())
    let columnIDs = columnIndices.map { schema.columnIDs[$0] }
    let readings = shape.columns.map(\.reading)
    func forEachRow(_ window: ResultWindow) throws {
      for row in 0..<window.count {
        let values = try readings.indices.map { column in
          try window.value(row, column, id: columnIDs[column], readings[column])
        }
        try body(Row(key: window.keys[row], values: values, shape: shape))
      }
    }
    guard query.sort.isEmpty else {
      return try forEachWindow(withKeys: true, forEachRow)
    }
    let scan = RowScan(shape, columnIDs: columnIDs, copies: true)
    let reader = WindowReader(columnIDs: columnIDs)
    try walkChosenLeaves { leaf, rows in
      if rows.isFull {
        try scan.forEachRow(leaf, body)
      } else {
        try reader.read(leaf, rows, withKeys: true) { window, _ in try forEachRow(window) }
      }
      return true
    }
  }

  /// The file's path, for errors.
  package var path: String { table.path }

  /// True when rows have another order than the table's.
  package var isSorted: Bool { !query.sort.isEmpty }

  /// Makes a reader of the requested columns of a leaf's rows.
  package func windowReader() -> WindowReader {
    WindowReader(columnIDs: columnIndices.map { schema.columnIDs[$0] })
  }

  /// Calls `body` with every leaf and its rows in the result, for a query without a sort, until it returns
  /// false.
  package func walkChosenLeaves(_ body: (Leaf, RowBits) throws -> Bool) throws {
    var skipped = 0
    var left = query.limit ?? .max
    if left == 0 { return }
    let tree = releasesMemory ? (table as? Table)?.tree : nil
    var mapped = tree.flatMap { $0.end > MappedRange.largeFile ? MappedRange($0.blocks) : nil }
    try forEachDistinctLeaf { leaf, rows in
      if let tree { mapped?.add(leaf: leaf.entry, end: tree.end) }
      var rows = rows
      var population = rows.population
      if skipped < query.offset || population > left {
        rows.slice(dropping: query.offset - skipped, keeping: left)
        let dropped = min(population, query.offset - skipped)
        skipped += dropped
        population = rows.population
      }
      if population == 0 { return true }
      guard try body(leaf, rows) else { return false }
      left -= population
      return left > 0
    }
  }

  private func sortedPlaces() throws -> (leaves: [Leaf], places: [RowSorter.RowPlace]) {
    var columns: [(Int, isDescending: Bool)] = []
    for order in query.sort {
      columns.append((try table.indices(of: [order.column])[0], order.isDescending))
    }
    let keys = try KeyReader(table, columns)
    let end = query.limit.map { query.offset.addingReportingOverflow($0) }
    var sorter = RowSorter(limit: end.flatMap { $0.overflow ? nil : $0.partialValue })
    var leaves: [Leaf] = []
    try forEachDistinctLeaf { leaf, rows in
      let number = Int32(leaves.count)
      leaves.append(leaf)
      try keys.read(leaf, rows) { row, key in
        sorter.add(key, RowSorter.RowPlace(leaf: number, row: Int32(truncatingIfNeeded: row)))
      }
      return true
    }
    return (leaves, sorter.places(dropping: query.offset))
  }
}

/// Makes the sort keys of rows' values in some columns.
struct KeyReader {
  private let reader: WindowReader
  private let keys: [OrderedKey]
  private let columnIDs: [UInt32]

  init(_ table: any LeafSource, _ columns: [(Int, isDescending: Bool)]) throws {
    let schema = try table.schema
    columnIDs = columns.map { schema.columnIDs[$0.0] }
    reader = WindowReader(columnIDs: columnIDs)
    keys = columns.map {
      OrderedKey(reading: schema.columns[$0.0].reading, isDescending: $0.isDescending)
    }
  }

  /// Calls `body` with each chosen row of a leaf and its sort key.
  func read(_ leaf: Leaf, _ rows: RowBits, _ body: (Int, [UInt8]) throws -> Void) throws {
    var bytes: [UInt8] = []
    try reader.read(leaf, rows, withKeys: false) { window, first in
      for index in 0..<window.count {
        bytes.removeAll(keepingCapacity: true)
        for (column, key) in keys.enumerated() {
          guard key.append(window.field(index, column), to: &bytes) else {
            throw ClusterError.misfit(
              column: columnIDs[column], row: first + index, type: key.type)
          }
        }
        try body(first + Int(window.rows[index]), bytes)
      }
    }
  }
}
