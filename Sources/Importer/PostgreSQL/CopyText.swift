import Engine

/// Rows in the text format of `COPY`: fields between tabs, one row a line, `\N` for null.
///
/// Thread rule: confined. Its memory is reused for every chunk.
final class CopyText {
  /// Plain memory: fields of about ten bytes are appended one by one, and an array would double the cost.
  ///
  /// Unchecked: one thread uses it, and changing it calls no other code.
  @exclusivity(unchecked) private var memory: UnsafeMutablePointer<UInt8>
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private(set) var count = 0

  init(capacity: Int = 1 << 16) {
    self.capacity = capacity
    memory = .allocate(capacity: capacity)
  }

  deinit { memory.deallocate() }

  /// A copy of the text.
  var bytes: [UInt8] { Array(UnsafeBufferPointer(start: memory, count: count)) }

  /// Calls `body` with the text after `start`.
  func withBytes(from start: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    guard start >= 0, start <= count else { return }
    body(UnsafeRawBufferPointer(start: memory + start, count: count - start))
  }

  func removeAll() { count = 0 }

  /// Removes the text after `length`.
  func cut(to length: Int) { count = min(count, max(0, length)) }

  @inline(__always)
  private func makeRoom(for more: Int) {
    if capacity &- count < more { grow(for: more) }
  }

  @inline(never)
  private func grow(for more: Int) {
    let larger = max(2 * capacity, count + more)
    let place = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    place.update(from: memory, count: count)
    memory.deallocate()
    memory = place
    capacity = larger
  }

  @inline(__always)
  private func put(_ byte: UInt8) {
    memory[count] = byte
    count &+= 1
  }

  /// Ends a field or a row.
  @inline(__always)
  func end(_ separator: UInt8) {
    makeRoom(for: 1)
    put(separator)
  }

  func writeNull() {
    makeRoom(for: 2)
    put(0x5C)
    put(0x4E)
  }

  /// Writes bytes that have no meaning in the format.
  func writePlain(_ bytes: UnsafeRawBufferPointer) {
    makeRoom(for: bytes.count)
    if let base = bytes.baseAddress {
      UnsafeMutableRawPointer(memory + count).copyMemory(from: base, byteCount: bytes.count)
    }
    count += bytes.count
  }

  func writePlain(_ bytes: [UInt8]) { bytes.withUnsafeBytes { writePlain($0) } }

  /// Appends the bytes that `body` writes; nothing when it returns nil.
  ///
  /// - Parameters:
  ///   - most: the maximum number of bytes that it writes, including those that are dropped.
  ///   - body: gets the address, and returns the number of bytes to keep.
  /// - Returns: whether anything was written.
  @inline(__always)
  func write(most: Int, _ body: (UnsafeMutableRawPointer) -> Int?) -> Bool {
    makeRoom(for: most)
    guard let written = body(UnsafeMutableRawPointer(memory + count)) else { return false }
    count &+= written
    return true
  }

  /// True when no byte has a meaning in the format; false also for other control characters.
  static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    guard bytes.count >= 8 else { return short(bytes).map { !hasMeaning($0) } ?? true }
    var index = 0
    while index < bytes.count &- 8 {
      if hasMeaning(base.loadUnaligned(fromByteOffset: index, as: UInt64.self)) { return false }
      index &+= 8
    }
    // The last eight bytes, some of which were tested before.
    return !hasMeaning(base.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self))
  }

  /// Writes any text, with escapes for bytes that have a meaning in the format.
  ///
  /// - Returns: false when the text has a NUL character, which PostgreSQL does not store; an unknown part of
  ///   the text is written then.
  func writeEscaped(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // The loop writes eight bytes at a time, even when fewer are left.
    makeRoom(for: 2 * bytes.count + 8)
    guard let base = bytes.baseAddress else { return true }
    var index = 0
    while bytes.count &- index >= 8 {
      let word = base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      if Self.hasMeaning(word) {
        guard writeOneByOne(UnsafeRawBufferPointer(start: base + index, count: 8)) else {
          return false
        }
      } else {
        UnsafeMutableRawPointer(memory + count).storeBytes(of: word, as: UInt64.self)
        count &+= 8
      }
      index &+= 8
    }
    let rest = UnsafeRawBufferPointer(start: base + index, count: bytes.count &- index)
    guard let word = Self.short(rest), !Self.hasMeaning(word) else { return writeOneByOne(rest) }
    UnsafeMutableRawPointer(memory + count).storeBytes(of: word.littleEndian, as: UInt64.self)
    count &+= rest.count
    return true
  }

  /// Fewer than eight bytes as a number, the first one lowest, padded with blanks; nil when there are none.
  @inline(__always)
  private static func short(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
    guard let base = bytes.baseAddress else { return nil }
    let blanks: UInt64 = 0x2020_2020_2020_2020
    let count = bytes.count
    func part<Word: FixedWidthInteger>(_ offset: Int, _ type: Word.Type) -> UInt64 {
      UInt64(
        truncatingIfNeeded: Word(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: type))
      )
    }
    if count >= 4 {
      let bits = UInt64(count &- 4) &* 8
      let word = part(0, UInt32.self) | part(count &- 4, UInt32.self) << bits
      return word | (blanks << 32) << bits
    }
    if count >= 2 {
      let bits = UInt64(count &- 2) &* 8
      return part(0, UInt16.self) | part(count &- 2, UInt16.self) << bits | (blanks << 16) << bits
    }
    return count == 1 ? part(0, UInt8.self) | blanks << 8 : nil
  }

  /// True when one of eight bytes is a backslash or below the blank, as all bytes with a meaning are.
  @inline(__always)
  private static func hasMeaning(_ word: UInt64) -> Bool {
    let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    let backslashes = word ^ (ones &* 0x5C)
    let isLow = (word &- ones &* 0x0E) & ~word
    return (isLow | (backslashes &- ones) & ~backslashes) & highs != 0
  }

  /// - Returns: false at a NUL character.
  private func writeOneByOne(_ bytes: UnsafeRawBufferPointer) -> Bool {
    for byte in bytes {
      // The backslash is the only byte above the blank that is escaped.
      if byte > 0x0D {
        if byte == 0x5C { put(0x5C) }
        put(byte)
        continue
      }
      switch byte {
      case 0x00: return false
      case 0x09: writePair(0x74)
      case 0x0A: writePair(0x6E)
      case 0x0D: writePair(0x72)
      default: put(byte)
      }
    }
    return true
  }

  @inline(__always)
  private func writePair(_ letter: UInt8) {
    put(0x5C)
    put(letter)
  }
}

