import Base

/// Which rows are null, and which have a spelling that the encoding cannot represent.
///
/// These precede the encodings that store one number or string for each row:
///
///     if the segment has nulls:       (rowCount + 7) / 8 bytes, bit set = null
///     if it has exceptions:           u32 count, u8 rowWidth, packed rows (ascending), PackedStrings
///
/// The number stored for a null row or an exception has no meaning.
struct RowMarks {
  private let rowCount: Int
  private let nulls: UnsafeRawPointer?
  private let exceptions: Exceptions?

  private struct Exceptions {
    let rows: PackedBits
    let strings: PackedStrings
  }

  init(
    _ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags
  ) throws(DecodingFailure) {
    self.rowCount = rowCount
    if flags.contains(.nullBitmap) {
      nulls = try reader.readBytes((rowCount + 7) >> 3, "the null bitmap").baseAddress
    } else {
      nulls = nil
    }
    guard flags.contains(.exceptions) else {
      exceptions = nil
      return
    }
    let count = Int(try reader.read(UInt32.self, "the number of exceptions"))
    guard count <= rowCount else {
      throw DecodingFailure(what: "the number of exceptions", offset: reader.offset)
    }
    let width = Int(try reader.read(UInt8.self, "the width of exception rows"))
    let rows = try PackedBits(
      &reader, count: count, width: width, maximumWidth: 32, "the exception rows")
    exceptions = Exceptions(rows: rows, strings: try PackedStrings(&reader, count: count))
  }

  /// True when the encoding itself represents every row.
  var isEmpty: Bool { nulls == nil && exceptions == nil }

  @inline(__always)
  func isNull(_ row: Int) -> Bool {
    guard let nulls else { return false }
    return nulls.load(fromByteOffset: row &>> 3, as: UInt8.self) &>> UInt8(row & 7) & 1 != 0
  }

  /// The spelling of an exception; nil when the row is not one.
  ///
  /// - Complexity: O(log e) for e exceptions.
  @inline(__always)
  func exception(_ row: Int) -> UnsafeRawBufferPointer? {
    guard let exceptions else { return nil }
    return find(row, exceptions)
  }

  private func find(_ row: Int, _ exceptions: Exceptions) -> UnsafeRawBufferPointer? {
    let wanted = UInt64(truncatingIfNeeded: row)
    let place = partitionPoint(0..<exceptions.strings.count) { exceptions.rows[$0] >= wanted }
    guard place < exceptions.strings.count, exceptions.rows[place] == wanted else { return nil }
    return exceptions.strings.bytes(place)
  }

  /// Calls `body` for every exception, in stored order; rows beyond the cluster are left out.
  ///
  /// Stops when spellings overlap, which only damaged ones do, so that a caller never copies more than is
  /// stored.
  func forEachException(_ body: (_ row: Int, _ spelling: UnsafeRawBufferPointer) -> Void) {
    guard let exceptions else { return }
    var remaining = exceptions.strings.total
    for index in 0..<exceptions.strings.count {
      let spelling = exceptions.strings.bytes(index)
      remaining &-= spelling.count
      if remaining < 0 { return }
      let row = Int(truncatingIfNeeded: exceptions.rows[index])
      if row < rowCount { body(row, spelling) }
    }
  }

  /// The first contradiction in the marks; nil when they are consistent.
  func inconsistency() -> String? {
    guard let exceptions else { return nil }
    if let problem = exceptions.strings.inconsistency() { return "exceptions: " + problem }
    var previous = -1
    for index in 0..<exceptions.strings.count {
      let row = Int(truncatingIfNeeded: exceptions.rows[index])
      guard row > previous, row < rowCount else { return "exceptions are out of order" }
      guard !isNull(row) else { return "row \(row) is null and an exception" }
      previous = row
    }
    return nil
  }

  // MARK: Writing

  /// Bytes for the marks of a column with that many exceptions.
  static func size(_ column: GatheredColumn, exceptions: PackedStringsPlan) -> Int {
    var size = column.nullCount == 0 ? 0 : (column.rowCount &+ 7) &>> 3
    if exceptions.count > 0 {
      size &+= 5 &+ exceptions.size
      size &+= BitPacking.byteCount(exceptions.count, width: rowWidth(column))
    }
    return size
  }

  private static func rowWidth(_ column: GatheredColumn) -> Int {
    BitPacking.width(column.rowCount &- 1)
  }

  /// Writes the marks; `exceptions` are the `count` rows that are exceptions, ascending.
  static func write(
    _ column: GatheredColumn, exceptions: UnsafePointer<UInt32>, count: Int,
    into output: inout OutputBuffer
  ) -> SegmentFlags {
    var flags: SegmentFlags = []
    if column.nullCount > 0 {
      flags.insert(.nullBitmap)
      BitPacking.pack(count: column.rowCount, width: 1, into: &output) { row in
        column.isNull(row) ? 1 : 0
      }
    }
    if count > 0 {
      flags.insert(.exceptions)
      var plan = PackedStringsPlan()
      for index in 0..<count { plan.add(length: Int(column.spans[Int(exceptions[index])].length)) }
      let width = rowWidth(column)
      output.append(UInt32(truncatingIfNeeded: count))
      output.append(UInt8(truncatingIfNeeded: width))
      BitPacking.pack(count: count, width: width, into: &output) { UInt64(exceptions[$0]) }
      plan.write(column, into: &output) { column.spans[Int(exceptions[$0])] }
    }
    return flags
  }
}
