import Engine

/// How the values of a column are spelled whose type a server's table fixes: as an import into a file finds
/// it in the first records. Otherwise a table that is made would have types by which its values are not read.
struct ServerSpelling: Sendable {
  /// How values are spelled; nil when the first records show nothing, or several meanings.
  private let notation: Notation?
  /// The spellings of null among values that the server's type takes.
  let missing: MissingValues?
  /// A hint for the user about the column.
  let hint: String?

  /// - Parameters:
  ///   - found: the column as an import into a file would read it.
  ///   - type: its type on the server.
  ///   - doubt: whether points in it may stand between thousands, since other columns have decimal commas.
  init(_ found: ImportPlan.PlannedColumn, as type: ColumnType, doubt: DecimalMarks.Doubt) {
    let hasDoubt = [.points, .laterPoints].contains(doubt)
    let isDoubtful = hasDoubt && type == .double
    // With decimal commas, and nothing between thousands: whole numbers are read, and points are not.
    let notation =
      isDoubtful
      ? NumberStyle(decimal: .comma, thousands: nil).notation(.double)
      : Self.notation(found, as: type)
    self.notation = notation
    if isDoubtful, doubt == .points {
      missing = nil
      hint = "values with points in it are rejected, since \(DecimalMarks.doubt(where: "columns"))"
      return
    }
    missing = found.missing.flatMap { missing in
      let own = missing.reading
      let isWider = [(.int, .double), (.date, .dateTime)].contains { $0 == (own.type, type) }
      let isRead = own.type == type || isWider && (own.notation == nil || notation != nil)
      return isRead ? missing : nil
    }
    hint = missing?.note(found.name)
  }

  /// The notation of a column, for values of the server's type.
  private static func notation(
    _ found: ImportPlan.PlannedColumn, as type: ColumnType
  ) -> Notation? {
    // All words and clocks are read there.
    if type == .bool || type == .time { return nil }
    let readings =
      found.strictType.map { [ReadingCandidate(Reading($0, found.strictNotation))] }
      ?? found.candidates
    guard let first = readings.first, readings.allSatisfy({ $0.meaning == first.meaning }) else {
      return nil
    }
    if let own = readings.first(where: { $0.reading.type == type }) { return own.reading.notation }
    guard let patterns = first.reading.notation?.patterns else { return nil }
    switch (first.reading.type, type) {
    case (.date, .dateTime): return try? Notation(.dateTime, patterns)
    case (.int, .double):
      let separator = patterns[0].utf8.dropFirst().first
      return NumberStyle(decimal: separator == 0x2E ? .comma : .point, thousands: separator)
        .notation(.double)
    default: return nil
    }
  }

  /// The notation by which values are read.
  ///
  /// - Parameter strict: the notation for values of the type in general, which reads dates of any one
  ///   meaning.
  func notation(beside strict: Notation?) -> Notation? {
    guard let notation, let strict else { return notation ?? strict }
    guard notation.type == .date || notation.type == .dateTime else { return notation }
    let others = strict.patterns.filter { !notation.patterns.contains($0) }
    let all = (notation.patterns + others).prefix(Notation.maximumPatterns)
    return (try? Notation(notation.type, Array(all))) ?? notation
  }
}
