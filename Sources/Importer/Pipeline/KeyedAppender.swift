import Engine

/// The outcome for some rows of an import with a primary key.
struct KeyedOutcome {
  var imported = 0
  var updated = 0
  var skipped = 0
  var unchanged = 0
  /// Rows to reject, ascending, with the objects that have their keys; in a dry run, -1 for a key that no
  /// object has yet.
  var conflicts: [(row: Int, object: Int64)] = []
  /// True when nothing was done because some rows would have been rejected.
  var isRefused = false
  /// Summaries of the columns of the rows that went into the table; nil: the parser's summaries of all rows
  /// apply.
  var summaries: [ColumnBatch.ColumnSummary]?
}

/// Handles rows whose keys the table may already have.
///
/// Rows whose keys are all new are appended as the cluster that the parser encoded. Otherwise the new ones
/// are appended first, which gives each repeated key its object. Then the others are compared with their
/// objects, ordered by object so that each leaf is read once. Several rows of one object are handled in
/// rounds, in the order of the input.
///
/// Thread rule: confined to the writer's thread.
final class KeyedAppender {
  private let conflict: ConflictRule
  private let plan: ImportPlan
  private let builder = ClusterBuilder()
  private let changes: OwnChanges
  /// Records the objects that have the keys of rows; nil when that is not needed.
  private let seen: SeenObjects?

  /// Bytes of changed rows that are collected before they are written.
  private static let heldBytes = 1 << 20

  init(_ conflict: ConflictRule, _ plan: ImportPlan, _ changes: OwnChanges, _ seen: SeenObjects?) {
    self.conflict = conflict
    self.plan = plan
    self.changes = changes
    self.seen = seen
  }

  private func rule(_ rows: KeyedRows, _ editor: TableEditor) -> ReplacementRule {
    ReplacementRule(editor.schema, plan, columnCount: rows.columnCount, conflict)
  }

  /// The parser's results, if they still apply.
  private func scouted(_ rows: KeyedRows) -> ScoutedRows? {
    rows.scouted.flatMap { changes.hold(since: $0.version) ? $0 : nil }
  }

  /// Returns whether any of the rows has the key of an existing object or of an earlier row.
  func hasConflicts(_ rows: KeyedRows, _ editor: TableEditor) throws -> Bool {
    if !rows.earlier.isEmpty { return true }
    return try find(0..<rows.rowCount, rows, editor).contains { $0 >= 0 }
  }

  /// Adds rows to the table, or handles them by the policy.
  ///
  /// - Parameters:
  ///   - summarizes: whether to summarize the columns of the rows that go into the table, when they are not
  ///     all rows of the chunk.
  ///   - isTentative: whether to do nothing if a row would have to be rejected.
  func append(
    _ rows: KeyedRows, _ range: Range<Int>, _ editor: TableEditor, summarizes: Bool,
    isTentative: Bool
  ) throws -> KeyedOutcome {
    var found = try find(range, rows, editor)
    if let seen { for object in found { seen.insert(object) } }
    func isRepeated(_ row: Int) -> Bool {
      !rows.earlier.isEmpty && Int(rows.earlier[row]) >= range.lowerBound
    }
    var fresh: [Int] = []
    var known: [Int] = []
    fresh.reserveCapacity(range.count)
    for row in range {
      if found[row - range.lowerBound] < 0, !isRepeated(row) {
        fresh.append(row)
      } else {
        known.append(row)
      }
    }
    if isTentative, conflict.policy == .error, !known.isEmpty {
      return KeyedOutcome(isRefused: true)
    }
    var outcome = KeyedOutcome(imported: fresh.count)
    outcome.summaries = try appendNew(fresh, rows, editor, summarizes: summarizes)
    if known.isEmpty { return outcome }
    if conflict.policy == .skip {
      outcome.skipped = known.count
      return outcome
    }
    // Keys that an earlier row has added.
    let repeated = known.filter { found[$0 - range.lowerBound] < 0 }
    for (row, object) in zip(repeated, try find(repeated, rows, nil, editor)) {
      found[row - range.lowerBound] = object
    }
    var objects = known.map { (row: $0, object: found[$0 - range.lowerBound]) }
    if conflict.policy == .error {
      outcome.conflicts = objects
    } else {
      leaveOutSame(&objects, rows, editor)
      outcome.unchanged = known.count - objects.count
      try change(objects, rows, editor, &outcome)
    }
    return outcome
  }

