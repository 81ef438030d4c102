import Base

/// Encoding 3: IEEE 754 doubles, spelled as Swift's `description` spells them (the shortest digits
/// that read back as the same double; an exponent below 1e-4 and above 2^53).
///
///     marks               `RowMarks`
///     f64  value of each row (bit pattern 0 for nulls and exceptions)
struct DoubleEncoding {
  let marks: RowMarks
  private let values: UnsafeRawPointer

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    marks = try RowMarks(&reader, rowCount: rowCount, flags: flags)
    guard let base = try reader.readBytes(rowCount * 8, "the doubles").baseAddress else {
      throw DecodingFailure(what: "the doubles", offset: reader.offset)
    }
    values = base
  }

  /// The double of a row that is neither null nor an exception.
  @inline(__always)
  func number(_ row: Int) -> Double {
    let bits = values.loadUnaligned(fromByteOffset: row &* 8, as: UInt64.self)
    return Double(bitPattern: UInt64(littleEndian: bits))
  }

  func write(_ row: Int, to target: UnsafeMutableRawPointer) -> Int {
    var length = 0
    for byte in number(row).description.utf8 {
      target.storeBytes(of: byte, toByteOffset: length, as: UInt8.self)
      length &+= 1
    }
    return length
  }

  /// The double with exactly this spelling; nil for any other spelling.
  private static func parse(_ spelling: SpellingView) -> Double? {
    guard spelling.count <= 32, let value = NumberSpelling.parseDouble(spelling) else {
      return nil
    }
    return spelling.bytes.elementsEqual(value.description.utf8) ? value : nil
  }

  /// Reads the column as doubles: their bit patterns go to `numbers`, the rows that do not fit to
  /// `exceptions`. Nil when there are too many of these.
  ///
  /// Slow (a `String` for each row), and tried only for columns of numbers in a form that `TypedScan` does
  /// not take.
  static func scan(
    _ column: GatheredColumn, numbers: UnsafeMutablePointer<Int64>,
    exceptions: UnsafeMutablePointer<UInt32>
  ) -> PackedStringsPlan? {
    guard isLikely(column) else { return nil }
    var misfits = PackedStringsPlan()
    for row in 0..<column.rowCount {
      numbers[row] = 0
      if column.isNull(row) { continue }
      let spelling = column.spelling(row)
      if let value = parse(spelling) {
        numbers[row] = Int64(bitPattern: value.bitPattern)
      } else {
        exceptions[misfits.count] = UInt32(truncatingIfNeeded: row)
        misfits.add(length: spelling.count)
        if misfits.count > column.maximumExceptions { return nil }
      }
    }
    return misfits
  }

  /// False when too many spellings are not numbers at all, or have an exponent where no double's description
  /// has one; much cheaper than `scan`.
  private static func isLikely(_ column: GatheredColumn) -> Bool {
    var misfits = 0
    for row in 0..<column.rowCount where !column.isNull(row) {
      let spelling = column.spelling(row)
      if !NumberSpelling.parseCanonical(spelling).isMisfit { continue }
      if let parts = NumberSpelling.scan(spelling), mayBeDescription(parts, spelling) { continue }
      misfits &+= 1
      if misfits > column.maximumExceptions { return false }
    }
    return true
  }

  /// False when a double of that size is described without an exponent, and the spelling has one.
  private static func mayBeDescription(
    _ parts: NumberSpelling.Parts, _ spelling: SpellingView
  ) -> Bool {
    // The number is 0.ddd * 10^`point`; descriptions have exponents below 10^-4 and above 2^53.
    let point = parts.exponent &+ parts.significantDigits
    guard point >= -3, point <= 15 else { return true }
    return !spelling.bytes.contains { $0 | 0x20 == 0x65 }
  }

  static func size(_ column: GatheredColumn, exceptions: PackedStringsPlan) -> Int {
    RowMarks.size(column, exceptions: exceptions) &+ column.rowCount &* 8
  }
}
