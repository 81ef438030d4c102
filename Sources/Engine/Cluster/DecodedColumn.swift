/// The spellings of many rows of one column, as spans. Used again from cluster to cluster.
///
/// Stored text is not copied: the spans then point into the cluster, whose bytes must stay valid
/// for as long as `base` is used.
///
/// Thread rule: confined.
package final class DecodedColumn {
  // Unchecked: `decode` is the only method that changes anything and calls nothing of a caller's, so
  // no access can overlap; the checks would cost more than reading a span.
  @exclusivity(unchecked) private var arena = OutputBuffer()
  @exclusivity(unchecked) private var room = Scratch<TextSpan>()
  @exclusivity(unchecked) private var entryRoom = Scratch<TextSpan>()
  @exclusivity(unchecked) private var stored: UnsafeRawPointer?
  /// Rows decoded.
  @exclusivity(unchecked) package private(set) var count = 0

  package init() {}

  /// What the spans' offsets count from. Valid until the next `decode`.
  package var base: UnsafeRawPointer { stored ?? UnsafeRawPointer(arena.start) }

  /// A span for each row decoded. Valid until the next `decode`.
  package var spans: UnsafeBufferPointer<TextSpan> {
    UnsafeBufferPointer(start: room.pointer, count: count)
  }

  /// The bytes of the row decoded as number `index`; nil for null.
  package subscript(index: Int) -> UnsafeRawBufferPointer? {
    let span = spans[index]
    if span.isNull { return nil }
    return UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length))
  }

  /// Decodes the rows of `range`, cut to those the column has.
  ///
  /// - Complexity: O(rows), and the entries of a dictionary once.
  package func decode(_ column: ColumnReader, rows range: Range<Int>) {
    let rows = range.clamped(to: 0..<column.rowCount)
    count = rows.count
    arena.removeAll()
    stored = nil
    let spans = room.reserve(rows.count)
    switch column.body {
    case .absent: spans.update(repeating: .null, count: rows.count)
    case .constant(let constant):
      stored = constant.spelling?.baseAddress
      // A spelling too long for a span cannot be inside a cluster, whose offsets are as short.
      let span = constant.spelling.map {
        TextSpan(offset: 0, length: UInt32(truncatingIfNeeded: $0.count))
      }
      spans.update(repeating: span ?? .null, count: rows.count)
    case .dictionary(let dictionary): decode(dictionary, rows, spans)
    case .packedText(let text):
      stored = text.strings.base
      text.strings.spans(rows, into: spans)
      if !text.marks.isEmpty {
        for row in rows where text.marks.isNull(row) { spans[row &- rows.lowerBound] = .null }
      }
    case .integers(let integers):
      format(integers.marks, rows, spans) { integers.write($0, to: $1) }
    case .decimals(let decimals):
      format(decimals.marks, rows, spans) { decimals.write($0, to: $1) }
    case .doubles(let doubles): format(doubles.marks, rows, spans) { doubles.write($0, to: $1) }
    case .dates(let dates): format(dates.marks, rows, spans) { dates.write($0, to: $1) }
    case .dateTimes(let moments):
      format(moments.marks, rows, spans) { moments.write($0, to: $1) }
    }
  }

  private func decode(
    _ dictionary: DictionaryEncoding, _ rows: Range<Int>,
    _ spans: UnsafeMutablePointer<TextSpan>
  ) {
    let count = dictionary.entries.count
    let entries = entryRoom.reserve(count + 1)
    dictionary.entries.spans(0..<count, into: entries)
    entries[count] = .null
    stored = dictionary.entries.base
    let first = rows.lowerBound
    for row in rows { spans[row &- first] = entries[dictionary.index(row)] }
  }

  /// Writes every row's number, then puts nulls and exceptions in their places.
  @inline(__always)
  private func format(
    _ marks: RowMarks, _ rows: Range<Int>, _ spans: UnsafeMutablePointer<TextSpan>,
    _ write: (Int, UnsafeMutableRawPointer) -> Int
  ) {
    let first = rows.lowerBound
    // No number or date is longer than this, so offsets stay below 2^26.
    let longest = 40
    let base = arena.reserve(rows.count &* longest)
    var offset = 0
    for row in rows {
      let length = write(row, base + offset)
      spans[row &- first] = TextSpan(
        offset: UInt32(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: length))
      offset &+= length
    }
    arena.advance(offset)
    if marks.isEmpty { return }
    for row in rows where marks.isNull(row) { spans[row &- first] = .null }
    marks.forEachException { row, spelling in
      guard rows.contains(row), !marks.isNull(row), let source = spelling.baseAddress else {
        return
      }
      spans[row &- first] = TextSpan(
        offset: UInt32(truncatingIfNeeded: arena.count),
        length: UInt32(truncatingIfNeeded: spelling.count))
      arena.append(source, count: spelling.count)
    }
  }
}
