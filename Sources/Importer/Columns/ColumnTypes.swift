import Engine

/// What an import has learnt of its columns' types, batch by batch.
///
/// A column's type is the narrowest that keeps every value seen so far, so it depends on the values
/// alone: not on batches, chunks or threads.
struct ColumnTypes: Sendable, Equatable {
  struct State: Sendable, Equatable {
    var strictType: ColumnType?
    /// Everything seen so far, in the table before this import too.
    var classes: TypeSet = []
    /// What was seen up to the end of the sample.
    var sampled: TypeSet = []
    /// The table has had the column's type before this import, so that no sample decides it.
    var isKnown = false
    /// Line of the first value that widened the type after the sample.
    var widenedAt: Int?
    var nulls = 0

    /// What values after the sample made of the type; nil when nothing.
    var widening: ImportReport.Widening? {
      guard let line = widenedAt, let from = sampled.inferredType, strictType == nil,
        from != type
      else { return nil }
      return ImportReport.Widening(from: from, to: type, line: line)
    }

    /// The column's type; text while all values are null.
    var type: ColumnType { strictType ?? classes.inferredType ?? .text }
  }

  /// Records whose values decide the first guess; later ones widen it.
  static let sampleRecords = 1000

  private(set) var states: [State]

  init(_ states: [State]) { self.states = states }

  /// The same columns, knowing what an earlier run of the import had seen: more than the table's
  /// type tells, unless somebody else has given the column another type meanwhile.
  func resuming(_ classes: [TypeSet]) -> ColumnTypes {
    var copy = self
    while copy.states.count < classes.count { copy.states.append(State()) }
    for (index, seen) in classes.enumerated() {
      let stored = copy.states[index].classes
      let isOwn = stored.isEmpty || stored.inferredType == seen.inferredType
      copy.states[index].classes = isOwn ? seen : stored.union(seen)
      copy.states[index].sampled = copy.states[index].classes
    }
    return copy
  }

  /// Adds what a chunk's columns look like; columns beyond those known are new.
  mutating func add(_ columns: [ColumnBatch.ColumnSummary]) {
    while states.count < columns.count { states.append(State()) }
    for (index, column) in columns.enumerated() {
      states[index].nulls += column.nulls
      for sighting in column.sightings.sorted(by: { $0.record < $1.record }) {
        states[index].add(sighting)
      }
    }
  }
}

extension ColumnTypes.State {
  fileprivate mutating func add(_ sighting: ColumnBatch.Sighting) {
    guard !classes.contains(sighting.type) else { return }
    let before = type
    let hadValues = !classes.isEmpty
    classes.formUnion(sighting.type)
    // A column that is null throughout the sample begins with its first value.
    if sighting.record <= ColumnTypes.sampleRecords && !isKnown || !hadValues {
      sampled.formUnion(sighting.type)
    } else if before != type, widenedAt == nil {
      widenedAt = sighting.line
    }
  }
}
