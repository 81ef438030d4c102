import Base
import Engine

/// Looks up the exact records of inputs in a table.
///
/// With a primary key each record is compared with its object. Without a key, each record uses up one object
/// with the same values, by their hashes of 128 bits, which are counted.
///
/// Memory: with a key, that of the records not found; without one, 50 bytes a record.
///
/// Thread rule: confined to the writer's thread.
final class RecordVerifier: @unchecked Sendable {
  // @unchecked: used by the import's writer thread, for which `run` waits, and then by its caller.
  let table: Table
  private(set) var report = VerifyReport()
  private let rejects: RejectedRecords
  private let isCancelled: @Sendable () -> Bool
  /// The objects in which a record was found.
  private let matched = SeenObjects()
  /// Records whose objects have other values.
  private var differing: [(place: RecordPosition, object: Int64, key: String)] = []
  /// Without a key: the records with equal values in an input.
  private typealias Equals = (records: Int, first: RecordPosition)
  /// Without a key: for each kind of record the number without an object yet, and those of the first input
  /// that has it.
  private var kinds: [RowHash: (left: Int, equals: Equals)] = [:]
  /// Those of later inputs, in order.
  private var later: [RowHash: [Equals]] = [:]
  private var bytes: [UInt8] = []
  /// Without a key: the columns of the table whose values are compared.
  private var compared: [Int]
  private let leavesOthersOut: Bool

  /// The position of a record in the inputs.
  private struct RecordPosition {
    let input: Int
    let record: Int
    let line: Int
    let byteOffset: Int
  }

  private struct RowHash: Hashable {
    let low: UInt64
    let high: UInt64

    /// A half suffices to find its place.
    func hash(into hasher: inout Hasher) { hasher.combine(low) }
  }

  private static let windowObjects = 4096

  /// - Parameter leavesOthersOut: whether columns of the table that the inputs do not have are not compared;
  ///   otherwise an object has nothing, or the default, there. With a key they are never compared.
  init(
    _ table: Table, _ rejects: RejectedRecords, leavesOthersOut: Bool,
    isCancelled: @escaping @Sendable () -> Bool
  ) {
    self.table = table
    self.leavesOthersOut = leavesOthersOut
    compared = Array(table.columns.indices)
    self.rejects = rejects
    self.isCancelled = isCancelled
    report.table = table.name
    report.version = table.version
    report.objects = table.count
  }

  /// Begins an input, to which all following records belong.
  ///
  /// - Throws: `ImportError.unlikeTable` when the input has columns that the table lacks.
  func begin(_ path: String, _ plan: ImportPlan) throws(ImportError) {
    report.inputs.append(VerifyReport.Input(path: path))
    if leavesOthersOut {
      let known = Set(plan.columns.map(\.identifier))
      compared.removeAll { !known.contains(table.schema.columnIDs[$0]) }
    }
    let unknown = plan.columns.filter(\.isNew).map(\.name)
    guard unknown.isEmpty else {
      throw .unlikeTable(
        path: path, table: table.name,
        reason: "the table does not have the column\(unknown.count == 1 ? "" : "s") "
          + unknown.map { "'\($0)'" }.joined(separator: ", ")
          + ": nothing of it can be there to the letter; give the options of the import")
    }
  }

  private func count(_ change: (inout VerifyReport.Counts) -> Void) {
    count(in: report.inputs.count - 1, change)
  }

  private func count(in input: Int, _ change: (inout VerifyReport.Counts) -> Void) {
    guard report.inputs.indices.contains(input) else { return }
    change(&report.inputs[input].counts)
  }

  private func note(_ place: RecordPosition, key: String?, _ reason: String) {
    guard report.problems.count < VerifyReport.mostProblems,
      report.inputs.indices.contains(place.input)
    else { return }
    report.problems.append(
      .init(
        position: SourcePosition(
          file: report.inputs[place.input].path, line: place.line, column: 1,
          byteOffset: place.byteOffset), record: place.record, key: key, reason: reason))
  }

  /// Counts a record that an import would reject.
  func refuse(_ reject: Reject) {
    count { $0.read += 1 }
    if rejects.take(reject.original) { return count { $0.rejected += 1 } }
    count { $0.missing += 1 }
    note(
      RecordPosition(
        input: report.inputs.count - 1, record: reject.record, line: reject.position.line,
        byteOffset: reject.position.byteOffset), key: nil,
      "it would be rejected, and is in no rejects file: \(reject.reason)")
  }

  func leaveOut(_ records: Int) {
    count {
      $0.read += records
      $0.filtered += records
    }
  }

  // MARK: With a key

