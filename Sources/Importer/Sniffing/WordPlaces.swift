/// Where the words of lines stand, in tables whose columns are aligned with blanks.
///
/// Such a table may have blanks inside its fields, and empty fields; read by runs of blanks, its lines fall
/// into other fields than they have. The places of the words tell.
///
/// Thread rule: a plain value.
struct WordPlaces {
  /// The places of each line's words, in characters; a tab ends at a multiple of eight.
  let lines: [[Range<Int>]]

  /// - Complexity: O(bytes).
  init(_ lines: [some Sequence<UInt8>]) {
    self.lines = lines.map { line in
      var words: [Range<Int>] = []
      var place = 0
      var start: Int?
      for byte in line {
        if byte == 0x20 || byte == 0x09 {
          if let begun = start { words.append(begun..<place) }
          start = nil
          place = byte == 0x09 ? (place | 7) + 1 : place + 1
        } else if byte & 0xC0 != 0x80 {
          start = start ?? place
          place += 1
        }
      }
      if let begun = start { words.append(begun..<place) }
      return words
    }
  }

  /// The parts of lines between places that are blank in all of them. Where fewer than half of the lines go
  /// on, blanks say nothing.
  ///
  /// - Parameters:
  ///   - rows: which lines.
  ///   - gap: how many such places next to each other separate two parts.
  func parts(_ rows: Range<Int>, gap: Int = 1) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    for word in lines[rows].joined().sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = parts.last, word.lowerBound < last.upperBound + gap {
        parts[parts.count - 1] = last.lowerBound..<max(last.upperBound, word.upperBound)
      } else {
        parts.append(word)
      }
    }
    while parts.count > 1, let last = parts.last,
      lines[rows].count(where: { $0.last.map { $0.upperBound > last.lowerBound } ?? false }) * 2
        < rows.count
    {
      parts.removeLast()
      parts[parts.count - 1] = parts[parts.count - 1].lowerBound..<last.upperBound
    }
    return parts
  }

  /// Whether some lines have more words than others between the same blank places: where one has an empty
  /// field, or a blank in a field.
  func areUneven(_ rows: Range<Int>) -> Bool {
    guard let first = rows.first else { return false }
    func counts(_ row: Int, _ parts: [Range<Int>]) -> [Int] {
      parts.map { part in lines[row].count { part.contains($0.lowerBound) } }
    }
    let parts = parts(rows)
    let expected = counts(first, parts)
    return rows.contains { counts($0, parts) != expected }
  }

  /// Whether a text and the word behind it have a single blank between them in all lines, while other words
  /// are always farther apart: the two may be one field, such as a name.
  ///
  /// - Parameter isTyped: whether a column has only figures, dates and the like.
  func haveTexts(withBlanks isTyped: [Bool]) -> Bool {
    guard let first = lines.first, first.count > 2,
      lines.allSatisfy({ $0.count == first.count && $0.count == isTyped.count })
    else { return false }
    var hasWide = false
    var hasText = false
    for column in 1..<first.count {
      let gaps = lines.map { $0[column].lowerBound - $0[column - 1].upperBound }
      if gaps.allSatisfy({ $0 > 1 }) { hasWide = true }
      if gaps.allSatisfy({ $0 == 1 }), !isTyped[column - 1] { hasText = true }
    }
    return hasWide && hasText
  }
}
