import Base

/// Makes the block of a transaction's changes to a leaf.
///
/// Compares the changed rows with the base and writes only the fields that differ: as a record for each row,
/// or column by column where that takes less. Older blocks that are no larger than the blocks over them are
/// merged into the new one. Each remaining block is then larger than the one above it: a record is copied
/// only a few times before its cluster is rewritten, however long that takes, and few blocks lie over it.
///
/// Thread rule: only the transaction's thread uses it.
struct OverlayBuilder: ~Copyable {
  /// A row's differing fields: some of `fields`.
  private struct Record {
    var row: UInt32
    var firstField: Int
    var fieldCount: Int
  }

  /// A column, and its bytes in the arena, including the length.
  private struct Field {
    var column: Int
    var start: Int
    var length: Int
  }

  private let overlay: OpenOverlay
  /// Encodes columns; nil: only records are written.
  private let columns: ClusterBuilder?
  /// Columns are written where they take less than this many percent of the bytes of records.
  private let columnsPercent: Int
  private var records: [Record] = []
  private var fields: [Field] = []
  private var arena = OutputBuffer(capacity: 1024)

  /// Compares the changes with the base.
  ///
  /// - Parameters:
  ///   - columns: encodes changed rows column by column; nil: there will be a record for each.
  ///   - percent: how many percent of the bytes of records columns may take.
  /// - Throws: `ClusterError`.
  init(_ overlay: OpenOverlay, columns builder: ClusterBuilder? = nil, _ percent: Int = 100) throws
  {
    self.overlay = overlay
    columns = builder
    columnsPercent = percent
    var columns = [ColumnReader?](repeating: nil, count: overlay.columnIDs.count)
    for change in overlay.changes {
      var record = Record(row: change.row, firstField: fields.count, fieldCount: 0)
      var rest = OverlayFields(overlay.record(change))
      for column in columns.indices {
        guard let field = rest.next() else { break }
        let reader: ColumnReader
        if let known = columns[column] {
          reader = known
        } else {
          reader = try overlay.cluster.open(id: overlay.columnIDs[column])
          columns[column] = reader
        }
        let isSame = reader.withSpelling(Int(change.row)) { Self.isField(field, $0) }
        if !isSame {
          append(field, column)
          record.fieldCount += 1
        }
      }
      records.append(record)
    }
  }

  /// True when a field's bytes encode a spelling; nil is null.
  private static func isField(
    _ field: UnsafeRawBufferPointer, _ spelling: UnsafeRawBufferPointer?
  ) -> Bool {
    guard let spelling else { return field.count == 1 && field[0] == 0 }
    guard field.first != 0, field.count > spelling.count else { return false }
    // Spellings of different lengths can have fields of equal size.
    var fields = OverlayFields(field)
    return fields.field(0).map { Bytes.areEqual($0, spelling) } ?? false
  }

  private mutating func append(_ field: UnsafeRawBufferPointer, _ column: Int) {
    fields.append(Field(column: column, start: arena.count, length: field.count))
    if let first = field.baseAddress { arena.append(first, count: field.count) }
  }

  // MARK: Size

  /// About how many bytes the records and tables of the changes take.
  private var byteCount: Int {
    arena.count + 9 * records.count + 4 * overlay.newlyDeleted.count + OverlayBlock.headerBytes
  }

  /// How many of the existing blocks, from the newest on, are merged into the new one.
  ///
  /// - Throws: `ClusterError`.
  mutating func mergedCount() throws -> Int {
    guard let stored = overlay.stored else { return 0 }
    var bytes = byteCount
    // Records take several times as much as columns: one more block would be merged for nothing.
    if let columns = try columnBlock(
      records, overlay.newlyDeleted, overlay.base.reference, below: bytes)
    {
      bytes = columns.count
    }
    var count = 0
    while count < stored.blocks.count,
      bytes >= stored.blocks[count].byteCount || stored.blocks.count - count >= Overlay.mostBlocks
    {
      bytes += stored.blocks[count].byteCount - OverlayBlock.headerBytes
      count += 1
    }
    return count
  }

  // MARK: Writing

  /// The new block, on top of those that are not merged; nil when it would be empty.
  ///
  /// - Throws: `ClusterError`.
  mutating func encode(merging count: Int) throws -> [UInt8]? {
    let deleted = try takeRecords(ofNewest: count)
    let rest = overlay.stored.map { Array($0.blocks[count...]) } ?? []
    // A row that an older block has changed, and that again equals the base, has an empty record.
    let kept = records.filter { record in
      record.fieldCount > 0 || rest.contains { $0.hasChanged(Int(record.row)) }
    }
    .sorted { $0.row < $1.row }
    if kept.isEmpty, deleted.isEmpty { return nil }
    var below = overlay.base.reference
    if let stored = overlay.stored, count < stored.references.count {
      below = stored.references[count]
    }
    let rows = write(kept, deleted, below)
    let block = try columnBlock(kept, deleted, below, below: rows.count) ?? rows
    #if DEBUG
      Invariants.require { () throws(BrokenInvariant) in try Self.check(block) }
    #endif
    return block
  }

