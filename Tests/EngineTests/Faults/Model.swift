import Base
import TestSupport
@testable import Engine

/// What a database should hold: the slow, obvious twin of the engine.
struct Model: Sendable, Equatable {
  struct Table: Sendable, Equatable {
    var columns: [Column]
    var rows: [Int64: [Value]] = [:]
    var nextKey: Int64 = 1
    /// One more than the last key that an insertion has returned.
    var nextGivenKey: Int64 = 1
    var note: [UInt8]?

    /// The columns of the primary key, in an order of its own.
    var keys: [Int] {
      ["id 2", "id"].compactMap { name in columns.firstIndex { $0.name == name } }
    }

    var keyNames: [String] { keys.map { columns[$0].name } }

    /// The primary key of a row as a tuple of spellings; nil if it has none.
    func key(_ row: [Value]) -> [[UInt8]]? {
      keys.isEmpty ? nil : keys.map { row[$0].spelling }
    }

    /// The keys of the objects by primary key.
    func owners() -> [[[UInt8]]: Int64] {
      Dictionary(
        rows.compactMap { row in key(row.value).map { ($0, row.key) } },
        uniquingKeysWith: { first, _ in first })
    }

    mutating func insert(_ values: [Value]) {
      add(values)
      nextGivenKey = nextKey
    }

    /// Adds a row as an import does, which is not told the key.
    mutating func add(_ values: [Value]) {
      rows[nextKey] = values
      nextKey += 1
    }
  }

  var tables: [String: Table] = [:]

  /// A transaction to `other` was rolled back: the handle does not give its keys again.
  mutating func cancel(_ other: Model) {
    for (name, cancelled) in other.tables {
      guard var table = tables[name] else { continue }
      table.nextKey = max(table.nextKey, cancelled.nextGivenKey)
      table.nextGivenKey = max(table.nextGivenKey, cancelled.nextGivenKey)
      tables[name] = table
    }
  }

  /// Takes the next keys from the handle, where nobody knows how far a failed transaction came.
  mutating func learnNextKeys(_ database: Database) throws {
    let transaction = try database.beginWrite()
    for name in tables.keys {
      let next = try transaction.table(name).editor.table.nextKey
      tables[name]?.nextKey = next
      tables[name]?.nextGivenKey = next
    }
    transaction.rollBack()
  }

  /// A digest: equal contents have equal ones.
  var digest: UInt64 {
    var writer = ByteWriter()
    for (name, table) in tables.sorted(by: { $0.key < $1.key }) {
      Self.append(name, table.columns, table.note, to: &writer)
      for (key, values) in table.rows.sorted(by: { $0.key < $1.key }) {
        Self.append(key, values, to: &writer)
      }
    }
    return Checksum.of(writer.bytes)
  }

  /// The same digest of a snapshot, read row by row.
  static func digest(_ snapshot: Snapshot) throws -> UInt64 {
    var writer = ByteWriter()
    for name in snapshot.tableNames.sorted() {
      let table = try snapshot.table(name)
      append(name, table.columns, table.note("note"), to: &writer)
      try table.forEachRow { append($0.key, $0.values, to: &writer) }
    }
    return Checksum.of(writer.bytes)
  }

  private static func append(
    _ name: String, _ columns: [Column], _ note: [UInt8]?, to writer: inout ByteWriter
  ) {
    writer.append(name)
    for column in columns {
      writer.append(column.name)
      writer.append(column.type.rawValue)
      writer.append(column.isNullable)
    }
    writer.append(note != nil)
    if let note { writer.append(note) }
  }

  private static func append(_ key: Int64, _ values: [Value], to writer: inout ByteWriter) {
    writer.append(UInt64(bitPattern: key))
    for value in values {
      let spelling = value.spelling
      writer.append(UInt32(value == .null ? UInt32.max : UInt32(spelling.count)))
      writer.append(spelling)
    }
  }

  /// Whether the values are the same to the letter; NaN is NaN.
  static func isSame(_ left: [Value]?, _ right: [Value]?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return left.count == right.count
      && zip(left, right).allSatisfy {
        ($0 == .null) == ($1 == .null) && $0.spelling == $1.spelling
      }
  }

  /// Where a snapshot differs by key, by position or in order; nil if it does not.
  func difference(_ snapshot: Snapshot) throws -> String? {
    guard snapshot.tableNames.sorted() == tables.keys.sorted() else {
      return "tables \(snapshot.tableNames) instead of \(tables.keys.sorted())"
    }
    for (name, expected) in tables {
      let table = try snapshot.table(name)
      let keys = expected.rows.keys.sorted()
      guard table.count == keys.count else {
        return "\(name): \(table.count) objects instead of \(keys.count)"
      }
      guard table.note("note") == expected.note else { return "\(name): another note" }
      var position = 0
      var found: String?
      try table.forEachRow { row in
        if found == nil, position >= keys.count || row.key != keys[position] {
          found = "\(name): key \(row.key) at position \(position)"
        } else if found == nil, !Self.isSame(expected.rows[row.key], row.values) {
          found = "\(name): key \(row.key) is \(row.values), not \(expected.rows[row.key] ?? [])"
        }
        position += 1
      }
      if let found { return found }
      guard position == keys.count else { return "\(name): \(position) rows in order" }
      if let found = try Self.keyDifference(table, expected) { return found }
    }
    return nil
  }

  /// Looks objects up by their primary keys, and some keys that do not exist.
  private static func keyDifference(
    _ table: Engine.Table, _ expected: Table
  ) throws -> String? {
    let columns = expected.keys
    if columns.isEmpty { return nil }
    for (key, values) in expected.rows {
      let wanted = columns.map { values[$0] }
      let found = try table.row(forPrimaryKey: wanted)
      if found?.key != key { return "\(table.name): \(wanted) is not found" }
    }
    let owners = expected.owners()
    for number in 0..<20 {
      let absent: [Value] = Array([Value.int(1), .text("\(number)")].suffix(columns.count))
      if owners[absent.map(\.spelling)] != nil { continue }
      if let row = try table.row(forPrimaryKey: absent) {
        return "\(table.name): '\(number)' is \(row)"
      }
    }
    return nil
  }

  /// Compares some objects by position and by key.
  func sampleDifference(
    _ snapshot: Snapshot, _ random: inout SplitMix64, count: Int
  ) throws -> String? {
    for (name, expected) in tables {
      let table = try snapshot.table(name)
      let keys = expected.rows.keys.sorted()
      for _ in 0..<count {
        let position = Int.random(in: 0...keys.count, using: &random)
        let row = try table.row(at: position)
        let key = position < keys.count ? keys[position] : nil
        guard row?.key == key,
          Self.isSame(row?.values, key.flatMap { expected.rows[$0] })
        else {
          return "\(name): position \(position) is \(String(describing: row))"
        }
        let any = Int64.random(in: 0...expected.nextKey, using: &random)
        guard Self.isSame(try table.row(forKey: any)?.values, expected.rows[any]) else {
          return "\(name): key \(any) differs"
        }
      }
      guard try table.row(at: -1) == nil, try table.row(at: keys.count) == nil else {
        return "\(name): there is something beyond its ends"
      }
    }
    return nil
  }
}
