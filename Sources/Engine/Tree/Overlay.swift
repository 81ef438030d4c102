/// The rows of a cluster that were changed or deleted since it was written: a small block that stands in
/// the cluster's place in the tree and refers to it, the *base*. Rows are named by their number in the
/// base, so that what is deleted is known to exist and changed rows keep their keys.
///
/// Changed rows are stored whole, row by row: adding one to an overlay is copying bytes.
///
///     0   4  'O', then zeros
///     4   4  number of columns, c
///     8   8  first key of the base
///     16  4  rows of the base
///     20  4  number of deleted rows, d
///     24  4  number of changed rows, n; d + n > 0, d < rows
///     28  24 reference to the base
///     52     c column identifiers of 4 bytes, ascending
///            d deleted rows of 4 bytes, ascending
///            n changed rows of 4 bytes, ascending, none of them deleted
///            n places of 4 bytes: where the row's record begins, from the first record on
///            n records, back to back to the block's end: for each column the length of the spelling
///            plus 1 as a LEB128 number, then the spelling; 0 for null
///
/// Unsafe for speed: keeps a pointer into the block, which must stay valid and unchanged. The tables
/// are found inside the block by `init`; whatever they say, nothing outside the block is read.
///
/// Thread rule: confined, like the bytes it reads.
package final class Overlay {
  static let kind: UInt32 = 0x4F
  static let headerBytes = 28 + BlockReference.encodedBytes

  /// The cluster that the rows belong to.
  package let base: NodeEntry
  package let columnCount: Int
  package let deletedCount: Int
  package let changedCount: Int
  private let bytes: UnsafeRawBufferPointer
  private let deletedStart: Int
  private let changedStart: Int
  private let placesStart: Int
  private let recordsStart: Int

  /// Rows that are left.
  package var rowCount: Int { baseRowCount - deletedCount }
  package let baseRowCount: Int

  /// Finds the tables; `validate` looks at what is in them.
  ///
  /// - Throws: `DecodingFailure` when the bytes are no overlay.
  /// - Complexity: O(1).
  package init(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
    self.bytes = bytes
    var reader = ByteReader(bytes)
    guard try reader.read(UInt32.self, "the overlay's kind") == Self.kind else {
      throw DecodingFailure(what: "it is no overlay", offset: 0)
    }
    columnCount = Int(try reader.read(UInt32.self, "the number of columns"))
    let firstKey = Int64(bitPattern: try reader.read(UInt64.self, "the first key"))
    baseRowCount = Int(try reader.read(UInt32.self, "the number of rows"))
    deletedCount = Int(try reader.read(UInt32.self, "the number of deleted rows"))
    changedCount = Int(try reader.read(UInt32.self, "the number of changed rows"))
    let reference = try BlockReference(from: &reader)
    base = NodeEntry(firstKey: firstKey, count: UInt64(baseRowCount), reference: reference)
    guard baseRowCount <= ClusterFormat.maximumRows, deletedCount < baseRowCount,
      changedCount <= baseRowCount, deletedCount + changedCount > 0
    else { throw DecodingFailure(what: "the overlay's numbers of rows are impossible", offset: 16) }
    deletedStart = Self.headerBytes + 4 * columnCount
    changedStart = deletedStart + 4 * deletedCount
    placesStart = changedStart + 4 * changedCount
    recordsStart = placesStart + 4 * changedCount
    guard recordsStart <= bytes.count else {
      throw DecodingFailure(what: "the overlay is too short for its tables", offset: 16)
    }
  }

  private func number(_ offset: Int) -> Int {
    Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  // MARK: Rows

  /// - Precondition: 0 <= `index` < `deletedCount`.
  package func deletedRow(_ index: Int) -> Int { number(deletedStart + 4 * index) }

  /// - Precondition: 0 <= `index` < `changedCount`.
  package func changedRow(_ index: Int) -> Int { number(changedStart + 4 * index) }

  /// How many rows before one of the base are deleted.
  ///
  /// - Complexity: O(log deleted rows).
  package func deletedCount(before row: Int) -> Int {
    partitionPoint(deletedCount) { deletedRow($0) >= row }
  }

  package func isDeleted(_ row: Int) -> Bool {
    let index = deletedCount(before: row)
    return index < deletedCount && deletedRow(index) == row
  }

  /// The base's row for a row that is left.
  ///
  /// - Complexity: O(log deleted rows).
  package func baseRow(_ row: Int) -> Int {
    let before = partitionPoint(deletedCount) { deletedRow($0) - $0 > row }
    // Damaged tables must not lead beyond the base.
    return min(max(row, 0) + before, baseRowCount - 1)
  }

  /// How many changed rows come before one of the base.
  package func changedCount(before row: Int) -> Int {
    partitionPoint(changedCount) { changedRow($0) >= row }
  }

  /// The number of a base's row among the changed ones; nil when it is as it was.
  ///
  /// - Complexity: O(log changed rows).
  package func changedIndex(_ row: Int) -> Int? {
    let index = changedCount(before: row)
    return index < changedCount && changedRow(index) == row ? index : nil
  }

  // MARK: Fields

  /// The place of a column among those stored; nil when the overlay was written before it was added:
  /// its changed rows are null there.
  package func column(id: UInt32) -> Int? {
    let place = partitionPoint(columnCount) { columnID($0) >= id }
    return place < columnCount && columnID(place) == id ? place : nil
  }

  /// - Precondition: 0 <= `place` < `columnCount`.
  package func columnID(_ place: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: number(Self.headerBytes + 4 * place))
  }

  /// The record of a changed row, and whatever follows it.
  ///
  /// - Precondition: 0 <= `index` < `changedCount`.
  private func record(_ index: Int) -> OverlayRecord {
    let start = min(recordsStart + number(placesStart + 4 * index), bytes.count)
    return OverlayRecord(UnsafeRawBufferPointer(rebasing: bytes[start...]))
  }

  /// The bytes of a changed row's field; nil for null.
  ///
  /// - Precondition: 0 <= `index` < `changedCount`.
  package func spelling(_ index: Int, column: Int) -> UnsafeRawBufferPointer? {
    record(index).field(column)
  }

  /// Where all records lie in the block.
  package var records: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[recordsStart...])
  }

  /// Where a changed row's record lies among `records`.
  ///
  /// - Precondition: 0 <= `index` < `changedCount`, and the overlay is valid.
  package func recordRange(_ index: Int) -> Range<Int> {
    let start = number(placesStart + 4 * index)
    let end =
      index + 1 < changedCount
      ? number(placesStart + 4 * (index + 1)) : bytes.count - recordsStart
    return start..<max(start, end)
  }

  /// Looks at every number of the tables and every length of the records.
  ///
  /// - Throws: `DecodingFailure` for the first that cannot be.
  /// - Complexity: O(bytes).
  package func validate() throws(DecodingFailure) {
    try validateOrder(columnCount, Self.headerBytes, below: Int.max, "columns")
    try validateOrder(deletedCount, deletedStart, below: baseRowCount, "deleted rows")
    try validateOrder(changedCount, changedStart, below: baseRowCount, "changed rows")
    for index in 0..<changedCount where isDeleted(changedRow(index)) {
      throw DecodingFailure(
        what: "a row is both changed and deleted", offset: changedStart + 4 * index)
    }
    var end = 0
    for index in 0..<changedCount {
      guard number(placesStart + 4 * index) == end else {
        throw DecodingFailure(
          what: "an overlay's records are not back to back", offset: placesStart + 4 * index)
      }
      guard let length = record(index).length(columns: columnCount) else {
        throw DecodingFailure(
          what: "an overlay's record reaches beyond it", offset: recordsStart + end)
      }
      end += length
    }
    guard recordsStart + end == bytes.count else {
      throw DecodingFailure(what: "surplus bytes in an overlay", offset: recordsStart + end)
    }
  }

  private func validateOrder(
    _ count: Int, _ start: Int, below limit: Int, _ what: String
  ) throws(DecodingFailure) {
    var last = -1
    for index in 0..<count {
      let value = number(start + 4 * index)
      guard value > last, value < limit else {
        throw DecodingFailure(
          what: "an overlay's \(what) do not ascend, or reach too far", offset: start + 4 * index)
      }
      last = value
    }
  }
}

