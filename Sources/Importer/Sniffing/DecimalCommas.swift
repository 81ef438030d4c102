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
    var commas: [Int] = []
    var lines = 0
    var rest = sample[...]
    while lines < sampleLines, !rest.isEmpty {
      let end = rest.firstIndex { $0 == 0x0A || $0 == 0x0D }
      let line = rest[..<(end ?? rest.endIndex)]
      if end == nil, !isWhole { break }
      let isFirst = rest.startIndex == sample.startIndex
      rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
      let words = line.split { $0 == 0x20 || $0 == 0x09 }
      if words.isEmpty { continue }
      guard words.allSatisfy(isNumber) else {
        if isFirst, !line.contains(0x2C) { continue }
        return false
      }
      if commas.isEmpty { commas = words.map { _ in 0 } }
      guard words.count == commas.count else { return false }
      for (column, word) in words.enumerated() where word.contains(0x2C) { commas[column] += 1 }
      lines += 1
    }
    return lines > 2 && commas.count > 1 && commas.allSatisfy { $0 * 2 >= lines }
  }

  /// Whether all lines consist of the same number of numbers, at least two, with a comma and a blank between
  /// them, and some column has a decimal comma in each. A line of names above has no other commas.
  ///
  /// - Complexity: O(1) for most tables, since they have no comma with a blank, or another byte, in the first
  ///   line or two.
  static func areBehindBlanks(_ sample: [UInt8], _ isWhole: Bool) -> Bool {
    // Splitting the long lines of most tables would take longer than this.
    let head = sample.prefix(1 << 10)
    guard zip(head, head.dropFirst()).contains(where: { $0 == 0x2C && $1 == 0x20 }) else {
      return false
    }
    var commas: [Int] = []
    var lines = 0
    var rest = sample[...]
    while lines < sampleLines, !rest.isEmpty {
      let end = rest.firstIndex { $0 == 0x0A || $0 == 0x0D }
      let line = rest[..<(end ?? rest.endIndex)]
      if end == nil, !isWhole { break }
      let isFirst = rest.startIndex == sample.startIndex
      rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
      if line.isEmpty { continue }
      let words = line.split(separator: [0x2C, 0x20])
      guard words.count > 1, words.allSatisfy(isNumber) else {
        if isFirst, words.count > 1, !words.contains(where: { $0.contains(0x2C) }) {
          commas = words.map { _ in 0 }
          continue
        }
        return false
      }
      if commas.isEmpty { commas = words.map { _ in 0 } }
      guard words.count == commas.count else { return false }
      for (column, word) in words.enumerated() where word.contains(0x2C) { commas[column] += 1 }
      lines += 1
    }
    return lines > 2 && commas.contains(lines)
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
