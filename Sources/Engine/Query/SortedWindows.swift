/// Reads rows in any order, one window at a time: leaf by leaf, each row copied to its place.
///
/// With more rows in a window each leaf is read fewer times; with fewer rows it takes less memory.
struct SortedWindows {
  private let leaves: [Leaf]
  private let places: [RowSorter.RowPlace]
  private let reader: WindowReader
  private let limits: Limits

  private static let windowRows = 1 << 18

  /// A window is larger than it may be, and not yet read to its end.
  private struct IsTooLarge: Error {}

  /// Sizes that tests set to small values.
  struct Limits {
    /// A window with more bytes is read again with half of the rows.
    var windowBytes = 64 << 20
    /// What a window can have at most.
    var mostBytes = Int(UInt32.max)
  }

  init(
    places: (leaves: [Leaf], places: [RowSorter.RowPlace]), _ reader: WindowReader,
    _ limits: Limits = Limits()
  ) {
    leaves = places.leaves
    self.places = places.places
    self.reader = reader
    self.limits = limits
  }

  func read(withKeys: Bool, _ body: (ResultWindow) throws -> Void) throws {
    var start = 0
    // A null takes as much as any field's place.
    let rowBytes = MemoryLayout<TextSpan>.stride * max(1, reader.columnCount)
    var size = max(1, min(Self.windowRows, limits.windowBytes / rowBytes))
    while start < places.count {
      let rows = start..<min(start + size, places.count)
      do {
        var copy = try copy(rows, withKeys: withKeys)
        try copy.use(body)
      } catch is IsTooLarge {
        size = rows.count / 2
        continue
      }
      start = rows.upperBound
    }
  }

  /// The spellings of a window's rows.
  ///
  /// - Throws: `IsTooLarge` as soon as they take too much memory: rows of one leaf may repeat a long text.
  private func copy(_ rows: Range<Int>, withKeys: Bool) throws -> WindowCopy {
    var copy = WindowCopy(
      rows: rows.count, columns: reader.columnCount, keyCount: withKeys ? rows.count : 0,
      mostBytes: limits.mostBytes)
    let ordered = rows.sorted {
      (places[$0].leaf, places[$0].row) < (places[$1].leaf, places[$1].row)
    }
    var next = 0
    while next < ordered.count {
      let number = places[ordered[next]].leaf
      let leaf = leaves[Int(number)]
      var chosen = RowBits(count: leaf.rowCount, all: false)
      var end = next
      while end < ordered.count, places[ordered[end]].leaf == number {
        chosen[Int(places[ordered[end]].row)] = true
        end += 1
      }
      try reader.read(leaf, chosen, withKeys: withKeys) { window, _ in
        for row in 0..<window.count {
          try copy.take(window, row, to: ordered[next] - rows.lowerBound)
          next += 1
          if copy.byteCount > limits.windowBytes, rows.count > 1 { throw IsTooLarge() }
        }
      }
      next = end
    }
    return copy
  }
}

/// A copy of a window's spellings.
private struct WindowCopy {
  private let rowCount: Int
  private var arena: [UInt8] = []
  /// Column by column.
  private var spans: [TextSpan]
  private var keys: [Int64]
  private let columns: Int
  private let mostBytes: Int

  init(rows: Int, columns: Int, keyCount: Int, mostBytes: Int) {
    self.mostBytes = mostBytes
    rowCount = rows
    self.columns = columns
    spans = Array(repeating: .null, count: rows * columns)
    keys = Array(repeating: 0, count: keyCount)
  }

  var byteCount: Int { arena.count }

  mutating func take(_ window: ResultWindow, _ row: Int, to place: Int) throws {
    if !window.keys.isEmpty { keys[place] = window.keys[row] }
    for column in 0..<columns {
      guard let field = window.field(row, column) else { continue }
      guard arena.count + field.count < mostBytes else {
        throw EngineError.tooLarge(what: "the text of one row", limit: "4 GiB")
      }
      spans[column * rowCount + place] = TextSpan(
        offset: UInt32(truncatingIfNeeded: arena.count),
        length: UInt32(truncatingIfNeeded: field.count))
      arena.append(contentsOf: field)
    }
  }

  mutating func use(_ body: (ResultWindow) throws -> Void) throws {
    arena.append(contentsOf: repeatElement(0, count: ResultWindow.readableBytes))
    try arena.withUnsafeBytes { arena in
      try spans.withUnsafeBufferPointer { spans in
        var columns: [(base: UnsafeRawPointer, spans: UnsafePointer<TextSpan>)] = []
        for column in 0..<self.columns {
          guard let base = arena.baseAddress, let first = spans.baseAddress else { return }
          columns.append((base, first + column * rowCount))
        }
        try body(
          ResultWindow(rows: (0..<rowCount).map { Int32($0) }, keys: keys, columns: columns))
      }
    }
  }
}