/// The fields of one changed row: a length plus 1 before each spelling, 0 for null.
struct OverlayRecord {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The number at `offset`, which moves behind it; nil when the bytes end or it is too long.
  @inline(__always)
  private func read(_ offset: inout Int) -> Int? {
    var result = 0
    var shift = 0
    while offset < bytes.count, shift < 35 {
      let byte = Int(bytes[offset])
      offset += 1
      result |= (byte & 0x7F) << shift
      if byte < 0x80 { return result }
      shift += 7
    }
    return nil
  }

  /// The spelling in a column; nil for null, and for what damaged bytes do not have.
  func field(_ column: Int) -> UnsafeRawBufferPointer? {
    var offset = 0
    for _ in 0..<column {
      guard let length = read(&offset) else { return nil }
      offset += max(length - 1, 0)
    }
    guard let length = read(&offset), length > 0, length - 1 <= bytes.count - offset else {
      return nil
    }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length - 1])
  }

  /// Bytes of the first fields together; nil when they do not lie inside.
  func length(columns: Int) -> Int? {
    var offset = 0
    for _ in 0..<columns {
      guard let length = read(&offset) else { return nil }
      offset += max(length - 1, 0)
      guard offset <= bytes.count else { return nil }
    }
    return offset
  }
}

/// The first index of `0..<count` for which a condition holds that holds for all behind it too.
@inline(__always)
func partitionPoint(_ count: Int, _ isBehind: (Int) -> Bool) -> Int {
  var low = 0
  var high = count
  while low < high {
    let middle = (low + high) >> 1
    if isBehind(middle) { high = middle } else { low = middle + 1 }
  }
  return low
}

extension BlockReader {
  /// An overlay in place, verified.
  ///
  /// - Complexity: O(bytes) the first time, then O(1).
  package func overlay(_ entry: NodeEntry, end: UInt64) throws(BlockError) -> Overlay {
    let bytes = try block(entry.reference, end: end)
    func damaged(_ what: String) -> BlockError {
      BlockError(
        path: storage.path, offset: entry.reference.offset, length: entry.reference.length,
        what: what)
    }
    let parts = verifiedParts(of: entry.reference)
    let overlay: Overlay
    do {
      overlay = try Overlay(bytes)
      if !parts.contains(1) {
        try overlay.validate()
        parts.insert(1)
      }
    } catch {
      throw damaged("\(error.what) at its byte \(error.offset)")
    }
    guard UInt64(overlay.rowCount) == entry.count else {
      throw damaged(
        "the overlay leaves \(overlay.rowCount) rows where the tree counts \(entry.count)")
    }
    return overlay
  }

  /// Bytes of a leaf's cluster and overlay.
  package func byteCount(ofLeaf entry: NodeEntry, end: UInt64) throws(BlockError) -> Int {
    let length = Int(entry.reference.length)
    guard entry.reference.isOverlay else { return length }
    return try length + Int(overlay(entry, end: end).base.reference.length)
  }
}
