/// The values of neighbouring rows of a cluster, laid out row by row. Reading a whole object, or several of
/// its values, then touches one place in memory instead of one for each column, and decodes nothing.
///
/// Each row is a record:
///
///     slots   one per column, at the same offset in all records of the segment
///     bytes   of the text and data that have no number in a pool, one after the other
///
/// A slot is a number in the column's `ValuePool` (8 or 16 bits), a number (8 to 64 bits; the least means
/// null), or the bytes' offset in the record (16 bits) and length (16 bits; the largest means null).
///
/// For scattered rows that are read one by one: see `LeafReader`.
///
/// Unsafe for speed: reads of records are unchecked; the caller checks the row.
///
/// Thread rule: confined.
final class RowRecords {
  fileprivate enum SlotKind: UInt8 {
    /// The column has no slot: its values are read in another way.
    case none
    case pool8, pool16
    case number8, number16, number32, number64
    case bytes
  }

  fileprivate struct Slot {
    var form = SlotKind.none
    var type = ColumnType.text
    var offset: UInt32 = 0
    /// The pool's values.
    var values: UnsafeMutablePointer<Value>?
  }

  /// One row's values, valid while the records are.
  struct Record {
    fileprivate let start: UnsafeRawPointer
    fileprivate let slots: UnsafePointer<Slot>
  }

  private let slots: UnsafeMutablePointer<Slot>
  /// Retains the objects that the values in slots refer to.
  private let pools: [ValuePool]
  private let offsets: UnsafeMutablePointer<UInt32>
  private let bytes: UnsafeMutableRawPointer
  /// The approximate memory that it uses.
  let byteCount: Int

  /// - Complexity: O(rows * columns).
  fileprivate init(_ columns: [RecordColumn], pools: [ValuePool], rowCount: Int) {
    var fixed = 0
    slots = .allocate(capacity: max(columns.count, 1))
    for (index, column) in columns.enumerated() {
      var slot = Slot(form: column.form, type: column.type)
      slot.offset = UInt32(truncatingIfNeeded: fixed)
      if case .pooled = column { slot.values = pools[index].values }
      (slots + index).initialize(to: slot)
      fixed &+= column.width
    }
    self.pools = pools
    offsets = .allocate(capacity: max(rowCount, 1))
    var total = 0
    for row in 0..<rowCount {
      offsets[row] = UInt32(truncatingIfNeeded: total)
      total &+= fixed
      for case .bytes(let decoded, _) in columns { total &+= decoded[row]?.count ?? 0 }
    }
    bytes = .allocate(byteCount: max(total, 1), alignment: 8)
    byteCount = total + rowCount * 4 + columns.count * MemoryLayout<Slot>.stride + 128
    var ends = [Int](repeating: fixed, count: rowCount)
    for (index, column) in columns.enumerated() {
      write(column, Int(slots[index].offset), rowCount: rowCount, &ends)
    }
  }

  deinit {
    slots.deallocate()
    offsets.deallocate()
    bytes.deallocate()
  }

  /// - Parameter ends: the current end of each record's bytes.
  private func write(
    _ column: RecordColumn, _ offset: Int, rowCount: Int, _ ends: inout [Int]
  ) {
    func place(_ row: Int) -> UnsafeMutableRawPointer { bytes + Int(offsets[row]) + offset }
    func store<Number: FixedWidthInteger>(_ numbers: [Int64?], as: Number.Type) {
      for row in 0..<rowCount {
        let number = numbers[row].map { Number(truncatingIfNeeded: $0) } ?? .min
        place(row).storeBytes(of: number, as: Number.self)
      }
    }
    switch column {
    case .none: break
    case .pooled(let numbers, _) where column.form == .pool8:
      for row in 0..<rowCount {
        place(row).storeBytes(of: UInt8(truncatingIfNeeded: numbers[row]), as: UInt8.self)
      }
    case .pooled(let numbers, _):
      for row in 0..<rowCount { place(row).storeBytes(of: numbers[row], as: UInt16.self) }
    case .numbers(let numbers, _, let form):
      switch form {
      case .number8: store(numbers, as: Int8.self)
      case .number16: store(numbers, as: Int16.self)
      case .number32: store(numbers, as: Int32.self)
      default: store(numbers, as: Int64.self)
      }
    case .bytes(let decoded, _):
      for row in 0..<rowCount {
        let spelling = decoded[row]
        let start = UInt16(truncatingIfNeeded: ends[row])
        let count = spelling.map { UInt16(truncatingIfNeeded: $0.count) } ?? .max
        place(row).storeBytes(of: start, as: UInt16.self)
        (place(row) + 2).storeBytes(of: count, as: UInt16.self)
        guard let spelling, let source = spelling.baseAddress else { continue }
        (bytes + Int(offsets[row]) + ends[row]).copyMemory(
          from: source, byteCount: spelling.count)
        ends[row] &+= spelling.count
      }
    }
  }

