/// Guesses whether the first record names the columns.
///
/// It does not when one of its cells looks like a number, a date or a time: names rarely do.
/// Otherwise it does when, in some column, every cell below that is not empty looks like one: then
/// the first record is the odd one out. In a table of nothing but text, it does unless one of its
/// cells occurs below in its own column: most files have a header, even one with a name left out or
/// used twice.
package enum HeaderSniffer {
  /// More records than this tell nothing new.
  package static let sampleRecords = 200

  /// - Parameter records: the first records of the input, the first one first.
  package static func looksLikeHeader(_ records: [[String?]]) -> Bool {
    guard let first = records.first else { return false }
    if hasTypedCell(first) { return false }
    if standsOut(records) { return true }
    let below = records.dropFirst().prefix(sampleRecords)
    if first.allSatisfy(isEmpty) { return false }
    return !first.indices.contains { column in
      !isEmpty(first[column])
        && below.contains { column < $0.count && $0[column] == first[column] }
    }
  }

  /// Whether the first record is the odd one out: it has no typed cell, above a column of nothing else.
  static func standsOut(_ records: [[String?]]) -> Bool {
    guard let first = records.first, !hasTypedCell(first) else { return false }
    // The header of a second section tells nothing of the columns.
    let below = records.dropFirst().prefix(sampleRecords).filter { $0 != first }
    return first.indices.contains { column in
      if isEmpty(first[column]) { return false }
      let cells = below.compactMap { column < $0.count ? $0[column] : nil }.filter { !isEmpty($0) }
      return !cells.isEmpty && cells.allSatisfy(looksTyped)
    }
  }

  private static func hasTypedCell(_ record: [String?]) -> Bool {
    record.contains { $0.map(looksTyped) ?? false }
  }

  private static func isEmpty(_ cell: String?) -> Bool {
    cell?.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 } ?? true
  }

  /// Whether a cell looks like a number (`-1.5e3`, `NaN`), a date or a time (`2018-01-07`, `7.1.18`,
  /// `12:30:05`): nothing but digits and what stands between them, at least one digit.
  static func looksTyped(_ cell: String) -> Bool {
    var hasDigit = false
    var previousIsDigit = false
    for byte in cell.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        hasDigit = true
        previousIsDigit = true
        continue
      case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ","),
        UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: " "), 0x09:
        break
      case UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "T"), UInt8(ascii: "Z"):
        // Exponents, and the letters of ISO 8601.
        guard previousIsDigit else { return false }
      default:
        return ["nan", "inf", "-inf", "infinity", "-infinity"].contains(cell.lowercased())
      }
      previousIsDigit = false
    }
    return hasDigit
  }
}
