/// Tables with blanks between their fields that are read as one column, because a few records are too little
/// to tell, or because fields have blanks inside, or are empty. The user gets a note.
///
/// Thread rule: a plain value, `Sendable`.
struct AlignedBlanks: Equatable, Sendable {
  /// What stands between two fields.
  enum Gap: Equatable, Sendable {
    /// One blank, and none before the first and behind the last field.
    case single
    /// One or more.
    case runs
    /// The same places in all lines, of which these are the last ones. Fields may have blanks inside.
    case places([Int])
  }

  /// The number of fields.
  let fields: Int
  let gap: Gap

  /// The table that records with one field each seem to be; nil if they do not.
  ///
  /// Four fifths of at least two lines have the same number of fields, more than one. Behind the first of
  /// them, or in the only two, a third of the columns contain only figures, dates and the like; a half where
  /// there are fewer than five records or two columns. The lines are not single values as wholes, as
  /// `2018-08-03 12:30` is; figures such as `030 123 456` are one unless there are as many names above, runs
  /// of blanks, or points in two of them. Texts, and fewer columns with texts, are recognised by places: at
  /// least two next to each other are blank in all of at least three lines, half of the lines have something
  /// on both sides, and there are two blanks nowhere else. Blank lines and lines at the front that begin with
  /// `#` do not count.
  init?(_ records: [[String?]]) {
    guard records.allSatisfy({ $0.count == 1 }) else { return nil }
    let filled = records.compactMap { CellShape.isEmpty($0[0]) ? nil : $0[0] }
    let lines = Array(filled.drop { $0.hasPrefix("#") })
    let figures = Self.figures(lines)
    let most = figures?.table.fields ?? .max
    if let figures, figures.isTyped {
      self = figures.table
    } else if let places = Self.places(lines), places.isUneven || places.table.fields < most {
      self = places.table
    } else if let figures {
      self = figures.table
    } else {
      return nil
    }
  }

  private init(fields: Int, gap: Gap) {
    self.fields = fields
    self.gap = gap
  }

  /// - Returns: also whether all columns contain only figures, dates and the like.
  private static func figures(_ lines: [String]) -> (table: AlignedBlanks, isTyped: Bool)? {
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
        let isDivided =
          hasNames || fieldStarts(lines[$0]).count > 1
          || divided[$0].count { $0.contains(".") } > 1
        return isDivided && shape == .figures || !shape.isTyped
      })
    else { return nil }
    let typed = (0..<width).count { column in
      below.allSatisfy { CellShape(divided[$0][column]).isTyped }
    }
    guard typed * (table.count > 4 && width > 2 ? 3 : 2) >= width else { return nil }
    let areSingle = table.allSatisfy { lines[$0].utf8.count { $0 == 0x20 } == width - 1 }
    return (AlignedBlanks(fields: width, gap: areSingle ? .single : .runs), typed == width)
  }

  /// - Returns: also whether lines have different numbers of words in a field.
  private static func places(_ lines: [String]) -> (table: AlignedBlanks, isUneven: Bool)? {
    guard lines.count > 2, !lines.contains(where: { $0.utf8.contains(0x09) }) else { return nil }
    let words = WordPlaces(lines.map(\.utf8))
    let parts = words.parts(0..<lines.count, gap: 2)
    guard parts.count > 1 else { return nil }
    for part in parts {
      let fields = words.lines.map { line in line.filter { part.contains($0.lowerBound) } }
      guard fields.count(where: { !$0.isEmpty }) * 2 >= lines.count,
        fields.allSatisfy({ field in
          zip(field, field.dropFirst()).allSatisfy { $1.lowerBound == $0.upperBound + 1 }
        })
      else { return nil }
    }
    let places = parts.dropFirst().map { $0.lowerBound - 1 }
    return (
      AlignedBlanks(fields: parts.count, gap: .places(places)),
      words.areUneven(0..<lines.count)
    )
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
