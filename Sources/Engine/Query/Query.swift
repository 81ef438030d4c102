/// A query of a table: which objects, in which order, which of their columns.
///
///     var query = Query(column("Rating") >= 4.5 && column("Category") == "GAME")
///     query.sort = [.descending("Reviews")]
///     query.limit = 10
///     for row in try query.rows(in: table) { print(row["App"] ?? .null) }
///
/// **Cost.** The columns that the filter names are read, cluster by cluster; clusters whose bounds cannot
/// match are skipped, and an entry of a dictionary is tested once for all its rows. Only matching objects'
/// values are read, in the columns asked for. Without a sort, reading ends at the limit.
///
/// **Order.** By key; with `sort` by the values, and by key where these are equal. NaN and null come last, in
/// this order, ascending or descending.
///
/// **Memory.** One cluster's columns. A sort keeps the sorted columns' values of every matching object, or of
/// twice the limit; `isDistinct` and groups keep one of each distinct set of values.
///
/// Thread rule: a plain value, `Sendable`; runs on the calling thread.
public struct Query: Sendable {
  /// Nil: all objects match.
  public var filter: Predicate?
  /// The columns of the rows, in this order; nil: all columns.
  public var columns: [String]?
  /// The columns to sort by, the most important first.
  public var sort: [SortOrder] = []
  /// How many objects are skipped at the beginning. Not negative.
  public var offset = 0
  /// The largest number of objects. Not negative.
  public var limit: Int?
  /// Of the objects with equal values in all of `distinctColumns`, only the first. Values are equal whatever
  /// their spelling, and null and NaN equal themselves. A sort may then name only these columns.
  public var isDistinct = false
  /// The columns that `isDistinct` compares; nil: those of `columns`.
  public var distinctColumns: [String]?

  /// All columns of the matching objects, or without a filter of all objects, in the order of keys.
  public init(_ filter: Predicate? = nil) { self.filter = filter }
}

extension Query {
  /// How many objects there are.
  ///
  /// - Complexity: reads the filter's columns only; nothing at all without a filter.
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`, `.damaged`.
  public func count(in table: Table) throws -> Int { try count(of: table) }

  /// Calls `body` with every object, in order. Its values are those of `columns`.
  ///
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`, `.damaged`; what `body` throws ends the loop.
  public func forEachRow(in table: Table, _ body: (Row) throws -> Void) throws {
    try forEachRow(of: table, body)
  }

  /// The objects, in order; their values are those of `columns`.
  ///
  /// - Throws: as `forEachRow`.
  public func rows(in table: Table) throws -> [Row] {
    var rows: [Row] = []
    try forEachRow(of: table) { rows.append($0) }
    return rows
  }

  /// The objects, in order, as values of a `Decodable` type; see `Row.decode`. Name the type's columns in
  /// `columns`, so that no others are read.
  ///
  /// - Throws: as `forEachRow` and `Row.decode`.
  public func rows<Model: Decodable>(in table: Table, as type: Model.Type) throws -> [Model] {
    var objects: [Model] = []
    try forEachRow(in: table) { objects.append(try $0.decode(type)) }
    return objects
  }

  /// The keys of the objects, in order. Reads only the columns of the filter and the sort.
  ///
  /// - Throws: as `forEachRow`.
  public func keys(in table: Table) throws -> [Int64] { try keys(of: table) }

  // MARK: For tables of versions and of transactions

  package func count(of source: any LeafSource) throws -> Int {
    try ResultReader(self, source).count()
  }

  package func forEachRow(of source: any LeafSource, _ body: (Row) throws -> Void) throws {
    try ResultReader(self, source).forEachRow(body)
  }

  package func keys(of source: any LeafSource) throws -> [Int64] {
    let reader = try ResultReader(self, source, readsColumns: false)
    var keys: [Int64] = []
    try reader.forEachWindow(withKeys: true) { keys += $0.keys }
    return keys
  }
}

/// A column to sort by.
///
/// Thread rule: a plain value, `Sendable`.
public struct SortOrder: Sendable, Equatable {
  /// The name of the column.
  public var column: String
  /// Greatest first; NaN and null come last in any case.
  public var isDescending: Bool

  /// - Parameters:
  ///   - column: the name of the column.
  ///   - descending: greatest first.
  public init(_ column: String, descending: Bool = false) {
    self.column = column
    isDescending = descending
  }

  /// Least first.
  public static func ascending(_ column: String) -> SortOrder { SortOrder(column) }
  /// Greatest first.
  public static func descending(_ column: String) -> SortOrder {
    SortOrder(column, descending: true)
  }
}
