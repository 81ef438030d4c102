/// A question to a table: which objects, in which order, which of their columns.
///
///     var query = Query(column("Rating") >= 4.5 && column("Category") == "GAME")
///     query.sort = [.descending("Reviews")]
///     query.limit = 10
///     for row in try query.rows(in: table) { print(row["App"] ?? .null) }
///
/// **Cost.** The columns that the filter names are read, cluster by cluster; clusters whose bounds
/// cannot match are skipped, and an entry of a dictionary is tested once for all its rows. Values are
/// read for the objects that match and the columns asked for. A limit without a sort ends the reading.
///
/// **Order.** That of the keys; with `sort` that of the values, and of the keys where these are equal.
/// Nulls and NaN come last, ascending or descending: NaN, then null.
///
/// **Memory.** One cluster's columns. A sort keeps the sorted columns' values of every object that
/// matches, or of twice the limit; `isDistinct` and groups keep one of each.
///
/// Thread rule: a plain value, `Sendable`; runs on the thread that calls it.
public struct Query: Sendable {
  /// Nil: all objects.
  public var filter: Predicate?
  /// The columns of the rows, in this order; nil: all.
  public var columns: [String]?
  /// The first counts most.
  public var sort: [SortOrder] = []
  /// Leaves out so many objects at the beginning. Not below 0.
  public var offset = 0
  /// At most so many objects. Not below 0.
  public var limit: Int?
  /// Of the objects whose values in `distinctColumns` are all equal, only the first. Values are
  /// equal whatever their spelling, and null and NaN are equal to themselves. A sort may then only
  /// name columns that are among these.
  public var isDistinct = false
  /// The columns that `isDistinct` is about; nil: those of `columns`.
  public var distinctColumns: [String]?

  /// All columns of the objects that match, in the order of keys; of all objects without a filter.
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
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`, `.damaged`; what `body` throws, which ends it.
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

  /// The keys of the objects, in order. Reads no column but the filter's and the sort's.
  ///
  /// - Throws: as `forEachRow`.
  public func keys(in table: Table) throws -> [Int64] { try keys(of: table) }

  // MARK: Whatever the table is

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
  /// The greatest first; nulls and NaN come last all the same.
  public var isDescending: Bool

  /// - Parameters:
  ///   - column: the name of the column.
  ///   - descending: the greatest first.
  public init(_ column: String, descending: Bool = false) {
    self.column = column
    isDescending = descending
  }

  /// The least first.
  public static func ascending(_ column: String) -> SortOrder { SortOrder(column) }
  /// The greatest first.
  public static func descending(_ column: String) -> SortOrder {
    SortOrder(column, descending: true)
  }
}
