import TestSupport

@testable import Engine

/// A whole table, read row by row: the slow, obvious twin of differences and results.
struct FullTable {
  /// The keys, ascending.
  private(set) var keys: [Int64] = []
  /// The spellings by key and column identifier; null has no entry.
  private(set) var fields: [Int64: [UInt32: [UInt8]]] = [:]
  private(set) var rows: [Row] = []
  let table: Table

  init(_ table: Table) throws {
    self.table = table
    try table.forEachLeaf { leaf in
      let keys = try leaf.keys()
      for row in 0..<leaf.rowCount {
        self.keys.append(keys.key(row))
        for id in table.schema.columnIDs {
          fields[keys.key(row), default: [:]][id] = try leaf.column(id: id).withSpelling(row) {
            $0.map { Array($0) }
          }
        }
      }
    }
    try table.forEachRow { rows.append($0) }
  }

  /// The identifiers of the columns in which an object differs.
  func changedColumns(_ key: Int64, _ other: FullTable) -> [UInt32] {
    let (before, after) = (fields[key] ?? [:], other.fields[key] ?? [:])
    return Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }.sorted()
  }

  /// A value by the column's identifier.
  func value(_ key: Int64, _ id: UInt32) -> Value {
    guard let row = rows.first(where: { $0.key == key }),
      let index = table.schema.columnIDs.firstIndex(of: id)
    else { return .null }
    return row.values[index]
  }

  /// The keys of a query's results, found one row at a time.
  func results(_ query: Query) -> [Int64] {
    var found = rows.filter { row in
      query.filter.map { SlowQuery.matches($0, row) == true } ?? true
    }
    if query.isDistinct {
      let columns = query.columns ?? table.columns.map(\.name)
      var kept: [Row] = []
      for row in found where !kept.contains(where: { SlowQuery.areEqual($0, row, columns) }) {
        kept.append(row)
      }
      found = kept
    }
    // The standard sort is stable.
    found.sort { SlowQuery.compare($0, $1, query.sort) < 0 }
    return found.dropFirst(query.offset).prefix(query.limit ?? .max).map(\.key)
  }
}

enum SlowDifference {
  /// What is wrong with a difference of two versions; nil if it equals a comparison of all rows.
  static func problem(_ difference: TableDifference, _ old: FullTable, _ new: FullTable) -> String?
  {
    let (before, after) = (Set(old.keys), Set(new.keys))
    let deleted = old.keys.enumerated().filter { !after.contains($0.element) }
    let inserted = new.keys.enumerated().filter { !before.contains($0.element) }
    if difference.deleted.map(\.key) != deleted.map(\.element)
      || difference.deleted.map(\.position) != deleted.map(\.offset)
    {
      return "deleted \(difference.deleted), not \(deleted)"
    }
    if difference.inserted.map(\.key) != inserted.map(\.element)
      || difference.inserted.map(\.position) != inserted.map(\.offset)
    {
      return "inserted \(difference.inserted), not \(inserted)"
    }
    let places = Dictionary(uniqueKeysWithValues: new.keys.enumerated().map { ($1, $0) })
    var expected: [String] = []
    for (position, key) in old.keys.enumerated() {
      guard let place = places[key] else { continue }
      let columns = old.changedColumns(key, new)
      if !columns.isEmpty { expected.append("\(key) \(position) \(place) \(columns)") }
    }
    let found = difference.modified.map {
      "\($0.key) \($0.oldPosition) \($0.newPosition) \(difference.columnSets[$0.columnSet])"
    }
    return found == expected ? nil : "modified \(found), not \(expected)"
  }

  /// What is wrong with a change set; nil if it turns one list of keys into the other with as few
  /// deletions as possible, and names all objects that stay and differ.
  static func problem(
    _ changes: ChangeSet, _ old: [Int64], _ new: [Int64], differs: (Int64) -> Bool
  ) -> String? {
    func ascends(_ positions: [Int], below end: Int) -> Bool {
      zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 }
        && positions.allSatisfy { $0 >= 0 && $0 < end }
    }
    guard ascends(changes.deletions, below: old.count),
      ascends(changes.insertions, below: new.count),
      ascends(changes.modifications, below: old.count),
      ascends(changes.newModifications, below: new.count)
    else { return "positions do not ascend: \(changes)" }
    var list = old
    for position in changes.deletions.reversed() { list.remove(at: position) }
    for position in changes.insertions {
      if position > list.count { return "an insertion beyond the end: \(changes)" }
      list.insert(new[position], at: position)
    }
    if list != new { return "\(changes) makes \(old) \(list), not \(new)" }
    let stay = longestCommon(old, new)
    if changes.deletions.count != old.count - stay { return "\(changes) moves more than need be" }
    let deleted = Set(changes.deletions)
    let places = Dictionary(uniqueKeysWithValues: new.enumerated().map { ($1, $0) })
    let expected = old.indices.filter { !deleted.contains($0) && differs(old[$0]) }
    if changes.modifications != expected {
      return "modifications \(changes.modifications), not \(expected)"
    }
    if changes.newModifications != expected.compactMap({ places[old[$0]] }) {
      return "new positions of modifications: \(changes)"
    }
    return nil
  }

  /// The length of the longest common subsequence.
  static func longestCommon(_ one: [Int64], _ other: [Int64]) -> Int {
    var lengths = [Int](repeating: 0, count: other.count + 1)
    for key in one {
      var diagonal = 0
      for (index, otherKey) in other.enumerated() {
        let above = lengths[index + 1]
        lengths[index + 1] = key == otherKey ? diagonal + 1 : max(above, lengths[index])
        diagonal = above
      }
    }
    return lengths[other.count]
  }
}

