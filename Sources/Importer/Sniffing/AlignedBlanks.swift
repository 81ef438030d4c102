/// Tables whose fields are vertically aligned, with as many blanks between them as that takes.
///
/// They are not parsed, because a delimiter of repeated blanks is not supported; the user gets a note.
enum AlignedBlanks {
  /// The number of fields, when at least five records all have it, and a third of their columns contain only
  /// figures; nil otherwise.
  ///
  /// - Parameter records: with one field each.
  static func fields(_ records: [[String?]]) -> Int? {
    let lines = records.compactMap { $0.count == 1 ? $0[0] : nil }.map {
      $0.split { $0 == " " || $0 == "\t" }.map { String($0) }
    }
    guard lines.count > 4, lines.count == records.count, let width = lines.last?.count, width > 1,
      lines.dropFirst().allSatisfy({ $0.count == width })
    else { return nil }
    let typed = (0..<width).count { column in
      lines.dropFirst().allSatisfy { CellShape($0[column]).isTyped }
    }
    return typed * 3 >= width ? width : nil
  }
}
