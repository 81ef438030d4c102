/// A leaf kept open for reading single rows: each column is opened when it is first asked for, and
/// where the rows asked for follow each other, many are decoded at a time.
///
/// Thread rule: one thread at a time, while a version that has the leaf is held.
package final class LeafReader {
  package let leaf: Leaf
  private let keys: LeafKeys
  /// The columns of the table, in its order.
  package let columnIDs: [UInt32]
  // Unchecked: nothing that is called while they change comes back here; the checks would cost more
  // than reading a value.
  @exclusivity(unchecked) private var points: ContiguousArray<PointColumn>
  @exclusivity(unchecked) private var others: [OtherColumn?] = []
  /// The row that values were last asked of.
  @exclusivity(unchecked) private var lastRow = -1
  /// How many rows in turn lay close to the one before.
  @exclusivity(unchecked) private var neighbours = 0

  /// A column that is read through its `LeafColumn`.
  private final class OtherColumn {
    let column: LeafColumn
    /// Some of its rows, decoded.
    @exclusivity(unchecked) var decoded: DecodedColumn?
    @exclusivity(unchecked) var rows = 0..<0

    init(_ column: LeafColumn) { self.column = column }
  }

  /// Rows less than so many apart are close; after so many of them, so many rows are decoded. One by
  /// one, a value costs about four times what it does decoded with others.
  private static let (closeRows, fewNeighbours, window) = (5, 16, 256)

  /// - Throws: `ClusterError`, when the keys are damaged.
  package init(_ leaf: Leaf, columnIDs: [UInt32]) throws(ClusterError) {
    self.leaf = leaf
    self.columnIDs = columnIDs
    keys = try leaf.keys()
    points = ContiguousArray(repeating: .unopened, count: columnIDs.count)
  }

  package var rowCount: Int { leaf.rowCount }

  /// - Precondition: the row exists.
  package func key(_ row: Int) -> Int64 { keys.key(row) }

  /// The row of a key; nil when there is none.
  package func row(ofKey key: Int64) -> Int? { keys.row(ofKey: key) }

  // MARK: Columns

  /// Opens a column that is not open yet.
  ///
  /// - Throws: `ClusterError`.
  @inline(never)
  private func open(_ index: Int) throws(ClusterError) {
    let column = try leaf.column(id: columnIDs[index])
    // What has changed lies in the overlay; all other rows are the cluster's.
    let point = PointColumn(column.stored)
    if point.isOther {
      if others.isEmpty { others = Array(repeating: nil, count: columnIDs.count) }
      others[index] = OtherColumn(column)
    }
    points[index] = point
  }

  /// A column that is read through its `LeafColumn`; opened when it was not.
  private func other(_ index: Int) throws(ClusterError) -> OtherColumn {
    if index < others.count, let other = others[index] { return other }
    if others.isEmpty { others = Array(repeating: nil, count: columnIDs.count) }
    let other = OtherColumn(try leaf.column(id: columnIDs[index]))
    others[index] = other
    return other
  }

  /// To be called before values of a row are read.
  @inline(__always)
  private func visit(_ row: Int) {
    if row == lastRow { return }
    neighbours = row > lastRow && row - lastRow < Self.closeRows ? neighbours + 1 : 0
    lastRow = row
  }

  // MARK: Values

  /// The value of a row.
  ///
  /// - Parameter column: its place among `columnIDs`, which it has.
  /// - Returns: null outside the rows.
  /// - Throws: `ClusterError`; `.misfit` when the spelling is not of the type.
  package func value(
    _ row: Int, _ column: Int, as type: ColumnType
  ) throws(ClusterError) -> Value {
    guard row >= 0, row < rowCount else { return .null }
    visit(row)
    if points[column].isUnopened { try open(column) }
    if points[column].isOther { return try other(row, column, as: type) }
    guard let base = baseRow(row) else { return try other(row, column, as: type) }
    let place = points[column].place(base)
    let stored = points[column].stored(place)
    return try points[column].value(
      place, stored, isASCII: stored?.isASCII ?? true, as: type, id: columnIDs[column], row: row)
  }

  /// The cluster's row; nil when the row was changed since.
  @inline(__always)
  private func baseRow(_ row: Int) -> Int? {
    guard let overlay = leaf.overlay else { return row }
    let base = overlay.baseRow(row)
    return overlay.changedIndex(base) == nil ? base : nil
  }

  private func other(
    _ row: Int, _ column: Int, as type: ColumnType
  ) throws(ClusterError) -> Value {
    let other = try other(column)
    guard let spelling = window(other, row) else { return try other.column.value(row, as: type) }
    guard let bytes = spelling else { return .null }
    guard let value = Value(spelling: bytes, type: type) else {
      throw .misfit(column: columnIDs[column], row: row, type: type)
    }
    return value
  }

  /// All values of a row, of as many types as there are columns.
  ///
  /// - Precondition: 0 <= `row` < `rowCount`.
  /// - Throws: `ClusterError`.
  package func values(_ row: Int, as columns: [Column]) throws(ClusterError) -> [Value] {
    visit(row)
    let count = min(columns.count, points.count)
    for column in 0..<count where points[column].isUnopened { try open(column) }
    var result: Result<[Value], ClusterError> = .success([])
    withUnsafeTemporaryAllocation(of: PointPlace.self, capacity: count) { places in
      result = Result { () throws(ClusterError) -> [Value] in try values(row, columns, places) }
    }
    return try result.get()
  }

  /// Where a value lies.
  private struct PointPlace: BitwiseCopyable {
    var place: Int
    var stored: UnsafeRawBufferPointer?
    var isASCII = true
  }

  private func values(
    _ row: Int, _ columns: [Column], _ places: UnsafeMutableBufferPointer<PointPlace>
  ) throws(ClusterError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(columns.count)
    guard let base = baseRow(row) else {
      for column in places.indices {
        values.append(try other(row, column, as: columns[column].type))
      }
      return values
    }
    // Step by step for all columns: see `PointColumn`.
    for column in places.indices {
      places[column] = PointPlace(place: points[column].place(base), stored: nil)
    }
    for column in places.indices {
      places[column].stored = points[column].stored(places[column].place)
    }
    for column in places.indices {
      if let stored = places[column].stored { places[column].isASCII = stored.isASCII }
    }
    for column in places.indices {
      let type = columns[column].type
      if points[column].isOther {
        values.append(try other(row, column, as: type))
        continue
      }
      let place = places[column]
      values.append(
        try points[column].value(
          place.place, place.stored, isASCII: place.isASCII, as: type, id: columnIDs[column],
          row: row))
    }
    return values
  }

  // MARK: Spellings

  /// Calls `body` with the bytes of a row's spelling; with nil for null and outside the rows.
  ///
  /// - Parameter column: its place among `columnIDs`, which it has.
  package func withSpelling<Result>(
    _ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    guard row >= 0, row < rowCount else { return try body(nil) }
    visit(row)
    if points[column].isUnopened { try open(column) }
    if !points[column].isOther, let base = baseRow(row) {
      return try points[column].withSpelling(base, body)
    }
    let other = try other(column)
    if let spelling = window(other, row) { return try body(spelling) }
    return try other.column.withSpelling(row, body)
  }

  /// A row's spelling out of many that are decoded at a time; nil when it is to be read by itself.
  private func window(_ other: OtherColumn, _ row: Int) -> UnsafeRawBufferPointer?? {
    if other.rows.contains(row), let decoded = other.decoded {
      return .some(decoded[row - other.rows.lowerBound])
    }
    if neighbours < Self.fewNeighbours { return nil }
    let decoded = other.decoded ?? DecodedColumn()
    let rows = row..<min(row + Self.window, other.column.rowCount)
    other.column.decode(rows: rows, into: decoded)
    other.decoded = decoded
    other.rows = rows
    return .some(decoded[0])
  }
}
