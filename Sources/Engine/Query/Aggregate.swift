/// A number that summarizes a column's values over many objects.
///
/// Nulls and NaN are ignored, as in SQL; over no values, all functions except `count` give null.
///
/// Thread rule: a plain value, `Sendable`.
public struct Aggregate: Sendable, Equatable {
  /// How the values are aggregated.
  public enum Function: String, Sendable, CaseIterable {
    /// The number of values that are neither null nor NaN.
    case count
    /// The sum of numbers. For ints it is exact: an int if it fits into 64 bits, otherwise the nearest
    /// double. For decimals likewise, with 38 digits instead of 64 bits. For doubles the summation is
    /// compensated (Neumaier), so the order hardly matters.
    case sum
    /// The mean of numbers, a double.
    case average
    /// The least value, in sort order; of any type.
    case minimum
    /// The greatest value, in sort order; of any type.
    case maximum
  }

  /// How the values are aggregated.
  public var function: Function
  /// The name of the aggregated column.
  public var column: String

  /// - Parameters:
  ///   - function: how the values are aggregated.
  ///   - column: the name of the column.
  public init(_ function: Function, _ column: String) {
    self.function = function
    self.column = column
  }

  /// The number of values that are neither null nor NaN.
  public static func count(_ column: String) -> Aggregate { Aggregate(.count, column) }
  /// The sum of a column of numbers.
  public static func sum(_ column: String) -> Aggregate { Aggregate(.sum, column) }
  /// The mean of a column of numbers, a double.
  public static func average(_ column: String) -> Aggregate { Aggregate(.average, column) }
  /// The least value of a column.
  public static func minimum(_ column: String) -> Aggregate { Aggregate(.minimum, column) }
  /// The greatest value of a column.
  public static func maximum(_ column: String) -> Aggregate { Aggregate(.maximum, column) }

  /// The type of the result for a column of that type; nil when there is none.
  package func type(of column: ColumnType) -> ColumnType? {
    let isNumber = column == .int || column == .double || column == .decimal
    switch function {
    case .count: return .int
    case .sum: return isNumber ? column : nil
    case .average: return isNumber ? .double : nil
    case .minimum, .maximum: return column
    }
  }
}

/// Objects with the same values in the grouping columns.
///
/// Thread rule: a plain value, `Sendable`.
public struct Group: Sendable, Equatable {
  /// The values, in the order of the columns.
  public let values: [Value]
  /// The number of objects in the group.
  public let count: Int
  /// One value for each aggregate, in the requested order.
  public let aggregates: [Value]
}

/// The state of an aggregate after some values.
struct Accumulator {
  private let aggregate: Aggregate
  private let key: OrderedKey
  private let reading: Reading
  private var count = 0
  private var integers: Int128 = 0
  private var decimals = DecimalSum()
  private var sum = 0.0
  private var compensation = 0.0
  /// The sort key of the least or greatest value, and its spelling.
  private var extreme: (key: [UInt8], spelling: [UInt8])?

  init(_ aggregate: Aggregate, _ reading: Reading) {
    self.aggregate = aggregate
    self.reading = reading
    key = OrderedKey(reading: reading, isDescending: aggregate.function == .maximum)
  }

  /// Adds a value; returns false when the spelling does not fit the type.
  ///
  /// - Parameter room: memory that is reused between calls.
  mutating func add(_ spelling: UnsafeRawBufferPointer?, room: inout [UInt8]) -> Bool {
    guard let spelling else { return true }
    switch (aggregate.function, reading.type) {
    case (.count, .double), (.sum, .double), (.average, .double):
      guard let double = reading.double(spelling) else { return false }
      if double.isNaN { return true }
      add(double)
    case (.sum, .decimal), (.average, .decimal):
      guard let decimal = reading.decimal(spelling) else { return false }
      decimals.add(decimal)
    case (.sum, _), (.average, _):
      guard let int = reading.integer(spelling) else { return false }
      integers &+= Int128(int)
    case (.count, _): break
    case (.minimum, _), (.maximum, _):
      room.removeAll(keepingCapacity: true)
      guard key.append(spelling, to: &room) else { return false }
      // Null and NaN.
      if room.first != 1 { return true }
      if let extreme, !room.lexicographicallyPrecedes(extreme.key) { return true }
      extreme = (room, Array(spelling))
    }
    count += 1
    return true
  }

  private mutating func add(_ double: Double) {
    let total = sum + double
    // The digits of the smaller operand lost in the addition.
    let lost = sum.magnitude >= double.magnitude ? (sum - total) + double : (double - total) + sum
    // Infinities lose nothing, but their difference would be NaN.
    if lost.isFinite { compensation += lost }
    sum = total
  }

  /// The sum as the nearest double.
  private var total: Double {
    switch reading.type {
    case .double: sum + compensation
    case .decimal: decimals.double
    default: Double(integers)
    }
  }