@available(*, unavailable)
extension CopyText: Sendable {}

/// How the values of a column are sent: by their meaning, however they are spelled.
struct CopyField: Sendable {
  let reading: Reading

  /// Types of which most fields can be written without being parsed.
  enum Shortcut: Sendable {
    case none
    case text
    case integer
    case number
  }

  var shortcut: Shortcut {
    switch reading.type {
    case .text, .data: .text
    case .int: reading.notation == nil ? .integer : .none
    case .double: reading.notation == nil ? .number : .none
    case .decimal, .bool, .date, .dateTime, .time, .uuid: .none
    }
  }

  /// Why a value was not written.
  enum Problem: Equatable {
    /// The value is not of the type.
    case misfit
    /// The text has a NUL character.
    case nul
    /// The value is in the year 0, which PostgreSQL does not have.
    case yearZero

    /// A reason for the user.
    func reason(_ column: String) -> String {
      switch self {
      case .misfit: "the value does not fit column '\(column)'"
      case .nul:
        "the text in column '\(column)' has a NUL character, which PostgreSQL does not store"
      case .yearZero:
        "the value of column '\(column)' is in the year 0, which PostgreSQL does not know: there the year 1 "
          + "follows 1 BC"
      }
    }
  }

  private static let firstDay = Int64(-719_162)
  private static let firstMicrosecond = firstDay * 86_400_000_000

  /// Writes a field.
  ///
  /// - Returns: why it was not written; nil when it was.
  /// - Complexity: O(n).
  func write(_ field: UnsafeRawBufferPointer, to text: CopyText) -> Problem? {
    switch reading.type {
    case .text, .data: return text.writeEscaped(field) ? nil : .nul
    case .int:
      if reading.notation == nil, Self.isPlainInteger(field) {
        text.writePlain(field)
        return nil
      }
      guard let number = reading.integer(field) else { return .misfit }
      text.writePlain(Value.int(number).spelling)
    case .double:
      return reading.withPlainNumber(field) { text.writePlain($0) } == nil ? .misfit : nil
    case .bool:
      guard let number = reading.integer(field) else { return .misfit }
      text.writePlain([number == 0 ? 0x66 : 0x74])
    case .date:
      guard let days = reading.integer(field) else { return .misfit }
      if days < Self.firstDay { return .yearZero }
      guard let day = CalendarDate(daysSince1970: Int(days)) else { return .misfit }
      text.writePlain(Value.date(day).spelling)
    case .dateTime:
      guard let number = reading.integer(field) else { return .misfit }
      if number < Self.firstMicrosecond { return .yearZero }
      guard let moment = DateTime(microsecondsSince1970: number) else { return .misfit }
      text.writePlain(Value.dateTime(moment).spelling)
    case .time:
      guard let number = reading.integer(field), let time = TimeOfDay(microseconds: number) else {
        return .misfit
      }
      text.writePlain(Value.time(time).spelling)
    case .decimal, .uuid:
      guard let value = Value(spelling: field, as: reading) else { return .misfit }
      text.writePlain(value.spelling)
    }
    return nil
  }

  /// True for a plain number of up to 16 bytes: digits without a leading zero, at most one point between
  /// them, with or without a minus. Most numbers with fractions are.
  @inline(__always)
  static func isPlainNumber(_ field: UnsafeRawBufferPointer) -> Bool {
    guard field.count > 0, field.count <= 16 else { return false }
    var index = field[0] == 0x2D ? 1 : 0
    let first = index
    var points = 0
    while index < field.count {
      let byte = field[index]
      if byte == 0x2E {
        // The point is not first, and occurs once.
        if index == first || points > 0 { return false }
        points = 1
      } else if byte &- 0x30 > 9 {
        return false
      }
      index &+= 1
    }
    guard field.count > first &+ points, field[field.count &- 1] != 0x2E else { return false }
    // 0.5 is plain; 007 and -0 are not.
    return field[first] != 0x30 || first == 0 && (field.count == 1 || field[1] == 0x2E)
  }

  /// True for a plain integer: few enough digits for 64 bits, with or without a minus, and no leading zero.
  /// Most integers are.
  @inline(__always)
  static func isPlainInteger(_ field: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    guard field.count > 0, field.count <= 18 else { return false }
    if field[0] == 0x2D { index = 1 }
    guard index < field.count else { return false }
    let first = field[index] &- 0x30
    if first == 0 { return index == 0 && field.count == 1 }
    while index < field.count {
      if field[index] &- 0x30 > 9 { return false }
      index &+= 1
    }
    return true
  }
}
