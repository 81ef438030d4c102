import Engine
import Importer

extension AlterCommand {
  /// The changes that the arguments describe.
  struct Wish {
    let renames: [RenamedColumn]
    let types: [(column: String, type: ColumnType)]
    let defaults: [ColumnValue]
    let drops: [String]
    let keys: [String]
    let dropsKey: Bool
    let indexes: [String]
    let droppedIndexes: [String]
    /// The notations that values are read by.
    let options: ImportOptions
    /// The changes in words, for the list of versions.
    let words: String

    init(_ arguments: ParsedArguments) throws {
      renames = try arguments.values(AlterCommand.rename).flatMap { $0 }
      var types: [(String, ColumnType)] = []
      for choice in try arguments.values(AlterCommand.type) {
        guard case .named(let named) = choice else {
          throw CommandError.usage("--type takes columns and their types, such as price:decimal")
        }
        types += named.map { ($0.column, $0.type) }
      }
      self.types = types
      defaults = try arguments.values(AlterCommand.defaultValue)
      drops = try arguments.value(AlterCommand.drop) ?? []
      keys = try arguments.value(AlterCommand.key) ?? []
      dropsKey = arguments.isSet(AlterCommand.noKey)
      indexes = try arguments.value(AlterCommand.index) ?? []
      droppedIndexes = try arguments.value(AlterCommand.noIndex) ?? []
      var options = ImportOptions(inputs: [], database: "")
      options.dateFormats = try arguments.values(ImportCommand.dateFormat)
      options.decimalMark = try arguments.value(ImportCommand.decimal)
      let separator = try arguments.value(ImportCommand.thousands)
      options.thousandsSeparator = separator ?? nil
      options.hasNoThousands = separator == .some(nil)
      self.options = options
      let unknown = options.dateFormats.compactMap(\.column).first { !types.map(\.0).contains($0) }
      if let unknown {
        throw CommandError.usage(
          "--date-format names the column '\(unknown)', to which --type gives no type")
      }
      if !keys.isEmpty, dropsKey {
        throw CommandError.usage("--key and --no-key exclude each other")
      }
      for (names, option) in [
        (renames.map(\.old), "rename"), (types.map(\.0), "type"), (keys, "key"),
      ] where Set(names).count < names.count {
        throw CommandError.usage("--\(option) names a column twice")
      }
      let given: [(any OptionEntry, Bool)] = [
        (AlterCommand.rename, !renames.isEmpty), (AlterCommand.type, !types.isEmpty),
        (AlterCommand.defaultValue, !defaults.isEmpty), (AlterCommand.drop, !drops.isEmpty),
        (AlterCommand.key, !keys.isEmpty), (AlterCommand.noKey, dropsKey),
        (AlterCommand.index, !indexes.isEmpty), (AlterCommand.noIndex, !droppedIndexes.isEmpty),
      ]
      words = given.filter(\.1).map { option, _ in
        (["--\(option.name)"] + arguments.texts(option)).joined(separator: " ")
      }.joined(separator: " ")
      if words.isEmpty {
        throw CommandError.usage(
          "say what is to be changed: --type, --rename, --default, --drop, --key or --index")
      }
    }
  }
}

/// Changes the columns of a table inside a transaction.
struct AlterRun {
  /// A value that is not of the new type of its column.
  struct Misfit {
    let column: String
    let type: String
    /// The object's primary key, or its number.
    let key: String
    /// From 1, in the order of the table.
    let row: Int
    let value: String
  }

  struct Outcome {
    let table: String
    /// The changes made, in words for people.
    let changes: [String]
    let misfitCount: Int
    let misfits: [Misfit]
    let version: UInt64
  }

  private let wish: AlterCommand.Wish
  private let mostMisfits: Int

  init(_ wish: AlterCommand.Wish, mostMisfits: Int) {
    self.wish = wish
    self.mostMisfits = mostMisfits
  }

  /// Makes all changes. If values do not fit, finds all of them; the caller must then roll back the
  /// transaction.
  func run(_ table: WritableTable, version: UInt64) throws -> Outcome {
    var changes: [String] = []
    let defaults = try defaults(table)
    try refuseDeclared(table, defaults)
    try SurplusColumns.remember(
      table, before: wish.renames.flatMap { [$0.old, $0.new] } + wish.drops)
    try rename(table, &changes)
    var misfits: [Misfit] = []
    var count = 0
    for (column, type) in wish.types {
      // The old default need not fit when it is replaced.
      if defaults.contains(where: { $0.column == column }) { try table.setDefault(column, nil) }
      let decision = try TypeDecision(column, type, table, wish.options)
      let found = try decision.misfits(table, most: mostMisfits - misfits.count)
      count += found.count
      misfits += try found.first.map { try misfit($0, column, type, table) }
      if found.count > 0 { continue }
      if let change = try decision.apply(table) { changes.append(change) }
    }
    if count == 0 { try change(table, defaults, &changes) }
    return Outcome(
      table: table.name, changes: changes, misfitCount: count, misfits: misfits, version: version)
  }

  /// The defaults, with the names of columns as they are after renaming.
  private func defaults(_ table: WritableTable) throws -> [ColumnValue] {
    let renamed = Dictionary(wish.renames.map { ($0.old, $0.new) }) { first, _ in first }
    let names = Set(table.columns.map { renamed[$0.name] ?? $0.name })
    let defaults = wish.defaults.map { $0.naming(oneOf: names) }
    guard Set(defaults.map(\.column)).count == defaults.count else {
      throw CommandError.usage("--default names a column twice")
    }
    return defaults
  }

