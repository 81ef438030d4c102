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
