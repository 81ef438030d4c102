import TestSupport
@testable import Engine

/// Makes random changes to a database, and the same ones to its model.
struct RandomChanges {
  var random: SplitMix64
  /// The most rows of a bulk insertion.
  var bulk = 12

  /// Whether keys get a second column.
  let compounds: Bool

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    compounds = seed % 3 == 1
  }

  /// A column of every type, and one that may not be null.
  static let columns =
    ColumnType.allCases.map { Column("a \($0.name)", $0) }
    + [Column("number", .int, nullable: false)]

  static let fewColumns = [Column("name", .text), Column("stars", .int, nullable: false)]

  /// Columns of a table whose primary key is `id`; some get another column, which is part of the key.
  static let keyedColumns = [
    Column("id", .text, nullable: false), Column("stars", .int, nullable: false),
  ]

  // MARK: Values

  mutating func value(_ column: Column) -> Value {
    if column.isNullable, Int.random(in: 0..<6, using: &random) == 0 { return .null }
    switch column.type {
    case .int where column.name == "id 2": return .int(.random(in: 0..<3, using: &random))
    case .int:
      return .int(
        [
          .random(in: 0..<20, using: &random), .random(in: -1000..<1000, using: &random),
          .random(in: .min ... .max, using: &random), .max, .min,
        ].randomElement(using: &random) ?? 0)
    case .double:
      return .double(
        [
          Double(Int.random(in: 0..<50, using: &random)) / 10,
          .random(in: -1e300...1e300, using: &random), 0.1, -2.5, -0.0, .leastNonzeroMagnitude,
          .nan,
          -.infinity,
        ].randomElement(using: &random) ?? 0)
    case .bool: return .bool(.random(using: &random))
    case .date:
      let days = Int.random(in: -700_000..<2_900_000, using: &random)
      return CalendarDate(daysSince1970: days).map { .date($0) } ?? .null
    case .dateTime:
      let seconds = Int64.random(in: -60_000_000_000..<200_000_000_000, using: &random)
      let fraction =
        Bool.random(using: &random) ? Int64.random(in: 0..<1_000_000, using: &random) : 0
      return DateTime(microsecondsSince1970: seconds * 1_000_000 + fraction)
        .map { .dateTime($0) } ?? .null
    case .time:
      let seconds = Int64.random(in: 0..<86_400, using: &random)
      let fraction =
        Bool.random(using: &random) ? Int64.random(in: 0..<1_000_000, using: &random) : 0
      return TimeOfDay(microseconds: seconds * 1_000_000 + fraction).map { .time($0) } ?? .null
    case .decimal:
      let digits = Int128(Int64.random(in: .min ... .max, using: &random)) << 60
      return ExactDecimal(
        coefficient: digits >> Int128.random(in: 0..<124, using: &random),
        scale: .random(in: 0...38, using: &random)
      ).map { .decimal($0) } ?? .null
    case .uuid:
      return .uuid(
        UniqueIdentifier(
          bits: .random(in: 0...(Bool.random(using: &random) ? 9 : .max), using: &random)))
    case .text: return .text(column.name == "id" ? key() : text())
    case .data:
      return .data(
        (0..<Int.random(in: 0..<9, using: &random)).map { _ in .random(in: 0...255, using: &random)
        })
    }
  }

  /// A primary key: sometimes an existing one.
  private mutating func key() -> String {
    switch Int.random(in: 0..<3, using: &random) {
    case 0: "\(Int.random(in: -5..<60, using: &random))"
    case 1: "key \(Int.random(in: 0..<60, using: &random))"
    default: "a longer key \(Int.random(in: 0..<10_000, using: &random))"
    }
  }

  private mutating func text() -> String {
    let words = [
      "", "GAME", "TOOLS", "007", "12", "+5", "4.10", "NaN", "true", "2018-08-03", "naïve",
      "日本語 🎉", "a,\"b\"\n",
    ]
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return "app \(Int.random(in: 0..<10_000, using: &random))"
    case 1: return String(repeating: "long ", count: Int.random(in: 0..<30, using: &random))
    default: return words.randomElement(using: &random) ?? ""
    }
  }

  mutating func row(_ columns: [Column]) -> [Value] { columns.map { value($0) } }

  // MARK: Changes

  /// Tables whose pending ones are changed in place of the visible ones.
  var pending: Set<String> = []

  private func table(
    _ name: String, _ transaction: borrowing WriteTransaction
  ) throws -> WritableTable {
    guard pending.contains(name), let table = try transaction.pendingTable(name) else {
      return try transaction.table(name)
    }
    return table
  }

  /// The given columns, and a second one of the key where keys have two.
  func keyed(_ columns: [Column]) -> [Column] {
    let hasKey = columns.contains { $0.name == "id" }
    return columns + (compounds && hasKey ? [Column("id 2", .int, nullable: false)] : [])
  }

  mutating func createTable(
    _ name: String, _ columns: [Column], _ transaction: borrowing WriteTransaction,
    _ model: inout Model
  ) throws {
    let table = Model.Table(columns: keyed(columns))
    let indexed = ["a double", "a text", "number", "stars"]
    try transaction.createTable(
      name, columns: table.columns, keys: table.keyNames,
      indexes: columns.map(\.name).filter(indexed.contains))
    model.tables[name] = table
  }

  mutating func insert(
    _ count: Int, into name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    guard var expected = model.tables[name] else { return }
    let table = try table(name, transaction)
    var keys = Set(expected.owners().keys)
    for _ in 0..<count {
      let row = row(expected.columns)
      if let key = expected.key(row), !keys.insert(key).inserted {
        try Self.expectDuplicate { try table.insert(row) }
        continue
      }
      try table.insert(row)
      expected.insert(row)
    }
    model.tables[name] = expected
  }

  private static func expectDuplicate(_ body: () throws -> some Any) throws {
    do {
      _ = try body()
    } catch EngineError.duplicateKey {
      return
    }
    throw EngineError.invalidArgument("a key that is there already was let in")
  }

  /// Appends encoded clusters, as an import does.
  mutating func append(
    _ count: Int, to name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    guard var expected = model.tables[name] else { return }
    let editor = try table(name, transaction).editor
    var rows = RowBuffer(columnIDs: editor.schema.columnIDs)
    var keys = Set(expected.owners().keys)
    let before = expected
    var hasDuplicate = false
    for index in 0..<count {
      var row = row(expected.columns)
      // One cluster in four has an existing key, or a key twice.
      while let key = expected.key(row), keys.contains(key),
        Int.random(in: 0..<4, using: &random) > 0
      { row = self.row(expected.columns) }
      if let key = expected.key(row), !keys.insert(key).inserted { hasDuplicate = true }
      try rows.append(key: Int64(index), values: row)
      expected.add(row)
    }
    let cluster = try rows.encode(with: ClusterBuilder())
    if hasDuplicate {
      try Self.expectDuplicate { try editor.append(cluster) }
      expected = before
    } else {
      try editor.append(cluster)
    }
    model.tables[name] = expected
  }

  mutating func update(
    _ count: Int, in name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    guard var expected = model.tables[name], !expected.rows.isEmpty else { return }
    let table = try table(name, transaction)
    let keys = expected.rows.keys.sorted()
    for _ in 0..<count {
      guard let key = keys.randomElement(using: &random) else { continue }
      var changes: [String: Value] = [:]
      var row = expected.rows[key] ?? []
      for index in expected.columns.indices where Int.random(in: 0..<3, using: &random) == 0 {
        let value = value(expected.columns[index])
        changes[expected.columns[index].name] = value
        row[index] = value
      }
      if let own = expected.key(row), let owner = expected.owners()[own], owner != key {
        try Self.expectDuplicate { try table.update(key, changes) }
        continue
      }
      try table.update(key, changes)
      expected.rows[key] = row
    }
    model.tables[name] = expected
  }

  /// Replaces whole rows by spellings.
  mutating func replace(
    _ count: Int, in name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    guard var expected = model.tables[name], !expected.rows.isEmpty else { return }
    let editor = try table(name, transaction).editor
    let keys = expected.rows.keys.sorted()
    for _ in 0..<count {
      guard let key = keys.randomElement(using: &random) else { continue }
      let values = row(expected.columns)
      // Bytes before the first spelling, so that offsets matter.
      var arena: [UInt8] = [1, 2, 3]
      var spans: [TextSpan] = []
      for value in values {
        let start = UInt32(arena.count)
        value.appendSpelling(to: &arena)
        spans.append(
          value == .null ? .null : TextSpan(offset: start, length: UInt32(arena.count) - start))
      }
      func replace() throws {
        try arena.withUnsafeBytes { arena in
          try spans.withUnsafeBufferPointer { spans in
            guard let base = arena.baseAddress, let row = spans.baseAddress else { return }
            try editor.replace(key, base: base, row: row)
          }
        }
      }
      if let own = expected.key(values), let owner = expected.owners()[own], owner != key {
        try Self.expectDuplicate(replace)
        continue
      }
      try replace()
      expected.rows[key] = values
    }
    model.tables[name] = expected
  }

  mutating func delete(
    _ count: Int, from name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    guard var expected = model.tables[name] else { return }
    let table = try table(name, transaction)
    for _ in 0..<count {
      let key = Int64.random(in: 0...expected.nextKey, using: &random)
      let existed = try table.delete(key)
      guard existed == (expected.rows.removeValue(forKey: key) != nil) else {
        throw EngineError.invalidArgument("deleting key \(key) of \(name) said \(existed)")
      }
    }
    model.tables[name] = expected
  }

  /// Removes a whole range of keys, so that clusters and nodes become empty.
  mutating func deleteStretch(
    from name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    guard var expected = model.tables[name] else { return }
    let keys = expected.rows.keys.sorted()
    let start = Int.random(in: 0...keys.count, using: &random)
    let end = Int.random(in: start...keys.count, using: &random)
    let table = try table(name, transaction)
    for key in keys[start..<(Bool.random(using: &random) ? keys.count : end)] {
      guard try table.delete(key) else {
        throw EngineError.invalidArgument("key \(key) of \(name) is not there")
      }
      expected.rows[key] = nil
    }
    model.tables[name] = expected
  }

  mutating func deleteAll(
    in name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    try table(name, transaction).deleteAll()
    model.tables[name]?.rows = [:]
  }

  mutating func setNote(
    _ name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    let note = Bool.random(using: &random) ? Array(text().utf8) : nil
    try table(name, transaction).editor.setNote("note", note)
    model.tables[name]?.note = note
  }

  /// Adds or removes an index. The model has none: indexes change no answer.
  mutating func toggleIndex(
    in name: String, _ transaction: borrowing WriteTransaction, _ model: inout Model
  ) throws {
    let table = try table(name, transaction)
    guard let column = model.tables[name]?.columns.randomElement(using: &random)?.name else {
      return
    }
    if table.indexedColumns.contains(column) {
      try table.removeIndex(column)
    } else {
      try table.addIndex(column)
    }
  }

  /// One change of any kind.
  mutating func any(_ transaction: borrowing WriteTransaction, _ model: inout Model) throws {
    guard let name = model.tables.keys.sorted().randomElement(using: &random) else { return }
    switch Int.random(in: 0..<100, using: &random) {
    case ..<25: try insert(1, into: name, transaction, &model)
    case ..<40: try insert(.random(in: 1...bulk, using: &random), into: name, transaction, &model)
    case ..<55: try append(.random(in: 1...bulk, using: &random), to: name, transaction, &model)
    case ..<65: try update(.random(in: 1...4, using: &random), in: name, transaction, &model)
    case ..<72: try replace(.random(in: 1...4, using: &random), in: name, transaction, &model)
    case ..<86: try delete(.random(in: 1...6, using: &random), from: name, transaction, &model)
    case ..<93: try deleteStretch(from: name, transaction, &model)
    case ..<95: try setNote(name, transaction, &model)
    case ..<98: try toggleIndex(in: name, transaction, &model)
    default: try deleteAll(in: name, transaction, &model)
    }
  }
}
