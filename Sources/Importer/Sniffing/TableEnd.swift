/// Lines behind a table that do not belong to it: totals, notes, the end of a report.
///
/// They are never skipped automatically: a truncated table may look the same.
enum TableEnd {
  /// How many bytes of an input's end are read.
  static let sampleBytes = 1 << 13
  /// More records than this are not a footer.
  private static let maximumRecords = 10

  /// How many records at the end differ from those before; 0 when none do.
  ///
  /// - Parameters:
  ///   - records: the last records behind the header, including some before the end of the table.
  ///   - width: the number of the table's columns.
  static func footer(_ records: [[String?]], width: Int) -> Int {
    guard width > 1 else { return 0 }
    let last = records.lastIndex { !isApart($0, width) } ?? -1
    let count = records.count - 1 - last
    let table = records[..<max(0, last + 1)].filter { $0.count == width }
    guard count > 0, count <= maximumRecords, table.count > 1, table.count * 2 > records.count,
      let head = records[last + 1].first ?? nil
    else { return 0 }
    // A record that begins like the table's may be a truncated one.
    let heads = table.map { CellShape($0[0]) }.filter { !$0.isBlank }
    let isTotal = totals.contains { head.lowercased().hasPrefix($0) }
    // Such as the sums of groups: then the table has rows of sums.
    if isTotal, table.contains(where: { $0[0] == head }) { return 0 }
    return isTotal || (heads.allSatisfy(\.isTyped) && !heads.isEmpty && !CellShape(head).isTyped)
      || (records[last + 1].count == 1 && width > 2 && head.contains(" ")) ? count : 0
  }

  private static let totals = [
    "total", "sum", "grand total", "summe", "gesamt", "suma", "totale", "totaal", "note", "source",
    "end of",
    "---", "***", "===", "generated", "copyright", "(c)", "©",
  ]

  /// What the first field of a record says that is a sum in all others, without blanks.
  private static let wholeTotals: Set<String> = [
    "total", "totals", "grandtotal", "sum", "summe", "gesamt", "gesamtsumme", "suma", "totale",
    "totaal",
    "somme",
  ]

  private static func isApart(_ record: [String?], _ width: Int) -> Bool {
    if record.count < width { return true }
    guard record.count == width, let first = record[0], !CellShape(first).isTyped else {
      return false
    }
    let filled = record.count { !CellShape.isEmpty($0) }
    if filled == width {
      let word = first.lowercased().filter { $0 != ":" && $0 != " " }
      return wholeTotals.contains(word) && record.dropFirst().contains { CellShape($0).isTyped }
    }
    return filled <= max(1, width / 4)
      || (filled < width && totals.prefix(7).contains { first.lowercased().hasPrefix($0) })
  }
}
