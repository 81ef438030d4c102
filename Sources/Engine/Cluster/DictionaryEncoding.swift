/// Encoding 4: the distinct spellings once, in the order they first appear, and an index per row.
///
///     u32  entryCount     at most rowCount
///     u8   width          0 to 21
///     entries             `PackedStrings`, entryCount
///     packed  index of each row     (rowCount values of width bits)
///
/// With the flag `nullIndex`, index entryCount is null.
struct DictionaryEncoding {
  static let headerSize = 5

  let entries: PackedStrings
  private let indices: PackedBits

  init(_ reader: inout ByteReader, rowCount: Int) throws(DecodingFailure) {
    let count = Int(try reader.read(UInt32.self, "the number of entries"))
    let width = Int(try reader.read(UInt8.self, "the width of indices"))
    guard count <= rowCount else {
      throw DecodingFailure(what: "the number of entries", offset: reader.offset)
    }
    entries = try PackedStrings(&reader, count: count)
    indices = try PackedBits(
      &reader, count: rowCount, width: width, maximumWidth: 21, "the indices")
  }

  /// The entry of a row; `entries.count` for null. Larger ones, which damaged bytes may hold, are
  /// taken for null too.
  @inline(__always)
  func index(_ row: Int) -> Int {
    min(Int(truncatingIfNeeded: indices[row]), entries.count)
  }

  /// True when an index names neither an entry nor, where null has one, null.
  func isOutside(_ row: Int, flags: SegmentFlags) -> Bool {
    let limit = entries.count + (flags.contains(.nullIndex) ? 1 : 0)
    return Int(truncatingIfNeeded: indices[row]) >= limit
  }

  static func width(entries: Int, hasNulls: Bool) -> Int {
    BitPacking.width(entries &- (hasNulls ? 0 : 1))
  }

  static func size(_ column: GatheredColumn, _ strings: PackedStringsPlan) -> Int {
    let width = width(entries: strings.count, hasNulls: column.nullCount > 0)
    return headerSize &+ strings.size &+ BitPacking.byteCount(column.rowCount, width: width)
  }

  static func write(
    _ column: GatheredColumn, _ dictionary: DictionaryBuilder.Result,
    into output: inout OutputBuffer
  ) -> SegmentFlags {
    let entries = dictionary.entries
    let count = dictionary.strings.count
    let width = width(entries: count, hasNulls: column.nullCount > 0)
    output.append(UInt32(truncatingIfNeeded: count))
    output.append(UInt8(truncatingIfNeeded: width))
    dictionary.strings.write(column, into: &output) { entries[$0].span }
    BitPacking.pack(count: column.rowCount, width: width, into: &output) { row in
      // Null is marked by the largest index while the number of entries is not yet known.
      UInt64(truncatingIfNeeded: min(Int(dictionary.indices[row]), count))
    }
    return column.nullCount > 0 ? .nullIndex : []
  }
}
