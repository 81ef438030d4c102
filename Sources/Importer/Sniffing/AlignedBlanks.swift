/// Tables with blanks between their fields that are read as one column, because there are runs of blanks,
/// which are not supported as a delimiter, or because a few records are too little to tell. The user gets a
/// note.
///
/// Thread rule: a plain value, `Sendable`.
struct AlignedBlanks: Equatable, Sendable {
  /// The number of fields.
  let fields: Int
  /// Whether one blank stands between any two of them, and none before the first and behind the last.
  let areSingle: Bool

  /// The table that records with one field each seem to be; nil if they do not.
  ///
  /// Four fifths of at least two lines have the same number of fields, more than one. Behind the first of
  /// them, or in the only two, a third of the columns contain only figures, dates and the like; a half where
  /// there are fewer than five records or two columns. The lines are not single values as wholes, as
  /// `2018-08-03 12:30` is; figures such as `030 123 456` are one unless there are as many names above. Blank
  /// lines do not count.
  init?(_ records: [[String?]]) {
    guard records.allSatisfy({ $0.count == 1 }) else { return nil }
    let lines = records.compactMap { CellShape.isEmpty($0[0]) ? nil : $0[0] }
    let divided = lines.map { $0.split { $0 == " " || $0 == "\t" }.map { String($0) } }
    let counts = divided.reduce(into: [:]) { $0[$1.count, default: 0] += 1 }
    guard let most = counts.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }), most.key > 1,
      most.value > 1, most.value * 5 >= lines.count * 4
    else { return nil }
    let width = most.key
    let table = lines.indices.filter { divided[$0].count == width }
    let below = table.count > 2 ? table.dropFirst() : table[...]
    let hasNames = !CellShape(lines[table[0]]).isTyped
    guard
      below.contains(where: {
        let shape = CellShape(lines[$0])
        return hasNames && shape == .figures || !shape.isTyped
      })
    else { return nil }
    let typed = (0..<width).count { column in
      below.allSatisfy { CellShape(divided[$0][column]).isTyped }
    }
    guard typed * (table.count > 4 && width > 2 ? 3 : 2) >= width else { return nil }
    fields = width
    areSingle = table.allSatisfy { lines[$0].utf8.count { $0 == 0x20 } == width - 1 }
  }
}
