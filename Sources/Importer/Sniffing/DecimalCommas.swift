/// Numbers with decimal commas between blanks (`1,5   2,5`). Commas divide such lines evenly too, but inside
/// the numbers.
enum DecimalCommas {
  /// More lines than this tell nothing new.
  private static let sampleLines = 200

  /// Whether all lines consist of the same number of such numbers, at least two, and in each of these columns
  /// half of them have a comma. A header above them must have none.
  ///
  /// - Parameter isWhole: whether the sample is all of the input; otherwise its last line may be cut off.
  /// - Complexity: O(1) for most tables, since a byte that these have not ends it.
  static func areBetweenBlanks(_ sample: [UInt8], _ isWhole: Bool) -> Bool {
    guard let found = tally(sample, isWhole, { $0.split { $0 == 0x20 || $0 == 0x09 } }) else {
      return false
    }
    return found.commas.allSatisfy { $0 * 2 >= found.lines }
  }

  /// Whether all lines consist of the same number of numbers, at least two, with a comma and a blank between
  /// them, and some column has a decimal comma in each. A line of as many names above has no other commas.
  ///
  /// - Complexity: O(1) for most tables, since they have no comma with a blank, or another byte, in the first
  ///   line or two.
  static func areBehindBlanks(_ sample: [UInt8], _ isWhole: Bool) -> Bool {
    // Splitting the long lines of most tables would take longer than this.
    let head = sample.prefix(1 << 10)
    guard zip(head, head.dropFirst()).contains(where: { $0 == 0x2C && $1 == 0x20 }),
      let found = tally(sample, isWhole, { $0.split(separator: [0x2C, 0x20]) }),
      found.names ?? found.commas.count == found.commas.count
    else { return false }
    return found.commas.contains(found.lines)
  }

  private struct Tally {
    /// The number of names in a first line; nil without one.
    var names: Int?
    /// The number of commas in each column.
    var commas: [Int] = []
    var lines = 0
  }

  /// Counts the commas in lines of numbers; nil if there are fewer than three lines or two columns, if the
  /// lines have different numbers of words, or if one, except a first line without commas in its words, has
  /// another word.
  private static func tally(
    _ sample: [UInt8], _ isWhole: Bool, _ split: (ArraySlice<UInt8>) -> [ArraySlice<UInt8>]
  ) -> Tally? {
    var found = Tally()
    var rest = sample[...]
    while found.lines < sampleLines, !rest.isEmpty {
      let end = rest.firstIndex { $0 == 0x0A || $0 == 0x0D }
      let line = rest[..<(end ?? rest.endIndex)]
      if end == nil, !isWhole { break }
      let isFirst = rest.startIndex == sample.startIndex
      rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
      let words = split(line)
      if words.isEmpty { continue }
      guard words.allSatisfy(isNumber) else {
        guard isFirst, !words.contains(where: { $0.contains(0x2C) }) else { return nil }
        found.names = words.count
        continue
      }
      if found.commas.isEmpty { found.commas = words.map { _ in 0 } }
      guard words.count == found.commas.count else { return nil }
      for (column, word) in words.enumerated() where word.contains(0x2C) {
        found.commas[column] += 1
      }
      found.lines += 1
    }
    return found.lines > 2 && found.commas.count > 1 ? found : nil
  }

  /// Whether a word is a number without a point, and at most one comma between digits.
  private static func isNumber(_ word: ArraySlice<UInt8>) -> Bool {
    let digits = word.first.map { $0 == 0x2B || $0 == 0x2D } == true ? word.dropFirst() : word
    let parts = digits.prefix { $0 != 0x45 && $0 != 0x65 }
      .split(separator: 0x2C, omittingEmptySubsequences: false)
    return parts.count < 3
      && parts.allSatisfy { part in !part.isEmpty && part.allSatisfy { $0 &- 0x30 < 10 } }
  }
}