  // MARK: Keys

  /// The objects that have the keys of some rows, or -1. Keys that the parser has not found are looked up in
  /// the parts of the index that it has not searched.
  private func find(
    _ range: Range<Int>, _ rows: KeyedRows, _ editor: TableEditor
  ) throws -> [Int64] {
    guard let scouted = scouted(rows) else { return try find(Array(range), rows, nil, editor) }
    if range.lowerBound == 0 {
      try editor.noteLookedUp(scouted.lookedUp, in: scouted.lookedThrough)
    }
    var found = Array(scouted.found[range])
    let others = range.filter { scouted.found[$0] < 0 }
    let objects = try find(others, rows, scouted, editor)
    for (row, object) in zip(others, objects) { found[row - range.lowerBound] = object }
    return found
  }

  /// - Parameter scouted: the parser's results, by which none of the keys was found; nil: they do not apply.
  private func find(
    _ wanted: [Int], _ rows: KeyedRows, _ scouted: ScoutedRows?, _ editor: TableEditor
  ) throws -> [Int64] {
    var found = [Int64](repeating: -1, count: wanted.count)
    if wanted.isEmpty { return found }
    let keys = wanted.map(rows.key)
    try rows.withKeys { base in
      try keys.withUnsafeBufferPointer { keys in
        try found.withUnsafeMutableBufferPointer {
          try editor.find(
            base: base, keys: keys,
            codes: scouted.map { scouted in wanted.map { scouted.codes[$0] } },
            passingOver: scouted?.lookedThrough ?? [], into: $0)
        }
      }
    }
    return found
  }

  /// Removes rows that would not change their objects, by the parser's comparison if that still applies.
  private func leaveOutSame(
    _ known: inout [(row: Int, object: Int64)], _ rows: KeyedRows, _ editor: TableEditor
  ) {
    // Of several rows of one object, each changes the object for the next one.
    guard let scouted = scouted(rows), !scouted.isSame.isEmpty, rows.earlier.isEmpty,
      scouted.rule == rule(rows, editor)
    else { return }
    known.removeAll {
      scouted.isSame[$0.row] && changes.isUnchanged($0.object, since: scouted.version)
    }
  }

  // MARK: New rows

  private func appendNew(
    _ fresh: [Int], _ rows: KeyedRows, _ editor: TableEditor, summarizes: Bool
  ) throws -> [ColumnBatch.ColumnSummary]? {
    if fresh.isEmpty { return summarizes ? [] : nil }
    if fresh.count == rows.rowCount, let encoded = rows.encoded {
      try append(encoded, fresh, rows, editor)
      return nil
    }
    let isAll = fresh.count == rows.rowCount
    var columns: [SpellingFacts]?
    if isLarge(fresh, rows), let cluster = try encode(fresh, rows) {
      columns = cluster.columns.map(\.spellings)
      try append(cluster, fresh, rows, editor)
    } else {
      // Few rows fill shared clusters.
      let positions = rule(rows, editor).positions
      var spans: [TextSpan] = []
      spans.reserveCapacity(fresh.count * positions.count)
      for row in fresh {
        for position in positions {
          spans.append(position.map { rows.spans[row * rows.columnCount + $0] } ?? .null)
        }
      }
      try rows.withBase { memory, _ in
        try spans.withUnsafeBufferPointer {
          try editor.append(
            arena: memory, spans: $0, rowCount: fresh.count,
            absent: positions.indices.filter { positions[$0] == nil }, keysAreNew: true)
        }
      }
    }
    if !summarizes || isAll { return nil }
    return try (columns ?? examine(fresh, rows)).map { rows.summaries(of: $0, rows: fresh, plan) }
  }

