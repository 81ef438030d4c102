import Base

/// Encoding 0: every row has the same spelling, or all are null.
///
///     u8     isNull     1: nothing follows
///     bytes  the spelling, to the segment's end
struct ConstantEncoding {
  let spelling: UnsafeRawBufferPointer?

  init(_ reader: inout ByteReader) throws(DecodingFailure) {
    let isNull = try reader.readBool("the mark for null")
    spelling = isNull ? nil : try reader.readBytes(reader.remaining, "the spelling")
  }

  /// True when no row differs from the first.
  static func fits(_ column: GatheredColumn) -> Bool {
    if column.valueCount == 0 { return true }
    if column.nullCount > 0 || column.lengths.minimum != column.lengths.maximum { return false }
    let first = column.spelling(0)
    for row in 1..<max(column.rowCount, 1) where !first.equals(column.spelling(row)) {
      return false
    }
    return true
  }

  static func write(_ column: GatheredColumn, into output: inout OutputBuffer) {
    if column.valueCount == 0 {
      output.append(UInt8(1))
      return
    }
    let view = column.spelling(0)
    output.append(UInt8(0))
    output.append(view.pointer, count: view.count)
  }
}
