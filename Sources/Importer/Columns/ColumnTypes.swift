import Engine

/// What an import knows about the types of its columns, batch by batch.
///
/// A column's type is the narrowest that keeps every value so far. So it depends only on the values, not on
/// batches, chunks or threads.
struct ColumnTypes: Sendable, Equatable {
  struct State: Sendable, Equatable {
    var strictType: ColumnType?
    /// How values of the strict type are spelled; nil: canonically.
    var strictNotation: Notation?
    /// The possible readings of the values, with those that fit all values so far.
    var candidates: [ReadingCandidate] = []
    var fitting: [Bool] = []
    /// The reading before a value after the sample did not fit it.
    var abandoned: Reading?
    /// True when the user said that a point between digits does not have its usual meaning in a double.
    var refusesPoints = false
    /// True when that is so because other columns have decimal commas.
    var doubtsPoints = false
    /// All classes so far, including those in the table before this import.
    var classes: TypeSet = []
    /// True when the table may have integers that a double cannot represent. That is checked only when a
    /// double occurs, since it takes long in a large table and otherwise has no effect.
    var mayHaveLargeIntegers = false
    /// The classes up to the end of the sample.
    var sampled: TypeSet = []
    /// True when the table had the column's type before this import, so that no sample decides it.
    var isKnown = false
    /// The type in the table.
    var knownType: ColumnType?
    /// The reading in the table of a column without a value, which it keeps as long as it has none.
    var unused: Reading?
    /// Line of the first value that widened the type after the sample.
    var widenedAt: Int?
    var nulls = 0

    /// How values have widened the table's type or, after the sample, the sample's type; nil when they have
    /// not.
    var widening: ImportReport.Widening? {
      let before =
        knownType ?? abandoned?.type ?? (candidates.isEmpty ? sampled.inferredType : nil)
      guard let line = widenedAt, let from = before, strictType == nil, from != type else {
        return nil
      }
      return ImportReport.Widening(from: from, to: type, line: line)
    }

    /// The column's type; while all values are null, that of the table, or text.
    var type: ColumnType { reading.type }

    /// How the column's spellings are read.
    var reading: Reading {
      if let strictType { return Reading(strictType, strictNotation) }
      let plain = classes.inferredType ?? .text
      if plain != .text, plain != .double || !refusesPoints { return Reading(plain) }
      // A column without a value has no notation yet.
      if classes.isEmpty { return unused ?? .text }
      let fits = zip(candidates, fitting).filter(\.1).map(\.0)
      guard let first = fits.first, fits.allSatisfy({ $0.meaning == first.meaning }) else {
        return .text
      }
      return first.reading
    }

    /// Notations with different meanings that all fit, so that the intended one is unknown.
    var ambiguity: [Notation]? {
      guard strictType == nil, type == .text, !classes.isEmpty else { return nil }
      let fits = zip(candidates, fitting).filter(\.1).map(\.0)
      return Set(fits.map(\.meaning)).count > 1 ? fits.compactMap(\.reading.notation) : nil
    }

    /// True when only values after the sample show which of several meanings the spellings have.
    var isUnclearAtFirst: Bool {
      strictType == nil && reading.notation != nil && Set(candidates.map(\.meaning)).count > 1
    }

    /// True when it is text because of points beside decimal commas.
    var hasUnclearPoints: Bool {
      doubtsPoints && strictType == nil && type == .text && classes.contains(.double)
        && classes.isSubset(of: [.int, .double])
    }

    /// The note about a column that is text since its spellings may have several meanings.
    func noteOfAmbiguity(_ name: String) -> String? {
      if hasUnclearPoints {
        return
          "column '\(name)' is text: \(DecimalMarks.doubt(where: "columns", isThere: knownType != nil))"
      }
      let unclear = isUnclearAtFirst ? candidates.compactMap(\.reading.notation) : ambiguity
      return unclear.map { readings in
        let shown = readings.map(\.description).joined(separator: "' or '")
        return
          "column '\(name)' is text: its \(isUnclearAtFirst ? "first " : "")values may be spelled "
          + "'\(shown)', which mean other values; say which with --date-format, --decimal or --thousands"
      }
    }

    /// Makes the column text, whatever its values resemble.
    mutating func takeAsText() {
      classes = .text
      sampled = .text
    }

