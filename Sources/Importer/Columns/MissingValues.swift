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
  let bounds: TypeSet

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

  /// Nil when the sample has no spelling of null, or the rest is text.
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

  /// For an empty quoted field in a column with a given type; nil for texts.
  init?(emptyIn reading: Reading) {
    if reading.type == .text || reading.type == .data { return nil }
    spellings = [[]]
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

  /// The spellings, for people.
  var shown: String {
    spellings.map { $0.isEmpty ? "an empty field in quotes" : String(decoding: $0, as: UTF8.self) }
      .joined(separator: ", ")
  }

  /// The note in the report.
  func note(_ name: String) -> String {
    "\(shown) is taken as null, as all other values are \(reading.type.name); with "
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
