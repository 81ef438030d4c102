/// A column of an overlay's changed rows.
///
/// Thread rule: confined, like the overlay.
struct OverlayColumn {
  /// What a block has of the column.
  enum Source {
    /// A field of each record: the column's index; nil: the block does not name the column.
    case records(Int?)
    /// The values of all of the block's changed rows.
    case values(ColumnReader)
  }

  /// Where values are decoded, one for each block.
  private final class Room {
    let decoded: [DecodedColumn]
    /// The first decoded row.
    var first: [Int]

    init(_ count: Int) {
      decoded = (0..<count).map { _ in DecodedColumn() }
      first = Array(repeating: 0, count: count)
    }
  }

  let overlay: Overlay
  /// One for each block.
  let sources: [Source]
  private let room: Room?

  /// Nil when every remaining row has the base's value in the column with that identifier.
  ///
  /// - Throws: `ClusterError`.
  init?(_ overlay: Overlay, id: UInt32) throws(ClusterError) {
    self.overlay = overlay
    var sources: [Source] = []
    var isNamed = overlay.deletedCount > 0
    var hasValues = false
    for block in overlay.blocks {
      let place = block.column(id: id)
      isNamed = isNamed || place != nil || block.hasWholeRows
      if let place, let cluster = block.cluster {
        sources.append(.values(try cluster.open(cluster.column(at: place))))
        hasValues = true
      } else {
        sources.append(.records(place))
      }
    }
    if !isNamed { return nil }
    self.sources = sources
    room = hasValues ? Room(sources.count) : nil
  }

  /// Calls `body` with a changed row's field in the column; its bytes are valid during the call.
  @inline(__always)
  func withField<Result, Failure: Error>(
    _ place: Overlay.RecordPlace,
    _ body: (OverlayBlock.Field) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch sources[place.block] {
    case .records(let column):
      return try body(overlay.blocks[place.block].field(place.index, column: column))
    case .values(let reader):
      return try reader.withSpelling(place.index) { (spelling) throws(Failure) -> Result in
        try body(.spelling(spelling))
      }
    }
  }

  /// Calls `body` with the rows of a range that were changed in the column, ascending, and their spellings;
  /// nil is null. Rows are numbered as in the base. The bytes are valid during the call.
  ///
  /// - Complexity: O(changed rows in the range), plus the entries of a dictionary in each block.
  @inline(__always)
  func forEachChange<Failure: Error>(
    _ rows: Range<Int>, _ body: (Int, UnsafeRawBufferPointer?) throws(Failure) -> Void
  ) throws(Failure) {
    let changes =
      overlay.changedCount(before: rows.lowerBound)..<overlay.changedCount(before: rows.upperBound)
    if changes.isEmpty { return }
    decode(rows)
    for index in changes {
      let place = overlay.place(index)
      switch sources[place.block] {
      case .records(let column):
        let field = overlay.blocks[place.block].field(place.index, column: column)
        if case .spelling(let spelling) = field { try body(overlay.changedRow(index), spelling) }
      case .values:
        guard let room else { continue }
        let decoded = room.decoded[place.block]
        let number = place.index &- room.first[place.block]
        // Only damaged blocks have changed rows out of order.
        guard number >= 0, number < decoded.count else { continue }
        try body(overlay.changedRow(index), decoded[number])
      }
    }
  }

  /// Decodes the values of rows of the base, block by block.
  private func decode(_ rows: Range<Int>) {
    guard let room else { return }
    for (number, source) in sources.enumerated() {
      guard case .values(let reader) = source else { continue }
      let block = overlay.blocks[number]
      let first = block.changedCount(before: rows.lowerBound)
      room.first[number] = first
      let end = max(first, block.changedCount(before: rows.upperBound))
      room.decoded[number].decode(reader, rows: first..<end)
    }
  }

  /// Counts the nulls among the changed rows, and adds the values of records to bounds.
  ///
  /// - Parameters:
  ///   - base: the column as it was; its nulls in changed rows no longer count.
  ///   - isKnown: becomes false when a value is not of the collector's kind.
  func collect(
    _ base: ColumnReader, _ nulls: inout Int, _ collector: inout StatisticsCollector,
    _ isKnown: inout Bool
  ) {
    let hadNulls = base.nullCount > 0
    for index in 0..<overlay.changedCount {
      let place = overlay.place(index)
      let isNull: Bool
      switch sources[place.block] {
      case .records(let column):
        let field = overlay.blocks[place.block].field(place.index, column: column)
        guard case .spelling(let spelling) = field else { continue }
        if let spelling, isKnown { isKnown = collector.add(SpellingView(spelling)) }
        isNull = spelling == nil
      case .values(let values): isNull = values.nullCount > 0 && values.isNull(place.index)
      }
      if hadNulls, base.isNull(overlay.changedRow(index)) { nulls -= 1 }
      if isNull { nulls += 1 }
    }
  }
}
