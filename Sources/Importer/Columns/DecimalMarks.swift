import Engine

/// What an input's other columns show about points and commas in numbers, as hardly any input has both as
/// decimal marks.
///
/// `1,234` alone may be 1234 or 1.234. It is 1234 if other columns have numbers like `1.5`, and 1.234 if they
/// have numbers like `1,5`. In the latter case `1.234` may be 1234, and remains text.
///
/// Thread rule: a plain value, confined.
struct DecimalMarks {
  private static let point: UInt8 = 0x2E
  private static let comma: UInt8 = 0x2C
  /// More values of a column show nothing new.
  private static let sampleValues = 200

  /// What a column's values show.
  private enum Evidence {
    case none
    /// Decimal points, or decimal commas.
    case point, comma
    /// A comma before three digits in every value with a comma.
    case openComma
    /// A point before three digits in every value with a point, in a column that has no points yet.
    case openPoint
    /// Whole numbers, in such a column.
    case noPoint
    /// Not examined yet: a column without a notation.
    case values([[UInt8]], hasPoints: Bool)
  }

  private var found: [Evidence] = []
  private var hasPoints = false
  private var hasCommas = false

  /// Adds the next column.
  ///
  /// - Parameters:
  ///   - reader: how the column would be read alone.
  ///   - sample: its first values.
  ///   - stored: the table's column, if it has values or a fixed type.
  ///   - hasPoints: whether its points are decimal ones, as in a query, or mean nothing, as in the primary
  ///     key, which is compared by its spelling.
  /// - Complexity: O(1).
  mutating func add(
    _ reader: ColumnNotation, _ sample: [[UInt8]], stored: Column?, hasPoints: Bool
  ) {
    found.append(Self.evidence(reader, sample, stored, hasPoints: hasPoints))
  }

  private static func evidence(
    _ reader: ColumnNotation, _ sample: [[UInt8]], _ stored: Column?, hasPoints: Bool
  ) -> Evidence {
    if reader.isTypeTold || reader.keepsText { return .none }
    if hasDecimalComma(stored?.notation) { return .comma }
    let readings =
      reader.candidates.map(\.reading)
      + (reader.strictType.map { [Reading($0, reader.strictNotation)] } ?? [])
    guard !readings.isEmpty else {
      let values = reader.missing.map { missing in
        sample.filter { !missing.spellings.contains($0) }
      }
      // What the table has there decides what points mean.
      let isOpen = stored.map { $0.type == .int && $0.notation == nil } ?? true
      return .values(values ?? sample, hasPoints: hasPoints || !isOpen || reader.isToldNumbers)
    }
    guard readings.allSatisfy({ [.int, .double, .decimal].contains($0.type) }) else { return .none }
    // What amounts mean is found alone.
    let isAmount = readings.contains { $0.type == .decimal }
    if Set(reader.candidates.map(\.meaning)).count > 1 { return isAmount ? .none : .openComma }
    if isAmount, !sample.contains(where: { $0.contains(point) || $0.contains(comma) }) {
      return .none
    }
    let notations = readings.compactMap(\.notation)
    if notations.contains(where: hasDecimalComma) { return .comma }
    return notations.contains { $0.patterns.contains { $0.contains("1,234") } } ? .point : .none
  }

  /// Returns whether numbers of a notation have decimal commas: `1.234,5`, `1,5`, `1,5 €`.
  private static func hasDecimalComma(_ notation: Notation?) -> Bool {
    guard let notation, [.double, .decimal].contains(notation.type) else { return false }
    return notation.patterns.contains { pattern in
      pattern.reversed().drop { !$0.isWholeNumber }.starts(with: "5,")
    }
  }

  /// The evidence of a column without a notation.
  ///
  /// - Parameter hasPoints: whether points in it are decimal ones, as the table has it.
  private static func points(_ sample: [[UInt8]], hasPoints: Bool) -> Evidence {
    var result = hasPoints ? Evidence.none : .noPoint
    for field in sample.prefix(sampleValues) {
      let value = field.withoutBlanks
      let type = value.withUnsafeBytes(TypeSet.of)
      guard type.isSubset(of: [.int, .double]) else { return .none }
      guard let place = value.firstIndex(of: point) else {
        if type == .int { continue }
        return .none
      }
      let digits = value.drop { $0 == 0x2B || $0 == 0x2D }
      let isGroup =
        place - digits.startIndex < 4 && value.count - place == 4
        && value[place...].dropFirst()
          .allSatisfy { $0 &- 0x30 < 10 }
        && digits.first != 0x30
      if !isGroup { return .point }
      result = hasPoints ? .none : .openPoint
    }
    return result
  }

  /// Call it when all columns were added. Most inputs have no comma in numbers and are not examined further.
  mutating func finish() {
    let hasOpenCommas = found.contains { if case .openComma = $0 { true } else { false } }
    hasCommas = found.contains { if case .comma = $0 { true } else { false } }
    guard hasOpenCommas || hasCommas else { return }
    for index in found.indices {
      if case .values(let sample, let hasPoints) = found[index] {
        found[index] = Self.points(sample, hasPoints: hasPoints)
      }
      if case .point = found[index] { hasPoints = true }
    }
  }

  /// How a column is read in view of all columns.
  ///
  /// - Parameter isNew: whether the table lacks it, or has no values of it.
  func settled(_ reader: ColumnNotation, at position: Int, isNew: Bool) -> ColumnNotation {
    switch doubt(at: position) {
    case .points:
      return isNew
        ? reader.asText(hint: "it is text, since \(Self.doubt(where: "columns"))")
        : reader.doubtingPoints(hasSome: true)
    case .laterPoints: return reader.doubtingPoints(hasSome: false)
    case .none: break
    }
    guard hasPoints != hasCommas, case .openComma = found[position] else { return reader }
    return reader.keeping(meaning: hasPoints ? 0 : 1)
  }

  /// The points of a column that may stand between thousands, since other columns have decimal commas.
  enum Doubt {
    case none
    /// Those of the first values.
    case points
    /// Those of later values; the first have none.
    case laterPoints
  }

  func doubt(at position: Int) -> Doubt {
    if hasPoints || !hasCommas { return .none }
    return switch found[position] {
    case .openPoint: .points
    case .noPoint: .laterPoints
    case .none, .point, .comma, .openComma, .values: .none
    }
  }

  /// The columns whose points stand before three digits, in an input that does not show what they mean.
  ///
  /// - Complexity: that of `finish` where there are commas.
  var openPoints: Set<Int> {
    let all = found.map { evidence in
      if case .values(let sample, let hasPoints) = evidence {
        return Self.points(sample, hasPoints: hasPoints)
      }
      return evidence
    }
    if all.contains(where: { if case .point = $0 { true } else { false } }) { return [] }
    return Set(all.indices.filter { if case .openPoint = all[$0] { true } else { false } })
  }

  /// Why such points mean nothing certain.
  ///
  /// - Parameters:
  ///   - others: what has decimal commas.
  ///   - isThere: whether the table has the column, whose type `--types` does not change.
  static func doubt(where others: String, isThere: Bool = false) -> String {
    "'1.234' may be 1234 where other \(others) have decimal commas; say which with "
      + "\(isThere ? "" : "--types, ")--decimal or --thousands"
  }
}