  // MARK: Reading

  /// The record of a row, numbered from the first of the segment.
  ///
  /// - Precondition: the segment has the row.
  @inline(__always)
  func record(_ row: Int) -> Record {
    Record(start: bytes + Int(offsets[row]), slots: slots)
  }
}

extension RowRecords.Record {
  /// The value of a column; nil when it must be read in another way.
  ///
  /// - Precondition: the column exists.
  @inline(__always)
  func value(_ column: Int) -> Value? {
    let place = start + Int(slots[column].offset)
    switch slots[column].form {
    case .none: return nil
    case .pool8: return slots[column].values?[Int(place.load(as: UInt8.self))]
    case .pool16: return slots[column].values?[Int(place.loadUnaligned(as: UInt16.self))]
    case .number8: return number(place.load(as: Int8.self), column)
    case .number16: return number(place.loadUnaligned(as: Int16.self), column)
    case .number32: return number(place.loadUnaligned(as: Int32.self), column)
    case .number64: return number(place.loadUnaligned(as: Int64.self), column)
    case .bytes:
      let count = (place + 2).loadUnaligned(as: UInt16.self)
      if count == .max { return .null }
      let start = place.loadUnaligned(as: UInt16.self)
      let bytes = UnsafeRawBufferPointer(start: self.start + Int(start), count: Int(count))
      if slots[column].type == .data { return .data(Array(bytes)) }
      return String(spelled: bytes).map { .text($0) }
    }
  }

  @inline(__always)
  private func number<Number: FixedWidthInteger>(_ number: Number, _ column: Int) -> Value {
    number == .min ? .null : Value(number: Int64(number), slots[column].type)
  }
}

/// A column of a segment in the form of its records.
private enum RecordColumn {
  case none
  case pooled([UInt16], ColumnType)
  /// In one of the forms of numbers, which fits all of them.
  case numbers([Int64?], ColumnType, RowRecords.SlotKind)
  case bytes(DecodedColumn, ColumnType)

  var form: RowRecords.SlotKind {
    switch self {
    case .none: .none
    case .pooled(let numbers, _): numbers.contains { $0 > UInt8.max } ? .pool16 : .pool8
    case .numbers(_, _, let form): form
    case .bytes: .bytes
    }
  }

  var type: ColumnType {
    switch self {
    case .none: .text
    case .pooled(_, let type), .numbers(_, let type, _), .bytes(_, let type): type
    }
  }

  /// The bytes of a slot.
  var width: Int {
    switch form {
    case .none: 0
    case .pool8, .number8: 1
    case .pool16, .number16: 2
    case .number32, .bytes: 4
    case .number64: 8
    }
  }

  init(numbers: [Int64?], _ type: ColumnType) {
    var (least, greatest): (Int64, Int64) = (0, 0)
    for case let number? in numbers {
      least = min(least, number)
      greatest = max(greatest, number)
    }
    func fits<Number: FixedWidthInteger>(_: Number.Type) -> Bool {
      // The least number represents null.
      least > Int64(Number.min) && greatest <= Int64(Number.max)
    }
    let form: RowRecords.SlotKind? =
      fits(Int8.self)
      ? .number8
      : fits(Int16.self)
        ? .number16 : fits(Int32.self) ? .number32 : fits(Int64.self) ? .number64 : nil
    self = form.map { .numbers(numbers, type, $0) } ?? .none
  }
}

/// Makes the records of a cluster, for some rows at a time.
///
/// Thread rule: confined, like the bytes it reads.
final class RecordMaker {
  private let columns: [Source]
  /// For each column, the pool's number of each dictionary entry, then that of null, as far as known; empty
  /// when the column has no dictionary, or one that does not fit into the pool.
  private var numbers: [[UInt16]]
  private var table = CodeTable()
  private var indices = Scratch<UInt32>()

  /// The approximate memory that it uses.
  var byteCount: Int { 256 + numbers.reduce(0) { $0 + $1.count * 2 + 256 } }

  /// A stored column, and the pool of its values.
  typealias Source = (reader: ColumnReader, pool: ValuePool)

  private static let unknown = UInt16.max
  /// Longer text is read in place. Must fit into 16 bits.
  private static let longestRecord = 4096

  init(_ columns: [Source]) {
    self.columns = columns
    numbers = columns.map { column in
      guard case .dictionary(let dictionary) = column.reader.body else { return [] }
      let count = dictionary.entries.count
      // Values that are new in most rows would fill the pool and rarely be used again.
      if count > max(column.reader.rowCount / 2, 16) { return [] }
      return [UInt16](repeating: Self.unknown, count: count) + [UInt16(ValuePool.null)]
    }
  }

