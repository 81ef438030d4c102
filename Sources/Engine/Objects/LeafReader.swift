/// A leaf kept open for reading single rows. Each column is opened at its first use. For consecutive rows,
/// many are decoded at once; for scattered rows, records are made of all rows around them (`RowRecords`).
///
/// Thread rule: one thread at a time, while a version that has the leaf is held.
final class LeafReader {
  let leaf: Leaf
  private let keys: LeafKeys
  /// The columns of the table.
  // Unchecked, like everything below: no function called during a change accesses it again, and the checks
  // would cost more than reading a value.
  @exclusivity(unchecked) private(set) var shape: RowShape
  /// Unsafe for speed: it has `columnCount` columns, and the caller has checked its column against that.
  private let points: UnsafeMutablePointer<PointColumn>
  private let columnCount: Int
  @exclusivity(unchecked) private var others: [OtherColumn?] = []
  /// True when columns have decoded windows, which take much memory.
  @exclusivity(unchecked) private var hasWindows = false
  /// The row that was read last.
  @exclusivity(unchecked) private var lastRow = -1
  /// The number of consecutive rows that were close to the one before.
  @exclusivity(unchecked) private var neighbours = 0
  /// The pools of values that leaves share; without them no records are made.
  private let pools: ValuePools?
  /// For each segment of the cluster, its records.
  @exclusivity(unchecked) private(set) var records: ContiguousArray<RowRecords?> = []
  /// For each segment, how many more scattered values are read before its records are made.
  @exclusivity(unchecked) private var readsBefore: ContiguousArray<Int32> = []
  @exclusivity(unchecked) private var maker: RecordMaker?
  /// The approximate memory that it uses.
  @exclusivity(unchecked) private(set) var byteCount: Int

  /// A column that is read through its `LeafColumn`.
  private final class OtherColumn {
    let column: LeafColumn
    /// The entries of its dictionary, if it has one.
    let entries: StoredStrings?
    /// Some of its rows, decoded.
    @exclusivity(unchecked) var decoded: DecodedColumn?
    @exclusivity(unchecked) var rows = 0..<0

    init(_ column: LeafColumn) {
      self.column = column
      if case .dictionary(let dictionary) = column.stored.body {
        entries = dictionary.entries
      } else {
        entries = nil
      }
    }
  }

  /// The number of rows of a segment.
  private static let segmentRows = 1024
  /// A segment gets records when one in this many of its values was read: the reads have then cost about as
  /// much as the records will. Reading a coded value costs more.
  private static let (valuesPerRead, codedValuesPerRead) = (16, 64)

  /// Rows less than `closeRows` apart are close; after `fewNeighbours` close rows, `window` rows are decoded
  /// at once. A value read alone costs about four times as much as one decoded with others.
  private static let (closeRows, fewNeighbours, window) = (5, 16, 256)

  /// - Throws: `ClusterError`, when the keys are damaged.
  init(_ leaf: Leaf, _ shape: RowShape, pools: ValuePools? = nil) throws(ClusterError) {
    self.leaf = leaf
    self.pools = pools
    self.shape = shape
    keys = try leaf.keys()
    columnCount = shape.columns.count
    points = .allocate(capacity: columnCount)
    points.initialize(repeating: .unopened, count: columnCount)
    byteCount = 256 + shape.columns.count * MemoryLayout<PointColumn>.stride
  }

  deinit { points.deallocate() }

  /// True when the shape has the same columns, read in the same way; it then replaces this reader's shape.
  @inline(__always)
  func fits(_ other: RowShape) -> Bool {
    if shape === other { return true }
    guard shape.isSame(other) else { return false }
    shape = other
    return true
  }

  private var columnIDs: [UInt32] { shape.schema.columnIDs }

  var rowCount: Int { leaf.rowCount }

  /// - Precondition: the row exists.
  func key(_ row: Int) -> Int64 { keys.key(row) }

  /// The row of a key; nil when there is none.
  func row(ofKey key: Int64) -> Int? { keys.row(ofKey: key) }

  /// Releases memory that is large and quickly filled again. Call it when another leaf is used next.
  func rest() {
    guard hasWindows else { return }
    hasWindows = false
    neighbours = 0
    for case let other? in others {
      other.decoded = nil
      other.rows = 0..<0
    }
  }

  // MARK: Columns

