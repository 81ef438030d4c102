/// Values that resemble numbers but are telephone numbers.
enum TelephoneNumber {
  /// A number with a plus and at least this many digits is a telephone number.
  private static let fewestDigits = 7

  /// Returns whether at least half of the values are telephone numbers and none has a minus: numbers printed
  /// with their sign have both.
  static func areThese(_ fields: [[UInt8]]) -> Bool {
    let count = fields.count(where: fits)
    return count > 0 && 2 * count >= fields.count && !fields.contains { $0.first == 0x2D }
  }

  private static func fits(_ field: [UInt8]) -> Bool {
    field.first == 0x2B && field.count > fewestDigits
      && field.dropFirst().allSatisfy { $0 &- 0x30 < 10 }
  }
}
