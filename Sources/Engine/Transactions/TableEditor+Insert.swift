/// Adds single objects, and converts values to the form that columns store.
extension TableEditor {
  /// The facts about the table's columns that adding an object needs, and memory for its row.
  struct Insertion {
    struct Rule {
      let type: ColumnType
      /// True when a value of this type is stored unchanged.
      let isPlain: Bool
    }
    let rules: [Rule]
    /// The primary key's column, if the key has only one.
    let key: Int?
    let hasKey: Bool
    var row = SpelledRow()

    init(_ schema: TableSchema) {
      rules = schema.columns.map { Rule(type: $0.type, isPlain: $0.notation == nil) }
      key = schema.keyColumn
      hasKey = !schema.keyColumns.isEmpty
    }
  }

  /// Adds an object and returns its key.
  package func insert(_ values: [Value]) throws -> Int64 {
    let start = try begin()
    do {
      return try add(values)
    } catch {
      throw failed(error, since: start)
    }
  }

  private func add(_ values: [Value]) throws -> Int64 {
    var insertion = knownInsertion.take() ?? Insertion(schema)
    defer { knownInsertion = insertion }
    guard values.count == insertion.rules.count else {
      throw EngineError.invalidArgument(
        "table '\(name)' has \(insertion.rules.count) columns; \(values.count) values were given")
    }
    insertion.row.removeAll()
    for column in values.indices {
      let rule = insertion.rules[column]
      if rule.isPlain, values[column].columnType == rule.type {
        try insertion.row.append(values[column])
      } else {
        var value = values[column]
        try fit(&value, column: column)
        try insertion.row.append(value)
      }
    }
    try checkNextKey()
    let key = table.nextKey
    try insertion.row.withSpans { base, spans in
      if let column = insertion.key {
        try addKey(spans[column].bytes(from: base), of: key)
      } else if insertion.hasKey {
        try keyBytes(base, spans).withUnsafeBytes { try addKey($0, of: key) }
      }
    }
    try openTail().rows.append(key: key, insertion.row)
    try countAppended()
    if !valueIndexes.isEmpty {
      insertion.row.withSpans { enter(base: $0, $1, rowCount: 1, firstObject: key) }
    }
    nextGivenKey = table.nextKey
    try limitIndex()
    return key
  }

  /// Converts a value to the form that the column stores.
  func fit(_ value: inout Value, column index: Int) throws {
    let column = schema.columns[index]
    if case .null = value {
      guard column.isNullable else {
        throw EngineError.invalidValue(
          table: name, column: column.name, value: "null", expected: "allowed there")
      }
      return
    }
    guard let fitting = value.converted(to: column.type) else {
      throw EngineError.invalidValue(
        table: name, column: column.name, value: value.described,
        expected: Self.expected(in: column.type, not: value))
    }
    value = column.stored(fitting)
  }

  /// What a column takes, in words that say why it does not take a value that looks like one of its own.
  private static func expected(in type: ColumnType, not value: Value) -> String {
    switch (value, type) {
    // Others are allowed there.
    case (.int, .double): "a number that a double holds exactly"
    case (.text, .uuid): "a uuid but a text; in Swift it is a UniqueIdentifier"
    case (.double, .dateTime), (.double, .date):
      type.article + " but a double, as Foundation's Date is; in Swift it is a "
        + (type == .date ? "CalendarDate" : "DateTime")
    default: type.article
    }
  }
}
