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
    /// Where numbers are decoded; nil before, and where a value is not of the type.
    var windows: [ColumnWindow?]
    var isSpelled: [Bool]

    init(_ count: Int) {
      decoded = (0..<count).map { _ in DecodedColumn() }
      first = Array(repeating: 0, count: count)
      windows = Array(repeating: nil, count: count)
      isSpelled = Array(repeating: false, count: count)
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
    let changes = changes(rows)
    if changes.isEmpty { return }
    if let room {
      forEachBlock(rows) { number, values, rows in
        room.decoded[number].decode(values, rows: rows)
      }
    }
    for index in changes {
      if let spelling = spelling(overlay.place(index)) {
        try body(overlay.changedRow(index), spelling)
      }
    }
  }

  /// Replaces the numbers of the rows of a range that were changed in the column. Values that are stored
  /// column by column are decoded as those of a cluster.
  ///
  /// - Parameters:
  ///   - rows: as numbered in the base.
  ///   - window: has the base's numbers of these rows.
  /// - Throws: `ClusterError.misfit`.
  /// - Complexity: as `forEachChange`.
  func replaceNumbers(_ rows: Range<Int>, in window: ColumnWindow) throws(ClusterError) {
    let changes = changes(rows)
    if changes.isEmpty { return }
    if let room {
      forEachBlock(rows) { number, values, rows in
        if room.isSpelled[number] || !decodeNumbers(number, values, rows, as: window.reading) {
          room.decoded[number].decode(values, rows: rows)
        }
      }
    }
    for index in changes {
      let place = overlay.place(index)
      let row = overlay.changedRow(index) &- rows.lowerBound
      // Only damaged blocks have changed rows out of order.
      guard row >= 0, row < rows.count else { continue }
      if let room, case .values = sources[place.block], let numbers = room.windows[place.block] {
        let number = place.index &- room.first[place.block]
        guard number >= 0, number < numbers.count else { continue }
        window.replaceNumber(row, with: numbers.number(number))
      } else if let spelling = spelling(place) {
        try window.replaceNumber(row, spelled: spelling)
      }
    }
  }

  /// Decodes values of a block as numbers; false when one is not of the type: a newer block may have changed
  /// that one.
  private func decodeNumbers(
    _ number: Int, _ values: ColumnReader, _ rows: Range<Int>, as reading: Reading
  ) -> Bool {
    guard let room else { return false }
    do throws(ClusterError) {
      let window: ColumnWindow
      if let known = room.windows[number], known.reading == reading {
        window = known
      } else {
        window = ColumnWindow(reading, makesValues: false)
        try window.open(values)
        room.windows[number] = window
      }
      try window.decode(values, rows: rows)
      return true
    } catch {
      room.windows[number] = nil
      room.isSpelled[number] = true
      return false
    }
  }

  /// The changed rows among rows of the base.
  private func changes(_ rows: Range<Int>) -> Range<Int> {
    let first = overlay.changedCount(before: rows.lowerBound)
    return first..<max(first, overlay.changedCount(before: rows.upperBound))
  }

  /// A changed row's spelling, of those that were decoded last; nil where the column is unchanged.
  @inline(__always)
  private func spelling(_ place: Overlay.RecordPlace) -> UnsafeRawBufferPointer?? {
    switch sources[place.block] {
    case .records(let column):
      let field = overlay.blocks[place.block].field(place.index, column: column)
      guard case .spelling(let spelling) = field else { return nil }
      return .some(spelling)
    case .values:
      guard let room else { return nil }
      let decoded = room.decoded[place.block]
      let number = place.index &- room.first[place.block]
      // Only damaged blocks have changed rows out of order.
      guard number >= 0, number < decoded.count else { return nil }
      return .some(decoded[number])
    }
  }

  /// Calls `body` with each block that has values of the column: its number, the values, and which of them
  /// are those of rows of the base.
  private func forEachBlock(_ rows: Range<Int>, _ body: (Int, ColumnReader, Range<Int>) -> Void) {
    guard let room else { return }
    for (number, source) in sources.enumerated() {
      guard case .values(let values) = source else { continue }
      let block = overlay.blocks[number]
      let first = block.changedCount(before: rows.lowerBound)
      room.first[number] = first
      body(number, values, first..<max(first, block.changedCount(before: rows.upperBound)))
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
