/// The differences between a file's tables and their declarations.
struct SchemaComparison {
  /// Every difference in words.
  private(set) var differences: [String] = []
  private(set) var missingTables: [TableDefinition] = []
  /// By table.
  private(set) var missingColumns: [(table: String, column: Column)] = []
  /// By table.
  private(set) var missingIndexes: [(table: String, column: String)] = []
  private(set) var surplusIndexes: [(table: String, column: String)] = []

  /// Whether undeclared tables and columns are allowed.
  private let allowsOthers: Bool

  /// - Throws: `EngineError.invalidSchema` when a declaration is invalid.
  init(_ schema: Schema, file: [FoundTable]) throws(EngineError) {
    allowsOthers = schema.allowsOthers
    var names: Set<String> = []
    let tables = file.byName
    for definition in schema.tables {
      let wanted = try Self.normal(definition)
      guard names.insert(wanted.name).inserted else {
        throw EngineError.invalidSchema(table: wanted.name, reason: "it is declared twice")
      }
      guard let found = tables[wanted.name] else {
        missingTables.append(wanted)
        differences.append("table '\(wanted.name)' is missing from the file")
        continue
      }
      compare(wanted, found)
    }
    for table in file
    where !names.contains(table.definition.name) && (!allowsOthers || table.declared != nil) {
      differences.append("table '\(table.definition.name)' is in the file and not declared")
    }
  }

  /// A declaration in the file's form: the key is never null, and null is not a default.
  private static func normal(
    _ definition: TableDefinition
  ) throws(EngineError) -> TableDefinition {
    guard !definition.name.isEmpty else {
      throw EngineError.invalidSchema(table: "", reason: "a table needs a name")
    }
    for index in definition.indexes
    where !definition.columns.contains(where: { $0.name == index }) {
      throw EngineError.invalidSchema(
        table: definition.name, reason: "the indexed column '\(index)' is none of its columns")
    }
    return TableDefinition(
      definition.name,
      try TableSchema(definition.columns, table: definition.name, keys: definition.keys),
      indexes: definition.indexes)
  }

  private mutating func compare(_ wanted: TableDefinition, _ table: FoundTable) {
    let found = table.definition
    for column in wanted.columns {
      guard let other = found.columns.first(where: { $0.name == column.name }) else {
        missingColumns.append((wanted.name, column))
        add(wanted, "column '\(column.name)' (\(column.described)) is missing from the file")
        continue
      }
      // Notations are not compared, as only the file decides how values are spelled.
      if column.withoutNotation == other.withoutNotation { continue }
      if column.type != other.type, column.isNullable == other.isNullable,
        column.default == nil, other.default == nil
      {
        add(
          wanted,
          "column '\(column.name)' is \(column.type.name), the file has \(other.type.name)")
      } else {
        add(
          wanted, "column '\(column.name)' is \(column.described), the file has \(other.described)")
      }
    }
    for column in found.columns where !wanted.columns.contains(where: { $0.name == column.name }) {
      if !allowsOthers || table.declared?.contains(column.name) ?? false {
        add(wanted, "column '\(column.name)' is in the file and not declared")
      } else if !column.isNullable, column.default == nil {
        add(
          wanted,
          "column '\(column.name)' is in the file and not declared, and may not be null: give it a "
            + "default, or declare it")
      }
    }
    if wanted.keys != found.keys {
      func described(_ keys: [String]) -> String {
        keys.isEmpty ? "no key" : "the key " + keys.map { "'\($0)'" }.joined(separator: ", ")
      }
      add(wanted, "\(described(wanted.keys)) is declared, the file has \(described(found.keys))")
    }
    for index in Set(wanted.indexes).subtracting(found.indexes).sorted() {
      missingIndexes.append((wanted.name, index))
      add(wanted, "column '\(index)' is declared as indexed, and is not in the file")
    }
    let columns = Set(wanted.columns.map(\.name))
    for index in Set(found.indexes).subtracting(wanted.indexes).sorted()
    where !allowsOthers || columns.contains(index) {
      surplusIndexes.append((wanted.name, index))
      add(wanted, "column '\(index)' is indexed in the file, and not declared so")
    }
  }

  private mutating func add(_ table: TableDefinition, _ difference: String) {
    differences.append("table '\(table.name)': \(difference)")
  }
}
