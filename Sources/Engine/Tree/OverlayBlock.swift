import Base

/// One block of an overlay: some rows of a cluster that were changed or deleted. It lies over the
/// cluster, the *base*, or over an older block. Rows are named by their number in the base.
///
///     0   4  'O', the form of records (0: whole rows, 1: what differs from the base, 2: column by
///            column, as below), then zeros
///     4   4  number of columns, c
///     8   8  first key of the base
///     16  4  rows of the base
///     20  4  number of deleted rows, d
///     24  4  number of changed rows, n; d + n > 0, d < rows
///     28  24 reference to what lies below: the base; or, except in form 0, an older block
///     52     c column identifiers of 4 bytes, ascending
///            d deleted rows of 4 bytes, ascending
///            n changed rows of 4 bytes, ascending, none of them deleted
///            n places of 4 bytes: where the row's record begins, from the first record on
///            n records, back to back to the block's end: in form 1 a bit for each column that says
///            whether it has a field, the lowest first, in as many bytes as are needed; then the
///            fields: the length of the spelling plus 1 as a LEB128 number, then the spelling; 0 for
///            null
///
/// In form 2, other parts follow the reference: the deleted rows; the first changed row, 4 bytes; a
/// cluster with the values that the n rows have in the c columns, to the block's end. Its keys are the
/// rows' numbers. Columns that it does not have are as in the base.
///
/// Unsafe for speed: keeps a pointer into the block, which must stay valid and unchanged. The tables
/// are found inside the block by `init`; whatever they say, nothing outside the block is read.
package struct OverlayBlock {
  static let kind: UInt32 = 0x4F
  static let headerBytes = 28 + BlockReference.encodedBytes

  /// A record's content for a column.
  package enum Field {
    /// The same as in the base.
    case unchanged
    /// These bytes; nil for null.
    case spelling(UnsafeRawBufferPointer?)
  }

  private enum Form: UInt32 {
    case wholeRows = 0
    case differences = 1
    case columns = 2
  }

  /// The changed rows of form 2.
  private struct Rows {
    let cluster: ClusterReader
    let keys: ClusterKeys
    let first: Int
  }

  /// True when records have a field for each column of the block, and all columns that it does not name are
  /// null.
  package let hasWholeRows: Bool
  package let below: BlockReference
  package let firstKey: Int64
  package let baseRowCount: Int
  package let columnCount: Int
  package let deletedCount: Int
  package let changedCount: Int
  private let bytes: UnsafeRawBufferPointer
  private let rows: Rows?
  private let deletedStart: Int
  private let changedStart: Int
  private let placesStart: Int
  private let recordsStart: Int
  /// Bytes before a record's fields.
  private let maskBytes: Int

  package var byteCount: Int { bytes.count }

  /// The changed rows, when they are stored column by column; nil when there is a record for each.
  package var cluster: ClusterReader? { rows?.cluster }

  /// True for the same bytes at the same place.
  func isSame(as other: OverlayBlock) -> Bool {
    bytes.baseAddress == other.bytes.baseAddress && bytes.count == other.bytes.count
  }

  /// The same block over another place of the block below it.
  static func copy(of bytes: UnsafeRawBufferPointer, over below: BlockReference) -> [UInt8] {
    var writer = ByteWriter(capacity: BlockReference.encodedBytes)
    below.encode(into: &writer)
    var copy = Array(bytes)
    let place = headerBytes - BlockReference.encodedBytes
    copy.replaceSubrange(place..<headerBytes, with: writer.bytes)
    return copy
  }

  /// Finds the tables; `validate` checks their content.
  ///
  /// - Parameter verified: given the place of a cluster in the block, says which of its parts were hashed
  ///   before; nil: each opening hashes.
  /// - Throws: `DecodingFailure` when the bytes are not an overlay block.
  /// - Complexity: O(1); of form 2, O(changed rows) as long as their numbers are not verified.
  package init(
    _ bytes: UnsafeRawBufferPointer, verified: (Int) -> VerifiedParts? = { _ in nil }
  ) throws(DecodingFailure) {
    self.bytes = bytes
    var reader = ByteReader(bytes)
    let kind = try reader.read(UInt32.self, "the overlay's kind")
    guard kind & 0xFF == Self.kind, let form = Form(rawValue: kind >> 8) else {
      throw DecodingFailure(what: "it is no overlay", offset: 0)
    }
    hasWholeRows = form == .wholeRows
    columnCount = Int(try reader.read(UInt32.self, "the number of columns"))
    firstKey = Int64(bitPattern: try reader.read(UInt64.self, "the first key"))
    baseRowCount = Int(try reader.read(UInt32.self, "the number of rows"))
    deletedCount = Int(try reader.read(UInt32.self, "the number of deleted rows"))
    changedCount = Int(try reader.read(UInt32.self, "the number of changed rows"))
    below = try BlockReference(from: &reader, mayBeOverlay: !hasWholeRows)
    guard baseRowCount <= ClusterFormat.maximumRows, deletedCount < baseRowCount,
      changedCount <= baseRowCount, deletedCount + changedCount > 0
    else { throw DecodingFailure(what: "the overlay's numbers of rows are impossible", offset: 16) }
    let isByColumns = form == .columns
    deletedStart = Self.headerBytes + (isByColumns ? 0 : 4 * columnCount)
    changedStart = deletedStart + 4 * deletedCount
    placesStart = changedStart + (isByColumns ? 4 : 4 * changedCount)
    recordsStart = placesStart + (isByColumns ? 0 : 4 * changedCount)
    maskBytes = hasWholeRows ? 0 : (columnCount + 7) / 8
    guard recordsStart <= bytes.count else {
      throw DecodingFailure(what: "the overlay is too short for its tables", offset: 16)
    }
    rows =
      isByColumns
      ? try Self.rows(bytes, from: recordsStart, changedCount, columnCount, verified) : nil
  }

  /// The changed rows of form 2.
  private static func rows(
    _ bytes: UnsafeRawBufferPointer, from start: Int, _ rowCount: Int, _ columnCount: Int,
    _ verified: (Int) -> VerifiedParts?
  ) throws(DecodingFailure) -> Rows {
    let first = UInt32(
      littleEndian: bytes.loadUnaligned(fromByteOffset: start - 4, as: UInt32.self))
    do {
      let cluster = try ClusterReader(
        UnsafeRawBufferPointer(rebasing: bytes[start...]), verified: verified(start))
      guard rowCount > 0, cluster.rowCount == rowCount, cluster.columnCount == columnCount else {
        throw DecodingFailure(
          what: "an overlay's numbers of rows and columns are not those of its cluster",
          offset: start)
      }
      return Rows(cluster: cluster, keys: try cluster.keys(), first: Int(first))
    } catch let error as ClusterError {
      throw DecodingFailure(what: "in an overlay, \(error)", offset: start)
    } catch let error as DecodingFailure {
      throw error
    } catch {
      throw DecodingFailure(what: "\(error)", offset: start)
    }
  }

  @inline(__always)
  private func number(_ offset: Int) -> Int {
    Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  // MARK: Rows

  /// - Precondition: 0 <= `index` < `deletedCount`.
  @inline(__always)
  package func deletedRow(_ index: Int) -> Int { number(deletedStart + 4 * index) }

  /// - Precondition: 0 <= `index` < `changedCount`.
  @inline(__always)
  package func changedRow(_ index: Int) -> Int {
    guard let rows else { return number(changedStart + 4 * index) }
    return rows.first &+ Int(rows.keys.offset(index))
  }

  /// Calls `body` with the index and the number of each changed row; faster than `changedRow` for each.
  @inline(__always)
  func forEachChangedRow<Failure: Error>(
    _ body: (Int, Int) throws(Failure) -> Void
  ) throws(Failure) {
    guard let rows else {
      for index in 0..<changedCount { try body(index, number(changedStart + 4 * index)) }
      return
    }
    let (keys, first) = (rows.keys, rows.first)
    for index in 0..<changedCount { try body(index, first &+ Int(keys.offset(index))) }
  }

  /// All deleted rows.
  var deletedRows: [UInt32] {
    (0..<deletedCount).map { UInt32(truncatingIfNeeded: deletedRow($0)) }
  }

  /// The number of a row's record; nil when the block has none.
  ///
  /// - Complexity: O(log changed rows).
  func changedIndex(_ row: Int) -> Int? {
    let index = changedCount(before: row)
    return index < changedCount && changedRow(index) == row ? index : nil
  }

  /// How many changed rows come before a row of the base.
  ///
  /// - Complexity: O(log changed rows).
  func changedCount(before row: Int) -> Int {
    partitionPoint(0..<changedCount) { changedRow($0) >= row }
  }

  func hasChanged(_ row: Int) -> Bool { changedIndex(row) != nil }

  // MARK: Fields

  /// The index of a column among those that the block names; nil when it does not name it.
  package func column(id: UInt32) -> Int? {
    let place = partitionPoint(0..<columnCount) { columnID($0) >= id }
    return place < columnCount && columnID(place) == id ? place : nil
  }

  /// - Precondition: 0 <= `place` < `columnCount`.
  package func columnID(_ place: Int) -> UInt32 {
    if let rows { return rows.cluster.identifier(place) }
    return UInt32(truncatingIfNeeded: number(Self.headerBytes + 4 * place))
  }

  /// The bytes of a changed row's record.
  ///
  /// - Precondition: 0 <= `index` < `changedCount`, there are records.
  package func record(_ index: Int) -> UnsafeRawBufferPointer {
    let start = min(recordsStart + number(placesStart + 4 * index), bytes.count)
    let next =
      index + 1 < changedCount
      ? min(recordsStart + number(placesStart + 4 * (index + 1)), bytes.count) : bytes.count
    return UnsafeRawBufferPointer(rebasing: bytes[start..<max(start, next)])
  }

  /// A changed row's field in a column.
  ///
  /// - Parameter place: the column's index; nil when the block does not name it.
  /// - Precondition: 0 <= `index` < `changedCount`; without records, `place` is nil.
  @inline(__always)
  package func field(_ index: Int, column place: Int?) -> Field {
    guard let place else { return hasWholeRows ? .spelling(nil) : .unchanged }
    if hasWholeRows {
      var fields = OverlayFields(record(index))
      return .spelling(fields.field(place))
    }
    // Most records have no field for most columns.
    let at = recordsStart + number(placesStart + 4 * index)
    guard at + maskBytes <= bytes.count, place < columnCount,
      bytes[at + place >> 3] >> UInt8(truncatingIfNeeded: place & 7) & 1 == 1
    else { return .unchanged }
    var before = 0
    for byte in 0..<place >> 3 { before += bytes[at + byte].nonzeroBitCount }
    let rest = (1 as UInt8) << UInt8(truncatingIfNeeded: place & 7) - 1
    before += (bytes[at + place >> 3] & rest).nonzeroBitCount
    var fields = OverlayFields(UnsafeRawBufferPointer(rebasing: bytes[(at + maskBytes)...]))
    return .spelling(fields.field(before))
  }

  /// Calls `body` for each column that a record has a field for, in their order, with the column's index and
  /// the field's bytes, including its length.
  ///
  /// - Precondition: the block is valid and has records, 0 <= `index` < `changedCount`.
  func forEachField(_ index: Int, _ body: (Int, UnsafeRawBufferPointer) -> Void) {
    let record = record(index)
    guard record.count >= maskBytes else { return }
    var fields = OverlayFields(UnsafeRawBufferPointer(rebasing: record[maskBytes...]))
    for place in 0..<columnCount
    where hasWholeRows || record[place >> 3] >> UInt8(truncatingIfNeeded: place & 7) & 1 == 1 {
      guard let field = fields.next() else { return }
      body(place, field)
    }
  }

  // MARK: Validation

  /// Checks every number of the tables and every length of the records; of a cluster of changed rows what
  /// says which rows and columns it has: columns are checked when they are opened.
  ///
  /// - Throws: `DecodingFailure` for the first impossible one.
  /// - Complexity: O(bytes).
  package func validate() throws(DecodingFailure) {
    try validateOrder(deletedCount, below: baseRowCount, "deleted rows", deletedRow)
    try validateOrder(columnCount, below: Int.max, "columns") { Int(columnID($0)) }
    try validateChangedRows()
    for index in 0..<deletedCount where hasChanged(deletedRow(index)) {
      throw DecodingFailure(
        what: "a row is both changed and deleted", offset: deletedStart + 4 * index)
    }
    if let rows {
      guard rows.keys.offset(0) == 0 else {
        throw DecodingFailure(
          what: "an overlay's first changed row is not that of its cluster", offset: changedStart)
      }
      guard let end = try? rows.cluster.end(), recordsStart + end == bytes.count else {
        throw DecodingFailure(
          what: "an overlay does not end where its cluster does", offset: recordsStart)
      }
      return
    }
    var end = 0
    for index in 0..<changedCount {
      guard number(placesStart + 4 * index) == end else {
        throw DecodingFailure(
          what: "an overlay's records are not back to back", offset: placesStart + 4 * index)
      }
      guard let length = length(ofRecordAt: recordsStart + end) else {
        throw DecodingFailure(
          what: "an overlay's record reaches beyond it", offset: recordsStart + end)
      }
      end += length
    }
    guard recordsStart + end == bytes.count else {
      throw DecodingFailure(what: "surplus bytes in an overlay", offset: recordsStart + end)
    }
  }

  /// Bytes of a record; nil when it does not lie inside the block, or has a field for a column that does not
  /// exist.
  private func length(ofRecordAt start: Int) -> Int? {
    guard start + maskBytes <= bytes.count else { return nil }
    var count = columnCount
    if !hasWholeRows {
      let mask = bytes[start..<start + maskBytes]
      count = mask.reduce(0) { $0 + $1.nonzeroBitCount }
      if columnCount & 7 != 0, let last = mask.last, last >> UInt8(columnCount & 7) != 0 {
        return nil
      }
    }
    var fields = OverlayFields(UnsafeRawBufferPointer(rebasing: bytes[(start + maskBytes)...]))
    for _ in 0..<count {
      guard fields.next() != nil else { return nil }
    }
    return maskBytes + fields.offset
  }

  private func validateChangedRows() throws(DecodingFailure) {
    var last = -1
    let count = baseRowCount
    try forEachChangedRow { (index, row) throws(DecodingFailure) in
      guard row > last, row < count else { throw Self.wrongOrder(index, "changed rows") }
      last = row
    }
  }

  private static func wrongOrder(_ index: Int, _ what: String) -> DecodingFailure {
    DecodingFailure(
      what: "number \(index) of an overlay's \(what) does not ascend, or reaches too far",
      offset: headerBytes)
  }

  private func validateOrder(
    _ count: Int, below limit: Int, _ what: String, _ number: (Int) -> Int
  ) throws(DecodingFailure) {
    var last = -1
    for index in 0..<count {
      let value = number(index)
      guard value > last, value < limit else { throw Self.wrongOrder(index, what) }
      last = value
    }
  }
}

/// Iterates over the fields of a record: before each spelling its length plus 1, 0 for null.
struct OverlayFields {
  private let bytes: UnsafeRawBufferPointer
  /// Where the next field begins.
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The length and the offset of the spelling; nil when the bytes end or the number is too long.
  @inline(__always)
  private mutating func length() -> Int? {
    var result = 0
    var shift = 0
    while offset < bytes.count, shift < 35 {
      let byte = Int(bytes[offset])
      offset += 1
      result |= (byte & 0x7F) << shift
      if byte < 0x80 {
        return max(result - 1, 0) <= bytes.count - offset ? result : nil
      }
      shift += 7
    }
    return nil
  }

  /// The bytes of the next field, including its length; nil when it does not lie inside.
  @inline(__always)
  mutating func next() -> UnsafeRawBufferPointer? {
    let start = offset
    guard let length = length() else { return nil }
    offset += max(length - 1, 0)
    return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
  }

  /// Skips some fields and returns the next spelling; nil for null, and for fields that damaged bytes do not
  /// have.
  @inline(__always)
  mutating func field(_ index: Int) -> UnsafeRawBufferPointer? {
    for _ in 0..<index {
      guard let length = length() else { return nil }
      offset += max(length - 1, 0)
    }
    guard let length = length(), length > 0 else { return nil }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length - 1])
  }
}

extension OutputBuffer {
  /// Adds a field of a record: the length of the spelling plus 1, then the spelling; nil is null.
  @inline(__always)
  mutating func append(field: UnsafeRawBufferPointer?) {
    guard let field, let source = field.baseAddress else {
      append(UInt8(field == nil ? 0 : 1))
      return
    }
    var length = field.count + 1
    while length >= 0x80 {
      append(UInt8(truncatingIfNeeded: length) | 0x80)
      length >>= 7
    }
    append(UInt8(truncatingIfNeeded: length))
    append(source, count: field.count)
  }
}
