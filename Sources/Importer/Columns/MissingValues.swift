import Engine

/// Undeclared spellings of missing values in a column that otherwise has a type: `NA`, or an empty quoted
/// field in a file without other empty fields.
///
/// A quoted word is a text, and never null. Only the first records count: a word that occurred there among
/// values of one type is null, as long as all values have that type. A later value of another type is
/// rejected. Otherwise the column would become text, in which `NA` may be a value (it is Namibia's code), and
/// a value that was read as null could not be restored.
struct MissingValues: Equatable {
  /// The spellings of null.
  let spellings: [[UInt8]]
  /// How the other values are read.
  let reading: Reading
  /// The classes that values may have, if the reading has no notation.
  private(set) var bounds: TypeSet
  /// True when the sample has no other values: the type is that of the table's column.
  let isAlone: Bool

  /// True when `inf` is among the other values, which is a double only in a column with that declared.
  var hasInfinities: Bool { reading.type == .double && bounds.contains(.longDecimal) }

  /// Words that programs write for a missing value, and hardly for anything else. `NaN` and `nan` are
  /// numbers.
  static let words = ShortWords(["NULL", "Null", "null", "NA", "N/A", "n/a", "#N/A", "\\N", "-"])
  /// Other words that some programs write; a note mentions them.
  static let otherWords = ShortWords([
    "None", "none", "NIL", "nil", "N.A.", "n.a.", "--", "?", ".",
  ])

  /// Returns whether programs write such a field for null.
  static func isLikelyWord(_ field: [UInt8]) -> Bool {
    words.contains(field) || otherWords.contains(field)
  }

  /// Nil when the sample has no spelling of null, or the rest is text; in a column that is there, when the
  /// rest is of another type, and not of a wider one.
  ///
  /// - Parameters:
  ///   - sample: the column's sample.
  ///   - stored: the existing column, if it has values or a fixed type.
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
    guard !met.isEmpty else { return nil }
    let found = rest.isEmpty ? nil : finder.reading(rest, refusesPoints: refusesPoints)
    guard let reading = stored.map({ Self.reading(rest, found, in: $0) }) ?? found else {
      return nil
    }
    self.reading = reading
    spellings = met.sorted { $0.lexicographicallyPrecedes($1) }
    var classes: TypeSet = []
    for field in rest { classes.formUnion(field.withUnsafeBytes(TypeSet.of)) }
    isAlone = rest.isEmpty
    bounds =
      isAlone
      ? Self.bounds(reading.type, []).union(.accepted(by: reading.type))
      : Self.bounds(reading.type, classes)
  }

  /// How values are read in a column that is there; nil when it is text, or would become text.
  ///
  /// - Parameter found: how they would be read alone; nil when that is not clear, or there are none.
  private static func reading(_ rest: [[UInt8]], _ found: Reading?, in stored: Column) -> Reading? {
    if stored.type == .text || stored.type == .data { return nil }
    let fits = rest.allSatisfy { field in
      field.withUnsafeBytes { Value(spelling: $0, as: stored.reading) != nil }
    }
    if fits { return stored.reading }
    guard let found, found.notation == nil, stored.notation == nil else { return nil }
    // A column with infinities is declared to be of doubles, and one of ints has another type.
    let isPlain = rest.allSatisfy { $0.withUnsafeBytes(TypeSet.of) != .longDecimal }
    guard isPlain else { return nil }
    let isWider = [(.int, .double), (.date, .dateTime)].contains { $0 == (stored.type, found.type) }
    return isWider ? found : nil
  }

  /// For an empty quoted field in a column with a given type; nil for texts.
  init?(emptyIn reading: Reading) {
    if reading.type == .text || reading.type == .data { return nil }
    spellings = [[]]
    isAlone = false
    self.reading = reading
    bounds = .accepted(by: reading.type)
  }

  /// The classes that keep the type, or widen it to another that is not text.
  ///
  /// - Parameter classes: the classes in the sample, which are the same in every run over an input.
  private static func bounds(_ type: ColumnType, _ classes: TypeSet) -> TypeSet {
    switch type {
    case .int: classes.contains(.bigInt) ? [.int, .bigInt] : [.int, .double]
    case .double:
      classes.contains(.longDecimal) ? [.int, .double, .longDecimal] : [.int, .double]
    case .date: [.date, .dateTime]
    case .bool, .dateTime, .time, .decimal, .uuid, .text, .data: TypeSet.accepted(by: type)
    }
  }

  /// Makes numbers with a point values of another type.
  mutating func refusePoints() { bounds.remove([.double, .longDecimal]) }

  /// The spellings, for people.
  var shown: String {
    spellings.map { $0.isEmpty ? "an empty field in quotes" : String(decoding: $0, as: UTF8.self) }
      .joined(separator: ", ")
  }

  /// The note in the report.
  func note(_ name: String) -> String {
    "\(shown) is taken as null, as "
      + (isAlone ? "the column is" : "all other values are") + " \(reading.type.name); with "
      + "\(ColumnList.types(name, "text")) it is kept"
  }
}

/// Words of at most seven bytes, to find among the fields of a sample without hashing each.
struct ShortWords {
  private let words: [UInt64]
  private let longest: Int

  /// - Precondition: no word has more than seven bytes.
  init(_ words: [String]) {
    self.words = words.map { Self.packed(Array($0.utf8)) }
    longest = words.map(\.utf8.count).max() ?? 0
  }

  func contains(_ field: [UInt8]) -> Bool {
    field.count <= longest && words.contains(Self.packed(field))
  }

  /// The length, and the bytes after it.
  private static func packed(_ field: [UInt8]) -> UInt64 {
    field.reduce(UInt64(field.count)) { $0 &<< 8 | UInt64($1) }
  }
}