  /// Gives columns their new names, all at once: one may take the name that another gives up.
  private func rename(_ table: WritableTable, _ changes: inout [String]) throws {
    let names = table.columns.map(\.name)
    for pair in wish.renames where !names.contains(pair.old) {
      throw EngineError.noSuchColumn(table: table.name, column: pair.old, known: names)
    }
    let pairs = wish.renames.filter { $0.old != $0.new }
    let givenUp = Set(pairs.map(\.old))
    var known = Set(names).union(pairs.map(\.new))
    var held: [String: String] = [:]
    for name in pairs.map(\.new) where givenUp.contains(name) && held[name] == nil {
      var other = name
      repeat { other += "'" } while known.contains(other)
      known.insert(other)
      try table.renameColumn(name, to: other)
      held[name] = other
    }
    for pair in pairs {
      try table.renameColumn(held[pair.old] ?? pair.old, to: pair.new)
      changes.append("column '\(pair.old)' is called '\(pair.new)'")
    }
  }

  private func misfit(
    _ misfit: Engine.Misfit, _ column: String, _ type: ColumnType, _ table: WritableTable
  ) throws -> Misfit {
    var key = "\(misfit.key)"
    if !table.keyColumns.isEmpty, let row = try table.row(forKey: misfit.key) {
      key = table.keyColumns.map { name in
        String(decoding: row[name].map(\.spelling) ?? [], as: UTF8.self)
      }.joined(separator: ", ")
    }
    return Misfit(
      column: column, type: type.name, key: key, row: misfit.row + 1, value: misfit.value)
  }

  /// Makes the changes that do not depend on values.
  private func change(
    _ table: WritableTable, _ defaults: [ColumnValue], _ changes: inout [String]
  ) throws {
    for given in defaults {
      let (name, text) = (given.column, given.text)
      let value = try value(text, of: name, table)
      try table.setDefault(name, value)
      let spelling = value.map { String(decoding: $0.spelling, as: UTF8.self) }
      changes.append(
        spelling.map {
          "column '\(name)' has the default '\(text)'" + ($0 == text ? "" : ", which is \($0)")
        } ?? "column '\(name)' has no default")
    }
    for name in wish.droppedIndexes where table.indexedColumns.contains(name) {
      try table.removeIndex(name)
      changes.append("column '\(name)' has no index")
    }
    func shown(_ keys: [String]) -> String { keys.map { "'\($0)'" }.joined(separator: ", ") }
    let old = table.keyColumns
    if wish.dropsKey, !old.isEmpty {
      try table.removeKey()
      changes.append("\(shown(old)) \(old.count == 1 ? "is" : "are") not the key any more")
    }
    if !wish.keys.isEmpty, wish.keys != old {
      do {
        try table.editor.refuseUnfitKeys(
          columns: table.columns.indices.filter { wish.keys.contains(table.columns[$0].name) })
        try table.setKey(wish.keys)
      } catch EngineError.invalidKey(let table, let column, let reason) {
        throw CommandError(
          .dataRefused,
          "\(EngineError.invalidKey(table: table, column: column, reason: reason)); nothing was changed"
        )
      }
      changes.append(
        wish.keys.count == 1
          ? "\(shown(wish.keys)) is the key" : "\(shown(wish.keys)) are the key together")
    }
    // Columns that were required only as part of the key are no longer required.
    for name in old where !table.keyColumns.contains(name) { try table.setNullable(name, true) }
    for name in wish.drops {
      try table.removeColumn(name)
      changes.append("column '\(name)' is dropped")
    }
    for name in wish.indexes where !table.indexedColumns.contains(name) {
      try table.addIndex(name)
      changes.append("column '\(name)' has an index")
    }
    for name in wish.indexes + wish.droppedIndexes
    where !table.columns.contains(where: { $0.name == name }) {
      throw EngineError.noSuchColumn(
        table: table.name, column: name, known: table.columns.map(\.name))
    }
  }

  private func value(_ text: String, of name: String, _ table: WritableTable) throws -> Value? {
    guard let column = table.columns.first(where: { $0.name == name }) else {
      throw EngineError.noSuchColumn(
        table: table.name, column: name, known: table.columns.map(\.name))
    }
    if text.isEmpty { return nil }
    guard let value = Array(text.utf8).withUnsafeBytes({ Value(spelling: $0, as: column.reading) })
    else {
      throw CommandError.usage(
        "--default: '\(text)' is not \(column.type.article), as column '\(name)' is")
    }
    return value
  }

  /// Refuses to change a column that a program has declared: the program could no longer open the file.
  private func refuseDeclared(_ table: WritableTable, _ defaults: [ColumnValue]) throws {
    let declared = DeclaredTable.columns(table)
    if declared.isEmpty { return }
    let named =
      wish.renames.map(\.old) + wish.types.map(\.column) + defaults.map(\.column) + wish.drops
      + wish.indexes + wish.droppedIndexes
    if let name = named.first(where: declared.contains) {
      throw CommandError.usage(
        "a program has declared column '\(name)' of table '\(table.name)', and would not open the file "
          + "when it "
          + "is another: change the program's schema")
    }
    if (!wish.keys.isEmpty && wish.keys != table.keyColumns) || wish.dropsKey {
      throw CommandError.usage(
        "a program has declared table '\(table.name)', and would not open the file with another key: "
          + "change the "
          + "program's schema")
    }
  }
}