  /// The records of some rows.
  ///
  /// - Precondition: all columns have these rows.
  /// - Complexity: O(rows * columns), plus decoding the rows before the first one in its block.
  func records(_ rows: Range<Int>) -> RowRecords {
    var room = Self.longestRecord
    let columns = self.columns.indices.map { column(at: $0, rows, &room) }
    return RowRecords(columns, pools: self.columns.map(\.pool), rowCount: rows.count)
  }

  /// - Parameter room: the bytes that the longest records still have for text.
  private func column(at index: Int, _ rows: Range<Int>, _ room: inout Int) -> RecordColumn {
    let (reader, pool) = columns[index]
    let (reading, type) = (pool.reading, pool.reading.type)
    if let pooled = pooledNumbers(at: index, rows) { return .pooled(pooled, type) }
    let isSpelled = type.isSpelled
    if !isSpelled, !type.isWide, !reader.isDictionary { return Self.numbers(reader, reading, rows) }
    let decoded = DecodedColumn()
    decoded.decode(reader, rows: rows)
    guard decoded.count == rows.count else { return .none }
    if let pooled = pool.numbers(decoded) { return .pooled(pooled, type) }
    if isSpelled {
      let longest = decoded.spans.reduce(0) { $1.isNull ? $0 : max($0, Int($1.length)) }
      // Apart from text, a record has at most 8 bytes for each column.
      guard longest + columns.count * 8 < room else { return .none }
      room -= longest + 8
      return .bytes(decoded, type)
    }
    // Wide values take more than a record's 8 bytes.
    if type.isWide { return .none }
    var numbers: [Int64?] = []
    numbers.reserveCapacity(rows.count)
    for row in 0..<rows.count {
      guard let spelling = decoded[row] else {
        numbers.append(nil)
        continue
      }
      // Reading the row reports the spelling that does not fit the type.
      guard let number = ColumnWindow.number(spelling, reading) else { return .none }
      numbers.append(number)
    }
    return RecordColumn(numbers: numbers, type)
  }

  private static func numbers(
    _ reader: ColumnReader, _ reading: Reading, _ rows: Range<Int>
  ) -> RecordColumn {
    let window = ColumnWindow(reading, makesValues: false)
    do {
      try window.open(reader)
      try window.decode(reader, rows: rows)
    } catch {
      // Only a read of the damaged row reports the error.
      return .none
    }
    guard window.count == rows.count else { return .none }
    return RecordColumn(numbers: (0..<rows.count).map { window.number($0) }, reading.type)
  }

  /// The pool's number for each row; nil when the column has no dictionary, or the pool is full.
  private func pooledNumbers(at index: Int, _ rows: Range<Int>) -> [UInt16]? {
    let (reader, pool) = columns[index]
    switch reader.body {
    case .absent: return [UInt16](repeating: UInt16(ValuePool.null), count: rows.count)
    case .constant(let constant):
      guard let spelling = constant.spelling else {
        return [UInt16](repeating: UInt16(ValuePool.null), count: rows.count)
      }
      guard let number = pool.number(spelling) else { return nil }
      return [UInt16](repeating: UInt16(truncatingIfNeeded: number), count: rows.count)
    case .dictionary(let dictionary):
      if numbers[index].isEmpty { return nil }
      let indices = indices.reserve(rows.count)
      dictionary.decode(rows, table: &table, into: indices)
      var found: [UInt16] = []
      found.reserveCapacity(rows.count)
      for row in 0..<rows.count {
        // No index exceeds the number of entries, and there is one number more than entries.
        let entry = Int(indices[row])
        if numbers[index][entry] == Self.unknown {
          let number = dictionary.entries.withBytes(entry) { $0.flatMap { pool.number($0) } }
          guard let number else {
            numbers[index] = []
            return nil
          }
          numbers[index][entry] = UInt16(truncatingIfNeeded: number)
        }
        found.append(numbers[index][entry])
      }
      return found
    case .integers, .decimals, .doubles, .packedText, .dates, .dateTimes: return nil
    }
  }
}

extension ColumnReader {
  fileprivate var isDictionary: Bool { if case .dictionary = body { true } else { false } }

  /// True when reading one value means decoding or decompressing others.
  var isCoded: Bool {
    func isCoded(_ numbers: PackedNumbers) -> Bool {
      if case .plain = numbers { false } else { true }
    }
    return switch body {
    case .absent, .constant, .doubles: false
    case .dictionary(let dictionary): dictionary.isCoded || dictionary.entries.areCompressed
    case .packedText(let text): text.strings.areCompressed
    case .integers(let integers): isCoded(integers.numbers)
    case .decimals(let decimals): isCoded(decimals.mantissas)
    case .dates(let dates): isCoded(dates.days)
    case .dateTimes(let moments): isCoded(moments.moments)
    }
  }
}
