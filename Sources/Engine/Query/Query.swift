/// A query of a table: which objects, in which order, with which columns.
///
///     var query = Query(column("Rating") >= 4.5 && column("Category") == "GAME")
///     query.sort = [.descending("Reviews")]
///     query.limit = 10
///     for row in try query.rows(in: table) { print(row["App"] ?? .null) }
///
/// **Cost.** The filter's columns are read, cluster by cluster. Clusters whose bounds cannot match are
/// skipped, and an entry of a dictionary is tested once for all of its rows. Values are read only of matching
/// objects, in the requested columns. Without a sort, reading ends at the limit.
///
/// **Order.** By key; with `sort` by the values, and by key where these are equal. NaN and null are last, in
/// this order, ascending or descending.
///
/// **Memory.** One cluster's columns. A sort keeps the sorted columns' values of every matching object, or of
/// twice the limit; `isDistinct` and groups keep one of each distinct set of values.
///
/// Thread rule: a plain value, `Sendable`; runs on the calling thread.
public struct Query: Sendable {
  /// The condition on the objects; nil: all objects match.
  public var filter: Predicate?
  /// The columns of the rows, in this order; nil: all columns.
  public var columns: [String]?
  /// The columns to sort by, the most important first.
  public var sort: [SortOrder] = []
  /// The number of objects skipped at the beginning; not negative.
  public var offset = 0
  /// The maximum number of objects; not negative; nil: no limit.
  public var limit: Int?
  /// Whether to keep only the first of the objects with equal values in all of `distinctColumns`. Values are
  /// equal whatever their spelling, and null and NaN equal themselves. A sort may then name only these
  /// columns.
  public var isDistinct = false
  /// The columns that `isDistinct` compares; nil: those of `columns`.
  public var distinctColumns: [String]?

  /// Selects all columns of the matching objects, or of all objects without a filter, in the order of keys.
  public init(_ filter: Predicate? = nil) { self.filter = filter }
}

extension Query {
  /// The number of objects.
  ///
  /// - Complexity: reads only the filter's columns; O(1) without a filter.
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`, `.damaged`.
  public func count(in table: Table) throws -> Int { try count(of: table) }

  /// Calls `body` with every object, in order. The rows have the values of `columns`.
  ///
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`, `.damaged`; the errors of `body`, which end the
  ///   loop.
  public func forEachRow(in table: Table, _ body: (Row) throws -> Void) throws {
    try forEachRow(of: table, body)
  }

  /// The objects, in order. The rows have the values of `columns`.
  ///
  /// - Throws: the errors of `forEachRow`.
  public func rows(in table: Table) throws -> [Row] {
    var rows: [Row] = []
    try forEachRow(of: table) { rows.append($0) }
    return rows
  }

  /// Decodes the objects as a `Decodable` type, in order; see `Row.decode`. Name the type's columns in
  /// `columns`, so that no others are read.
  ///
  /// - Throws: the errors of `forEachRow` and `Row.decode`.
  public func rows<Model: Decodable>(in table: Table, as type: Model.Type) throws -> [Model] {
    var objects: [Model] = []
    try forEachRow(in: table) { objects.append(try $0.decode(type)) }
    return objects
  }

  /// The keys of the objects, in order. Reads only the columns of the filter and the sort.
  ///
  /// - Throws: the errors of `forEachRow`.
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
  /// Greatest first. NaN and null are last in either order.
  public var isDescending: Bool

  /// - Parameters:
  ///   - column: the name of the column.
  ///   - descending: whether the greatest value is first.
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
