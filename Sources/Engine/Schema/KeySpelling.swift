/// Which spellings a primary key may have.
///
/// Keys are compared as they are spelled. Integers and dates are found by the spellings that their values may
/// have without blanks; for other types, a query reads all objects.
package enum KeySpelling {
  /// Returns whether an import rejects the key: it has blanks around it, or is not the canonical spelling of
  /// its decimal or UUID.
  ///
  /// - Parameter type: the type of the column; nil: not known.
  package static func isUnfit(_ spelling: UnsafeRawBufferPointer, _ type: ColumnType?) -> Bool {
    if spelling.hasBlanksAround { return true }
    guard let type, type.isWide, let value = Value(spelling: spelling, as: Reading(type)) else {
      return false
    }
    return !value.spelling.elementsEqual(spelling)
  }

  /// Returns whether a query for the value would not find the key.
  static func isHidden(_ spelling: UnsafeRawBufferPointer, _ type: ColumnType) -> Bool {
    hides(type) && spelling.hasBlanksAround
  }

  /// Returns whether keys of the type are found by some of their spellings.
  static func hides(_ type: ColumnType) -> Bool { type == .int || type == .date }
}