  var value: Value {
    switch aggregate.function {
    case .count: return .int(Int64(count))
    case .minimum, .maximum:
      return extreme.flatMap { extreme in
        extreme.spelling.withUnsafeBytes { Value(spelling: $0, as: reading) }
      } ?? .null
    case .sum:
      if count == 0 { return .null }
      if reading.type == .double { return .double(sum + compensation) }
      if reading.type == .decimal {
        return decimals.value.map { .decimal($0) } ?? .double(decimals.double)
      }
      return Int64(exactly: integers).map { .int($0) } ?? .double(Double(integers))
    case .average:
      if count == 0 { return .null }
      return .double(total / Double(count))
    }
  }
}

extension Query {
  /// Aggregates the objects that match the filter; sort, offset, limit, columns and distinctness are
  /// ignored.
  ///
  /// - Returns: a value for each aggregate, in their order.
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`, `.invalidArgument` for a sum or average of values
  ///   that are not numbers, `.damaged`.
  public func aggregates(_ aggregates: [Aggregate], in table: Table) throws -> [Value] {
    try groups(by: [], aggregates, of: table)[0].aggregates
  }

  /// Groups the objects that match the filter by the values of columns, and aggregates each group. Values are
  /// equal whatever their spelling; null is a value like others, and so is NaN.
  ///
  /// The groups are in the order of their first objects; the query's `sort`, `offset`, `limit`, `columns`,
  /// `isDistinct` and `distinctColumns` are ignored. Without columns there is one group of all objects, even
  /// if there are none.
  ///
  /// Memory: some dozens of bytes for each group and aggregate.
  ///
  /// - Throws: the errors of `aggregates`.
  public func groups(
    by columns: [String], _ aggregates: [Aggregate] = [], in table: Table
  ) throws -> [Group] {
    try groups(by: columns, aggregates, of: table)
  }

  package func groups(
    by columns: [String], _ aggregates: [Aggregate], of table: any LeafSource
  ) throws -> [Group] {
    let schema = try table.schema
    let places = try table.indices(of: columns)
    let sources = try table.indices(of: aggregates.map(\.column))
    for (aggregate, source) in zip(aggregates, sources)
    where aggregate.type(of: schema.columns[source].type) == nil {
      throw EngineError.invalidArgument(
        "the \(aggregate.function.rawValue) is of numbers only, and column '\(aggregate.column)' is "
          + schema.columns[source].type.article)
    }
    var query = Query(filter)
    query.columns = nil
    let reader = try ResultReader(query, table, readsColumns: false)
    var collector = GroupCollector(schema, places, aggregates, sources)
    try reader.forEachLeaf { leaf, rows in
      try collector.add(leaf, rows)
      return true
    }
    return collector.groups()
  }
}

/// Counts and aggregates groups, leaf by leaf.
private struct GroupCollector {
  private let reader: WindowReader
  private let columnIDs: [UInt32]
  private let keys: [OrderedKey]
  private let fresh: [Accumulator]
  private var table = KeyTable()
  private var found: [(values: [Value], count: Int, accumulators: [Accumulator])] = []

  init(
    _ schema: TableSchema, _ places: [Int], _ aggregates: [Aggregate], _ sources: [Int]
  ) {
    columnIDs = (places + sources).map { schema.columnIDs[$0] }
    reader = WindowReader(columnIDs: columnIDs)
    keys = places.map { OrderedKey(reading: schema.columns[$0].reading, isDescending: false) }
    fresh = zip(aggregates, sources).map { Accumulator($0, schema.columns[$1].reading) }
    if places.isEmpty { found.append(([], 0, fresh)) }
  }

  mutating func add(_ leaf: Leaf, _ rows: RowBits) throws {
    if columnIDs.isEmpty {
      found[0].count += rows.population
      return
    }
    var bytes: [UInt8] = []
    var room: [UInt8] = []
    try reader.read(leaf, rows, withKeys: false) { window, first in
      for row in 0..<window.count {
        let group = try number(window, row, first, &bytes)
        found[group].count += 1
        for index in fresh.indices {
          let column = keys.count + index
          guard found[group].accumulators[index].add(window.field(row, column), room: &room) else {
            throw misfit(column, row: first + Int(window.rows[row]))
          }
        }
      }
    }
  }

  private func misfit(_ column: Int, row: Int) -> ClusterError {
    let type = column < keys.count ? keys[column].type : ColumnType.double
    return .misfit(column: columnIDs[column], row: row, type: type)
  }

  /// The number of a row's group.
  private mutating func number(
    _ window: ResultWindow, _ row: Int, _ first: Int, _ bytes: inout [UInt8]
  ) throws -> Int {
    if keys.isEmpty { return 0 }
    bytes.removeAll(keepingCapacity: true)
    for (column, key) in keys.enumerated() {
      guard key.append(window.field(row, column), to: &bytes) else {
        throw misfit(column, row: first + Int(window.rows[row]))
      }
    }
    let number = table.number(of: bytes)
    if number == found.count {
      let values = try keys.enumerated().map {
        try window.value(row, $0.offset, id: columnIDs[$0.offset], $0.element.reading)
      }
      found.append((values, 0, fresh))
    }
    return number
  }

  func groups() -> [Group] {
    found.map {
      Group(values: $0.values, count: $0.count, aggregates: $0.accumulators.map(\.value))
    }
  }
}
