import Base

/// Finds a table among many, and adds, renames and orders tables.
extension Catalogue {
  /// The index of a table in `tables`; nil when there is none.
  ///
  /// - Complexity: O(log n).
  func place(number: UInt32) -> Int? {
    let place = partitionPoint(0..<tables.count) { tables[$0].number >= number }
    if place < tables.count, tables[place].number == number { return place }
    // New tables get greater numbers and are appended, but a file may have another order.
    return tables.firstIndex { $0.number == number }
  }

  /// - Complexity: O(log n).
  func place(named name: String) -> Int? { numbers[name].flatMap { place(number: $0) } }

  /// The table with that name, perhaps a companion.
  func table(named name: String) -> TableEntry? { place(named: name).map { tables[$0] } }

  /// The table of programs with that name; nil when there is none.
  package func programTable(_ name: String) -> TableEntry? {
    Self.isReserved(name) ? nil : table(named: name)
  }

  /// The table of that number.
  func table(number: UInt32) -> TableEntry? { place(number: number).map { tables[$0] } }

  /// Adds a table with a new name and number.
  mutating func add(_ table: TableEntry) {
    tables.append(table)
    numbers[table.name] = table.number
  }

  /// Adds a table that existed before, at the place of its number. No table has its name or number.
  mutating func insert(_ table: TableEntry) {
    let place = tables.firstIndex { $0.number > table.number } ?? tables.count
    tables.insert(table, at: place)
    numbers[table.name] = table.number
  }

  /// Renames the table at an index; no other table has the new name.
  mutating func rename(at place: Int, to name: String) {
    if numbers[tables[place].name] == tables[place].number { numbers[tables[place].name] = nil }
    tables[place].name = name
    numbers[name] = tables[place].number
  }

  mutating func remove(at place: Int) {
    let table = tables.remove(at: place)
    if numbers[table.name] == table.number { numbers[table.name] = nil }
  }
}
