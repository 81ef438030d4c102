/// Groups as the rows of a table: the grouping columns, `count`, and each aggregate.
///
/// No two columns have the same name: one that is computed gets `_2` where the name is taken, and so on.
///
/// The largest group is first, unless the query sorts by one of these columns.
package struct GroupedRows {
  package private(set) var columns: [Column] = []
  package private(set) var rows: [[Value]]
  /// The number of groups before offset and limit.
  package let total: Int

  /// - Parameter query: the filter, and the sort, offset and limit for the groups.
  package init(
    _ query: Query, by names: [String], _ aggregates: [Aggregate], in table: Table
  ) throws {
    let groups = try query.groups(by: names, aggregates, in: table)
    for index in try table.indices(of: names) {
      // Groups have values, which have only their canonical spelling.
      var column = table.columns[index]
      column.notation = nil
      columns.append(column)
    }
    var taken = Set(columns.map(\.name))
    func computed(_ name: String, _ type: ColumnType) -> Column {
      let name = Column.unused(name, taken)
      taken.insert(name)
      return Column(name, type)
    }
    if !names.isEmpty { columns.append(computed("count", .int)) }
    for (index, aggregate) in aggregates.enumerated() {
      let source = table.columns[try table.indices(of: [aggregate.column])[0]]
      var type = aggregate.type(of: source.type) ?? .double
      // A sum of ints or decimals may have too many digits for these types.
      for group in groups {
        if case .double = group.aggregates[index] { type = .double }
      }
      columns.append(computed("\(aggregate.function.shortName)(\(aggregate.column))", type))
    }
    total = groups.count
    rows = groups.map { group in
      group.values + (names.isEmpty ? [] : [.int(Int64(group.count))]) + group.aggregates
    }
    try sort(query.sort, countColumn: names.isEmpty ? nil : names.count, table.name)
    rows = Array(rows.dropFirst(max(0, query.offset)).prefix(query.limit ?? .max))
  }

  private mutating func sort(
    _ orders: [SortOrder], countColumn: Int?, _ table: String
  ) throws {
    var keys: [(column: Int, key: OrderedKey)] = []
    for order in orders {
      guard let index = columns.firstIndex(where: { $0.name == order.column }) else {
        throw EngineError.noSuchColumn(
          table: table, column: order.column, known: columns.map(\.name))
      }
      let key = OrderedKey(reading: Reading(columns[index].type), isDescending: order.isDescending)
      keys.append((index, key))
    }
    if keys.isEmpty, let countColumn {
      keys.append((countColumn, OrderedKey(reading: .int, isDescending: true)))
    }
    if keys.isEmpty { return }
    let ordered = rows.enumerated().map { position, row in
      var bytes: [UInt8] = []
      for (column, key) in keys {
        row[column].spelling.withUnsafeBytes {
          _ = key.append(row[column] == .null ? nil : $0, to: &bytes)
        }
      }
      return (bytes, position)
    }.sorted { left, right in
      left.0 == right.0 ? left.1 < right.1 : left.0.lexicographicallyPrecedes(right.0)
    }
    rows = ordered.map { rows[$0.1] }
  }
}

extension Aggregate.Function {
  /// The heading in results.
  package var shortName: String {
    switch self {
    case .count: "count"
    case .sum: "sum"
    case .average: "avg"
    case .minimum: "min"
    case .maximum: "max"
    }
  }
}
