/// Decimals and UUIDs as 17 bytes that compare in the same order, the most significant byte first.
///
/// For a decimal, the first byte is 128 for zero, above it for positive numbers and below it for negative
/// ones; the distance grows with the number of digits before the point. The other bytes hold the digits, from
/// the first non-zero one on, as a number of 38 digits; for a negative number this is counted down from 2^127
/// - 1. For a UUID, the first byte is 0.
///
/// Thread rule: a plain value, `Sendable`.
package struct WideNumber: Sendable, Hashable {
  let head: UInt8
  let body: UInt128

  static let lowest = WideNumber(head: 0, body: 0)
  static let highest = WideNumber(head: .max, body: .max)

  private init(head: UInt8, body: UInt128) {
    self.head = head
    self.body = body
  }

  init(_ identifier: UniqueIdentifier) { self.init(head: 0, body: identifier.bits) }

  init(_ decimal: ExactDecimal) {
    let magnitude = decimal.coefficient.magnitude
    guard magnitude > 0 else {
      self.init(head: 128, body: 0)
      return
    }
    let digits = ExactDecimal.digits(of: magnitude)
    // 1 to 76: from 0.00…01 to numbers of 38 digits.
    let size = UInt8(truncatingIfNeeded: digits - decimal.scale + ExactDecimal.maximumDigits)
    let body = magnitude * ExactDecimal.powers[ExactDecimal.maximumDigits - digits]
    if decimal.coefficient > 0 {
      self.init(head: 128 + size, body: body)
    } else {
      self.init(head: 128 - size, body: UInt128(Int128.max) - body)
    }
  }

  /// The bytes of a UUID.
  var bytes: [UInt8] { withUnsafeBytes(of: body.bigEndian, Array.init) }

  /// The next higher number, whether or not a value has it; nil behind the highest.
  var next: WideNumber? {
    if body < .max { return WideNumber(head: head, body: body + 1) }
    return head < .max ? WideNumber(head: head + 1, body: 0) : nil
  }

  /// The next lower number; nil before the lowest.
  var previous: WideNumber? {
    if body > 0 { return WideNumber(head: head, body: body - 1) }
    return head > 0 ? WideNumber(head: head - 1, body: .max) : nil
  }
}

extension WideNumber: Comparable {
  package static func < (left: Self, right: Self) -> Bool {
    left.head == right.head ? left.body < right.body : left.head < right.head
  }
}
