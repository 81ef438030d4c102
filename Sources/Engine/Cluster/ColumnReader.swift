import Base

/// One open column of a cluster: returns the spelling or the value of any row after reading at most the 128
/// rows of its block.
///
/// Keeps a pointer into the cluster's bytes, like the `ClusterReader` that made it. Rows outside
/// 0..<`rowCount` read as null.
///
/// Thread rule: confined, like the bytes it reads.
package struct ColumnReader {
  package let id: UInt32
  package let rowCount: Int
  package let encoding: ColumnEncoding
  package let nullCount: Int
  package let statistics: ColumnStatistics
  let flags: SegmentFlags
  let body: Body

  enum Body {
    case constant(ConstantEncoding)
    case integers(IntegerEncoding)
    case decimals(DecimalEncoding)
    case doubles(DoubleEncoding)
    case dictionary(DictionaryEncoding)
    case packedText(PackedTextEncoding)
    case dates(DateEncoding)
    case dateTimes(DateTimeEncoding)
    case absent
  }

  /// - Parameter segment: its bytes; 8 more readable bytes must follow.
  init(
    _ segment: UnsafeRawBufferPointer, _ column: ClusterReader.DirectoryEntry, rowCount: Int
  ) throws(DecodingFailure) {
    id = column.id
    self.rowCount = rowCount
    encoding = column.encoding
    nullCount = column.nullCount
    statistics = column.statistics
    flags = column.flags
    var reader = ByteReader(segment)
    body =
      switch column.encoding {
      case .constant: .constant(try ConstantEncoding(&reader))
      case .integers:
        .integers(try IntegerEncoding(&reader, rowCount: rowCount, flags: flags))
      case .decimals:
        .decimals(try DecimalEncoding(&reader, rowCount: rowCount, flags: flags))
      case .doubles: .doubles(try DoubleEncoding(&reader, rowCount: rowCount, flags: flags))
      case .dictionary:
        .dictionary(try DictionaryEncoding(&reader, rowCount: rowCount, flags: flags))
      case .packedText, .symbolText:
        .packedText(
          try PackedTextEncoding(
            &reader, rowCount: rowCount, flags: flags,
            areCompressed: column.encoding == .symbolText))
      case .dates: .dates(try DateEncoding(&reader, rowCount: rowCount, flags: flags))
      case .dateTimes:
        .dateTimes(try DateTimeEncoding(&reader, rowCount: rowCount, flags: flags))
      }
    guard reader.remaining == 0 else {
      throw DecodingFailure(what: "surplus bytes", offset: reader.offset)
    }
  }

  /// A column that the cluster does not have: null in every row.
  init(allNull id: UInt32, rowCount: Int) {
    self.id = id
    self.rowCount = rowCount
    encoding = .constant
    nullCount = rowCount
    statistics = .none
    flags = []
    body = .absent
  }

  @inline(__always)
  private func isInside(_ row: Int) -> Bool {
    UInt(bitPattern: row) < UInt(bitPattern: rowCount)
  }

  package func isNull(_ row: Int) -> Bool {
    guard isInside(row) else { return true }
    switch body {
    case .absent: return true
    case .constant(let constant): return constant.spelling == nil
    case .dictionary(let dictionary):
      return dictionary.hasNulls && dictionary.index(row) == dictionary.entries.count
    case .integers(let integers): return integers.marks.isNull(row)
    case .decimals(let decimals): return decimals.marks.isNull(row)
    case .doubles(let doubles): return doubles.marks.isNull(row)
    case .packedText(let text): return text.marks.isNull(row)
    case .dates(let dates): return dates.marks.isNull(row)
    case .dateTimes(let moments): return moments.marks.isNull(row)
    }
  }

  /// Calls `use` with the bytes of a row's spelling, or nil for null. They are valid during the call.
  ///
  /// - Complexity: O(1) for stored text, O(length) for compressed text and for numbers, which must be written
  ///   out; for coded rows and differences, up to 128 rows are read. `DecodedColumn` reads many rows at less
  ///   cost.
  package func withSpelling<Result, Failure: Error>(
    _ row: Int, _ use: (UnsafeRawBufferPointer?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if let (strings, index) = compressed(row) { return try strings.withBytes(index, use) }
    var room: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
      (0, 0, 0, 0, 0, 0, 0, 0)
    return try withUnsafeMutableBytes(of: &room) { (bytes) throws(Failure) -> Result in
      guard let base = bytes.baseAddress else { return try use(nil) }
      return try use(spelling(row, room: base))
    }
  }

  /// The compressed strings that contain a row's spelling, and its index there; nil when the row is null or
  /// its spelling is not compressed.
  @inline(__always)
  private func compressed(_ row: Int) -> (StoredStrings, Int)? {
    guard isInside(row) else { return nil }
    switch body {
    case .dictionary(let dictionary) where dictionary.entries.areCompressed:
      let index = dictionary.index(row)
      return index < dictionary.entries.count ? (dictionary.entries, index) : nil
    case .packedText(let text) where text.strings.areCompressed:
      let isStored = !text.marks.isNull(row) && text.marks.exception(row) == nil
      return isStored ? (text.strings, row) : nil
    default: return nil
    }
  }

  /// The bytes of a row's spelling, in the cluster or written to `room`; nil for null.
  ///
  /// - Precondition: `room` has `NumberSpelling.capacity` bytes; `compressed` returns nil for the row.
  private func spelling(
    _ row: Int, room: UnsafeMutableRawPointer
  ) -> UnsafeRawBufferPointer? {
    guard isInside(row) else { return nil }
    switch body {
    case .absent: return nil
    case .constant(let constant): return constant.spelling
    case .dictionary(let dictionary):
      let index = dictionary.index(row)
      return index < dictionary.entries.count ? dictionary.entries.packed.bytes(index) : nil
    case .packedText(let text):
      if text.marks.isNull(row) { return nil }
      return text.marks.exception(row) ?? text.strings.packed.bytes(row)
    case .integers(let integers):
      return formatted(row, integers.marks, room) {
        NumberSpelling.write(integers.number(row), to: room)
      }
    case .decimals(let decimals):
      return formatted(row, decimals.marks, room) {
        NumberSpelling.write(decimals.number(row), to: room)
      }
    case .doubles(let doubles):
      return formatted(row, doubles.marks, room) { doubles.write(row, to: room) }
    case .dates(let dates):
      return formatted(row, dates.marks, room) { dates.style.write(dates.date(row), to: room) }
    case .dateTimes(let moments):
      return formatted(row, moments.marks, room) {
        moments.write(moments.moments[row], to: room)
      }
    }
  }

  @inline(__always)
  private func formatted(
    _ row: Int, _ marks: RowMarks, _ room: UnsafeMutableRawPointer, _ write: () -> Int
  ) -> UnsafeRawBufferPointer? {
    if marks.isNull(row) { return nil }
    if let exception = marks.exception(row) { return exception }
    return UnsafeRawBufferPointer(start: room, count: write())
  }

  // MARK: Values

  /// The value of a row.
  ///
  /// - Throws: `ClusterError.misfit` when the spelling does not fit the type.
  package func value(_ row: Int, as reading: Reading) throws(ClusterError) -> Value {
    switch reading.plainType {
    case .int:
      if let int = storedInt(row) { return .int(int) }
    case .double:
      if let double = storedDouble(row) { return .double(double) }
    case .dateTime:
      if case .dateTimes(let moments) = body, isPlain(row, moments.marks) {
        return .dateTime(moments.moment(row: row))
      }
    case .date, nil:
      if case .dates(let dates) = body, reading.readsDays(dates.style), isPlain(row, dates.marks) {
        return .date(dates.date(row))
      }
    case .bool, .time, .decimal, .uuid, .text, .data: break
    }
    return try withSpelling(row) { (spelling) throws(ClusterError) -> Value in
      guard let spelling else { return .null }
      guard let value = Value(spelling: spelling, as: reading) else {
        throw .misfit(column: id, row: row, type: reading.type)
      }
      return value
    }
  }

  @inline(__always)
  private func isPlain(_ row: Int, _ marks: RowMarks) -> Bool {
    isInside(row) && (marks.isEmpty || (!marks.isNull(row) && marks.exception(row) == nil))
  }

  @inline(__always)
  private func storedInt(_ row: Int) -> Int64? {
    guard case .integers(let integers) = body, isPlain(row, integers.marks) else { return nil }
    return integers.number(row)
  }

  @inline(__always)
  private func storedDouble(_ row: Int) -> Double? {
    switch body {
    case .integers(let integers) where isPlain(row, integers.marks):
      // Correctly rounded, like parsing its digits.
      return Double(integers.number(row))
    case .decimals(let decimals) where isPlain(row, decimals.marks):
      let number = decimals.number(row)
      let nearest = NumberSpelling.nearestDouble(
        number.mantissa.magnitude, exponent: 0 &- Int(number.scale))
      return number.mantissa < 0 ? nearest.map { -$0 } : nearest
    case .doubles(let doubles) where isPlain(row, doubles.marks):
      let double = doubles.number(row)
      return double.isFinite ? double : nil
    default: return nil
    }
  }
}
