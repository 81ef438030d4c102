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
  /// More values of a column show nothing new.
  private static let sampleValues = 200

  /// What a column's values show.
  private enum Evidence {
    case none
    /// Decimal points, or decimal commas.
    case point, comma
    /// A comma before three digits in every value with a comma.
    case openComma
    /// A point before three digits in every value with a point, in a new column.
    case openPoint
    /// Not examined yet: a column without a notation.
    case values([[UInt8]], isNew: Bool)
  }

  private var found: [Evidence] = []
  private var hasPoints = false
  private var hasCommas = false

  /// Adds the next column.
  ///
  /// - Parameters:
  ///   - reader: how the column would be read alone.
  ///   - sample: its first values.
  ///   - isNew: whether the table lacks it, also as a key.
  /// - Complexity: O(1).
  mutating func add(_ reader: ColumnNotation, _ sample: [[UInt8]], isNew: Bool) {
    found.append(Self.evidence(reader, sample, isNew: isNew))
  }

  private static func evidence(
    _ reader: ColumnNotation, _ sample: [[UInt8]], isNew: Bool
  ) -> Evidence {
    if reader.isTypeTold || reader.keepsText { return .none }
    let readings =
      reader.candidates.map(\.reading)
      + (reader.strictType.map { [Reading($0, reader.strictNotation)] } ?? [])
    if !readings.isEmpty {
      guard readings.allSatisfy({ $0.type == .int || $0.type == .double }) else { return .none }
      if Set(reader.candidates.map(\.meaning)).count > 1 { return .openComma }
      let patterns = readings.flatMap { $0.notation?.patterns ?? [] }
      if patterns.contains(where: { $0.hasSuffix(",5") }) { return .comma }
      return patterns.contains { $0.hasPrefix("1,234") } ? .point : .none
    }
    return .values(sample, isNew: isNew)
  }

  /// The evidence of a column without a notation.
  private static func points(_ sample: [[UInt8]], isNew: Bool) -> Evidence {
    var result = Evidence.none
    for field in sample.prefix(sampleValues) {
      let value = field.withoutBlanks
      let type = value.withUnsafeBytes(TypeSet.of)
      guard type.isSubset(of: [.int, .double]) else { return .none }
      guard let place = value.firstIndex(of: point) else { continue }
      let digits = value.drop { $0 == 0x2B || $0 == 0x2D }
      let isGroup =
        place - digits.startIndex < 4 && value.count - place == 4
        && value[place...].dropFirst()
          .allSatisfy { $0 &- 0x30 < 10 }
        && digits.first != 0x30
      if !isGroup { return .point }
      result = isNew ? .openPoint : .none
    }
    return result
  }

  /// Call it when all columns were added. Most inputs have no comma in numbers and are not examined further.
  mutating func finish() {
    let hasOpenCommas = found.contains { if case .openComma = $0 { true } else { false } }
    hasCommas = found.contains { if case .comma = $0 { true } else { false } }
    guard hasOpenCommas || hasCommas else { return }
    for index in found.indices {
      if case .values(let sample, let isNew) = found[index] {
        found[index] = Self.points(sample, isNew: isNew)
      }
      if case .point = found[index] { hasPoints = true }
    }
  }

  /// How a column is read in view of all columns.
  func settled(_ reader: ColumnNotation, at position: Int) -> ColumnNotation {
    if isUnclear(at: position) {
      return reader.asText(hint: "it is text, since \(Self.doubt(where: "columns"))")
    }
    guard hasPoints != hasCommas, case .openComma = found[position] else { return reader }
    return reader.keeping(meaning: hasPoints ? 0 : 1)
  }

  /// Whether the points of a column may stand between thousands, since other columns have decimal commas.
  func isUnclear(at position: Int) -> Bool {
    if hasPoints || !hasCommas { return false }
    return if case .openPoint = found[position] { true } else { false }
  }

  /// The columns whose points stand before three digits, in an input that does not show what they mean.
  ///
  /// - Complexity: that of `finish` where there are commas.
  var openPoints: Set<Int> {
    let all = found.map { evidence in
      if case .values(let sample, let isNew) = evidence { return Self.points(sample, isNew: isNew) }
      return evidence
    }
    if all.contains(where: { if case .point = $0 { true } else { false } }) { return [] }
    return Set(all.indices.filter { if case .openPoint = all[$0] { true } else { false } })
  }

  /// Why such points mean nothing certain.
  ///
  /// - Parameter others: what has decimal commas.
  static func doubt(where others: String) -> String {
    "'1.234' may be 1234 where other \(others) have decimal commas; say which with --types, --decimal or "
      + "--thousands"
  }
}