  func check(_ rows: KeyedRows, _ range: Range<Int>, _ plan: ImportPlan) throws {
    let rule = ReplacementRule(
      table.schema, plan, columnCount: rows.columnCount, ConflictRule(policy: .update))
    var known: [(object: Int64, row: Int)] = []
    for row in range {
      count { $0.read += 1 }
      if let object = try table.object(forKeyBytes: rows.keyBytes(row)) {
        known.append((object, row))
      } else {
        miss(row, rows, plan, "no object has its key")
      }
    }
    known.sort { ($0.object, $0.row) < ($1.object, $1.row) }
    let columns = Array(table.columns.indices)
    try rows.withBase { memory, _ in
      try ObjectSweep(table, columns: columns).run(known.map(\.object)) { place, present in
        let (object, row) = known[place]
        let fields = rows.spans[row * rows.columnCount..<(row + 1) * rows.columnCount]
        guard let present else {
          throw EngineError.noSuchObject(table: table.name, key: object)
        }
        let isSame =
          !hasUnknown(fields, plan)
          && !columns.contains { rule.changes(present.field($0), $0, fields, memory) }
        if isSame {
          matched.insert(object)
          count { $0.found += 1 }
        } else {
          differ(row, object, rows, plan)
        }
        return true
      }
    }
  }

  /// Returns whether a row has a value for which the table has no column.
  private func hasUnknown(_ fields: ArraySlice<TextSpan>, _ plan: ImportPlan) -> Bool {
    fields.enumerated().contains { index, span in
      index >= plan.columns.count && !span.isNull
        && !table.schema.columnIDs.contains(plan.identifier(index))
    }
  }

  private func place(_ row: Int, _ rows: KeyedRows) -> RecordPosition {
    let extent = rows.places[row]
    return RecordPosition(
      input: report.inputs.count - 1, record: rows.chunk.firstRecord + extent.record,
      line: extent.line, byteOffset: rows.chunk.inputOffset(extent.bytes.lowerBound))
  }

  private func isRejected(_ row: Int, _ rows: KeyedRows, _ plan: ImportPlan) -> Bool {
    rejects.take(rows.reject(row, file: plan.file, column: "") { _ in "" }.original)
  }

  private func miss(_ row: Int, _ rows: KeyedRows, _ plan: ImportPlan, _ reason: String) {
    if isRejected(row, rows, plan) { return count { $0.rejected += 1 } }
    count { $0.missing += 1 }
    note(place(row, rows), key: rows.describedKey(row), "\(reason), and it is in no rejects file")
  }

  private func differ(_ row: Int, _ object: Int64, _ rows: KeyedRows, _ plan: ImportPlan) {
    if isRejected(row, rows, plan) { return count { $0.rejected += 1 } }
    // Another record with its key may follow.
    differing.append((place(row, rows), object, rows.describedKey(row)))
  }

  // MARK: Without a key

  func check(_ rows: SpelledRows, _ range: Range<Int>, _ plan: ImportPlan, firstRecord: Int) {
    var positions: [UInt32: Int] = [:]
    for index in 0..<rows.columnCount { positions[plan.identifier(index)] = index }
    let columns = table.schema.columnIDs.map { positions[$0] }
    let unknown = (0..<rows.columnCount).filter {
      !table.schema.columnIDs.contains(plan.identifier($0))
    }
    rows.arena.withUnsafeBytes { arena in
      for row in range {
        count { $0.read += 1 }
        let fields = rows.spans[row * rows.columnCount..<(row + 1) * rows.columnCount]
        let begin = rows.places.indices.contains(row) ? rows.places[row] : nil
        let place = RecordPosition(
          input: report.inputs.count - 1, record: firstRecord + rows.records[row],
          line: begin?.line ?? 0, byteOffset: begin?.byteOffset ?? 0)
        if unknown.contains(where: { !fields[fields.startIndex + $0].isNull }) {
          count { $0.missing += 1 }
          note(place, key: nil, "the table has no column for a field of it")
          continue
        }
        let hash = hash(compared) { index, bytes in
          guard let position = columns[index] else {
            if let value = table.schema.defaults[index] {
              value.withUnsafeBytes { Self.append($0, to: &bytes) }
            } else {
              Self.append(nil, to: &bytes)
            }
            return
          }
          let span = fields[fields.startIndex + position]
          let start = Int(span.offset)
          Self.append(
            span.isNull
              ? nil : UnsafeRawBufferPointer(rebasing: arena[start..<start + Int(span.length)]),
            to: &bytes)
        }
        take(hash, place)
      }
    }
  }

  private func take(_ hash: RowHash, _ place: RecordPosition) {
    guard let index = kinds.index(forKey: hash) else {
      return kinds[hash] = (1, (1, place))
    }
    kinds.values[index].left += 1
    if kinds.values[index].equals.first.input == place.input {
      kinds.values[index].equals.records += 1
    } else {
      Self.add(place, to: &later[hash, default: []])
    }
  }

