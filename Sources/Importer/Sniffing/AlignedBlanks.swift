/// Tables whose fields stand below each other, with as many blanks between them as that takes.
///
/// They are not read as such: blanks are no delimiter that may be repeated. Whoever has one is told.
enum AlignedBlanks {
  /// The number of fields, where each of at least five records has as many, and a third of their columns
  /// has nothing but figures; nil otherwise.
  ///
  /// - Parameter records: of one field each.
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