  /// Opens a column that is not open yet.
  ///
  /// - Throws: `ClusterError`.
  @inline(never)
  private func open(_ index: Int) throws(ClusterError) {
    let column = try leaf.column(id: columnIDs[index])
    // Changes lie in the overlay; all other rows are the cluster's.
    let point = PointColumn(column.stored, as: shape.columns[index].reading)
    if point.isOther {
      if others.isEmpty { others = Array(repeating: nil, count: columnCount) }
      others[index] = OtherColumn(column)
    }
    points[index] = point
  }

  /// A column read through its `LeafColumn`, which is opened if necessary.
  private func other(_ index: Int) throws(ClusterError) -> OtherColumn {
    if index < others.count, let other = others[index] { return other }
    if others.isEmpty { others = Array(repeating: nil, count: columnCount) }
    let other = OtherColumn(try leaf.column(id: columnIDs[index]))
    others[index] = other
    return other
  }

  /// Call before reading values of a row.
  @inline(__always)
  private func visit(_ row: Int) {
    if row == lastRow { return }
    neighbours = row > lastRow && row - lastRow < Self.closeRows ? neighbours + 1 : 0
    lastRow = row
  }

  // MARK: Values

  /// The value of a row.
  ///
  /// - Parameter column: its index among the table's columns; must exist.
  /// - Returns: null for a row that does not exist.
  /// - Throws: `ClusterError`; `.misfit` when the spelling does not fit the type.
  func value(_ row: Int, _ column: Int) throws(ClusterError) -> Value {
    guard row >= 0, row < rowCount else { return .null }
    visit(row)
    guard let base = baseRow(row) else { return try other(row, column) }
    if let records = records(base, reading: 1),
      let value = records.record(base % Self.segmentRows).value(column)
    {
      return value
    }
    return try value(base: base, column, row: row)
  }

  private func value(base: Int, _ column: Int, row: Int) throws(ClusterError) -> Value {
    if points[column].isUnopened { try open(column) }
    if points[column].isOther { return try other(row, column) }
    let place = points[column].place(base)
    let stored = points[column].stored(place)
    return try points[column].value(
      place, stored, isASCII: stored?.isASCII ?? true, id: columnIDs[column], row: row)
  }

  /// The row's number in the cluster; nil when an overlay changes it.
  @inline(__always)
  private func baseRow(_ row: Int) -> Int? {
    guard let overlay = leaf.overlay else { return row }
    let base = overlay.baseRow(row)
    return overlay.place(ofRow: base) == nil ? base : nil
  }

  private func other(_ row: Int, _ column: Int) throws(ClusterError) -> Value {
    let other = try other(column)
    let reading = shape.columns[column].reading
    guard let spelling = window(other, row) else { return try other.column.value(row, as: reading) }
    guard let bytes = spelling else { return .null }
    guard let value = Value(spelling: bytes, as: reading) else {
      throw .misfit(column: columnIDs[column], row: row, type: reading.type)
    }
    return value
  }

  /// All values of a row.
  ///
  /// - Precondition: 0 <= `row` < `rowCount`.
  /// - Throws: `ClusterError`.
  func values(_ row: Int) throws -> [Value] {
    visit(row)
    guard let base = baseRow(row) else {
      return try (0..<columnCount).map { try other(row, $0) }
    }
    if let records = records(base, reading: columnCount) {
      let record = records.record(base % Self.segmentRows)
      return try [Value](unsafeUninitializedCapacity: columnCount) { values, count in
        while count < columnCount {
          (values.baseAddress.map { $0 + count })?.initialize(
            to: try record.value(count) ?? value(base: base, count, row: row))
          count += 1
        }
      }
    }
    for column in 0..<columnCount where points[column].isUnopened { try open(column) }
    return try withUnsafeTemporaryAllocation(of: PointPlace.self, capacity: columnCount) {
      places in
      guard let places = places.baseAddress else { return [] }
      locate(base, places)
      var values: [Value] = []
      values.reserveCapacity(columnCount)
      for column in 0..<columnCount {
        values.append(try value(places[column], column, row: row))
      }
      return values
    }
  }

  // MARK: Records

  /// The records around a row of the cluster; nil when there are none, perhaps not yet.
  ///
  /// - Parameter count: the number of values that will be read.
  @inline(__always)
  private func records(_ base: Int, reading count: Int) -> RowRecords? {
    let segment = base / Self.segmentRows
    if segment < records.count, let records = records[segment] { return records }
    // Consecutive rows are fast without records.
    return neighbours > 0 ? nil : prepareRecords(segment, count)
  }

