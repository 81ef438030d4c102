/// A column of a cluster that is kept open for reading single rows. It has little more than the addresses
/// that the common encodings need: a `ColumnReader` is several times as large, and of many columns read in
/// turn, most would not stay in the processor's caches.
///
/// A value is found in steps, so that a reader of several columns of a row can take each step for all of
/// them: the processor then waits for their memory at once, instead of for one after the other.
///
///     place    the dictionary's entry, the row, or the number
///     stored   the bytes of that string
///     isASCII  the first look at these bytes
///     value    the value that they spell
///
/// Keeps a pointer into the cluster's bytes, like the `ColumnReader` it is made from.
///
/// Thread rule: confined, like the bytes it reads.
struct PointColumn {
  private enum Access {
    /// Not open yet.
    case unopened
    /// Read through its `ColumnReader`.
    case other
    case absent
    /// One string for all rows.
    case constant(UnsafeRawPointer, UInt32)
    /// A string for each row.
    case rows
    /// A string for each row, in codes of digits.
    case digits(DigitTable, PackedStrings)
    /// Indices into the entries of a dictionary.
    case packed(PackedBits)
    case fresh(FreshIndices)
    case runs(RunIndices)
    /// Numbers without nulls or exceptions.
    case integers(FrameOfReference)
    case dates(FrameOfReference, DateStyle)
  }

  private let form: Access
  private let type: ColumnType
  private let strings: PackedStrings?

  static var unopened: PointColumn { PointColumn(form: .unopened) }

  private init(form: Access) {
    self.form = form
    type = .data
    strings = nil
  }

  /// - Parameters:
  ///   - reader: the column's reader; the caller keeps it for reading the column when `isOther` is true.
  ///   - reading: how values are read; `isOther` is true when it has a notation.
  init(_ reader: ColumnReader, as reading: Reading) {
    var form = Access.other
    var strings: PackedStrings?
    switch reader.body {
    case _ where reading.notation != nil: break
    case .absent: form = .absent
    case .constant(let constant):
      guard let spelling = constant.spelling else {
        form = .absent
        break
      }
      // The length fits: offsets in a cluster have 32 bits. An empty string is never read, so any address
      // will do.
      form = .constant(
        spelling.baseAddress ?? SpellingView(spelling).pointer,
        UInt32(truncatingIfNeeded: spelling.count))
    case .packedText(let text):
      if text.marks.isEmpty, let digits = text.strings.digits {
        form = .digits(digits, text.strings.packed)
      } else if text.marks.isEmpty, !text.strings.areCompressed {
        form = .rows
        strings = text.strings.packed
      }
    case .dictionary(let dictionary):
      if !dictionary.entries.areCompressed, let found = Self.form(dictionary.indices) {
        form = found
        strings = dictionary.entries.packed
      }
    case .integers(let integers):
      if integers.marks.isEmpty, case .plain(let frame) = integers.numbers {
        form = .integers(frame)
      }
    case .dates(let dates):
      if dates.marks.isEmpty, case .plain(let frame) = dates.days {
        form = .dates(frame, dates.style)
      }
    case .decimals, .doubles, .dateTimes: break
    }
    self.form = form
    type = reading.type
    self.strings = strings
  }

  private static func form(_ indices: DictionaryIndices) -> Access? {
    switch indices {
    case .packed(let bits): .packed(bits)
    case .fresh(let fresh): .fresh(fresh)
    case .runs(let runs): .runs(runs)
    case .coded: nil
    }
  }

  @inline(__always)
  var isUnopened: Bool { if case .unopened = form { true } else { false } }

  @inline(__always)
  var isOther: Bool { if case .other = form { true } else { false } }

  // MARK: Steps

  /// The first step: the dictionary's entry, the row, or the number.
  ///
  /// - Precondition: 0 <= `row` < the cluster's rows.
  @inline(__always)
  func place(_ row: Int) -> Int {
    switch form {
    case .unopened, .other, .absent, .constant, .rows, .digits: return row
    case .packed(let bits): return Int(truncatingIfNeeded: bits[row])
    case .fresh(let fresh): return fresh.index(row)
    case .runs(let runs): return runs.index(row)
    case .integers(let frame): return Int(frame[row])
    case .dates(let frame, _): return Int(frame[row])
    }
  }