/// Random changes to a database of three tables; all versions are held.
struct RandomHistory {
  static let tables = ["all", "few", "keyed"]
  let database: Database
  var changes: RandomChanges
  private var model = Model()
  /// The names of columns are not used twice.
  private var columnCount = 0

  /// Limits that make deep trees of a few rows, and less extreme ones.
  private static func options(_ variant: UInt64) -> Database.Options {
    var options = Database.Options.tiny
    switch variant % 4 {
    case 0: break
    case 1:
      options.limits.nodeCapacity = 2
      options.limits.clusterRows = 3
      options.limits.tailRows = 2
      options.limits.smallRows = 2
      options.limits.overlayFrom = 100_000
    case 2:
      options.limits.nodeCapacity = 5
      options.limits.clusterRows = 30
      options.limits.tailRows = 3
      options.limits.smallRows = 3
      options.limits.overlayBytes = 10_000...10_000
    default:
      options.limits.nodeCapacity = 3
      options.limits.clusterRows = 5
      options.limits.tailRows = 5
      options.limits.smallRows = 5
      options.limits.overlayFrom = 300
    }
    return options
  }

  init(seed: UInt64) throws {
    changes = RandomChanges(seed: seed)
    changes.bulk = [3, 12, 40][Int(seed % 3)]
    database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: Self.options(seed))
    try database.write { transaction in
      try changes.createTable("all", RandomChanges.columns, transaction, &model)
      try changes.createTable("few", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
    }
  }

  /// One commit.
  mutating func step() throws {
    try database.write(durability: Durability.none) { transaction in
      for _ in 0..<Int.random(in: 1...4, using: &changes.random) {
        switch Int.random(in: 0..<40, using: &changes.random) {
        case 0: try addColumn(transaction)
        case 1: try changeColumn(transaction)
        case 2...4: try touch(transaction)
        default: try changes.any(transaction, &model)
        }
      }
    }
  }

  /// Writes values that are the same already.
  private mutating func touch(_ transaction: borrowing WriteTransaction) throws {
    guard let name = Self.tables.randomElement(using: &changes.random),
      let rows = model.tables[name]?.rows, !rows.isEmpty,
      let key = rows.keys.sorted().randomElement(using: &changes.random), let values = rows[key]
    else { return }
    let table = try transaction.table(name)
    let all = Dictionary(uniqueKeysWithValues: zip(table.columns.map(\.name), values))
    try table.update(key, all)
  }

  private mutating func addColumn(_ transaction: borrowing WriteTransaction) throws {
    guard let name = Self.tables.randomElement(using: &changes.random) else { return }
    let table = try transaction.table(name)
    if table.columns.count > 11 { return }
    columnCount += 1
    let filling: Value? = Bool.random(using: &changes.random) ? .int(7) : nil
    let column = Column("late \(columnCount)", .int, nullable: filling == nil, default: filling)
    try table.addColumn(column)
    model.tables[name]?.columns.append(column)
    for key in model.tables[name].map({ Array($0.rows.keys) }) ?? [] {
      model.tables[name]?.rows[key]?.append(filling ?? .null)
    }
  }

  /// Removes or renames a column that was added later.
  private mutating func changeColumn(_ transaction: borrowing WriteTransaction) throws {
    guard let name = Self.tables.randomElement(using: &changes.random),
      let columns = model.tables[name]?.columns,
      let index = columns.indices.filter({ columns[$0].name.hasPrefix("late") })
        .randomElement(using: &changes.random)
    else { return }
    let table = try transaction.table(name)
    if Bool.random(using: &changes.random) {
      columnCount += 1
      try table.renameColumn(columns[index].name, to: "late \(columnCount)")
      model.tables[name]?.columns[index].name = "late \(columnCount)"
      return
    }
    try table.removeColumn(columns[index].name)
    model.tables[name]?.columns.remove(at: index)
    for key in model.tables[name].map({ Array($0.rows.keys) }) ?? [] {
      model.tables[name]?.rows[key]?.remove(at: index)
    }
  }
}
