#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension System {
  /// The first `count` significant digits of a number that is positive and finite, correctly rounded, as
  /// ASCII.
  ///
  /// - Precondition: 1 <= `count` <= 1000.
  /// - Complexity: O(count²) at worst, by the C library's conversion, which gives all digits of a double.
  package static func digits(of value: Double, count: Int) -> [UInt8] {
    let room = count + 16
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: room) { buffer in
      let length = withVaList([Int32(clamping: count - 1), value]) {
        vsnprintf(buffer.baseAddress, room, "%.*e", $0)
      }
      // A digit, the locale's decimal point, digits, and the exponent.
      let printed = buffer[..<max(0, min(Int(length), room - 1))].lazy.map { UInt8(bitPattern: $0) }
      return Array(printed.prefix { $0 != 0x65 }.filter { $0 >= 0x30 && $0 <= 0x39 })
    }
  }
}
