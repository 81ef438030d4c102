import Base

/// Makes the block of a transaction's changes to a leaf.
///
/// Compares the changed rows with the base and writes only the fields that differ. Older blocks that are no
/// larger than the blocks over them are merged into the new one. Each remaining block is then larger than the
/// one above it: a record is copied only a few times before its cluster is rewritten, however long that
/// takes, and few blocks lie over a cluster.
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
  private var records: [Record] = []
  private var fields: [Field] = []
  private var arena = OutputBuffer(capacity: 1024)

  /// Compares the changes with the base.
  ///
  /// - Throws: `ClusterError`.
  init(_ overlay: OpenOverlay) throws {
    self.overlay = overlay
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
    return fields.field(0).map { $0.count == spelling.count && $0.elementsEqual(spelling) } ?? false
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
  func mergedCount() -> Int {
    guard let stored = overlay.stored else { return 0 }
    var bytes = byteCount
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
  mutating func encode(merging count: Int) -> [UInt8]? {
    let deleted = takeRecords(ofNewest: count)
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
    let block = write(kept, deleted, below)
    #if DEBUG
      Invariants.require { () throws(BrokenInvariant) in try Self.check(block) }
    #endif
    return block
  }

  /// Adds the newest blocks' content that the transaction has not replaced.
  ///
  /// - Returns: the rows that these blocks or the transaction have deleted.
  private mutating func takeRecords(ofNewest count: Int) -> [UInt32] {
    guard let stored = overlay.stored, count > 0 else { return overlay.newlyDeleted }
    let columns = stored.blocks[..<count].map { block in
      (0..<block.columnCount).map { overlay.columnIDs.place(of: block.columnID($0)) }
    }
    var known = Set(overlay.changes.map(\.row)).union(overlay.newlyDeleted)
    var deleted = overlay.newlyDeleted
    for (block, columns) in zip(stored.blocks, columns) {
      let rows = (0..<block.changedCount).map { UInt32(truncatingIfNeeded: block.changedRow($0)) }
      for (index, row) in rows.enumerated() where !known.contains(row) {
        let start = fields.count
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

  private func write(
    _ records: [Record], _ deleted: [UInt32], _ below: BlockReference
  ) -> [UInt8] {
    var isNamed = [Bool](repeating: false, count: overlay.columnIDs.count)
    for record in records {
      for field in fields[record.firstField..<record.firstField + record.fieldCount] {
        isNamed[field.column] = true
      }
    }
    let named = isNamed.indices.filter { isNamed[$0] }
    var places = [Int](repeating: 0, count: isNamed.count)
    for (place, column) in named.enumerated() { places[column] = place }
    let maskBytes = (named.count + 7) / 8
    var writer = ByteWriter(
      capacity: byteCount + 4 * named.count + records.count * maskBytes + 4 * deleted.count)
    writer.append(OverlayBlock.kind | 1 << 8)
    writer.append(UInt32(truncatingIfNeeded: named.count))
    writer.append(UInt64(bitPattern: overlay.base.firstKey))
    writer.append(UInt32(truncatingIfNeeded: overlay.cluster.rowCount))
    writer.append(UInt32(truncatingIfNeeded: deleted.count))
    writer.append(UInt32(truncatingIfNeeded: records.count))
    below.encode(into: &writer)
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
