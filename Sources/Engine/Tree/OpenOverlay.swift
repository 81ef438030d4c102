import Base

/// The overlay of a leaf while a transaction changes it. Neither the base nor the overlay's blocks are
/// decoded: the transaction's changes are kept beside them, and become a new block on top.
///
/// Thread rule: only the transaction's thread uses it.
package final class OpenOverlay {
  struct Change {
    var row: UInt32
    var start: Int
    var length: Int
  }

  /// The leaf as it was found.
  let entry: NodeEntry
  /// The cluster that the rows belong to.
  let base: NodeEntry
  let cluster: ClusterReader
  /// The overlay as it was found; nil when there was none.
  let stored: Overlay?
  private let keys: ClusterKeys
  let columnIDs: [UInt32]
  /// All deleted rows, ascending.
  private(set) var deleted: [UInt32]
  /// The rows that the transaction has deleted, ascending.
  private(set) var newlyDeleted: [UInt32] = []
  /// The rows that the transaction has changed, ascending: whole rows, as in the old form of blocks. A
  /// replaced record stays in the arena, and no change refers to it.
  private(set) var changes: [Change] = []
  private(set) var arena = OutputBuffer(capacity: 512)
  /// Bytes of the records that `changes` refer to.
  private(set) var recordBytes = 0

  /// - Parameter columnIDs: the table's columns; records have a field for each.
  init(_ leaf: Leaf, columnIDs: [UInt32]) throws {
    cluster = leaf.cluster
    keys = try leaf.cluster.keys()
    self.columnIDs = columnIDs
    entry = leaf.entry
    stored = leaf.overlay
    base = leaf.overlay?.base ?? leaf.entry
    deleted = leaf.overlay?.deleted ?? []
  }

  /// The leaf's blocks in the file.
  var references: [BlockReference] { [base.reference] + (stored?.references ?? []) }

  // MARK: Rows

  /// The number of remaining rows.
  var count: Int { cluster.rowCount - deleted.count }

  /// True when the leaf has not been changed.
  var isUnchanged: Bool { newlyDeleted.isEmpty && changes.isEmpty }

  /// About how much memory it takes.
  var memory: Int {
    arena.count + changes.count * 24 + (deleted.count + newlyDeleted.count) * 4 + 512
  }

  /// About as many bytes as the changes take when all columns differ.
  var newBytes: Int { recordBytes + 8 * changes.count + 4 * newlyDeleted.count }

  /// True when most of the base's rows are deleted.
  var isMostlyDeleted: Bool { deleted.count > count }

  private func deletedCount(before row: Int) -> Int {
    partitionPoint(0..<deleted.count) { Int(deleted[$0]) >= row }
  }

  private func changeIndex(_ row: Int) -> Int {
    partitionPoint(0..<changes.count) { Int(changes[$0].row) >= row }
  }

  /// The base's row of a key; nil when there is none or it is deleted.
  private func baseRow(ofKey key: Int64) -> Int? {
    guard let row = keys.row(key &- base.firstKey) else { return nil }
    let index = deletedCount(before: row)
    return index < deleted.count && Int(deleted[index]) == row ? nil : row
  }

  private func baseRow(_ row: Int) -> Int {
    min(
      row + partitionPoint(0..<deleted.count) { Int(deleted[$0]) - $0 > row }, cluster.rowCount - 1)
  }

  /// The row of a key among the remaining ones; nil when there is none.
  func row(ofKey key: Int64) -> Int? {
    baseRow(ofKey: key).map { $0 - deletedCount(before: $0) }
  }

  /// - Precondition: 0 <= `row` < `count`.
  func key(_ row: Int) -> Int64 { base.firstKey &+ keys.offset(baseRow(row)) }

  /// A field's bytes; nil for null.
  ///
  /// - Precondition: 0 <= `row` < `count`, and the column exists.
  func spelling(row: Int, column: Int) throws -> [UInt8]? {
    try withSpelling(baseRow: baseRow(row), column: column) { $0.map { Array($0) } }
  }

  private func withSpelling<Result>(
    baseRow row: Int, column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    let index = changeIndex(row)
    if index < changes.count, Int(changes[index].row) == row {
      var fields = OverlayFields(record(changes[index]))
      return try body(fields.field(column))
    }
    let id = columnIDs[column]
    guard let stored, let place = stored.place(ofRow: row) else {
      return try cluster.open(id: id).withSpelling(row, body)
    }
    return try stored.withField(place, id: id) { field in
      guard case .spelling(let spelling) = field else {
        return try cluster.open(id: id).withSpelling(row, body)
      }
      return try body(spelling)
    }
  }

  /// The fields of a changed row.
  func record(_ change: Change) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: arena.start + change.start, count: change.length)
  }

  // MARK: Changing

  /// Removes a row; false when there is none with that key.
  func delete(_ key: Int64) -> Bool {
    guard let row = baseRow(ofKey: key) else { return false }
    let index = changeIndex(row)
    if index < changes.count, Int(changes[index].row) == row {
      recordBytes -= changes.remove(at: index).length
    }
    let number = UInt32(truncatingIfNeeded: row)
    deleted.insert(number, at: deletedCount(before: row))
    newlyDeleted.insert(
      number, at: partitionPoint(0..<newlyDeleted.count) { newlyDeleted[$0] >= number })
    return true
  }

  /// Replaces a row's fields, given as spans of `base`; false when there is none with that key.
  func replace(
    _ key: Int64, base: UnsafeRawPointer, row spans: UnsafePointer<TextSpan>
  ) throws(ClusterError) -> Bool {
    guard let row = baseRow(ofKey: key) else { return false }
    var length = 0
    for column in 0..<columnIDs.count { length += Int(spans[column].length) + 5 }
    try checkRoom(length)
    let start = arena.count
    for column in 0..<columnIDs.count {
      let span = spans[column]
      arena.append(
        field: span.isNull
          ? nil
          : UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length)))
    }
    setRecord(row, start..<arena.count)
    return true
  }

  /// Changes some of a row's fields; false when there is none with that key.
  func update(_ key: Int64, _ changes: [(column: Int, value: Value)]) throws -> Bool {
    guard let row = baseRow(ofKey: key) else { return false }
    // Built outside the arena, which moves when it grows and from which unchanged fields are read.
    var record: [UInt8] = []
    for column in columnIDs.indices {
      if let change = changes.last(where: { $0.column == column }) {
        let spelling = change.value == .null ? nil : change.value.spelling
        Self.append(spelling, to: &record)
      } else {
        try withSpelling(baseRow: row, column: column) { Self.append($0, to: &record) }
      }
    }
    try checkRoom(record.count)
    let start = arena.count
    record.withUnsafeBytes { bytes in
      if let first = bytes.baseAddress { arena.append(first, count: bytes.count) }
    }
    setRecord(row, start..<arena.count)
    return true
  }

  private func checkRoom(_ length: Int) throws(ClusterError) {
    guard arena.count + length <= ClusterFormat.maximumBytes else {
      throw .tooLarge(bytes: arena.count + length)
    }
  }

  private func setRecord(_ row: Int, _ range: Range<Int>) {
    let change = Change(
      row: UInt32(truncatingIfNeeded: row), start: range.lowerBound, length: range.count)
    recordBytes += range.count
    let index = changeIndex(row)
    if index < changes.count, changes[index].row == change.row {
      recordBytes -= changes[index].length
      changes[index] = change
    } else {
      changes.insert(change, at: index)
    }
  }

  private static func append(_ field: (some Collection<UInt8>)?, to record: inout [UInt8]) {
    guard let field else {
      record.append(0)
      return
    }
    var length = UInt64(field.count) + 1
    while length >= 0x80 {
      record.append(UInt8(truncatingIfNeeded: length) | 0x80)
      length >>= 7
    }
    record.append(UInt8(truncatingIfNeeded: length))
    record.append(contentsOf: field)
  }

  // MARK: Writing

  /// The first remaining key.
  ///
  /// - Precondition: a row remains.
  var firstKey: Int64 { key(0) }

  /// The leaf as it is now, read in place.
  ///
  /// - Parameters:
  ///   - bytes: the block that `OverlayBuilder` makes of the changes, on top of all others; nil when nothing
  ///     was changed.
  ///   - memory: keeps the bytes alive.
  package func leaf(
    _ bytes: UnsafeRawBufferPointer?, memory: AnyObject? = nil
  ) throws(DecodingFailure) -> Leaf {
    var blocks = stored?.blocks ?? []
    if let bytes { blocks.insert(try OverlayBlock(bytes), at: 0) }
    if blocks.isEmpty { return Leaf(cluster, entry: base) }
    return Leaf(base: cluster, try Overlay(blocks), memory: memory)
  }

  /// All rows, decoded.
  ///
  /// - Throws: `ClusterError`.
  func rows() throws -> RowBuffer {
    var rows = RowBuffer(columnIDs: columnIDs)
    if count == 0 { return rows }
    var builder = try OverlayBuilder(self)
    guard let bytes = try builder.encode(merging: 0) else {
      try rows.append(try leaf(nil))
      return rows
    }
    try bytes.withUnsafeBytes { try rows.append(try leaf($0)) }
    return rows
  }
}
