import Base

/// The rows of a cluster that were changed or deleted since it was written. They are stored in small blocks
/// on top of each other, which replace the cluster in the tree: the tree refers to the newest, and the oldest
/// lies over the cluster, the *base*. Rows are numbered as in the base: so a deleted row is known to exist,
/// and changed rows keep their keys.
///
/// A newer block's content for a row replaces that of older ones. So a change adds a small block, and merges
/// the existing ones that are no larger: see `OpenOverlay`.
///
/// Thread rule: confined, like the bytes it reads, until `prepareForThreads`.
package final class Overlay {
  /// The most blocks on top of each other.
  package static let mostBlocks = 8

  /// Where the record of a changed row is: the number of the newest block that has the row, and the number of
  /// the record in it.
  package struct RecordPlace {
    let block: Int
    let index: Int
  }

  /// The cluster with the rows.
  package let base: NodeEntry
  /// From the newest to the oldest.
  package let blocks: [OverlayBlock]
  /// Where the blocks lie, in the same order; empty for blocks in memory only.
  package let references: [BlockReference]
  /// The deleted rows of all blocks, ascending.
  package let deleted: [UInt32]
  /// The changed rows, ascending: 32 bits row, 8 bits block, 24 bits record. Reading a few rows does not need
  /// it.
  private lazy var changed: [UInt64] = mergedChanges()
  /// How often a single row was looked up.
  private var asked = 0
  private static let fewRows = 64

  /// Computes what reading many rows would compute at first. Afterwards reading changes nothing here: any
  /// number of threads may do it at the same time.
  package func prepareForThreads() {
    _ = changed.count
    asked = max(asked, Self.fewRows)
  }

  package var deletedCount: Int { deleted.count }
  package var changedCount: Int { changed.count }
  /// The number of remaining rows.
  package var rowCount: Int { baseRowCount - deleted.count }
  package var baseRowCount: Int { Int(truncatingIfNeeded: base.count) }

  /// - Parameters:
  ///   - blocks: from the newest to the oldest, which lies over the base; at most 256.
  ///   - references: where they lie; empty for those in memory only.
  /// - Throws: `DecodingFailure` when they cannot belong together.
  /// - Complexity: O(blocks + deleted rows).
  package init(
    _ blocks: [OverlayBlock], references: [BlockReference] = []
  ) throws(DecodingFailure) {
    guard let oldest = blocks.last, blocks.count <= 256 else {
      throw DecodingFailure(what: "it is no overlay", offset: 0)
    }
    self.blocks = blocks
    self.references = references
    base = NodeEntry(
      firstKey: oldest.firstKey, count: UInt64(oldest.baseRowCount), reference: oldest.below)
    guard !base.reference.isOverlay else {
      throw DecodingFailure(what: "the oldest block of an overlay has no base", offset: 28)
    }
    var deleted: [UInt32] = []
    for block in blocks {
      guard block.firstKey == oldest.firstKey, block.baseRowCount == oldest.baseRowCount else {
        throw DecodingFailure(what: "blocks of an overlay have different bases", offset: 8)
      }
      if block.deletedCount > 0 { deleted = Self.merged(deleted, block.deletedRows) }
    }
    self.deleted = deleted
    guard deleted.count < oldest.baseRowCount else {
      throw DecodingFailure(what: "the overlay's numbers of rows are impossible", offset: 16)
    }
  }

  /// Checks valid blocks against each other: a block must not name rows that older ones have deleted.
  ///
  /// - Throws: `DecodingFailure` when one does.
  /// - Complexity: O(deleted rows × blocks × log changed rows).
  package func validate() throws(DecodingFailure) {
    for (row, next) in zip(deleted, deleted.dropFirst()) where row == next {
      throw DecodingFailure(what: "row \(row) of an overlay is deleted twice", offset: 20)
    }
    for (number, block) in blocks.enumerated() {
      for row in block.deletedRows
      where blocks[..<number].contains(where: { $0.hasChanged(Int(row)) }) {
        throw DecodingFailure(
          what: "row \(row) of an overlay is changed after it was deleted", offset: 24)
      }
    }
  }

  private func mergedChanges() -> [UInt64] {
    var merged: [UInt64] = []
    for (number, block) in blocks.enumerated() where block.changedCount > 0 {
      let newer = merged
      merged = []
      merged.reserveCapacity(newer.count + block.changedCount)
      var next = 0
      let place = UInt64(number) << 24
      block.forEachChangedRow { index, number in
        let row = UInt64(truncatingIfNeeded: number)
        while next < newer.count, newer[next] >> 32 < row {
          merged.append(newer[next])
          next += 1
        }
        if next < newer.count, newer[next] >> 32 == row { return }
        merged.append(row << 32 | place | UInt64(truncatingIfNeeded: index))
      }
      merged += newer[next...]
    }
    if !deleted.isEmpty { merged.removeAll { isDeleted(Int($0 >> 32)) } }
    return merged
  }

  /// Merges two ascending lists of numbers.
  static func merged(_ one: [UInt32], _ other: [UInt32]) -> [UInt32] {
    if one.isEmpty { return other }
    if other.isEmpty { return one }
    var result: [UInt32] = []
    result.reserveCapacity(one.count + other.count)
    var next = 0
    for number in one {
      while next < other.count, other[next] < number {
        result.append(other[next])
        next += 1
      }
      result.append(number)
    }
    return result + other[next...]
  }

  // MARK: Rows

  /// - Precondition: 0 <= `index` < `deletedCount`.
  package func deletedRow(_ index: Int) -> Int { Int(deleted[index]) }

  /// - Precondition: 0 <= `index` < `changedCount`.
  package func changedRow(_ index: Int) -> Int { Int(changed[index] >> 32) }

  /// How many rows before a row of the base are deleted.
  ///
  /// - Complexity: O(log deleted rows).
  package func deletedCount(before row: Int) -> Int {
    partitionPoint(0..<deletedCount) { deletedRow($0) >= row }
  }

  package func isDeleted(_ row: Int) -> Bool {
    let index = deletedCount(before: row)
    return index < deletedCount && deletedRow(index) == row
  }

  /// The base's row for a remaining row.
  ///
  /// - Complexity: O(log deleted rows).
  package func baseRow(_ row: Int) -> Int {
    let before = partitionPoint(0..<deletedCount) { deletedRow($0) - $0 > row }
    // Damaged tables must not lead beyond the base.
    return min(max(row, 0) + before, baseRowCount - 1)
  }

  /// How many changed rows come before a row of the base.
  package func changedCount(before row: Int) -> Int {
    partitionPoint(0..<changedCount) { changedRow($0) >= row }
  }

  // MARK: Records

  /// The record of a changed row.
  ///
  /// - Precondition: 0 <= `index` < `changedCount`.
  @inline(__always)
  package func place(_ index: Int) -> RecordPlace {
    let packed = changed[index]
    return RecordPlace(block: Int(packed >> 24 & 0xFF), index: Int(packed & 0xFF_FFFF))
  }

  /// The record of a row of the base; nil when it is unchanged.
  ///
  /// - Precondition: the row is not deleted.
  /// - Complexity: O(blocks × log changed rows).
  package func place(ofRow row: Int) -> RecordPlace? {
    // For many rows, the table of all changed rows is faster.
    if asked >= Self.fewRows {
      let index = changedCount(before: row)
      return index < changedCount && changedRow(index) == row ? place(index) : nil
    }
    asked += 1
    for (number, block) in blocks.enumerated() {
      if let index = block.changedIndex(row) { return RecordPlace(block: number, index: index) }
    }
    return nil
  }

  /// Calls `body` with a changed row's field in a column; its bytes are valid during the call.
  ///
  /// - Throws: `ClusterError`, or the error of `body`.
  package func withField<Result>(
    _ place: RecordPlace, id: UInt32, _ body: (OverlayBlock.Field) throws -> Result
  ) throws -> Result {
    let block = blocks[place.block]
    let column = block.column(id: id)
    guard let cluster = block.cluster, let column else {
      return try body(block.field(place.index, column: column))
    }
    let reader = try cluster.open(cluster.column(at: column))
    return try reader.withSpelling(place.index) { try body(.spelling($0)) }
  }

  /// The greatest column identifier that a block names; nil when none names any.
  package var highestColumnID: UInt32? {
    blocks.compactMap { $0.columnCount > 0 ? $0.columnID($0.columnCount - 1) : nil }.max()
  }

  /// True when a row has the same record, byte for byte, in another overlay over the same base. Of rows that
  /// are stored column by column only those of the same block have.
  func hasSameRecord(_ one: RecordPlace, as overlay: Overlay, _ two: RecordPlace) -> Bool {
    let (block, second) = (blocks[one.block], overlay.blocks[two.block])
    if block.isSame(as: second) { return one.index == two.index }
    guard block.cluster == nil, second.cluster == nil, block.hasWholeRows == second.hasWholeRows,
      block.columnCount == second.columnCount,
      (0..<block.columnCount).allSatisfy({ block.columnID($0) == second.columnID($0) })
    else { return false }
    return Bytes.areEqual(block.record(one.index), second.record(two.index))
  }

  /// Decodes everything that is stored column by column, as `ClusterReader.validate` does.
  ///
  /// - Throws: `ClusterError` for the first problem.
  func validateColumns() throws(ClusterError) {
    for block in blocks { try block.cluster?.validate() }
  }

  /// Validates one column only.
  func validate(id: UInt32) throws(ClusterError) {
    for block in blocks { try block.cluster?.validate(id: id) }
  }

  /// Bytes of the blocks.
  package var byteCount: Int { blocks.reduce(0) { $0 + $1.byteCount } }
}

