@testable import Engine

/// What tables are after changes to their columns: the slow, obvious twin of `TableEditor+Schema`.
///
/// Values are kept as spellings by a number of the column's own, so that names and types may change.
struct SchemaTwin {
  struct Field {
    let id: Int
    var column: Column
  }

  struct Table {
    var fields: [Field]
    /// The `id` of the primary key's field.
    var key: Int?
    /// Rows by key, with spellings by field; null has no entry.
    var rows: [Int64: [Int: [UInt8]]] = [:]
    var nextKey: Int64 = 1
    /// One more than the last key that an insertion has returned.
    var nextGivenKey: Int64 = 1
    /// The table's number, whatever its name.
    var number = 0
    var nextField: Int

    init(_ columns: [Column], key: String?) {
      fields = columns.enumerated().map { Field(id: $0, column: $1) }
      nextField = columns.count
      for index in fields.indices where fields[index].column.name == key {
        self.key = fields[index].id
        fields[index].column.isNullable = false
      }
    }

    func index(_ name: String) -> Int? { fields.firstIndex { $0.column.name == name } }
    var keyIndex: Int? { key.flatMap { key in fields.firstIndex { $0.id == key } } }

    func owner(_ spelling: [UInt8]) -> Int64? {
      guard let key else { return nil }
      return rows.first { $0.value[key] == spelling }?.key
    }

    func spellings(_ field: Field) -> [[UInt8]] { rows.values.compactMap { $0[field.id] } }

    /// Whether every value of a column can be read as another type without loss.
    func canWiden(_ field: Field, to type: ColumnType) -> Bool {
      let old = field.column.type
      let all = spellings(field) + (field.column.default.map { [$0.spelling] } ?? [])
      switch (old, type) {
      case _ where old == type: return true
      case (_, .data): return true
      case (.text, _): return false
      case (.data, .text): return all.allSatisfy { String(validating: $0, as: UTF8.self) != nil }
      case (_, .text): return true
      case (.int, .double):
        return all.allSatisfy { spelling in
          guard case .int(let int)? = Value(spelling: spelling, type: .int) else { return false }
          return int.magnitude <= 1 << 53
        }
      default: return false
      }
    }
  }

  var tables: [String: Table] = [:]
  /// Tables deleted in the transaction.
  var deleted: [Table] = []

  /// A transaction to `other` was rolled back: the handle does not give its keys again.
  mutating func cancel(_ other: SchemaTwin) {
    for cancelled in Array(other.tables.values) + other.deleted {
      for (name, table) in tables where table.number == cancelled.number {
        tables[name]?.nextKey = max(table.nextKey, cancelled.nextGivenKey)
        tables[name]?.nextGivenKey = max(table.nextGivenKey, cancelled.nextGivenKey)
      }
    }
  }

  /// Takes the next keys from a new handle.
  mutating func learnNextKeys(_ database: Database) throws {
    let transaction = try database.beginWrite()
    for name in tables.keys {
      let next = try transaction.table(name).editor.table.nextKey
      tables[name]?.nextKey = next
      // Keys that cancelled transactions had given are forgotten with their handle.
      if let given = tables[name]?.nextGivenKey { tables[name]?.nextGivenKey = min(given, next) }
    }
    transaction.rollBack()
  }

  // MARK: Comparing

  /// Where a snapshot differs; nil if it does not.
  func difference(_ snapshot: Snapshot) throws -> String? {
    guard snapshot.tableNames.sorted() == tables.keys.sorted() else {
      return "tables \(snapshot.tableNames) instead of \(tables.keys.sorted())"
    }
    guard snapshot.isEmpty == tables.values.allSatisfy(\.rows.isEmpty) else { return "isEmpty" }
    for (name, expected) in tables {
      if let found = try Self.difference(try snapshot.table(name), expected) {
        return "\(name): \(found)"
      }
    }
    return nil
  }

  private static func difference(_ table: Engine.Table, _ expected: Table) throws -> String? {
    guard table.columns == expected.fields.map(\.column) else {
      return "columns \(table.columns) instead of \(expected.fields.map(\.column))"
    }
    let key = expected.keyIndex
    guard table.schema.keyColumn == key else { return "key \(String(describing: key))" }
    let keys = expected.rows.keys.sorted()
    guard table.count == keys.count else { return "\(table.count) objects, not \(keys.count)" }
    var rows: [Row] = []
    try table.forEachRow { rows.append($0) }
    guard rows.map(\.key) == keys else { return "keys \(rows.map(\.key)) instead of \(keys)" }
    for row in rows {
      let fields = expected.rows[row.key] ?? [:]
      for (field, value) in zip(expected.fields, row.values) {
        let wanted = fields[field.id].map { Value(spelling: $0, type: field.column.type) }
        guard value == wanted ?? .null else {
          return
            "object \(row.key), \(field.column.name): \(value), not \(String(describing: wanted))"
        }
      }
      guard let key, let spelling = fields[expected.fields[key].id] else { continue }
      // The value's canonical spelling may differ: a key is found by its stored spelling.
      let value = Value.data(spelling)
      guard try table.row(forPrimaryKey: value)?.key == row.key else {
        return "object \(row.key) is not found by its key"
      }
    }
    return try spellingDifference(table, expected)
  }

  /// Compares every stored spelling.
  private static func spellingDifference(
    _ table: Engine.Table, _ expected: Table
  ) throws -> String? {
    var found: String?
    try table.forEachLeaf { leaf in
      let keys = try leaf.keys()
      for (id, field) in zip(table.schema.columnIDs, expected.fields) {
        let decoded = DecodedColumn()
        try leaf.column(id: id).decode(rows: 0..<leaf.rowCount, into: decoded)
        var nulls = 0
        for row in 0..<leaf.rowCount {
          let spelling = decoded[row].map { Array($0) }
          if spelling == nil { nulls += 1 }
          if spelling != expected.rows[keys.key(row)]?[field.id], found == nil {
            found = "object \(keys.key(row)), \(field.column.name): spelled \(spelling ?? [])"
          }
        }
        let statistics = try leaf.statistics(id: id)
        if statistics.nullCount != nulls {
          found = found ?? "\(field.column.name): \(statistics.nullCount) nulls, not \(nulls)"
        }
      }
    }
    return found
  }

  /// Compares the answer to a query about a column.
  func queryDifference(
    _ snapshot: Snapshot, _ random: inout RandomChanges
  ) throws -> String? {
    guard let name = tables.keys.sorted().randomElement(using: &random.random),
      let expected = tables[name], let field = expected.fields.randomElement(using: &random.random)
    else { return nil }
    let table = try snapshot.table(name)
    let column = field.column
    let stored = expected.rows.values.map { row in
      row[field.id].flatMap { Value(spelling: $0, type: column.type) } ?? Value.null
    }
    let nulls = try Query(Engine.column(column.name).isNull).count(in: table)
    guard nulls == stored.count(where: { $0 == .null }) else { return "\(column): \(nulls) nulls" }
    let value = stored.randomElement(using: &random.random) ?? column.filling
    guard value != .null, value != .double(.nan) else { return nil }
    if case .bool = value { return nil }
    let keys = try Query(Engine.column(column.name) == value).keys(in: table)
    let wanted = expected.rows.filter { row in
      row.value[field.id].flatMap { Value(spelling: $0, type: column.type) } == value
    }
    return keys == wanted.keys.sorted() ? nil : "\(column) == \(value): \(keys)"
  }
}
