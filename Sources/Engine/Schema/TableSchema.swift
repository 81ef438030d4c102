/// A table's columns with their permanent numbers.
///
/// The bytes are in `TableSchema+Coding.swift`.
///
/// Thread rule: a plain value, `Sendable`.
public struct TableSchema: Sendable, Equatable {
  /// The columns in their order.
  public internal(set) var columns: [Column]
  /// The number of each column in clusters, ascending; never reused for another column.
  package internal(set) var columnIDs: [UInt32]
  /// The number of the next new column.
  package internal(set) var nextColumnID: UInt32
  var indices: [String: Int]
  /// The indices of the primary key's columns, in the key's order; empty when there is no key. They are never
  /// nullable.
  public internal(set) var keyColumns: [Int] = []
  /// The index of the primary key's only column; nil when there is no key, or one of several columns.
  public var keyColumn: Int? { keyColumns.count == 1 ? keyColumns[0] : nil }
  /// Makes the codes of primary keys; the table keeps it as long as it has a key.
  package internal(set) var keyCode = KeyCode.none

  /// - Parameters:
  ///   - keys: the names of the primary key's columns, which are made not nullable; empty: no key.
  ///   - keyCode: makes the key's codes; nil: one with a random secret.
  /// - Throws: `EngineError.invalidSchema` when there is no column, a name is empty or occurs twice, a
  ///   default does not have its column's type, or the key names a missing column, or one twice.
  package init(
    _ columns: [Column], table: String, keys: [String] = [], keyCode: KeyCode? = nil
  ) throws(EngineError) {
    self.columns = columns.map(\.normal)
    columnIDs = columns.indices.map { UInt32($0 + 1) }
    nextColumnID = UInt32(columns.count + 1)
    indices = [:]
    guard !columns.isEmpty else {
      throw EngineError.invalidSchema(table: table, reason: "a table needs at least one column")
    }
    for (index, column) in columns.enumerated() {
      guard !column.name.isEmpty else {
        throw EngineError.invalidSchema(table: table, reason: "column \(index + 1) has no name")
      }
      if let problem = column.problem {
        throw EngineError.invalidSchema(table: table, reason: problem)
      }
      guard indices.updateValue(index, forKey: column.name) == nil else {
        throw EngineError.invalidSchema(
          table: table, reason: "the column name '\(column.name)' stands twice")
      }
    }
    if keys.isEmpty { return }
    var places: [Int] = []
    for key in keys {
      guard let index = indices[key] else {
        throw EngineError.invalidSchema(
          table: table, reason: "the key '\(key)' is none of its columns")
      }
      guard !places.contains(index) else {
        throw EngineError.invalidSchema(
          table: table, reason: "the column '\(key)' stands twice in the key")
      }
      places.append(index)
    }
    setKey(at: places, code: keyCode ?? .random())
  }

  /// For decoding.
  init(nextColumnID: UInt32) {
    columns = []
    columnIDs = []
    indices = [:]
    self.nextColumnID = nextColumnID
  }

  /// The index of a column; nil when no column has that name.
  public func index(of name: String) -> Int? { indices[name] }

  // MARK: Changing

  /// Changes how a column is read. Stored values and the default keep their spellings.
  package mutating func setReading(_ reading: Reading, at index: Int) {
    let spelling = columns[index].default.map { columns[index].stored($0).spelling }
    columns[index].type = reading.type
    columns[index].notation = reading.notation
    columns[index].default = spelling.flatMap {
      $0.withUnsafeBytes { Value(spelling: $0, as: reading) }
    }
  }

  /// Returns whether a column is in the primary key.
  package func isInKey(_ index: Int) -> Bool { keyColumns.contains(index) }

  /// The names of the primary key's columns, in the key's order.
  package var keyNames: [String] { keyColumns.map { columns[$0].name } }

  /// Allows or forbids null in a column; a column of the key never allows it.
  package mutating func setNullable(_ isNullable: Bool = true, at index: Int) {
    if !isInKey(index) { columns[index].isNullable = isNullable }
  }

  /// - Throws: `EngineError.invalidSchema` when the default does not have the column's type.
  package mutating func setDefault(
    _ value: Value?, at index: Int, table: String
  ) throws(EngineError) {
    var column = columns[index]
    column.default = value
    if let problem = column.problem {
      throw EngineError.invalidSchema(table: table, reason: problem)
    }
    columns[index] = column.normal
  }

  /// Renames a column.
  ///
  /// - Throws: `EngineError.invalidSchema` when the name is empty, or another column has it.
  package mutating func rename(
    at index: Int, to name: String, table: String
  ) throws(EngineError) {
    if columns[index].name == name { return }
    try checkNew(name, table)
    indices[columns[index].name] = nil
    indices[name] = index
    columns[index].name = name
  }

  /// Makes columns the primary key.
  package mutating func setKey(at places: [Int], code: KeyCode) {
    keyColumns = places
    keyCode = code
    for index in places { columns[index].isNullable = false }
  }

  /// Removes the primary key; its columns stay unchanged.
  package mutating func removeKey() {
    keyColumns = []
    keyCode = .none
  }

  /// Adds a column at the end; clusters that lack it read as null.
  package mutating func add(_ column: Column, table: String) throws(EngineError) {
    try checkNew(column.name, table)
    if let problem = column.problem {
      throw EngineError.invalidSchema(table: table, reason: problem)
    }
    let (next, overflow) = nextColumnID.addingReportingOverflow(1)
    // A schema without further numbers stores the last one.
    guard !overflow, next < .max else {
      throw EngineError.tooLarge(what: "a column's number", limit: "2^32")
    }
    indices[column.name] = columns.count
    columns.append(column.normal)
    columnIDs.append(nextColumnID)
    nextColumnID = next
  }

  /// Removes a column. The clusters' values of it are no longer read, as its number is not reused.
  ///
  /// - Throws: `EngineError.invalidSchema` when it is the last column, or in the primary key.
  package mutating func remove(at index: Int, table: String) throws(EngineError) {
    guard !isInKey(index) else {
      throw EngineError.invalidSchema(
        table: table,
        reason:
          "column '\(columns[index].name)' is \(keyColumns.count > 1 ? "part of " : "")the primary key; make "
          + "another column the key "
          + "or give the key up first")
    }
    guard columns.count > 1 else {
      throw EngineError.invalidSchema(
        table: table,
        reason: "column '\(columns[index].name)' is its last one, and a table has at least one")
    }
    indices[columns.remove(at: index).name] = nil
    columnIDs.remove(at: index)
    keyColumns = keyColumns.map { $0 > index ? $0 - 1 : $0 }
    // Without hashing all names anew for each of many columns.
    for place in indices.values.indices where indices.values[place] > index {
      indices.values[place] -= 1
    }
  }

  private func checkNew(_ name: String, _ table: String) throws(EngineError) {
    guard !name.isEmpty, indices[name] == nil else {
      throw EngineError.invalidSchema(
        table: table, reason: "the column name '\(name)' is empty or there already")
    }
  }
}
