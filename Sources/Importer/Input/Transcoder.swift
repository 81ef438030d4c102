/// Converts text of another encoding to UTF-8, and any part of that back to the same bytes.
///
/// Bytes of the input that are not text become bytes that are not UTF-8, in a unique form, so nothing is
/// lost: the parser treats them like any ill-formed UTF-8, and the conversion back gives the original. A
/// place in the UTF-8 therefore determines the place in the input without a table of offsets.
///
/// Encodings that the system decodes go through `SystemText` instead, which keeps the bytes.
///
/// - A byte that Windows-1252 does not define: 0xF8 and its position among the five.
/// - Half a surrogate pair of UTF-16: the three bytes that UTF-8 would have for it.
/// - A last byte without its other half: 0xFE, and two continuation bytes with four bits each.
package struct Transcoder {
  package let encoding: TextEncoding
  /// Bytes of the input that are not yet converted: less than one character.
  private var held: [UInt8] = []

  package init(_ encoding: TextEncoding) { self.encoding = encoding }

  // MARK: To UTF-8

  /// Appends the UTF-8 of `input`, which continues the previous call's.
  ///
  /// - Parameter isLast: whether the input ends with these bytes; there may be none.
  package mutating func decode(
    _ input: UnsafeRawBufferPointer, isLast: Bool, to output: inout [UInt8]
  ) {
    switch encoding.form {
    case .utf8, .system: output += input
    case .latin1: for byte in input { Self.append(UInt32(byte), to: &output) }
    case .windows1252:
      for byte in input {
        let scalar = byte & 0xE0 == 0x80 ? Self.upperControls[Int(byte & 0x1F)] : UInt32(byte)
        if scalar < 5, byte >= 0x80 {
          output.append(0xF8 + UInt8(scalar))
        } else {
          Self.append(scalar, to: &output)
        }
      }
    case .utf16LE, .utf16BE: decodePairs(held + Array(input), isLast: isLast, to: &output)
    }
  }

  private mutating func decodePairs(_ bytes: [UInt8], isLast: Bool, to output: inout [UInt8]) {
    var position = 0
    while bytes.count - position >= 2 {
      let unit = unit(bytes, position)
      if unit & 0xFC00 == 0xD800 {
        if bytes.count - position < 4, !isLast { break }
        let next = bytes.count - position >= 4 ? self.unit(bytes, position + 2) : 0
        if next & 0xFC00 == 0xDC00 {
          Self.append(0x10000 + ((unit & 0x3FF) << 10) + (next & 0x3FF), to: &output)
          position += 4
          continue
        }
      }
      Self.append(unit, to: &output)
      position += 2
    }
    held = Array(bytes[position...])
    if isLast, let byte = held.first {
      output += [0xFE, 0x80 | (byte >> 4), 0x80 | (byte & 0x0F)]
      held = []
    }
  }

  private func unit(_ bytes: [UInt8], _ position: Int) -> UInt32 {
    let (first, second) = (UInt32(bytes[position]), UInt32(bytes[position + 1]))
    return encoding == .utf16LE ? second << 8 | first : first << 8 | second
  }

  @inline(__always)
  static func append(_ scalar: UInt32, to output: inout [UInt8]) {
    func continuation(_ shift: UInt32) -> UInt8 { 0x80 | UInt8((scalar >> shift) & 0x3F) }
    if scalar < 0x80 {
      output.append(UInt8(scalar))
    } else if scalar < 0x800 {
      output.append(0xC0 | UInt8(scalar >> 6))
      output.append(continuation(0))
    } else if scalar < 0x10000 {
      output.append(0xE0 | UInt8(scalar >> 12))
      output.append(continuation(6))
      output.append(continuation(0))
    } else {
      output.append(0xF0 | UInt8((scalar >> 18) & 0x07))
      output.append(continuation(12))
      output.append(continuation(6))
      output.append(continuation(0))
    }
  }

  /// Characters 0x80 to 0x9F of Windows-1252; the five that it does not define are numbered 0 to 4.
  private static let upperControls: [UInt32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
    0x0152, 1, 0x017D, 2, 3, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122,
    0x0161, 0x203A, 0x0153, 4, 0x017E, 0x0178,
  ]
  static let undefined: [UInt8] = [0x81, 0x8D, 0x8F, 0x90, 0x9D]

  // MARK: Back

  /// The number of bytes of the input that whole characters of its UTF-8 represent.
  ///
  /// - Complexity: O(bytes); O(1) for UTF-8.
  static func inputLength(_ bytes: UnsafeRawBufferPointer, _ encoding: TextEncoding) -> Int {
    var length = 0
    switch encoding.form {
    case .utf8, .system: return bytes.count
    case .latin1, .windows1252:
      for byte in bytes where byte & 0xC0 != 0x80 { length += 1 }
    case .utf16LE, .utf16BE:
      for byte in bytes where byte & 0xC0 != 0x80 {
        length += byte < 0xF0 ? 2 : byte == 0xFE ? 1 : 4
      }
    }
    return length
  }

  /// The longest beginning in whole characters that represents at most `length` bytes of the input.
  ///
  /// - Returns: their number of bytes, and that of the input.
  /// - Complexity: O(bytes); O(1) for UTF-8.
  static func prefix(
    of bytes: UnsafeRawBufferPointer, inputLength length: Int, _ encoding: TextEncoding
  ) -> (count: Int, inputLength: Int) {
    if encoding.form == .utf8 || encoding.form == .system {
      let count = min(bytes.count, length)
      return (count, count)
    }
    var (count, total) = (0, 0)
    while count < bytes.count {
      let lead = bytes[count]
      let size =
        lead < 0xC0 || lead >= 0xF8 && lead != 0xFE
        ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead == 0xFE ? 3 : 4
      guard size <= bytes.count - count else { break }
      let character = UnsafeRawBufferPointer(rebasing: bytes[count..<count + size])
      let stands = inputLength(character, encoding)
      guard total + stands <= length else { break }
      count += size
      total += stands
    }
    return (count, total)
  }

  /// The bytes of the input that whole characters of its UTF-8 represent.
  package static func input(_ bytes: [UInt8], _ encoding: TextEncoding) -> [UInt8] {
    if encoding.form == .utf8 || encoding.form == .system { return bytes }
    var output: [UInt8] = []
    var position = 0
    while position < bytes.count {
      let lead = bytes[position]
      var scalar = UInt32(lead)
      var next = position + 1
      while next < bytes.count, bytes[next] & 0xC0 == 0x80 { next += 1 }
      if lead >= 0xC0 {
        // The bits of the lead byte are those after its leading ones and the zero after them.
        scalar =
          lead >= 0xF0 ? UInt32(lead & 0x07) : UInt32(lead) & (0x7F >> UInt32(next - position))
        for byte in bytes[position + 1..<next] { scalar = (scalar << 6) | UInt32(byte & 0x3F) }
      }
      output += original(lead, scalar, bytes[position..<next], encoding)
      position = next
    }
    return output
  }

  private static func original(
    _ lead: UInt8, _ scalar: UInt32, _ spelling: ArraySlice<UInt8>, _ encoding: TextEncoding
  ) -> [UInt8] {
    switch encoding.form {
    case .utf8, .system: return Array(spelling)
    case .latin1: return [UInt8(truncatingIfNeeded: scalar)]
    case .windows1252:
      if lead >= 0xF8 { return [undefined[min(Int(lead) - 0xF8, undefined.count - 1)]] }
      if let index = upperControls.firstIndex(of: scalar), scalar > 4 {
        return [0x80 + UInt8(index)]
      }
      return [UInt8(truncatingIfNeeded: scalar)]
    case .utf16LE, .utf16BE:
      if lead == 0xFE {
        return [spelling.dropFirst().reduce(UInt8(0)) { ($0 << 4) | ($1 & 0x0F) }]
      }
      if scalar < 0x10000 { return pair(scalar, encoding) }
      let rest = scalar &- 0x10000
      return pair(0xD800 | ((rest >> 10) & 0x3FF), encoding)
        + pair(0xDC00 | (rest & 0x3FF), encoding)
    }
  }

  private static func pair(_ unit: UInt32, _ encoding: TextEncoding) -> [UInt8] {
    let (high, low) = (UInt8(truncatingIfNeeded: unit >> 8), UInt8(truncatingIfNeeded: unit))
    return encoding == .utf16LE ? [low, high] : [high, low]
  }

  /// A character of ASCII in an encoding.
  package static func ascii(_ byte: UInt8, _ encoding: TextEncoding) -> [UInt8] {
    switch encoding.form {
    case .utf8, .latin1, .windows1252, .system: [byte]
    case .utf16LE: [byte, 0]
    case .utf16BE: [0, byte]
    }
  }
}