  private static func add(_ place: RecordPosition, to inputs: inout [Equals]) {
    if let last = inputs.last, last.first.input == place.input {
      inputs[inputs.count - 1].records += 1
    } else {
      inputs.append((1, place))
    }
  }

  /// - Parameter append: appends the field of a column, by the function of that name.
  private func hash(
    _ columns: some Sequence<Int>, _ append: (Int, inout [UInt8]) -> Void
  ) -> RowHash {
    bytes.removeAll(keepingCapacity: true)
    for column in columns { append(column, &bytes) }
    return bytes.withUnsafeBytes {
      RowHash(low: Checksum.of($0), high: Checksum.of($0, seed: 0x9E37_79B9_7F4A_7C15))
    }
  }

  private static func append(_ field: UnsafeRawBufferPointer?, to bytes: inout [UInt8]) {
    guard let field else { return bytes.append(0) }
    bytes.append(1)
    withUnsafeBytes(of: UInt64(field.count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: field)
  }

  private func takeObjects() throws {
    if kinds.isEmpty { return }
    let sweep = ObjectSweep(table, columns: compared)
    var window: [Int64] = []
    func take() throws {
      if isCancelled() { throw ImportError.interrupted }
      try sweep.run(window) { _, fields in
        guard let fields else { return true }
        let hash = hash(compared.indices) { Self.append(fields.field($0), to: &$1) }
        if let index = kinds.index(forKey: hash), kinds.values[index].left > 0 {
          kinds.values[index].left -= 1
        }
        return true
      }
      window.removeAll(keepingCapacity: true)
    }
    try table.forEachKey { key in
      window.append(key)
      if window.count == Self.windowObjects { try take() }
    }
    try take()
  }

  /// Counts the records of each kind. Where objects are missing, the first records have found theirs.
  private func countKinds() {
    var missing: [(left: Int, records: Int, first: RecordPosition)] = []
    for (hash, kind) in kinds {
      let parts = [kind.equals] + (later[hash] ?? [])
      let records = parts.reduce(0) { $0 + $1.records }
      var there = records - kind.left
      var isNoted = false
      for part in parts {
        let found = min(there, part.records)
        there -= found
        count(in: part.first.input) {
          $0.found += found
          $0.missing += part.records - found
        }
        if found < part.records, !isNoted {
          missing.append((kind.left, records, part.first))
          isNoted = true
        }
      }
    }
    missing.sort { ($0.first.input, $0.first.record) < ($1.first.input, $1.first.record) }
    for (left, records, first) in missing {
      note(first, key: nil, Self.shortage(left, of: records))
    }
  }

  // MARK: The end

  /// Why records with the same values are missing.
  private static func shortage(_ missing: Int, of records: Int) -> String {
    if records == 1 { return "no object has its values" }
    let there = records - missing
    if there == 0 { return "no object has its values, which \(records) records have" }
    let objects = there == 1 ? "1 object has" : "\(there) objects have"
    return "\(records) records have its values, and only \(objects)"
  }

  /// Computes the results after all inputs have been read.
  func finish() throws {
    for (place, object, key) in differing {
      if matched.contains(object) {
        count(in: place.input) { $0.repeated += 1 }
        continue
      }
      count(in: place.input) { $0.differing += 1 }
      note(
        place, key: key, "the object with its key has other values, and it is in no rejects file")
    }
    try takeObjects()
    countKinds()
    for input in report.inputs { report.counts.add(input.counts) }
  }
}

/// The destination of records that are looked up but not imported.
final class VerifyDestination: Destination {
  let bytesWritten = 0
  private let verifier: RecordVerifier
  private let plan: ImportPlan

  init(_ verifier: RecordVerifier, _ plan: ImportPlan) {
    self.verifier = verifier
    self.plan = plan
  }

  func begin() throws {}
  func append(_ rows: BatchRows) {
    guard case .spelled(let rows, let range) = rows else { return }
    verifier.check(rows, range, plan, firstRecord: rows.firstRecord)
  }
  func hasConflicts(_ rows: KeyedRows) -> Bool { false }
  func hasLargeIntegers(inColumn identifier: UInt32) -> Bool { false }

  func append(
    _ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool, isTentative: Bool
  ) throws -> KeyedOutcome {
    try verifier.check(rows, range, plan)
    return KeyedOutcome(imported: range.count)
  }

  func commit(
    _ types: ColumnTypes, _ checkpoint: Checkpoint, mayJoin: Bool
  ) throws -> BatchOutcome {
    .committed
  }
  func commitJoined() {}
  func rollBack() {}
}