  /// Adds the newest blocks' content that the transaction has not replaced.
  ///
  /// - Returns: the rows that these blocks or the transaction have deleted.
  /// - Throws: `ClusterError`.
  private mutating func takeRecords(ofNewest count: Int) throws -> [UInt32] {
    guard let stored = overlay.stored, count > 0 else { return overlay.newlyDeleted }
    let columns = stored.blocks[..<count].map { block in
      (0..<block.columnCount).map { overlay.columnIDs.place(of: block.columnID($0)) }
    }
    var known = Set(overlay.changes.map(\.row)).union(overlay.newlyDeleted)
    var deleted = overlay.newlyDeleted
    for (block, columns) in zip(stored.blocks, columns) {
      let rows = (0..<block.changedCount).map { UInt32(truncatingIfNeeded: block.changedRow($0)) }
      let values = try block.cluster.map(Self.values)
      for (index, row) in rows.enumerated() where !known.contains(row) {
        let start = fields.count
        if let values {
          for (place, column) in columns.enumerated() {
            if let column { append(spelling: values[place][index], column) }
          }
          records.append(Record(row: row, firstField: start, fieldCount: fields.count - start))
          continue
        }
        var found: [(Int, UnsafeRawBufferPointer)] = []
        block.forEachField(index) { place, field in
          if let column = columns[place] { found.append((column, field)) }
        }
        for (column, field) in found { append(field, column) }
        records.append(Record(row: row, firstField: start, fieldCount: fields.count - start))
      }
      known.formUnion(rows)
      known.formUnion(block.deletedRows)
      deleted = Overlay.merged(deleted, block.deletedRows)
    }
    return deleted
  }

  /// The values of the changed rows of a block, column by column.
  private static func values(_ cluster: ClusterReader) throws -> [DecodedColumn] {
    try (0..<cluster.columnCount).map { place in
      let decoded = DecodedColumn()
      decoded.decode(try cluster.open(cluster.column(at: place)), rows: 0..<cluster.rowCount)
      return decoded
    }
  }

  private mutating func append(spelling: UnsafeRawBufferPointer?, _ column: Int) {
    let start = arena.count
    arena.append(field: spelling)
    fields.append(Field(column: column, start: start, length: arena.count - start))
  }

  /// The columns of which some record has a field.
  private func namedColumns(_ records: [Record]) -> [Int] {
    var isNamed = [Bool](repeating: false, count: overlay.columnIDs.count)
    for record in records {
      for field in fields[record.firstField..<record.firstField + record.fieldCount] {
        isNamed[field.column] = true
      }
    }
    return isNamed.indices.filter { isNamed[$0] }
  }

  /// The part of a block that is the same in all forms.
  private func header(
    form: UInt32, columns: Int, changed: Int, _ deleted: [UInt32], _ below: BlockReference,
    capacity: Int
  ) -> ByteWriter {
    var writer = ByteWriter(capacity: capacity)
    writer.append(OverlayBlock.kind | form << 8)
    writer.append(UInt32(truncatingIfNeeded: columns))
    writer.append(UInt64(bitPattern: overlay.base.firstKey))
    writer.append(UInt32(truncatingIfNeeded: overlay.cluster.rowCount))
    writer.append(UInt32(truncatingIfNeeded: deleted.count))
    writer.append(UInt32(truncatingIfNeeded: changed))
    below.encode(into: &writer)
    return writer
  }

  private func write(
    _ records: [Record], _ deleted: [UInt32], _ below: BlockReference
  ) -> [UInt8] {
    let named = namedColumns(records)
    var places = [Int](repeating: 0, count: overlay.columnIDs.count)
    for (place, column) in named.enumerated() { places[column] = place }
    let maskBytes = (named.count + 7) / 8
    var writer = header(
      form: 1, columns: named.count, changed: records.count, deleted, below,
      capacity: byteCount + 4 * named.count + records.count * maskBytes + 4 * deleted.count)
    for column in named { writer.append(overlay.columnIDs[column]) }
    for row in deleted { writer.append(row) }
    for record in records { writer.append(record.row) }
    var place = 0
    for record in records {
      writer.append(UInt32(truncatingIfNeeded: place))
      place += maskBytes
      for field in fields[record.firstField..<record.firstField + record.fieldCount] {
        place += field.length
      }
    }
    var mask = [UInt8](repeating: 0, count: maskBytes)
    for record in records {
      let own = fields[record.firstField..<record.firstField + record.fieldCount]
      for byte in mask.indices { mask[byte] = 0 }
      for field in own { mask[places[field.column] >> 3] |= 1 << UInt8(places[field.column] & 7) }
      for byte in mask { writer.append(byte) }
      for field in own {
        writer.append(UnsafeRawBufferPointer(start: arena.start + field.start, count: field.length))
      }
    }
    return writer.bytes
  }