  /// Makes the records of a segment when enough of its values were read.
  @inline(never)
  private func prepareRecords(_ segment: Int, _ count: Int) -> RowRecords? {
    guard let pools else { return nil }
    let rowCount = leaf.cluster.rowCount
    if readsBefore.isEmpty {
      let segments = rowCount / Self.segmentRows + 1
      let rows = min(rowCount, Self.segmentRows)
      let perRead = isCoded ? Self.codedValuesPerRead : Self.valuesPerRead
      readsBefore = ContiguousArray(
        repeating: Int32(clamping: rows * columnCount / perRead + 1), count: segments)
    }
    guard segment < readsBefore.count, readsBefore[segment] > 0 else { return nil }
    readsBefore[segment] -= Int32(clamping: count)
    guard readsBefore[segment] <= 0, let maker = openMaker(pools) else { return nil }
    if records.isEmpty {
      records = ContiguousArray(repeating: nil, count: readsBefore.count)
    }
    let first = segment * Self.segmentRows
    let made = maker.records(first..<min(first + Self.segmentRows, rowCount))
    records[segment] = made
    byteCount += made.byteCount
    if readsBefore.allSatisfy({ $0 <= 0 }) { self.maker = nil }
    return made
  }

  /// Nil when a column is damaged: reading that column throws the error.
  private func openMaker(_ pools: ValuePools) -> RecordMaker? {
    if let maker { return maker }
    var columns: [RecordMaker.Source] = []
    for (id, column) in zip(columnIDs, shape.columns) {
      guard let stored = try? leaf.column(id: id).stored else { return nil }
      columns.append((stored, pools.pool(id, column.reading)))
    }
    let maker = RecordMaker(columns)
    byteCount += maker.byteCount
    self.maker = maker
    return maker
  }

  /// True when finding a value means reading the values before it.
  private var isCoded: Bool {
    columnIDs.contains { (try? leaf.column(id: $0).stored.isCoded) ?? false }
  }

  /// Where a value is.
  private struct PointPlace: BitwiseCopyable {
    var place = 0
    var stored: UnsafeRawBufferPointer?
    /// False: the value is read through its `LeafColumn`.
    var isPoint = false
    var isASCII = true
  }

  /// Finds the values of a row of the cluster, step by step for all columns together: see `PointColumn`.
  private func locate(_ base: Int, _ places: UnsafeMutablePointer<PointPlace>) {
    for column in 0..<columnCount {
      var place = PointPlace()
      if !points[column].isOther {
        place.place = points[column].place(base)
        place.isPoint = true
      }
      places[column] = place
    }
    for column in 0..<columnCount where places[column].isPoint {
      places[column].stored = points[column].stored(places[column].place)
    }
    for column in 0..<columnCount {
      if let stored = places[column].stored { places[column].isASCII = stored.isASCII }
    }
  }

  @inline(__always)
  private func value(
    _ place: PointPlace, _ column: Int, row: Int
  ) throws(ClusterError) -> Value {
    guard place.isPoint else { return try other(row, column) }
    return try points[column].value(
      place.place, place.stored, isASCII: place.isASCII, id: columnIDs[column], row: row)
  }

  // MARK: Spellings

  /// Calls `body` with the bytes of a row's spelling; with nil for null and for a row that does not exist.
  ///
  /// - Parameter column: its index among the table's columns; must exist.
  func withSpelling<Result>(
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

  /// Whether a row has a primary key.
  ///
  /// - Parameter columns: the key's columns, in its order; they must exist.
  func has(_ key: UnsafeRawBufferPointer, _ row: Int, _ columns: [Int]) throws -> Bool {
    if columns.count == 1 {
      return try withSpelling(row, columns[0]) { $0.map { Bytes.areEqual($0, key) } ?? false }
    }
    var bytes: [UInt8] = []
    for column in columns {
      let isNull = try withSpelling(row, column) { part in
        if let part { KeyTuple.append(part, to: &bytes) }
        return part == nil
      }
      if isNull { return false }
    }
    return bytes.withUnsafeBytes { Bytes.areEqual($0, key) }
  }

  /// A row's spelling from a window of decoded rows; nil when the row must be read alone.
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
    hasWindows = true
    return .some(decoded[0])
  }
}
