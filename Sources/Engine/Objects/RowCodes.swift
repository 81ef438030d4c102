/// What the columns of a leaf that have dictionaries say of each row, side by side: row after row, a code of
/// one, two or four bytes for each such column. It is the number of a value that many leaves share
/// (`ValuePool`), or of an entry of the leaf's own dictionary. Reading a row then touches few places
/// in memory, and coded indices are decoded once.
///
/// Made for leaves of which many single rows are read: see `LeafReader`.
///
/// Unsafe for speed: codes are read without a check; who asks has checked the row against the leaf's.
///
/// Thread rule: confined.
final class RowCodes {
  /// A column's place in a row.
  struct Slot {
    fileprivate var offset: UInt32 = 0
    /// Bytes of a code; 0 for a column that has none.
    fileprivate var width: UInt8 = 0
    /// The pool's values, where the code is the number of one.
    fileprivate var values: UnsafeMutablePointer<Value>?

    @inline(__always)
    var isPooled: Bool { values != nil }

    @inline(__always)
    var isUsed: Bool { width != 0 }
  }

  /// A slot for each column.
  let slots: UnsafeMutablePointer<Slot>
  /// What the slots' values belong to.
  private let pools: [ValuePool]
  private let codes: UnsafeMutableRawPointer
  private let rowBytes: Int
  /// About how much memory it takes.
  let byteCount: Int

  /// A column as it is stored.
  typealias Source = (reader: ColumnReader, pool: ValuePool)

  /// Nil when no column has a dictionary.
  ///
  /// - Complexity: O(rows * columns).
  init?(_ columns: [Source], rowCount: Int) {
    var slots: [Slot] = []
    var numbers: [[UInt32]] = []
    var rowBytes = 0
    for column in columns {
      var slot = Slot()
      var found: [UInt32] = []
      if case .dictionary(let dictionary) = column.reader.body,
        column.reader.rowCount == rowCount
      {
        let count = dictionary.entries.count
        found = Self.numbers(dictionary, column.pool, rowCount: rowCount)
        if !found.isEmpty { slot.values = column.pool.values }
        let largest = found.max().map(Int.init) ?? count
        slot.offset = UInt32(truncatingIfNeeded: rowBytes)
        slot.width = largest < 1 << 8 ? 1 : largest < 1 << 16 ? 2 : 4
      }
      slots.append(slot)
      numbers.append(found)
      rowBytes += Int(slot.width)
    }
    guard rowBytes > 0 else { return nil }
    self.slots = .allocate(capacity: slots.count)
    self.slots.initialize(from: slots, count: slots.count)
    pools = columns.map(\.pool)
    self.rowBytes = rowBytes
    byteCount = rowCount * rowBytes + slots.count * 32
    codes = .allocate(byteCount: rowCount * rowBytes, alignment: 8)
    var room = Scratch<UInt32>(capacity: rowCount)
    var table = CodeTable()
    for (column, source) in columns.enumerated() where slots[column].isUsed {
      guard case .dictionary(let dictionary) = source.reader.body else { continue }
      let indices = room.reserve(rowCount)
      dictionary.decode(0..<rowCount, table: &table, into: indices)
      // No index is larger than the number of entries, and there is one number more than entries.
      if slots[column].isPooled {
        for row in 0..<rowCount { indices[row] = numbers[column][Int(indices[row])] }
      }
      store(indices, slots[column], rowCount: rowCount)
    }
  }

  deinit {
    slots.deallocate()
    codes.deallocate()
  }

  /// The pool's number for each entry and then for null; empty when the entries are too many for it.
  private static func numbers(
    _ dictionary: DictionaryEncoding, _ pool: ValuePool, rowCount: Int
  ) -> [UInt32] {
    // What is new in most rows would fill the pool, and hardly be met again.
    guard dictionary.entries.count <= max(rowCount / 2, 16) else { return [] }
    var numbers: [UInt32] = []
    for index in 0..<dictionary.entries.count {
      let number = dictionary.entries.withBytes(index) { $0.flatMap { pool.number($0) } }
      guard let number else { return [] }
      numbers.append(UInt32(truncatingIfNeeded: number))
    }
    return numbers + [UInt32(ValuePool.null)]
  }

  private func store(_ numbers: UnsafePointer<UInt32>, _ slot: Slot, rowCount: Int) {
    var target = codes + Int(slot.offset)
    for row in 0..<rowCount {
      // The width was chosen for the largest.
      switch slot.width {
      case 1: target.storeBytes(of: UInt8(truncatingIfNeeded: numbers[row]), as: UInt8.self)
      case 2: target.storeBytes(of: UInt16(truncatingIfNeeded: numbers[row]), as: UInt16.self)
      default: target.storeBytes(of: numbers[row], as: UInt32.self)
      }
      target += rowBytes
    }
  }

  /// The code of a row.
  ///
  /// - Precondition: 0 <= `row` < the number of rows; the slot is used.
  @inline(__always)
  func code(_ row: Int, _ slot: Slot) -> Int {
    let place = codes + (row &* rowBytes &+ Int(slot.offset))
    switch slot.width {
    case 1: return Int(place.load(as: UInt8.self))
    case 2: return Int(place.loadUnaligned(as: UInt16.self))
    default: return Int(place.loadUnaligned(as: UInt32.self))
    }
  }

  /// The value that a code stands for.
  ///
  /// - Precondition: the slot is pooled.
  @inline(__always)
  func value(_ code: Int, _ slot: Slot) -> Value { slot.values.map { $0[code] } ?? .null }
}
