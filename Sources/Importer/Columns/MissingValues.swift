import Engine

/// What stands for a missing value in a column that otherwise has a type, though nobody has said so: `NA`,
/// or an empty field in quotes in a file that has no other empty fields.
///
/// A word in quotes is a text, and never null. Taken from the first records alone: only what was met there
/// among values of one type is null, and only while all values are of it. One that is not, after them, is
/// rejected: the column is text then, in which `NA` may be a value (Namibia's code is one), and what has
/// been read as null cannot be had back.
struct MissingValues: Equatable {
  /// Spellings that are null.
  let spellings: [[UInt8]]
  /// What the other values are.
  let reading: Reading
  /// The classes that values may be of, where the reading has no notation.
  let bounds: TypeSet

  /// What programs write for a missing value, and hardly anything else. `nan` is a number.
  static let words: Set<[UInt8]> = Set(
    ["NULL", "Null", "null", "NA", "N/A", "n/a", "#N/A", "\\N", "-"].map { Array($0.utf8) })
  /// What some write, too: named in a note.
  static let likelyWords: Set<[UInt8]> = words.union(
    ["None", "none", "NIL", "nil", "N.A.", "n.a.", "--", "?", "."].map { Array($0.utf8) })

  /// Nil when nothing in the sample stands for null, or the rest is text.
  ///
  /// - Parameters:
  ///   - sample: of the column.
  ///   - stored: the column that is there already, with values or a type that is to stay.
  init?(
    _ sample: FieldSample.ColumnSample, _ finder: NotationFinder, refusesPoints: Bool,
    stored: Column?
  ) {
    func isMissing(_ field: [UInt8]) -> Bool {
      if field.isEmpty { return sample.quotesEmptyFields }
      return Self.words.contains(field.withoutBlanks) && !sample.quotedWords.contains(field)
    }
    var met: Set<[UInt8]> = []
    var rest: [[UInt8]] = []
    for field in sample.fields {
      if isMissing(field) { met.insert(field) } else { rest.append(field) }
    }
    guard !met.isEmpty, !rest.isEmpty,
      let found = finder.reading(rest, refusesPoints: refusesPoints)
    else { return nil }
    if let stored {
      let isWider =
        found.notation == nil
        && [(.int, .double), (.date, .dateTime)].contains { $0 == (found.type, stored.type) }
      guard stored.notation == found.notation, stored.type == found.type || isWider else {
        return nil
      }
      reading = stored.reading
    } else {
      reading = found
    }
    spellings = met.sorted { $0.lexicographicallyPrecedes($1) }
    var classes: TypeSet = []
    for field in rest { classes.formUnion(field.withUnsafeBytes(TypeSet.of)) }
    bounds = Self.bounds(reading.type, classes)
  }

  /// An empty field in quotes, in a column that was told to have a type; nil for texts.
  init?(emptyIn reading: Reading) {
    if reading.type == .text || reading.type == .data { return nil }
    spellings = [[]]
    self.reading = reading
    bounds = .accepted(by: reading.type)
  }

  /// What keeps the type, or widens it to another that is none of text.
  ///
  /// - Parameter classes: of the sample: the same in every run over an input.
  private static func bounds(_ type: ColumnType, _ classes: TypeSet) -> TypeSet {
    switch type {
    case .int: classes.contains(.bigInt) ? [.int, .bigInt] : [.int, .double]
    case .double: [.int, .double]
    case .date: [.date, .dateTime]
    case .bool, .dateTime, .time, .decimal, .uuid, .text, .data: TypeSet.accepted(by: type)
    }
  }

  /// The spellings, for people.
  var shown: String {
    spellings.map { $0.isEmpty ? "an empty field in quotes" : String(decoding: $0, as: UTF8.self) }
      .joined(separator: ", ")
  }

  /// For the report.
  func note(_ name: String) -> String {
    "\(shown) is taken as null, as all other values are \(reading.type.name); with "
      + "--types '\(name):text' it is kept"
  }
}
