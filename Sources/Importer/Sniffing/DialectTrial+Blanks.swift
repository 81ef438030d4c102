/// What speaks against runs of blanks as the delimiter, although they divide all records into one number of
/// fields: texts have blanks inside, and empty fields leave no trace.
extension DialectTrial {
  /// Whether the table seems to have other fields.
  ///
  /// - Parameter table: the records behind the narrower ones at the front.
  func seemsToCut(_ parsed: ParsedChunk, table: Range<Int>) -> Bool {
    let lines = (0..<table.upperBound).map { parsed.originalBytes(ofRecord: $0) }
    let places = WordPlaces(lines)
    // Names may not stand exactly above their columns.
    let below = table.count > 2 ? table.dropFirst() : table
    if places.areUneven(below) { return true }
    if hasSigns(lines[table]) { return true }
    if WordPlaces(Array(lines[table])).haveTexts(withBlanks: areTyped) { return true }
    guard table.lowerBound > 0 else { return false }
    let first = parsed.record(table.lowerBound)
    let isApart = first.line > parsed.record(table.lowerBound - 1).line + 1
    return !isApart && !mayBeNamed(by: table.lowerBound - 1, places, table)
      && !HeaderSniffer.judge(lines[table].map(Self.words)).isCertain
  }

  /// How many records are titles above a table of nothing but figures.
  static func titles(_ parsed: ParsedChunk, _ count: Int) -> Int {
    Preamble.titles((0..<count).map { words(parsed.originalBytes(ofRecord: $0)) })
  }

  /// Whether the words of the first line, none of which is a figure, do not stand above the columns of
  /// figures below. Names may not either, so this is only a possibility.
  func seemsToHaveTitle(_ parsed: ParsedChunk, _ count: Int) -> Bool {
    guard count > 3, typedColumns == width, parsed.line(ofRecord: 0) == 1 else { return false }
    let lines = (0..<count).map { parsed.originalBytes(ofRecord: $0) }
    if Self.words(lines[0]).contains(where: { CellShape($0).isTyped }) { return false }
    let places = WordPlaces(lines)
    let columns = places.parts(1..<count)
    guard columns.count == width, places.lines[0].count == width else { return false }
    return zip(places.lines[0], columns).contains { !$0.overlaps($1) }
  }

  private static func words(_ line: [UInt8]) -> [String?] {
    line.split { $0 == 0x20 || $0 == 0x09 }.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether a column has the same sign in all lines, such as `=`: it is what separates the others.
  private func hasSigns(_ lines: ArraySlice<[UInt8]>) -> Bool {
    guard let first = lines.first else { return false }
    var signs = Self.words(first).map { word in
      CellShape(word) != .missing && (word ?? "").utf8.allSatisfy(Self.isSign)
    }
    let expected = Self.words(first)
    for line in lines where signs.contains(true) {
      for (column, word) in Self.words(line).enumerated() where column < signs.count {
        if word != expected[column] { signs[column] = false }
      }
    }
    return signs.contains(true)
  }

  private static func isSign(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// Whether a line directly above the table can be explained otherwise than by names above fields that have
  /// blanks: it is a title of one word, or of more than there are columns, above nothing but figures, or has
  /// no name above the first column.
  private func mayBeNamed(by head: Int, _ places: WordPlaces, _ table: Range<Int>) -> Bool {
    let names = places.lines[head]
    if names.count == 1 || names.count >= width { return typedColumns == width }
    let firstEnd = places.lines[table].compactMap { $0.first?.upperBound }.max() ?? 0
    return names.count == width - 1 && names[0].lowerBound >= firstEnd
  }
}