    /// Starts checking values with some readings, all of which fit the values so far.
    mutating func begin(_ candidates: [ReadingCandidate]) {
      self.candidates = candidates
      fitting = candidates.map { _ in true }
    }
  }

  /// The records whose values decide the first guess; later ones widen it.
  static let sampleRecords = 1000

  private(set) var states: [State]

  /// The states of columns that the table has already, for fields that no record had so far.
  private var awaited: [Int: State]

  /// - Parameter awaited: columns of the table beyond `states`, by the index of their field.
  init(_ states: [State], awaited: [Int: State] = [:]) {
    self.states = states
    self.awaited = awaited
  }

  private mutating func grow(to count: Int) {
    while states.count < count {
      states.append(awaited.removeValue(forKey: states.count) ?? State())
    }
  }

  /// The same columns with the classes of an earlier run of the import, which may be more than the table's
  /// type shows. They are ignored if others have changed the column's type meanwhile.
  func resuming(_ classes: [TypeSet]) -> ColumnTypes {
    var copy = self
    copy.grow(to: classes.count)
    for (index, seen) in classes.enumerated() {
      let stored = copy.states[index].classes
      let isOwn = stored.isEmpty || stored.inferredType == seen.inferredType
      copy.states[index].classes = isOwn ? seen : stored.union(seen)
      copy.states[index].sampled = copy.states[index].classes
    }
    return copy
  }

  /// Checks whether the table has integers that a double cannot represent, when that decides the type.
  ///
  /// - Parameters:
  ///   - columns: the summaries that will be added.
  ///   - areThere: checks the column of a state.
  mutating func settle(
    _ columns: [ColumnBatch.ColumnSummary], _ areThere: (_ index: Int) throws -> Bool
  ) rethrows {
    for index in states.indices { try states[index].settle(index, columns, areThere) }
    for index in awaited.keys where index < columns.count {
      try awaited[index]?.settle(index, columns, areThere)
    }
  }

  /// Adds the summaries of a chunk's columns; columns beyond those known are new.
  mutating func add(_ columns: [ColumnBatch.ColumnSummary]) {
    grow(to: columns.count)
    for (index, column) in columns.enumerated() {
      states[index].nulls += column.nulls
      for sighting in column.sightings.sorted(by: { $0.record < $1.record }) {
        states[index].add(sighting)
      }
      // All candidates that one value excludes are removed together, so that none of them counts as the
      // previous reading.
      let misfits = Dictionary(grouping: column.misfits, by: \.record)
      for (_, misfits) in misfits.sorted(by: { $0.key < $1.key }) { states[index].add(misfits) }
    }
  }
}

extension ColumnTypes.State {
  fileprivate mutating func settle(
    _ index: Int, _ columns: [ColumnBatch.ColumnSummary],
    _ areThere: (_ index: Int) throws -> Bool
  ) rethrows {
    guard mayHaveLargeIntegers else { return }
    let isNext =
      index < columns.count && columns[index].sightings.contains { $0.type == .double }
    guard isNext || classes.contains(.double) else { return }
    if try areThere(index) {
      classes.formUnion(.bigInt)
      if isKnown { sampled.formUnion(.bigInt) }
    }
    mayHaveLargeIntegers = false
  }

  fileprivate mutating func add(_ sighting: ColumnBatch.Sighting) {
    guard !classes.contains(sighting.type) else { return }
    let before = type
    let hadValues = !classes.isEmpty
    classes.formUnion(sighting.type)
    // A column that is null throughout the sample begins with its first value.
    if sighting.record <= ColumnTypes.sampleRecords && !isKnown || !hadValues {
      sampled.formUnion(sighting.type)
    } else if before != type, widenedAt == nil, candidates.isEmpty || isKnown {
      widenedAt = sighting.line
    }
  }

  /// - Parameter misfits: the misfits of one value.
  fileprivate mutating func add(_ misfits: [ColumnBatch.Misfit]) {
    let before = reading
    for misfit in misfits where fitting.indices.contains(misfit.candidate) {
      fitting[misfit.candidate] = false
    }
    guard let first = misfits.first, first.record > ColumnTypes.sampleRecords || isKnown,
      candidates.contains(where: { $0.reading == before }), reading.type != before.type,
      widenedAt == nil
    else { return }
    widenedAt = first.line
    abandoned = before
  }
}
