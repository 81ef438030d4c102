/// The overlay of a leaf while a transaction changes it. The base is not decoded.
///
/// Thread rule: used by the transaction's thread only.
package final class OpenOverlay {
  struct Change {
    var row: UInt32
    var start: Int
    var length: Int
  }

  /// The cluster that the rows belong to.
  let base: NodeEntry
  let cluster: ClusterReader
  private let keys: ClusterKeys
  private let columnIDs: [UInt32]
  /// Ascending.
  private(set) var deleted: [UInt32] = []
  /// By ascending rows. A record that is replaced stays in the arena, without a change that names it.
  private(set) var changes: [Change] = []
  private(set) var arena: OutputBuffer
  /// Bytes of the records that `changes` name.
  private(set) var recordBytes = 0

  /// Takes over what the leaf's overlay says, if it has one.
  ///
  /// - Parameter columnIDs: the table's columns, which records have a field for each of.
  init(_ leaf: Leaf, columnIDs: [UInt32]) throws {
    cluster = leaf.cluster
    keys = try leaf.cluster.keys()
    self.columnIDs = columnIDs
    guard let overlay = leaf.overlay else {
      base = leaf.entry
      arena = OutputBuffer(capacity: 512)
      return
    }
    base = overlay.base
    arena = OutputBuffer(capacity: overlay.records.count + 512)
    deleted = (0..<overlay.deletedCount).map {
      UInt32(truncatingIfNeeded: overlay.deletedRow($0))
    }
    takeRecords(overlay)
  }

  private func takeRecords(_ overlay: Overlay) {
    let places = columnIDs.map { overlay.column(id: $0) }
    let hasSameColumns =
      places.count == overlay.columnCount && places.enumerated().allSatisfy { $0 == $1 }
    changes.reserveCapacity(overlay.changedCount + 4)
    if hasSameColumns, let records = overlay.records.baseAddress {
      arena.append(records, count: overlay.records.count)
    }
    for index in 0..<overlay.changedCount {
      var range = overlay.recordRange(index)
      if !hasSameColumns {
        let start = arena.count
        for place in places { append(place.flatMap { overlay.spelling(index, column: $0) }) }
        range = start..<arena.count
      }
      recordBytes += range.count
      changes.append(
        Change(
          row: UInt32(truncatingIfNeeded: overlay.changedRow(index)), start: range.lowerBound,
          length: range.count))
    }
  }

  // MARK: Rows

  /// Rows that are left.
  var count: Int { cluster.rowCount - deleted.count }

  var isEmpty: Bool { deleted.isEmpty && changes.isEmpty }

  /// About how much memory it takes.
  var memory: Int { arena.count + changes.count * 24 + deleted.count * 4 + 512 }

  /// True when most of the base's rows are deleted.
  var isMostlyDeleted: Bool { deleted.count > count }

  private func deletedCount(before row: Int) -> Int {
    partitionPoint(deleted.count) { Int(deleted[$0]) >= row }
  }

  private func changeIndex(_ row: Int) -> Int {
    partitionPoint(changes.count) { Int(changes[$0].row) >= row }
  }

  /// The base's row of a key; nil when there is none or it is deleted.
  private func baseRow(ofKey key: Int64) -> Int? {
    guard let row = keys.row(key &- base.firstKey) else { return nil }
    let index = deletedCount(before: row)
    return index < deleted.count && Int(deleted[index]) == row ? nil : row
  }

  private func baseRow(_ row: Int) -> Int {
    min(row + partitionPoint(deleted.count) { Int(deleted[$0]) - $0 > row }, cluster.rowCount - 1)
  }

  /// The row of a key among those left; nil when there is none.
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
    guard index < changes.count, Int(changes[index].row) == row else {
      return try cluster.open(id: columnIDs[column]).withSpelling(row, body)
    }
    let record = UnsafeRawBufferPointer(
      start: arena.start + changes[index].start, count: changes[index].length)
    return try body(OverlayRecord(record).field(column))
  }

  // MARK: Changing

  /// Removes a row; false when there is none with that key.
  func delete(_ key: Int64) -> Bool {
    guard let row = baseRow(ofKey: key) else { return false }
    let index = changeIndex(row)
    if index < changes.count, Int(changes[index].row) == row {
      recordBytes -= changes.remove(at: index).length
    }
    deleted.insert(UInt32(truncatingIfNeeded: row), at: deletedCount(before: row))
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
      append(
        span.isNull
          ? nil
          : UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length)))
    }
    setRecord(row, start..<arena.count)
    return true
  }

  /// Changes some of a row's fields; false when there is none with that key.
  func update(_ key: Int64, _ changes: [(column: Int, value: Value)]) throws -> Bool {
    guard let row = baseRow(ofKey: key) else { return false }
    // Beside the arena, which moves when it grows, and which unchanged fields are read from.
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

  /// The same, at the end of the arena.
  @inline(__always)
  private func append(_ field: UnsafeRawBufferPointer?) {
    guard let field, let source = field.baseAddress else {
      arena.append(UInt8(field == nil ? 0 : 1))
      return
    }
    var length = field.count + 1
    while length >= 0x80 {
      arena.append(UInt8(truncatingIfNeeded: length) | 0x80)
      length >>= 7
    }
    arena.append(UInt8(truncatingIfNeeded: length))
    arena.append(source, count: field.count)
  }

  // MARK: Writing

  /// Bytes of the block that `encode` makes.
  var byteCount: Int {
    Overlay.headerBytes + 4 * (columnIDs.count + deleted.count) + 8 * changes.count + recordBytes
  }

  /// The first key that is left.
  ///
  /// - Precondition: a row is left.
  var firstKey: Int64 { key(0) }

  /// The bytes of the overlay.
  package func encode() -> [UInt8] {
    #if DEBUG
      Invariants.require(checkInvariants)
    #endif
    var writer = ByteWriter(capacity: byteCount)
    writer.append(Overlay.kind)
    writer.append(UInt32(truncatingIfNeeded: columnIDs.count))
    writer.append(UInt64(bitPattern: base.firstKey))
    writer.append(UInt32(truncatingIfNeeded: cluster.rowCount))
    writer.append(UInt32(truncatingIfNeeded: deleted.count))
    writer.append(UInt32(truncatingIfNeeded: changes.count))
    base.reference.encode(into: &writer)
    for id in columnIDs { writer.append(id) }
    for row in deleted { writer.append(row) }
    for change in changes { writer.append(change.row) }
    var place: UInt32 = 0
    for change in changes {
      writer.append(place)
      place &+= UInt32(truncatingIfNeeded: change.length)
    }
    for change in changes {
      writer.append(
        UnsafeRawBufferPointer(start: arena.start + change.start, count: change.length))
    }
    return writer.bytes
  }

  /// The leaf as it is now, read in place.
  ///
  /// - Parameters:
  ///   - bytes: what `encode` gives; used for as long as the leaf is.
  ///   - memory: keeps them.
  package func leaf(
    _ bytes: UnsafeRawBufferPointer, memory: AnyObject
  ) throws(DecodingFailure) -> Leaf {
    Leaf(base: cluster, try Overlay(bytes), memory: memory)
  }

  /// All rows, decoded.
  ///
  /// - Throws: `ClusterError`.
  func rows() throws -> RowBuffer {
    var rows = RowBuffer(columnIDs: columnIDs)
    if count == 0 { return rows }
    if isEmpty {
      try rows.append(cluster, firstKey: base.firstKey)
    } else {
      try encode().withUnsafeBytes { bytes in
        try rows.append(Leaf(base: cluster, try Overlay(bytes)))
      }
    }
    return rows
  }
}