extension BlockReader {
  /// An overlay in place, verified.
  ///
  /// - Complexity: O(bytes) the first time, then O(blocks + deleted rows).
  package func overlay(_ entry: NodeEntry, end: UInt64) throws(BlockError) -> Overlay {
    var blocks: [OverlayBlock] = []
    var references: [BlockReference] = []
    var reference = entry.reference
    repeat {
      guard blocks.count < Overlay.mostBlocks else {
        throw damaged(
          reference, "more than \(Overlay.mostBlocks) blocks of an overlay lie one over the other")
      }
      let bytes = try block(reference, end: end)
      let parts = verifiedParts(of: reference)
      do {
        let block = try OverlayBlock(bytes) { start in
          var cluster = reference
          cluster.offset &+= UInt64(start)
          return verifiedParts(of: cluster)
        }
        if !parts.contains(1) {
          try block.validate()
          parts.insert(1)
        }
        blocks.append(block)
        references.append(reference)
        reference = block.below
      } catch {
        throw damaged(reference, "\(error.what) at its byte \(error.offset)")
      }
    } while reference.isOverlay
    let overlay: Overlay
    do {
      overlay = try Overlay(blocks, references: references)
      // The newest block's checksum identifies the others too.
      let parts = verifiedParts(of: entry.reference)
      if overlay.deletedCount > 0, !parts.contains(2) {
        try overlay.validate()
        parts.insert(2)
      }
    } catch {
      throw damaged(entry.reference, "\(error.what) at its byte \(error.offset)")
    }
    guard UInt64(overlay.rowCount) == entry.count else {
      throw damaged(
        entry.reference,
        "the overlay leaves \(overlay.rowCount) rows where the tree counts \(entry.count)")
    }
    return overlay
  }

  private func damaged(_ reference: BlockReference, _ what: String) -> BlockError {
    BlockError(
      path: storage.path, offset: reference.offset, length: reference.length, what: what)
  }

  /// Bytes of a leaf's cluster and overlay.
  package func byteCount(ofLeaf entry: NodeEntry, end: UInt64) throws(BlockError) -> Int {
    guard entry.reference.isOverlay else { return Int(entry.reference.length) }
    let overlay = try overlay(entry, end: end)
    return overlay.byteCount + Int(overlay.base.reference.length)
  }
}
