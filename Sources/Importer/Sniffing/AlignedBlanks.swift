/// Tables with blanks between their fields that are read as one column, because there are runs of blanks,
/// which are not supported as a delimiter, or because a few records are too little to tell. The user gets a
/// note.
///
/// Thread rule: a plain value, `Sendable`.
struct AlignedBlanks: Equatable, Sendable {
  /// What stands between two fields.
  enum Gap: Sendable {
    /// One blank, and none before the first and behind the last field.
    case single
    /// One or more.
    case runs
    /// Two or more; fields may have single blanks.
    case wide
  }

  /// The number of fields.
  let fields: Int
  let gap: Gap

  /// The table that records with one field each seem to be; nil if they do not.
  ///
  /// Four fifths of at least two lines have the same number of fields, more than one. Behind the first of
  /// them, or in the only two, a third of the columns contain only figures, dates and the like; a half where
  /// there are fewer than five records or two columns. The lines are not single values as wholes, as
  /// `2018-08-03 12:30` is; figures such as `030 123 456` are one unless there are as many names above, or
  /// runs of blanks. Texts are columns if behind runs of blanks they begin in the same places in all of at
  /// least three lines. Blank lines and lines at the front that begin with `#` do not count.
  init?(_ records: [[String?]]) {
    guard records.allSatisfy({ $0.count == 1 }) else { return nil }
    let filled = records.compactMap { CellShape.isEmpty($0[0]) ? nil : $0[0] }
    let lines = Array(filled.drop { $0.hasPrefix("#") })
    if let figures = Self.figures(lines) {
      self = figures
    } else if let texts = Self.texts(lines) {
      self = texts
    } else {
      return nil
    }
  }

  private init(fields: Int, gap: Gap) {
    self.fields = fields
    self.gap = gap
  }

  private static func figures(_ lines: [String]) -> AlignedBlanks? {
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
        return (hasNames || fieldStarts(lines[$0]).count > 1) && shape == .figures || !shape.isTyped
      })
    else { return nil }
    let typed = (0..<width).count { column in
      below.allSatisfy { CellShape(divided[$0][column]).isTyped }
    }
    guard typed * (table.count > 4 && width > 2 ? 3 : 2) >= width else { return nil }
    let areSingle = table.allSatisfy { lines[$0].utf8.count { $0 == 0x20 } == width - 1 }
    return AlignedBlanks(fields: width, gap: areSingle ? .single : .runs)
  }

  private static func texts(_ lines: [String]) -> AlignedBlanks? {
    guard lines.count > 2, let first = lines.first else { return nil }
    let starts = fieldStarts(first)
    guard starts.count > 1, lines.allSatisfy({ fieldStarts($0) == starts }) else { return nil }
    return AlignedBlanks(fields: starts.count, gap: .wide)
  }

  /// The places of the first character, if it is no blank, and of those behind two blanks or more.
  private static func fieldStarts(_ line: String) -> [Int] {
    var starts: [Int] = []
    var blanks = 2
    for (place, character) in line.enumerated() {
      if character == " " {
        blanks += 1
      } else {
        if blanks > 1 { starts.append(place) }
        blanks = 0
      }
    }
    return starts
  }
}
