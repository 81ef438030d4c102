/// Neighbouring rows of one column, decoded as values of a type: all numbers as 64 bits; text, and the
/// spellings of decimals and UUIDs, as spans. Reused from window to window and from cluster to cluster.
///
/// Unsafe for speed: rows are read without a check; the caller checks that `row` is below `count`.
/// Uncompressed text is not copied, so the cluster's bytes must stay valid while the window is used.
///
/// Thread rule: confined.
package final class ColumnWindow {
  let reading: Reading
  /// False when text is needed only as bytes.
  private let makesValues: Bool
  // Unchecked: methods that change anything call no code of a caller that could access this again, so
  // accesses cannot overlap; the checks would cost more than reading a value.
  @exclusivity(unchecked) private var numbers = Scratch<Int64>()
  @exclusivity(unchecked) private var nulls = Scratch<Bool>()
  @exclusivity(unchecked) private var indices = Scratch<UInt32>()
  @exclusivity(unchecked) private var codes = CodeTable()
  @exclusivity(unchecked) private var hasNulls = false
  /// Spellings of the rows, or of a dictionary's entries.
  private let decoded = DecodedColumn()
  @exclusivity(unchecked) private var form = Contents.numbers
  /// The entries of the column's dictionary: as values when text is wanted as values, otherwise as numbers.
  @exclusivity(unchecked) private var values: ContiguousArray<Value> = []
  @exclusivity(unchecked) private var entries: ContiguousArray<Int64> = []
  @exclusivity(unchecked) private var id: UInt32 = 0
  @exclusivity(unchecked) package private(set) var count = 0
  /// True when the stored rows of the column that `openChanged` opened can be decoded.
  private(set) var readsStored = false

  private enum Contents {
    case numbers
    /// `decoded` has the rows.
    case spans
    /// `decoded` has the entries, `indices` have those of the rows.
    case entries
  }

  package init(_ reading: Reading, makesValues: Bool) {
    self.reading = reading
    self.makesValues = makesValues
  }

  @inline(__always) package var type: ColumnType { reading.type }

  /// True when rows are kept as bytes: text, data, and the spellings of wide values.
  private var isText: Bool { type.isSpelled || type.isWide }

  // MARK: Decoding

  /// Opens a column for decoding its rows.
  ///
  /// - Throws: `ClusterError.misfit` when an entry of its dictionary does not fit the type.
  /// - Complexity: O(1), or O(entries of the dictionary).
  package func open(_ column: ColumnReader) throws(ClusterError) {
    id = column.id
    form = isText ? .spans : .numbers
    values.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    guard case .dictionary(let dictionary) = column.body else { return }
    let count = dictionary.entries.count
    if isText {
      // Entries that occur once are not worth preparing.
      if count > max(column.rowCount / 2, 16) { return }
      decoded.decode(entriesOf: dictionary)
      form = .entries
      guard makesValues else { return }
      for index in 0..<count {
        guard let bytes = decoded[index], let value = Value(spelling: bytes, as: reading) else {
          throw .misfit(column: id, row: 0, type: type)
        }
        values.append(value)
      }
      values.append(.null)
      return
    }
    decoded.decode(entriesOf: dictionary)
    for index in 0..<count { entries.append(try number(decoded[index], row: 0)) }
  }

  /// Decodes rows of the open column.
  ///
  /// - Precondition: the column has these rows.
  /// - Throws: `ClusterError.misfit`.
  package func decode(_ column: ColumnReader, rows: Range<Int>) throws(ClusterError) {
    count = rows.count
    hasNulls = false
    switch form {
    case .spans: decoded.decode(column, rows: rows)
    case .entries: decodeIndices(column, rows)
    case .numbers: try decodeNumbers(column, rows)
    }
  }

  private func decodeIndices(_ column: ColumnReader, _ rows: Range<Int>) {
    guard case .dictionary(let dictionary) = column.body else { return }
    dictionary.decode(rows, table: &codes, into: indices.reserve(rows.count))
  }

  private func decodeNumbers(_ column: ColumnReader, _ rows: Range<Int>) throws(ClusterError) {
    let target = numbers.reserve(rows.count)
    _ = nulls.reserve(rows.count)
    if column.nullCount == column.rowCount { return setAllNull() }
    switch (column.body, reading.plainType) {
    case (.dictionary, _):
      decodeIndices(column, rows)
      let indices = indices.pointer
      let null = entries.count
      if column.nullCount > 0 { clearNulls() }
      for row in 0..<count {
        let index = Int(indices[row])
        // An index beyond the entries means null, whatever the directory says.
        if index < null { target[row] = entries[index] } else { setNull(row) }
      }
    case (.integers(let integers), .int):
      integers.numbers.decode(rows, table: &codes, into: target)
      try mark(integers.marks, rows)
    case (.integers(let integers), .double):
      integers.numbers.decode(rows, table: &codes, into: target)
      // Correctly rounded, like parsing its digits.
      for row in 0..<count { target[row] = Self.bits(Double(target[row])) }
      try mark(integers.marks, rows)
    case (.decimals(let decimals), .double):
      decimals.mantissas.decode(rows, table: &codes, into: target)
      try decode(decimals, column, rows, target)
    case (.doubles(let doubles), .double):
      for row in rows {
        let double = doubles.number(row)
        target[row &- rows.lowerBound] = Self.bits(double)
        if !double.isFinite, case .double(let spelled) = try column.value(row, as: reading) {
          // The row may be an exception, an infinity, or a NaN with any bits.
          target[row &- rows.lowerBound] = Self.bits(spelled)
        }
      }
      try mark(doubles.marks, rows)
    case (.dates(let dates), _) where reading.readsDays(dates.style):
      dates.days.decode(rows, table: &codes, into: target)
      for row in 0..<count {
        target[row] = Int64(CalendarDate(clamping: target[row]).daysSince1970)
      }
      try mark(dates.marks, rows)
    case (.dateTimes(let moments), .dateTime):
      moments.moments.decode(rows, table: &codes, into: target)
      for row in 0..<count {
        target[row] = moments.moment(target[row]).microsecondsSince1970
      }
      try mark(moments.marks, rows)
    default:
      // Parses the spellings: a column is rarely read as another type than the stored one.
      decoded.decode(column, rows: rows)
      try takeSpelled(from: rows.lowerBound)
    }
  }

  private func decode(
    _ decimals: DecimalEncoding, _ column: ColumnReader, _ rows: Range<Int>,
    _ target: UnsafeMutablePointer<Int64>
  ) throws(ClusterError) {
    let hasMarks = !decimals.marks.isEmpty
    for row in 0..<count {
      if hasMarks, decimals.marks.isNull(rows.lowerBound + row) {
        target[row] = 0
        continue
      }
      let number = decimals.number(target[row], rows.lowerBound + row)
      if let nearest = NumberSpelling.nearestDouble(
        number.mantissa.magnitude, exponent: 0 &- Int(number.scale))
      {
        target[row] = Self.bits(number.mantissa < 0 ? -nearest : nearest)
      } else {
        let value = try column.value(rows.lowerBound + row, as: reading)
        if case .double(let double) = value { target[row] = Self.bits(double) }
      }
    }
    try mark(decimals.marks, rows)
  }

  /// Sets nulls and exceptions.
  private func mark(_ marks: RowMarks, _ rows: Range<Int>) throws(ClusterError) {
    if marks.isEmpty { return }
    clearNulls()
    for row in rows where marks.isNull(row) { nulls.pointer[row &- rows.lowerBound] = true }
    var misfit: Int?
    marks.forEachException { row, spelling in
      guard rows.contains(row), !nulls.pointer[row &- rows.lowerBound] else { return }
      if let number = Self.number(spelling, reading) {
        numbers.pointer[row &- rows.lowerBound] = number
      } else {
        misfit = row
      }
    }
    if let misfit { throw .misfit(column: id, row: misfit, type: type) }
  }

  // MARK: Changed rows

  /// Opens a column of which some rows were changed after it was stored. With `readsStored`, `decode` reads
  /// the stored rows, then the caller applies `replaceNumber` and `remove`. Without it, the caller uses
  /// `decodeSpelled`: for text, and when stored values may not be of the type.
  ///
  /// - Complexity: that of `open`.
  func openChanged(_ column: ColumnReader) {
    readsStored = false
    if isText { return }
    switch (column.body, reading.plainType) {
    case (.integers, .int), (.integers, .double), (.decimals, .double), (.doubles, .double),
      (.dateTimes, .dateTime):
      break
    case (.dates(let dates), _) where reading.readsDays(dates.style): break
    case (.dictionary, _): break
    default: return
    }
    do throws(ClusterError) {
      try open(column)
      readsStored = true
    } catch {
      // Perhaps only changed rows had the entry that does not fit; if others have it, `decodeSpelled` throws.
    }
  }

  /// Replaces a row's number by that of a spelling; nil is null.
  ///
  /// - Precondition: the window has numbers, 0 <= `row` < `count`.
  /// - Throws: `ClusterError.misfit`.
  func replaceNumber(
    _ row: Int, spelled spelling: UnsafeRawBufferPointer?
  ) throws(ClusterError) {
    guard let spelling else { return setNull(row) }
    replaceNumber(row, with: try number(spelling, row: row))
  }

  /// Replaces a row's number; nil is null.
  ///
  /// - Precondition: the window has numbers, 0 <= `row` < `count`.
  @inline(__always)
  func replaceNumber(_ row: Int, with number: Int64?) {
    guard let number else { return setNull(row) }
    numbers.pointer[row] = number
    if hasNulls { nulls.pointer[row] = false }
  }

  /// Removes rows, whose indices ascend.
  ///
  /// - Precondition: the window has numbers; each index is from 0 to below `count`.
  func remove(_ removed: Int, _ index: (Int) -> Int) {
    guard removed > 0 else { return }
    var target = index(0)
    for place in 0..<removed {
      let end = place + 1 < removed ? index(place + 1) : count
      var source = index(place) + 1
      while source < end {
        numbers.pointer[target] = numbers.pointer[source]
        if hasNulls { nulls.pointer[target] = nulls.pointer[source] }
        (source, target) = (source + 1, target + 1)
      }
    }
    count = target
  }

  /// Decodes rows from the spellings that `decode` puts into the given column.
  ///
  /// For clusters with changed rows: stored values of these rows may be of another type, and must not be
  /// read.
  ///
  /// - Throws: `ClusterError.misfit`.
  package func decodeSpelled(
    id: UInt32, _ decode: (DecodedColumn) -> Void
  ) throws(ClusterError) {
    self.id = id
    decode(decoded)
    count = decoded.count
    hasNulls = false
    form = isText ? .spans : .numbers
    if isText { return }
    _ = numbers.reserve(count)
    _ = nulls.reserve(count)
    try takeSpelled(from: 0)
  }

  /// Sets the numbers of all rows from their spellings.
  private func takeSpelled(from first: Int) throws(ClusterError) {
    for row in 0..<count {
      if let spelling = decoded[row] {
        numbers.pointer[row] = try number(spelling, row: first + row)
      } else {
        setNull(row)
      }
    }
  }

  private func clearNulls() {
    if hasNulls { return }
    hasNulls = true
    nulls.pointer.update(repeating: false, count: count)
  }

  private func setNull(_ index: Int) {
    clearNulls()
    nulls.pointer[index] = true
    numbers.pointer[index] = 0
  }

  private func setAllNull() {
    hasNulls = true
    nulls.pointer.update(repeating: true, count: count)
    numbers.pointer.update(repeating: 0, count: count)
  }

  // MARK: Numbers

  private static func bits(_ double: Double) -> Int64 { Int64(bitPattern: double.bitPattern) }

  private func number(
    _ spelling: UnsafeRawBufferPointer?, row: Int
  ) throws(ClusterError) -> Int64 {
    guard let number = spelling.flatMap({ Self.number($0, reading) }) else {
      throw .misfit(column: id, row: row, type: type)
    }
    return number
  }

  /// A spelling's value as 64 bits; nil when it does not fit the type.
  static func number(_ spelling: UnsafeRawBufferPointer, _ reading: Reading) -> Int64? {
    switch Value(spelling: spelling, as: reading) {
    case .int(let int): int
    case .double(let double): bits(double)
    case .bool(let bool): bool ? 1 : 0
    case .date(let date): Int64(date.daysSince1970)
    case .dateTime(let moment): moment.microsecondsSince1970
    case .time(let time): time.microseconds
    case nil, .null, .text, .data, .decimal, .uuid: nil
    }
  }

  // MARK: Reading

  /// True when a row's value is null.
  ///
  /// - Precondition: 0 <= `row` < `count`; the same holds for all methods below.
  @inline(__always)
  package func isNull(_ row: Int) -> Bool {
    form == .numbers ? hasNulls && nulls.pointer[row] : bytes(row) == nil
  }

  /// The 64 bits of a row's value: an int, a double's pattern, 0 or 1, days or microseconds since 1970; nil
  /// for null, and for text.
  @inline(__always)
  package func number(_ row: Int) -> Int64? {
    form != .numbers || (hasNulls && nulls.pointer[row]) ? nil : numbers.pointer[row]
  }

  /// The bytes of a row's text, or of the spelling of a decimal or a UUID; nil for null and other types.
  @inline(__always)
  package func bytes(_ row: Int) -> UnsafeRawBufferPointer? {
    switch form {
    case .numbers: return nil
    case .spans: return decoded[row]
    case .entries:
      let index = Int(indices.pointer[row])
      return index < decoded.count ? decoded[index] : nil
    }
  }

  /// A row's value.
  ///
  /// - Throws: `ClusterError.misfit` when text is not UTF-8.
  package func value(_ row: Int) throws(ClusterError) -> Value {
    guard form == .numbers else { return try textValue(row) }
    return number(row).map { Value(number: $0, type) } ?? .null
  }

  @inline(__always)
  private func textValue(_ row: Int) throws(ClusterError) -> Value {
    guard let bytes = bytes(row) else { return .null }
    if type == .data { return .data(Array(bytes)) }
    if type == .text, let text = String(spelled: bytes) { return .text(text) }
    guard let value = Value(spelling: bytes, as: reading) else {
      throw .misfit(column: id, row: row, type: type)
    }
    return value
  }

  /// Initializes every `stride`th place of memory with rows' values; cheaper than one by one.
  ///
  /// - Precondition: the places are uninitialized; the window was made for values.
  /// - Throws: `ClusterError.misfit`; all places are initialized then, too.
  package func initialize(
    _ target: UnsafeMutablePointer<Value>, stride: Int, rows: Range<Int>
  ) throws(ClusterError) {
    var place = target
    switch form {
    case .entries:
      // Each index is that of an entry, or the number of entries for null, which is the last value.
      let indices = indices.pointer
      values.withUnsafeBufferPointer { values in
        for row in rows {
          place.initialize(to: values[Int(indices[row])])
          place += stride
        }
      }
    case .spans:
      var misfit: ClusterError?
      for row in rows {
        do {
          place.initialize(to: try textValue(row))
        } catch {
          misfit = error
          place.initialize(to: .null)
        }
        place += stride
      }
      if let misfit { throw misfit }
    case .numbers:
      // One loop for each type, instead of a choice for each value.
      switch type {
      case .int: initialize(place, stride, rows) { .int($0) }
      case .double:
        initialize(place, stride, rows) { .double(Double(bitPattern: UInt64(bitPattern: $0))) }
      default: initialize(place, stride, rows) { [type] in Value(number: $0, type) }
      }
    }
  }

  @inline(__always)
  private func initialize(
    _ target: UnsafeMutablePointer<Value>, _ stride: Int, _ rows: Range<Int>,
    _ value: (Int64) -> Value
  ) {
    var place = target
    let numbers = numbers.pointer
    let nulls = hasNulls ? UnsafePointer(nulls.pointer) : nil
    for row in rows {
      place.initialize(to: nulls?[row] == true ? .null : value(numbers[row]))
      place += stride
    }
  }
}

extension Value {
  /// The value of 64 bits: see `ColumnWindow.number`; null for types that are not numbers.
  @inline(__always)
  init(number: Int64, _ type: ColumnType) {
    switch type {
    case .int: self = .int(number)
    case .double: self = .double(Double(bitPattern: UInt64(bitPattern: number)))
    case .bool: self = .bool(number != 0)
    case .date: self = .date(CalendarDate(clamping: number))
    case .dateTime: self = .dateTime(DateTime(clamping: number))
    case .time: self = .time(TimeOfDay(clamping: number))
    case .decimal, .uuid, .text, .data: self = .null
    }
  }
}