  private func isLarge(_ fresh: [Int], _ rows: KeyedRows) -> Bool {
    rows.formsClusters && fresh.count >= ImportOptions.smallBatch
  }

  private func encode(_ fresh: [Int], _ rows: KeyedRows) throws -> EncodedCluster? {
    try withSpans(of: fresh, rows) { memory, spans in
      try builder.encode(
        arena: memory, spans: spans, rowCount: fresh.count, columnCount: rows.columnCount,
        columnIDs: (0..<rows.columnCount).map(plan.identifier))
    }
  }

  private func examine(_ fresh: [Int], _ rows: KeyedRows) throws -> [SpellingFacts]? {
    try withSpans(of: fresh, rows) { memory, spans in
      try builder.examine(
        arena: memory, spans: spans, rowCount: fresh.count, columnCount: rows.columnCount)
    }
  }

  /// Calls `body` with the spans of some rows, and the memory of the spans.
  private func withSpans<Result>(
    of wanted: [Int], _ rows: KeyedRows,
    _ body: (UnsafeRawBufferPointer, UnsafePointer<TextSpan>) throws -> Result
  ) throws -> Result? {
    var spans: [TextSpan] = []
    spans.reserveCapacity(wanted.count * rows.columnCount)
    for row in wanted {
      spans += rows.spans[row * rows.columnCount..<(row + 1) * rows.columnCount]
    }
    return try rows.withBase { memory, _ in
      try spans.withUnsafeBufferPointer { spans in
        try spans.baseAddress.map { try body(memory, $0) }
      }
    }
  }

  private func append(
    _ cluster: EncodedCluster, _ fresh: [Int], _ rows: KeyedRows, _ editor: TableEditor
  ) throws {
    let keys = fresh.map(rows.key)
    let codes = scouted(rows).map { scouted in fresh.map { scouted.codes[$0] } }
    try rows.withKeys { base in
      try keys.withUnsafeBufferPointer {
        try editor.append(cluster, base: base, newKeys: $0, codes: codes)
      }
    }
  }

  // MARK: Objects that are there

  private func change(
    _ known: [(row: Int, object: Int64)], _ rows: KeyedRows, _ editor: TableEditor,
    _ outcome: inout KeyedOutcome
  ) throws {
    let sorted = known.sorted { ($0.object, $0.row) < ($1.object, $1.row) }
    // The rows of each object, of which every round takes the first.
    var groups: [Range<Int>] = []
    for index in sorted.indices {
      if let last = groups.last, sorted[last.lowerBound].object == sorted[index].object {
        groups[groups.count - 1] = last.lowerBound..<index + 1
      } else {
        groups.append(index..<index + 1)
      }
    }
    let rule = rule(rows, editor)
    while !groups.isEmpty {
      let objects = groups.map { sorted[$0.lowerBound].object }
      var next = 0
      while next < groups.count {
        var changes = RowChanges()
        try rows.withBase { memory, _ in
          let sweep = ObjectSweep(editor, columns: Array(rule.positions.indices))
          try sweep.run(objects, from: next) { place, present in
            let row = sorted[groups[place].lowerBound].row
            let meeting = try changes.add(
              rows.spans[row * rows.columnCount..<(row + 1) * rows.columnCount], memory, rule,
              of: objects[place], present)
            switch meeting {
            case .changes:
              outcome.updated += 1
              self.changes.change(objects[place])
            case .isSame: outcome.unchanged += 1
            case .isOlder: outcome.skipped += 1
            }
            next = place + 1
            return changes.byteCount <= Self.heldBytes
          }
        }
        try changes.write(editor)
      }
      groups = groups.compactMap { $0.count > 1 ? $0.dropFirst() : nil }
    }
  }
}
