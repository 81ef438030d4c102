/// The spellings of many rows of one column, as spans. Reused from cluster to cluster.
///
/// Uncompressed text is not copied: the spans then point into the cluster, whose bytes must stay valid while
/// `base` is used.
///
/// Thread rule: confined.
package final class DecodedColumn {
  // Allocates nothing before it is needed: a reader of a wide table has one of these for each column.
  //
  // Unchecked: methods that change anything call no code of a caller that could access this again, so
  // accesses cannot overlap; the checks would cost more than reading a span.
  @exclusivity(unchecked) private var arena = OutputBuffer(capacity: 0)
  @exclusivity(unchecked) private var room = Scratch<TextSpan>(capacity: 0)
  @exclusivity(unchecked) private var entryRoom = Scratch<TextSpan>(capacity: 0)
  @exclusivity(unchecked) private var indexRoom = Scratch<UInt32>(capacity: 0)
  @exclusivity(unchecked) private var numberRoom = Scratch<Int64>(capacity: 0)
  @exclusivity(unchecked) private var decoder = SymbolDecoder()
  @exclusivity(unchecked) private var digitDecoder = DigitDecoder()
  @exclusivity(unchecked) private var codes = CodeTable()
  /// Text of the cluster that the spans point into; nil when they point into the arena.
  @exclusivity(unchecked) private var stored: UnsafeRawBufferPointer?
  /// Whether other parts of the column will follow.
  @exclusivity(unchecked) private var hasNext = false
  /// What is decoded of the entries of a dictionary.
  @exclusivity(unchecked) private var entries = Entries.none
  /// An upper bound of the bytes of all decoded rows together.
  @exclusivity(unchecked) private var length = 0
  /// The number of bytes of a dictionary's text that `allText` has tested, and the result.
  @exclusivity(unchecked) private var tested = 0
  @exclusivity(unchecked) private var passed = true
  /// How many rows are decoded.
  @exclusivity(unchecked) package private(set) var count = 0

  package init() {}

  /// The address that the spans' offsets are relative to. Valid until the next `decode`.
  package var base: UnsafeRawPointer { stored?.baseAddress ?? UnsafeRawPointer(arena.start) }

  /// The bytes that the spans point into, from `base` on. Valid until the next `decode`.
  var memory: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base, count: stored?.count ?? arena.count)
  }

  /// An upper bound of the bytes of all decoded rows together.
  var mostBytes: Int { length }

  /// Returns whether a test is true of all text that the spans point into, perhaps with other text. The text
  /// of a dictionary is not tested again when its next rows are decoded.
  ///
  /// - Parameter test: the same one in each call for a column.
  /// - Complexity: O(text), once for each dictionary.
  func allText(_ test: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    let text = text
    if entries == .none { return test(text) }
    if passed { passed = test(UnsafeRawBufferPointer(rebasing: text[min(tested, text.count)...])) }
    tested = text.count
    return passed
  }

  /// Bytes that contain all spellings.
  private var text: UnsafeRawBufferPointer {
    guard let stored else { return arena.bytes }
    if entries != .none { return stored }
    // Strings of rows are in the order of the rows.
    guard let first = spans.first(where: { !$0.isNull }),
      let last = spans.last(where: { !$0.isNull })
    else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    let end = min(last.end, stored.count)
    return UnsafeRawBufferPointer(rebasing: stored[min(Int(first.offset), end)..<end])
  }

  /// A span for each decoded row. Valid until the next `decode`.
  package var spans: UnsafeBufferPointer<TextSpan> {
    UnsafeBufferPointer(start: room.pointer, count: count)
  }

  /// The bytes of the decoded row number `index`; nil for null.
  package subscript(index: Int) -> UnsafeRawBufferPointer? {
    let span = spans[index]
    if span.isNull { return nil }
    return UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length))
  }

  /// How the rows that are decoded relate to others of their column.
  package enum Part {
    /// No other rows will be decoded, or in no relation to these.
    case only
    /// Other parts follow. If rows are changed, the text of a dictionary is copied as a whole.
    case first
    /// The last call was for the first or another part of the same column. Entries of a dictionary are not
    /// decoded again, whatever rows were changed since.
    case next
  }

  /// Decodes the rows of `range` that the column has.
  ///
  /// - Complexity: O(rows + entries of a dictionary); for the next part O(rows).
  package func decode(_ column: ColumnReader, rows range: Range<Int>, part: Part = .only) {
    let rows = range.clamped(to: 0..<column.rowCount)
    count = rows.count
    codes.isKept = part == .next
    hasNext = part != .only
    let spans = room.reserve(rows.count)
    if part == .next, entries != .none, case .dictionary(let dictionary) = column.body {
      return decode(dictionary, rows, spans)
    }
    arena.removeAll()
    stored = nil
    forgetEntries()
    length = 0
    switch column.body {
    case .absent: spans.update(repeating: .null, count: rows.count)
    case .constant(let constant):
      stored = constant.spelling
      // The length fits: the offsets of a cluster have 32 bits, too.
      let span = constant.spelling.map {
        TextSpan(offset: 0, length: UInt32(truncatingIfNeeded: $0.count))
      }
      spans.update(repeating: span ?? .null, count: rows.count)
      length = rows.count &* (constant.spelling?.count ?? 0)
    case .dictionary(let dictionary): decode(dictionary, rows, spans)
    case .packedText(let text):
      decode(text.strings, rows, spans)
      if !text.marks.isEmpty {
        for row in rows where text.marks.isNull(row) { spans[row &- rows.lowerBound] = .null }
        appendExceptions(text.marks, rows, spans)
      }
    case .integers(let integers):
      format(integers.marks, integers.numbers, rows, spans) { number, _, target in
        NumberSpelling.write(number, to: target)
      }
    case .decimals(let decimals):
      format(decimals.marks, decimals.mantissas, rows, spans) { mantissa, row, target in
        decimals.write(mantissa, row, to: target)
      }
    case .doubles(let doubles):
      format(doubles.marks, rows, spans) { row, target in doubles.write(row, to: target) }
    case .dates(let dates):
      format(dates.marks, dates.days, rows, spans) { days, _, target in
        dates.style.write(CalendarDate(clamping: days), to: target)
      }
    case .dateTimes(let moments):
      format(moments.marks, moments.moments, rows, spans) { number, _, target in
        moments.write(number, to: target)
      }
    }
  }

  /// Decodes the entries of a dictionary instead of rows.
  ///
  /// - Complexity: O(entries).
  func decode(entriesOf dictionary: DictionaryEncoding) {
    count = dictionary.entries.count
    arena.removeAll()
    stored = nil
    forgetEntries()
    length = 0
    let spans = room.reserve(count)
    decode(dictionary.entries, 0..<count, spans)
  }

  // MARK: Changing what was decoded

  /// Gives a decoded row another spelling, or nil for null, until the next `decode`.
  ///
  /// - Parameter spelling: not from this object, whose memory may move.
  /// - Complexity: O(length); when the spans point to text in the cluster, the first call copies all of it.
  package func replace(_ index: Int, with spelling: UnsafeRawBufferPointer?) {
    guard index >= 0, index < count else { return }
    guard let spelling else {
      room.pointer[index] = .null
      return
    }
    if stored != nil { copyStored() }
    let offset = arena.count
    // The offsets cannot reach this far: no transaction puts that much into a cluster.
    guard offset &+ spelling.count < Int(UInt32.max) else {
      room.pointer[index] = TextSpan(offset: 0, length: 0)
      return
    }
    if let source = spelling.baseAddress { arena.append(source, count: spelling.count) }
    room.pointer[index] = TextSpan(
      offset: UInt32(truncatingIfNeeded: offset),
      length: UInt32(truncatingIfNeeded: spelling.count))
    length &+= spelling.count
  }

  /// Copies the cluster's text that the spans use into the arena, once, however many rows share it.
  private func copyStored() {
    guard let stored, let source = stored.baseAddress else { return }
    self.stored = nil
    // The entries of a dictionary are the text from its beginning on.
    if entries != .none, hasNext { return arena.append(source, count: stored.count) }
    forgetEntries()
    var low = Int.max
    var high = 0
    for span in spans where !span.isNull {
      low = min(low, Int(span.offset))
      high = max(high, Int(span.offset) &+ Int(span.length))
    }
    guard low <= high else { return }
    arena.append(source + low, count: high &- low)
    for row in 0..<count where !room.pointer[row].isNull {
      room.pointer[row].offset &-= UInt32(truncatingIfNeeded: low)
    }
  }

  /// Removes decoded rows.
  ///
  /// - Parameter row: called with 0 to `removed` - 1; returns the rows, ascending.
  package func remove(_ removed: Int, _ row: (Int) -> Int) {
    if removed == 0 { return }
    let spans = room.pointer
    var kept = 0
    var next = 0
    for index in 0..<count {
      if next < removed, row(next) == index {
        next += 1
        continue
      }
      spans[kept] = spans[index]
      kept += 1
    }
    count = kept
  }

  // MARK: Encodings

  private func decode(
    _ dictionary: DictionaryEncoding, _ rows: Range<Int>,
    _ spans: UnsafeMutablePointer<TextSpan>
  ) {
    let strings = dictionary.entries
    let count = strings.count
    let entries = entryRoom.reserve(count + 1)
    let indices = indexRoom.reserve(rows.count)
    dictionary.decode(rows, table: &codes, into: indices)
    if self.entries == .none {
      if strings.areCompressed, rows.count < count {
        load(strings)
        entries.update(repeating: Self.pending, count: count)
        self.entries = .some(remaining: strings.packed.total)
      } else {
        decode(strings, 0..<count, entries)
        self.entries = .all
      }
      entries[count] = .null
    }
    length = 0
    guard case .some(var remaining) = self.entries else {
      for row in 0..<rows.count {
        let span = entries[Int(indices[row])]
        spans[row] = span
        length &+= Int(span.length)
      }
      return
    }
    for row in 0..<rows.count {
      let index = Int(indices[row])
      if entries[index] == Self.pending {
        entries[index] = decompress(strings, strings.packed.span(index), &remaining)
      }
      spans[row] = entries[index]
      length &+= Int(entries[index].length)
    }
    self.entries = .some(remaining: remaining)
  }

  /// A span that no spelling has: it would end beyond the longest arena.
  private static let pending = TextSpan(offset: .max, length: .max)

  private func forgetEntries() {
    entries = .none
    (tested, passed) = (0, true)
  }

  private enum Entries: Equatable {
    /// None, as the column has no dictionary, or nothing was decoded.
    case none
    /// With few rows and many entries, an entry is decompressed when a row first needs it.
    ///
    /// - Parameter remaining: the number of codes that may still be read.
    case some(remaining: Int)
    case all
  }

  /// Makes the spans of strings, which lie in the cluster or are decompressed into the arena.
  private func decode(
    _ strings: StoredStrings, _ range: Range<Int>, _ spans: UnsafeMutablePointer<TextSpan>
  ) {
    strings.packed.spans(range, into: spans)
    guard strings.areCompressed else {
      stored = UnsafeRawBufferPointer(start: strings.packed.base, count: strings.packed.total)
      if let first = range.first, let last = range.last {
        length = spans[last &- first].end &- Int(spans[0].offset)
      }
      return
    }
    load(strings)
    var remaining = strings.packed.total
    for index in 0..<range.count {
      spans[index] = decompress(strings, spans[index], &remaining)
    }
    length = arena.count
  }

  private func load(_ strings: StoredStrings) {
    if let symbols = strings.symbols { decoder.load(symbols) }
    if let digits = strings.digits { digitDecoder.load(digits) }
  }

  /// Decompresses a string, whose table is loaded, to the end of the arena.
  ///
  /// - Parameter remaining: how many codes may still be read: as many as are stored. More would be read only
  ///   when strings overlap, in damaged clusters.
  @inline(__always)
  private func decompress(
    _ strings: StoredStrings, _ span: TextSpan, _ remaining: inout Int
  ) -> TextSpan {
    if let digits = strings.digits {
      return unfold(span, strings.packed.base, digits, &remaining)
    }
    guard let symbols = strings.symbols else { return TextSpan(offset: 0, length: 0) }
    let codes = UnsafeRawBufferPointer(
      start: strings.packed.base + Int(span.offset), count: Int(span.length))
    return decompress(codes, symbols, &remaining)
  }

  @inline(__always)
  private func decompress(
    _ codes: UnsafeRawBufferPointer, _ symbols: SymbolTable, _ remaining: inout Int
  ) -> TextSpan {
    remaining &-= codes.count
    let offset = arena.count
    // Offsets have 32 bits, enough for everything that was ever encoded.
    let limit = Int(UInt32.max) &- offset
    guard remaining >= 0 else { return TextSpan(offset: 0, length: 0) }
    var most = decoder.room(codes, of: symbols)
    if most >= limit, symbols.hasRoughRoom(codes) { most = symbols.decodedCount(codes) }
    guard most < limit else { return TextSpan(offset: 0, length: 0) }
    let length = decoder.decode(codes, to: arena.reserve(most &+ 16))
    arena.advance(length)
    return TextSpan(
      offset: UInt32(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: length))
  }

  @inline(__always)
  private func unfold(
    _ codes: TextSpan, _ base: UnsafeRawPointer, _ table: DigitTable, _ remaining: inout Int
  ) -> TextSpan {
    remaining &-= Int(codes.length)
    let offset = arena.count
    let most = Int(codes.length) &+ table.literalCount
    guard remaining >= 0, most < Int(UInt32.max) &- offset else {
      return TextSpan(offset: 0, length: 0)
    }
    let length = digitDecoder.decode(table, base, codes, to: arena.reserve(most &+ 16))
    arena.advance(length)
    return TextSpan(
      offset: UInt32(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: length))
  }

  /// Writes every row's stored number, then sets nulls and exceptions.
  @inline(__always)
  private func format(
    _ marks: RowMarks, _ numbers: PackedNumbers, _ rows: Range<Int>,
    _ spans: UnsafeMutablePointer<TextSpan>,
    _ write: (Int64, Int, UnsafeMutableRawPointer) -> Int
  ) {
    let room = numberRoom.reserve(rows.count)
    numbers.decode(rows, table: &codes, into: room)
    let first = rows.lowerBound
    format(marks, rows, spans) { row, target in write(room[row &- first], row, target) }
  }

  /// Writes every row's spelling, then sets nulls and exceptions.
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
    self.length = offset
    if marks.isEmpty { return }
    for row in rows where marks.isNull(row) { spans[row &- first] = .null }
    appendExceptions(marks, rows, spans)
  }

  /// Sets exceptions; their spellings go to the end of the arena.
  private func appendExceptions(
    _ marks: RowMarks, _ rows: Range<Int>, _ spans: UnsafeMutablePointer<TextSpan>
  ) {
    let first = rows.lowerBound
    marks.forEachException { row, spelling in
      guard rows.contains(row), !marks.isNull(row), let source = spelling.baseAddress else {
        return
      }
      spans[row &- first] = TextSpan(
        offset: UInt32(truncatingIfNeeded: arena.count),
        length: UInt32(truncatingIfNeeded: spelling.count))
      arena.append(source, count: spelling.count)
      length &+= spelling.count
    }
  }
}
