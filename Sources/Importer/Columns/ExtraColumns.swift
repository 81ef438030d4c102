import Engine

/// Names and identifiers of the columns for the surplus fields of long records.
///
/// They depend on the input's names and on the columns that were not made for surplus fields. So the columns
/// that an import adds do not change where its later records, or the next import, put the same field.
struct ExtraColumns: Sendable, Equatable {
  /// The identifiers of the columns that the table has already, by the index of the surplus field.
  let existing: [Int: UInt32]
  /// The keys of `existing`, ascending.
  private let places: [Int]
  /// The identifier of the first of these columns that is to be added.
  let nextIdentifier: UInt32
  /// The names of other columns.
  let taken: Set<String>

  /// - Parameters:
  ///   - made: the identifiers of the table's columns for surplus fields, by name.
  ///   - taken: the names of the input and of the table's other columns.
  init(made: [String: UInt32] = [:], nextIdentifier: UInt32, taken: Set<String>) {
    self.nextIdentifier = nextIdentifier
    self.taken = taken
    var existing: [Int: UInt32] = [:]
    for (name, identifier) in made {
      guard let index = SurplusColumns.index(of: name), Self.name(index, taken) == name else {
        continue
      }
      existing[index] = identifier
    }
    self.existing = existing
    places = existing.keys.sorted()
  }

  /// - Parameters:
  ///   - names: those of the input.
  ///   - table: the input's table; nil when it is to be created.
  init(_ names: [String], _ table: TableContents?, nextIdentifier: UInt32) {
    guard let table else {
      self.init(nextIdentifier: nextIdentifier, taken: Set(names))
      return
    }
    let known = SurplusColumns.all(table.schema, table.note)
    var (made, taken): ([String: UInt32], Set<String>) = ([:], Set(names))
    for (identifier, column) in zip(table.schema.columnIDs, table.schema.columns) {
      if known.contains(identifier) {
        made[column.name] = identifier
      } else {
        taken.insert(column.name)
      }
    }
    self.init(made: made, nextIdentifier: nextIdentifier, taken: taken)
  }

  /// The identifier of the column for surplus field `index`, from 0.
  ///
  /// - Complexity: O(log(existing columns)).
  func identifier(_ index: Int) -> UInt32 {
    if let identifier = existing[index] { return identifier }
    // The columns that the table lacks are added in their order.
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle] < index { low = middle + 1 } else { high = middle }
    }
    return nextIdentifier &+ UInt32(index - low)
  }

  /// Its name: `extra1`, `extra2` and so on, with a suffix when another column has that name.
  func name(_ index: Int) -> String { Self.name(index, taken) }

  private static func name(_ index: Int, _ taken: Set<String>) -> String {
    Column.unused("extra\(index + 1)", taken)
  }
}
