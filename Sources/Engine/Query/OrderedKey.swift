import Base

/// Values as bytes whose order is that of the values: for sorting, and for finding equal values.
///
/// A value begins with 1, NaN is 2, null is 3, so these two are last. After the 1, numbers take eight bytes,
/// decimals and UUIDs 17; text ends with two zeros, and each zero inside it is followed by 255. In descending
/// order, all bytes except the first are inverted.
struct OrderedKey {
  let reading: Reading
  let isDescending: Bool

  var type: ColumnType { reading.type }

  /// Appends a value's bytes; returns false when the spelling does not fit the type.
  func append(_ spelling: UnsafeRawBufferPointer?, to bytes: inout [UInt8]) -> Bool {
    guard let spelling else {
      bytes.append(3)
      return true
    }
    switch type {
    case .text, .data:
      bytes.append(1)
      let start = bytes.count
      for byte in spelling {
        bytes.append(byte)
        if byte == 0 { bytes.append(.max) }
      }
      bytes.append(0)
      bytes.append(0)
      if isDescending { for index in start..<bytes.count { bytes[index] = ~bytes[index] } }
      return true
    case .double:
      guard let double = reading.double(spelling) else { return false }
      if double.isNaN {
        bytes.append(2)
        return true
      }
      // -0 is 0. The bits of negative numbers are inverted, so that larger magnitudes come first.
      let bits = (double == 0 ? 0 : double).bitPattern
      append(bits >> 63 == 0 ? bits | 1 << 63 : ~bits, to: &bytes)
      return true
    case .decimal, .uuid:
      guard let wide = reading.wide(spelling) else { return false }
      bytes.append(1)
      bytes.append(isDescending ? ~wide.head : wide.head)
      let body = isDescending ? ~wide.body : wide.body
      withUnsafeBytes(of: body.bigEndian) { bytes.append(contentsOf: $0) }
      return true
    case .int, .bool, .date, .dateTime, .time:
      guard let number = reading.integer(spelling) else { return false }
      append(UInt64(bitPattern: number) ^ 1 << 63, to: &bytes)
      return true
    }
  }

  private func append(_ number: UInt64, to bytes: inout [UInt8]) {
    bytes.append(1)
    let number = isDescending ? ~number : number
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }
}

/// Numbers distinct byte strings from 0, in the order of their first occurrence.
///
/// Open addressing over one arena: the standard dictionary would make an array for each string that is only
/// looked up.
struct KeyTable {
  private var arena: [UInt8] = []
  /// The end of each string.
  private var ends: [Int] = []
  private var hashes: [UInt64] = []
  /// The number of a string + 1; 0 for an empty slot.
  private var slots = [UInt32](repeating: 0, count: 64)

  var count: Int { ends.count }

  /// The number of a string.
  mutating func number(of key: [UInt8]) -> Int {
    let hash = Checksum.of(key)
    var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
    while slots[slot] != 0 {
      let number = Int(slots[slot]) - 1
      if hashes[number] == hash, isEqual(number, key) { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    arena += key
    ends.append(arena.count)
    hashes.append(hash)
    slots[slot] = UInt32(ends.count)
    if ends.count * 2 > slots.count { grow() }
    return ends.count - 1
  }

  private func isEqual(_ number: Int, _ key: [UInt8]) -> Bool {
    let start = number == 0 ? 0 : ends[number - 1]
    return arena[start..<ends[number]].elementsEqual(key)
  }

  private mutating func grow() {
    slots = [UInt32](repeating: 0, count: slots.count * 2)
    for (number, hash) in hashes.enumerated() {
      var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
      while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = UInt32(number + 1)
    }
  }
}