  // MARK: Columns

  /// The same as `write`, column by column: all rows have a value in every named column, that of the base
  /// where nothing else is said. Nil when that takes no less.
  ///
  /// - Parameter bytes: what records take.
  /// - Throws: `ClusterError`.
  private mutating func columnBlock(
    _ records: [Record], _ deleted: [UInt32], _ below: BlockReference, below bytes: Int
  ) throws -> [UInt8]? {
    guard let columns, let first = records.first?.row else { return nil }
    let most = bytes * columnsPercent / 100
    let named = namedColumns(records)
    let fieldCount = records.reduce(0) { $0 + $1.fieldCount }
    let fixed = OverlayBlock.headerBytes + 4 * deleted.count + 4
    let least = ClusterFormat.padding + ClusterFormat.headerLength(columns: named.count)
    guard fixed + least < most, records.count * named.count <= 2 * fieldCount else { return nil }
    guard let spans = try spans(records, named) else { return nil }
    let cluster = try spans.withUnsafeBufferPointer { spans -> EncodedCluster? in
      guard let spans = spans.baseAddress else { return nil }
      do {
        return try columns.encode(
          arena: arena.bytes, spans: spans, rowCount: records.count, columnCount: named.count,
          columnIDs: named.map { overlay.columnIDs[$0] },
          keyOffsets: records.map { Int64($0.row) - Int64(first) })
      } catch ClusterError.tooLarge {
        return nil
      }
    }
    guard let cluster, fixed + cluster.bytes.count < most else { return nil }
    var writer = header(
      form: 2, columns: named.count, changed: records.count, deleted, below,
      capacity: fixed + cluster.bytes.count)
    for row in deleted { writer.append(row) }
    writer.append(first)
    cluster.bytes.withUnsafeBytes { writer.append($0) }
    return writer.bytes
  }

  /// The spellings of some columns, row by row, in the arena; nil when they do not fit a cluster.
  ///
  /// - Throws: `ClusterError`.
  private mutating func spans(_ records: [Record], _ named: [Int]) throws -> [TextSpan]? {
    var readers = [ColumnReader?](repeating: nil, count: named.count)
    var spans: [TextSpan] = []
    spans.reserveCapacity(records.count * named.count)
    for record in records {
      guard arena.count <= ClusterFormat.maximumBytes else { return nil }
      var next = record.firstField
      let end = next + record.fieldCount
      for (place, column) in named.enumerated() {
        if next < end, fields[next].column == column {
          spans.append(span(fields[next]))
          next += 1
          continue
        }
        let reader = try readers[place] ?? overlay.cluster.open(id: overlay.columnIDs[column])
        readers[place] = reader
        let start = arena.count
        reader.withSpelling(Int(record.row)) { arena.append(field: $0) }
        spans.append(span(Field(column: column, start: start, length: arena.count - start)))
      }
    }
    return arena.count <= ClusterFormat.maximumBytes ? spans : nil
  }

  /// Where a field's spelling lies in the arena.
  private func span(_ field: Field) -> TextSpan {
    var rest = OverlayFields(
      UnsafeRawBufferPointer(start: arena.start + field.start, count: field.length))
    guard let spelling = rest.field(0) else { return .null }
    return TextSpan(
      offset: UInt32(truncatingIfNeeded: field.start + field.length - spelling.count),
      length: UInt32(truncatingIfNeeded: spelling.count))
  }

  #if DEBUG
    private static func check(_ bytes: [UInt8]) throws(BrokenInvariant) {
      do {
        try bytes.withUnsafeBytes { try OverlayBlock($0).validate() }
      } catch {
        throw BrokenInvariant(what: "a block of an overlay is not as it has to be: \(error)")
      }
    }
  #endif
}

extension [UInt32] {
  /// The index of a number in an ascending list; nil when it is not there.
  fileprivate func place(of number: UInt32) -> Int? {
    let place = partitionPoint(0..<count) { self[$0] >= number }
    return place < count && self[place] == number ? place : nil
  }
}
