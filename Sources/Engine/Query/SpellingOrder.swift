/// The sort order of a column's values, applied to their spellings.
///
/// Thread rule: a plain value, `Sendable`.
package struct SpellingOrder: Sendable, Hashable {
  private let reading: Reading

  package init(_ reading: Reading) { self.reading = reading }

  /// Returns whether a value is greater than another one. Null, NaN and spellings that are not values of the
  /// column are less than all values, and greater than nothing.
  package func isAbove(
    _ value: UnsafeRawBufferPointer?, _ other: UnsafeRawBufferPointer?
  ) -> Bool {
    guard let value = key(value) else { return false }
    guard let other = key(other) else { return true }
    return other.lexicographicallyPrecedes(value)
  }

  /// Nil for a spelling that is not a value.
  private func key(_ spelling: UnsafeRawBufferPointer?) -> [UInt8]? {
    guard let spelling else { return nil }
    var key: [UInt8] = []
    let fits = OrderedKey(reading: reading, isDescending: false).append(spelling, to: &key)
    return fits && key.first == 1 ? key : nil
  }
}
