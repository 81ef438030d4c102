@testable import Engine

/// Random changes to tables, columns and objects, made to a database and to its twin alike. It also
/// tries changes that must be refused.
struct SchemaHistory {
  var changes: RandomChanges
  private var number = 0

  init(seed: UInt64) { changes = RandomChanges(seed: seed) }

  mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &changes.random) == 0 }

  private mutating func newName(_ prefix: String) -> String {
    number += 1
    return "\(prefix)\(number)"
  }

  private mutating func newColumn() -> Column {
    let type = ColumnType.allCases.randomElement(using: &changes.random) ?? .text
    var column = Column(newName("c"), type, nullable: !chance(3))
    if chance(2) {
      column.default = changes.value(Column("", type, nullable: false))
    }
    return column
  }

  /// Runs `body`, which must throw an error that `isExpected` accepts if `fails`, and none otherwise.
  private func attempt(
    _ what: String, fails: Bool, _ body: () throws -> Void, _ isExpected: (EngineError) -> Bool
  ) throws {
    do {
      try body()
    } catch let error as EngineError where fails && isExpected(error) {
      return
    }
    if fails { throw EngineError.invalidArgument("\(what) was not refused") }
  }

  private func attemptSchema(_ what: String, fails: Bool, _ body: () throws -> Void) throws {
    try attempt(what, fails: fails, body) {
      if case .invalidSchema = $0 { true } else { false }
    }
  }

  // MARK: Tables

  mutating func createTable(
    _ transaction: borrowing WriteTransaction, _ twin: inout SchemaTwin
  ) throws {
    let columns = (0...Int.random(in: 0..<4, using: &changes.random)).map { _ in newColumn() }
    let key = chance(2) ? columns.last?.name : nil
    // An earlier table may have been given that name.
    var name = newName("t")
    while twin.tables[name] != nil { name = newName("t") }
    try transaction.createTable(TableDefinition(name, columns: columns, key: key))
    twin.tables[name] = SchemaTwin.Table(columns, key: key)
    twin.tables[name]?.number = number
  }

  private mutating func changeTables(
    _ name: String, _ transaction: borrowing WriteTransaction, _ twin: inout SchemaTwin
  ) throws {
    switch Int.random(in: 0..<10, using: &changes.random) {
    case 0:
      try transaction.deleteTable(name)
      if let table = twin.tables.removeValue(forKey: name) { twin.deleted.append(table) }
    case 1:
      try transaction.deleteAll()
      for name in twin.tables.keys { twin.tables[name]?.rows = [:] }
    case ..<6:
      // Sometimes the name of a present or former table.
      let new = chance(2) ? newName("t") : "t\(Int.random(in: 1...9, using: &changes.random))"
      let taken = new != name && twin.tables[new] != nil
      try attempt("a taken name", fails: taken) {
        try transaction.renameTable(name, to: new)
      } _: {
        $0 == .tableExists(name: new)
      }
      if !taken { twin.tables[new] = twin.tables.removeValue(forKey: name) }
    default:
      if twin.tables.count < 4 { try createTable(transaction, &twin) }
    }
  }

  // MARK: Columns

  private mutating func addColumn(
    _ table: WritableTable, _ expected: inout SchemaTwin.Table
  ) throws {
    var column = newColumn()
    if chance(8), let other = expected.fields.first { column.name = other.column.name }
    let fails =
      expected.index(column.name) != nil
      || (!column.isNullable && column.default == nil && !expected.rows.isEmpty)
    try attemptSchema("adding \(column)", fails: fails) { try table.addColumn(column) }
    if fails { return }
    let id = expected.nextField
    expected.nextField += 1
    expected.fields.append(SchemaTwin.Field(id: id, column: column))
    guard let value = column.default else { return }
    for key in expected.rows.keys { expected.rows[key]?[id] = value.spelling }
  }

  private mutating func changeColumn(
    _ table: WritableTable, _ expected: inout SchemaTwin.Table
  ) throws {
    let index = Int.random(in: expected.fields.indices, using: &changes.random)
    let field = expected.fields[index]
    let name = field.column.name
    switch Int.random(in: 0..<8, using: &changes.random) {
    case 7:
      // Queries answer the same with and without an index.
      if chance(3) { try table.removeIndex(name) } else { try table.addIndex(name) }
    case 0:
      let new = chance(6) ? (expected.fields.last?.column.name ?? "") : newName("c")
      let fails = new != name && expected.index(new) != nil
      try attemptSchema("renaming", fails: fails) { try table.renameColumn(name, to: new) }
      if !fails { expected.fields[index].column.name = new }
    case 1:
      let fails = field.id == expected.key || expected.fields.count == 1
      try attemptSchema("removing", fails: fails) { try table.removeColumn(name) }
      if !fails {
        expected.fields.remove(at: index)
        for key in expected.rows.keys { expected.rows[key]?[field.id] = nil }
      }
    case 2:
      let type = ColumnType.allCases.randomElement(using: &changes.random) ?? .text
      let fails = !expected.canWiden(field, to: type)
      try attemptSchema("widening \(field.column) to \(type)", fails: fails) {
        try table.widenColumn(name, to: type)
      }
      if !fails {
        expected.fields[index].column.type = type
        expected.fields[index].column.default = field.column.default.flatMap {
          Value(spelling: $0.spelling, type: type)
        }
      }
    case 3:
      let allows = chance(2)
      let fails =
        allows
        ? field.id == expected.key
        : expected.spellings(field).count < expected.rows.count
      try attemptSchema("nullable: \(allows)", fails: fails) {
        try table.setNullable(name, allows)
      }
      if !fails { expected.fields[index].column.isNullable = allows }
    case 4:
      let value = chance(3) ? nil : changes.value(Column("", field.column.type, nullable: false))
      try table.setDefault(name, value)
      expected.fields[index].column.default = value
      try attemptSchema("another type", fails: true) {
        let isNumber = [.int, .double, .decimal].contains(field.column.type)
        try table.setDefault(name, isNumber ? .text("x") : .int(1))
      }
    case 5:
      try table.removeKey()
      expected.key = nil
    default:
      try setKey(table, index, &expected)
    }
  }

  private mutating func setKey(
    _ table: WritableTable, _ index: Int, _ expected: inout SchemaTwin.Table
  ) throws {
    let field = expected.fields[index]
    let values = expected.spellings(field)
    let fails =
      expected.key != field.id
      && (values.count < expected.rows.count || Set(values).count < values.count)
    try attempt("the key", fails: fails) {
      try table.setKey(field.column.name)
    } _: {
      if case .invalidKey = $0 { true } else { false }
    }
    if !fails {
      expected.key = field.id
      expected.fields[index].column.isNullable = false
    }
  }

  // MARK: Objects

  /// Values of some columns by name, always those of columns without default that may not be null.
  private mutating func values(_ expected: SchemaTwin.Table) -> [String: Value] {
    var values: [String: Value] = [:]
    for field in expected.fields {
      let isNeeded =
        (!field.column.isNullable && field.column.default == nil) || field.id == expected.key
      if isNeeded || !chance(3) { values[field.column.name] = changes.value(field.column) }
    }
    return values
  }

  private static func set(
    _ values: [String: Value], _ fields: [SchemaTwin.Field], _ row: inout [Int: [UInt8]]
  ) {
    for field in fields {
      guard let value = values[field.column.name] else { continue }
      row[field.id] = value == .null ? nil : value.spelling
    }
  }

  private mutating func insert(
    _ table: WritableTable, _ expected: inout SchemaTwin.Table, encoded: Bool
  ) throws {
    let values = values(expected)
    var row: [Int: [UInt8]] = [:]
    for field in expected.fields { row[field.id] = field.column.default?.spelling }
    Self.set(values, expected.fields, &row)
    let spelling = expected.key.flatMap { row[$0] }
    let owner = spelling.flatMap { expected.owner($0) }
    if !encoded, expected.key != nil, chance(3) {
      let (key, isNew) = try table.upsert(values)
      if let owner {
        guard key == owner, !isNew else { throw EngineError.invalidArgument("upsert: \(key)") }
        var old = expected.rows[owner] ?? [:]
        Self.set(values, expected.fields, &old)
        expected.rows[owner] = old
        return
      }
    } else {
      let isDuplicate = owner != nil
      try attempt("a duplicate", fails: isDuplicate) {
        guard encoded else { return _ = try table.insert(values) }
        var rows = RowBuffer(columnIDs: table.editor.schema.columnIDs)
        try rows.append(key: 0, spellings: expected.fields.map { row[$0.id] })
        try table.editor.append(try rows.encode(with: ClusterBuilder()))
      } _: {
        if case .duplicateKey = $0 { true } else { false }
      }
      if isDuplicate { return }
    }
    expected.rows[expected.nextKey] = row
    expected.nextKey += 1
    // An import does not learn its keys.
    if !encoded { expected.nextGivenKey = expected.nextKey }
  }

  private mutating func update(
    _ table: WritableTable, _ expected: inout SchemaTwin.Table
  ) throws {
    guard let key = expected.rows.keys.sorted().randomElement(using: &changes.random) else {
      return
    }
    var values = values(expected)
    if chance(2) { values = values.filter { _ in chance(2) } }
    try update(key, values, table, &expected)
  }

  private func update(
    _ key: Int64, _ values: [String: Value], _ table: WritableTable,
    _ expected: inout SchemaTwin.Table
  ) throws {
    var row = expected.rows[key] ?? [:]
    Self.set(values, expected.fields, &row)
    let owner = expected.key.flatMap { row[$0] }.flatMap { expected.owner($0) }
    let isDuplicate = owner.map { $0 != key } ?? false
    try attempt("a duplicate", fails: isDuplicate) {
      try table.update(key, values)
    } _: {
      if case .duplicateKey = $0 { true } else { false }
    }
    if !isDuplicate { expected.rows[key] = row }
  }

  /// Changes, adds and deletes objects while walking through them.
  private mutating func visit(
    _ table: WritableTable, _ expected: inout SchemaTwin.Table
  ) throws {
    let end = expected.nextKey
    var due = expected.rows.keys.sorted()
    try table.forEachRow { row in
      while let first = due.first, expected.rows[first] == nil { due.removeFirst() }
      guard due.first == row.key, row.key < end else {
        throw EngineError.invalidArgument("object \(row.key) comes, due is \(due.prefix(3))")
      }
      due.removeFirst()
      let fields = expected.rows[row.key] ?? [:]
      let wanted = expected.fields.map { field in
        fields[field.id].flatMap { Value(spelling: $0, type: field.column.type) } ?? .null
      }
      guard row.values == wanted else {
        throw EngineError.invalidArgument("object \(row.key) is \(row.values), not \(wanted)")
      }
      switch Int.random(in: 0..<12, using: &changes.random) {
      case ..<4: try update(row.key, values(expected), table, &expected)
      case 4:
        let key = Int64.random(in: 1...expected.nextKey, using: &changes.random)
        let existed = expected.rows.removeValue(forKey: key) != nil
        guard try table.delete(key) == existed else {
          throw EngineError.invalidArgument("deleting \(key)")
        }
      case 5: try insert(table, &expected, encoded: false)
      case 6: try update(table, &expected)
      case 7 where chance(8): try addColumn(table, &expected)
      case 8 where chance(8): try changeColumn(table, &expected)
      default: break
      }
    }
    due.removeAll { expected.rows[$0] == nil }
    if let missed = due.first { throw EngineError.invalidArgument("object \(missed) did not come") }
  }

  // MARK: Transactions

  /// Some changes in a transaction.
  mutating func step(
    _ transaction: borrowing WriteTransaction, _ twin: inout SchemaTwin
  ) throws {
    // Open tables by number: a `WritableTable` stays valid whatever becomes of the table's name and
    // columns.
    var open: [UInt32: WritableTable] = [:]
    for _ in 0..<Int.random(in: 2...8, using: &changes.random) {
      guard let name = twin.tables.keys.sorted().randomElement(using: &changes.random) else {
        try createTable(transaction, &twin)
        continue
      }
      if chance(9) {
        try changeTables(name, transaction, &twin)
        continue
      }
      let fresh = try transaction.table(name)
      let table = open[fresh.editor.number] ?? fresh
      open[table.editor.number] = table
      guard table.name == name, var expected = twin.tables[name] else {
        throw EngineError.invalidArgument("table \(name) is called \(table.name)")
      }
      switch Int.random(in: 0..<12, using: &changes.random) {
      case ..<2: try addColumn(table, &expected)
      case ..<5: try changeColumn(table, &expected)
      case ..<8:
        for _ in 0..<Int.random(in: 1...9, using: &changes.random) {
          try insert(table, &expected, encoded: chance(4))
        }
      case 8: for _ in 0..<3 { try update(table, &expected) }
      case 9: try visit(table, &expected)
      default:
        for key in expected.rows.keys.sorted() where chance(4) {
          _ = try table.delete(key)
          expected.rows[key] = nil
        }
      }
      twin.tables[name] = expected
      guard try table.count == expected.rows.count else {
        throw EngineError.invalidArgument("\(name) counts \(try table.count)")
      }
    }
  }
}