  /// The second step: the bytes of the string at an index; nil for null, and where no string is stored.
  @inline(__always)
  func stored(_ place: Int) -> UnsafeRawBufferPointer? {
    if let strings {
      // An index beyond the entries means null.
      return place < strings.count ? strings.bytes(place) : nil
    }
    guard case .constant(let base, let count) = form else { return nil }
    return UnsafeRawBufferPointer(start: base, count: Int(count))
  }

  /// The last step, from the results of the others.
  ///
  /// - Throws: `ClusterError.misfit`.
  @inline(__always)
  func value(
    _ place: Int, _ stored: UnsafeRawBufferPointer?, isASCII: Bool, id: @autoclosure () -> UInt32,
    row: Int
  ) throws(ClusterError) -> Value {
    if let stored {
      if type == .text, let text = String(spelled: stored, isASCII: isASCII) {
        return .text(text)
      }
      guard let value = Value(spelling: stored, type: type) else {
        throw .misfit(column: id(), row: row, type: type)
      }
      return value
    }
    switch form {
    case .integers where type == .int: return .int(Int64(place))
    // Correctly rounded, like parsing its digits.
    case .integers where type == .double: return .double(Double(place))
    case .dates(_, .iso) where type == .date:
      return .date(CalendarDate(clamping: Int64(place)))
    case .integers, .dates:
      let value = withWritten(place) { $0.flatMap { Value(spelling: $0, type: type) } }
      guard let value else { throw .misfit(column: id(), row: row, type: type) }
      return value
    case .digits(let digits, let packed):
      return try digits.withBytes(packed.base, packed.span(place)) {
        (bytes) throws(ClusterError) -> Value in
        guard let value = bytes.flatMap({ Value(spelling: $0, type: type) }) else {
          throw .misfit(column: id(), row: row, type: type)
        }
        return value
      }
    case .unopened, .other, .absent, .constant, .rows, .packed, .fresh, .runs: return .null
    }
  }

  /// Calls `use` with a row's spelling; nil for null.
  func withSpelling<Result, Failure: Error>(
    _ row: Int, _ use: (UnsafeRawBufferPointer?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let place = place(row)
    if let bytes = stored(place) { return try use(bytes) }
    if case .digits(let digits, let packed) = form {
      return try digits.withBytes(packed.base, packed.span(place), use)
    }
    return try withWritten(place, use)
  }

  /// Calls `use` with the spelling of a number; with nil when the column does not store numbers.
  private func withWritten<Result, Failure: Error>(
    _ number: Int, _ use: (UnsafeRawBufferPointer?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var room: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
      (0, 0, 0, 0, 0, 0, 0, 0)
    return try withUnsafeMutableBytes(of: &room) { (bytes) throws(Failure) -> Result in
      guard let base = bytes.baseAddress else { return try use(nil) }
      switch form {
      case .integers:
        let count = NumberSpelling.write(Int64(number), to: base)
        return try use(UnsafeRawBufferPointer(start: base, count: count))
      case .dates(_, let style):
        let count = style.write(CalendarDate(clamping: Int64(number)), to: base)
        return try use(UnsafeRawBufferPointer(start: base, count: count))
      case .unopened, .other, .absent, .constant, .rows, .digits, .packed, .fresh, .runs:
        return try use(nil)
      }
    }
  }
}

extension String {
  /// The text of some bytes; nil when they are not UTF-8.
  @inline(__always)
  init?(spelled bytes: UnsafeRawBufferPointer) {
    self.init(spelled: bytes, isASCII: bytes.isASCII)
  }

  @inline(__always)
  init?(spelled bytes: UnsafeRawBufferPointer, isASCII: Bool) {
    self.init(decoding: bytes.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
    // If decoding has replaced invalid bytes, the text's bytes differ from these.
    if !isASCII, !isSpelled(bytes) { return nil }
  }

  @inline(never)
  private func isSpelled(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var copy = self
    return copy.withUTF8 { Bytes.areEqual(UnsafeRawBufferPointer($0), bytes) }
  }
}

extension UnsafeRawBufferPointer {
  /// True when all bytes are below 128.
  @inline(__always)
  var isASCII: Bool {
    var index = 0
    var seen: UInt64 = 0
    while index &+ 8 <= count {
      seen |= loadUnaligned(fromByteOffset: index, as: UInt64.self)
      index &+= 8
    }
    while index < count {
      seen |= UInt64(self[index])
      index &+= 1
    }
    return seen & 0x8080_8080_8080_8080 == 0
  }
}
