/// Guesses whether the first record names the columns.
///
/// In this order. Figures in the first record speak against a header, unless they are names themselves:
/// years, dates or numbers in a strict order that the records below do not have; or whole numbers of at most
/// four digits, behind a first name, no more of them than there are names over columns of figures only; or
/// figures over columns without figures. A name over a column of figures only makes it a header. In a table
/// of text only, it is a header unless one of its cells occurs again below in the same column, or is of a
/// kind that only values are.
package enum HeaderSniffer {
  /// More records than this tell nothing new.
  package static let sampleRecords = 200

  /// The result, and the reason for it.
  package struct Judgement: Sendable, Equatable {
    package let isHeader: Bool
    /// Whether figures, below names or among them, prove it; otherwise nothing speaks against it.
    package let isCertain: Bool
    /// Whether it may well be the other way: names that only look like the values, or values like names. The
    /// user is told.
    package let isDoubtful: Bool
    /// For people, such as "column 2 has nothing but numbers or dates below 'Qty'".
    package let reason: String

    static func yes(
      _ reason: String, isCertain: Bool = true, isDoubtful: Bool = false
    ) -> Judgement {
      Judgement(isHeader: true, isCertain: isCertain, isDoubtful: isDoubtful, reason: reason)
    }

    /// Figures in the first record are in quotes, and no others are.
    static var quoted: Judgement {
      .yes("all fields of the first record are in quotes, and the figures below are not")
    }

    static func no(_ reason: String, isDoubtful: Bool = false) -> Judgement {
      Judgement(isHeader: false, isCertain: false, isDoubtful: isDoubtful, reason: reason)
    }
  }

  /// - Parameter records: the first records of the input, the first one first.
  /// - Complexity: O(cells).
  package static func judge(_ records: [[String?]]) -> Judgement {
    judge(records, mayBeGroups: true)
  }

  /// - Parameter mayBeGroups: whether the names may be in the second record, below names of groups.
  private static func judge(_ records: [[String?]], mayBeGroups: Bool) -> Judgement {
    guard let first = records.first else { return .no("there is no record") }
    let table = Columns(records)
    if table.shapes.allSatisfy(\.isBlank) { return .no("the first record is empty") }
    func shown(_ column: Int) -> String { "'\((first[column] ?? "").prefix(40))'" }
    let standing = table.standingOut
    let figures = first.indices.filter { table.shapes[$0].isTyped }
    let typed = table.withoutNames(figures, standing)
    if !figures.isEmpty {
      if let reason = OrderedNames.reason(records, typed: figures) { return .yes(reason) }
      if table.areLabels(figures) {
        return .yes("\(shown(figures[0])) and others are no numbers, and above nothing but numbers")
      }
      // Figures over a column without figures are not values of it.
      let values = typed.filter { table.hasFigures($0) }
      if let place = values.first {
        guard let head = table.shapes.first, !head.isTyped, table.below.count > 2,
          standing.count >= (head.isBlank ? 3 : 1) * values.count,
          values.allSatisfy({ table.mayBeLabel($0) })
        else {
          return .no(
            "\(shown(place)) in the first record is a value, not a name",
            isDoubtful: table.beginsWithUsualName)
        }
      }
    }
    if let place = standing.first {
      return .yes(
        "column \(place + 1) has nothing but numbers, dates or the like below \(shown(place))")
    }
    if let place = table.repeatedBelow {
      return .no("\(shown(place)) occurs again in column \(place + 1)")
    }
    if let reason = table.valueInFirst { return .no(reason) }
    if let column = table.codeLikeOthers, !table.hasUsualName {
      return .no("\(shown(column)) is a code of the same pattern as all below it", isDoubtful: true)
    }
    if let column = table.wordOfNeighbour, !table.hasUsualName {
      return .no(
        "\(shown(column)) occurs below in another column with the same words", isDoubtful: true)
    }
    // Names of groups are over the first of their columns only, with names below them.
    if table.shapes.count(where: \.isBlank) * 2 > first.count, first.count > 1,
      !mayBeGroups || !table.shapes[0].isBlank
        || !judge(Array(records.dropFirst()), mayBeGroups: false).isCertain
    {
      return .no("more than half of the first record is empty")
    }
    if let place = typed.first, table.below.count < 3 {
      return .no("\(shown(place)) in the first record is a value, not a name")
    }
    return .yes(
      "no cell of the first record looks like a value", isCertain: false,
      isDoubtful: typed.isEmpty && !table.below.isEmpty && !table.hasOtherCase
        && !table.hasUsualName)
  }

  /// The first record, and the cells below each of its cells.
  struct Columns {
    let first: [String?]
    let below: [[String?]]
    let shapes: [CellShape]

    init(_ records: [[String?]]) {
      first = records.first ?? []
      // The header of a second section says nothing about the columns.
      let first = first
      let all = records.dropFirst().prefix(HeaderSniffer.sampleRecords)
      let others = all.filter { $0 != first }
      // One column whose lines are mostly the same has no sections.
      below = first.count == 1 && others.count * 2 < all.count ? Array(all) : others
      shapes = first.map { CellShape($0) }
    }

    /// Columns of figures without those whose first cell is a name. `nan` and `inf` may be names: beside one
    /// that figures prove, and where both occur above figures among which neither does.
    func withoutNames(_ typed: [Int], _ standing: [Int]) -> [Int] {
      let words = typed.filter {
        first[$0].map { !$0.utf8.contains { $0 >= 0x30 && $0 <= 0x39 } } ?? false
      }
      if words.isEmpty { return typed }
      let areNames =
        !standing.isEmpty || (words == typed && haveNoWords(below: words) && below.count > 1)
      return areNames ? typed.filter { !words.contains($0) } : typed
    }

    /// Whether at least two different words are in the first record, behind a text, above figures without
    /// such words.
    private func haveNoWords(below words: [Int]) -> Bool {
      guard Set(words.map { first[$0]?.lowercased() }).count > 1, let head = shapes.first,
        !head.isTyped, !head.isBlank
      else { return false }
      return words.allSatisfy { column in
        cells(column).allSatisfy { $0.utf8.contains { $0 >= 0x30 && $0 <= 0x39 } }
      }
    }

    func cells(_ column: Int) -> some Sequence<String> {
      below.lazy.compactMap { column < $0.count ? $0[column] : nil }
    }

    /// The columns that are all typed below a cell that is not.
    var standingOut: [Int] {
      first.indices.filter { column in
        guard !shapes[column].isTyped, !shapes[column].isBlank else { return false }
        var hasAny = false
        var hasOnlyBools = true
        for cell in cells(column) {
          let shape = CellShape(cell)
          if shape.isBlank { continue }
          guard shape.isTyped || shape == .bool else { return false }
          if shape != .bool { hasOnlyBools = false }
          hasAny = true
        }
        return hasAny && !(hasOnlyBools && shapes[column] == .bool)
      }
    }

    /// Whether a column has figures below its first cell, also at the beginning of texts.
    func hasFigures(_ column: Int) -> Bool {
      cells(column).contains { cell in
        CellShape(cell).isTyped || cell.utf8.first.map { $0 >= 0x30 && $0 <= 0x39 } ?? false
      }
    }

    /// Whether a cell is a whole number without a sign, like a year or the number of a column.
    func mayBeLabel(_ column: Int) -> Bool {
      first[column].map { $0.utf8.count <= 4 && $0.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } }
        ?? false
    }

    /// Whether all figures, at least two of them and behind a first cell without, are no numbers, but ranges
    /// (`10-19`) or dates, and above nothing but numbers and amounts of at least two records, or in one cell
    /// of five a word or sign for a value that is not told.
    func areLabels(_ figures: [Int]) -> Bool {
      guard figures.count > 1, shapes.first?.isTyped == false, below.count > 1 else { return false }
      return figures.allSatisfy { column in
        guard shapes[column] == .figures || shapes[column] == .date else { return false }
        let known = cells(column).map { CellShape($0) }.filter { !$0.isBlank }
        let numbers = known.count { $0 == .number || $0 == .money || $0 == .percent }
        return known.count > 1 && numbers * 5 >= known.count * 4
          && !known.contains { $0 == .figures || $0 == .date }
      }
    }

    /// The first column in which the first cell occurs again, if that is so in at least one column of eight.
    var repeatedBelow: Int? {
      let named = first.indices.filter { !shapes[$0].isBlank }
      let repeated = named.filter { column in
        guard let name = first[column] else { return false }
        return cells(column).contains(name)
      }
      if repeated.isEmpty || repeated.count * 8 < named.count { return nil }
      let flags = flags(among: repeated)
      let others = repeated.filter { !flags.contains($0) }
      return others.count * 8 >= named.count - flags.count ? others.first : nil
    }

    /// Why a cell of the first record can only be a value, in a table of text.
    var valueInFirst: String? {
      for (column, cell) in first.enumerated() {
        guard let cell else { continue }
        let shown = cell.prefix(40)
        if cell.utf8.count > 12, cell.contains("://") { return "'\(shown)' is an address" }
        if isSentence(cell) { return "'\(shown)' is a sentence" }
        if cell.count > 60, !cell.hasSuffix("?") { return "'\(shown)…' is too long for a name" }
        if shapes[column].isSpecial, sharesShape(column) {
          return "'\(shown)' is of the same shape as the values below it"
        }
        let words = cell.split(separator: " ")
        if first.count == 1, words.count > 1, words.allSatisfy({ CellShape(String($0)).isTyped }) {
          return "'\(shown)' is a line of figures"
        }
        if isHexadecimal(column) { return "'\(shown)' is hexadecimal, as are the values below it" }
        if beginsSeries(column) { return "'\(shown)' is numbered like the values below it" }
        if isSign(column) { return "'\(shown)' has no letter, like the values below it" }
        if isInFolder(column) { return "'\(shown)' is in the same folder as the values below it" }
        if hasExtension(column) {
          return "'\(shown)' is the name of a file, like the values below it"
        }
      }
      if let column = equalNeighbours {
        return "columns \(column + 1) and \(column + 2) are the same in the first record and below"
      }
      return nil
    }

    /// Whether at least 80% of a column's cells have the special shape of its first cell.
    private func sharesShape(_ column: Int) -> Bool {
      let shape = shapes[column]
      let pattern = shape == .code ? first[column].map(CellShape.pattern) : nil
      var same = 0
      var all = 0
      for cell in cells(column) {
        let other = CellShape(cell)
        if other.isBlank { continue }
        all += 1
        if other == shape, pattern == nil || pattern == CellShape.pattern(cell) { same += 1 }
      }
      return all > 0 && same * 5 >= all * 4
    }

    /// Whether a cell is hexadecimal, as are at least 80% of those below it.
    private func isHexadecimal(_ column: Int) -> Bool {
      guard let cell = first[column], CellShape.isHexadecimal(cell) else { return false }
      let known = cells(column).filter { !CellShape($0).isBlank }
      return !known.isEmpty && known.count(where: CellShape.isHexadecimal) * 5 >= known.count * 4
    }

    /// Whether at least three cells, of which the first is one, are the same text with numbers that follow
    /// one another: `C1`, `C2`, `C3`.
    private func beginsSeries(_ column: Int) -> Bool {
      guard let cell = first[column], let (stem, start) = Self.numbered(cell), below.count > 1
      else { return false }
      return below.prefix(3).enumerated().allSatisfy { place, record in
        guard column < record.count, let text = record[column], let own = Self.numbered(text) else {
          return false
        }
        return own.stem == stem && own.number == start + place + 1
      }
    }

    /// A text and the number of at most nine digits behind it; nil where there are not both.
    private static func numbered(_ cell: String) -> (stem: String, number: Int)? {
      let digits = cell.utf8.reversed().prefix { $0 >= 0x30 && $0 <= 0x39 }.count
      guard digits > 0, digits < 10, digits < cell.utf8.count,
        let number = Int(String(decoding: cell.utf8.suffix(digits), as: UTF8.self))
      else { return nil }
      return (String(decoding: cell.utf8.dropLast(digits), as: UTF8.self), number)
    }

    /// Whether a cell has no letter and no figure, as have at least 80% of those below it: names have some.
    private func isSign(_ column: Int) -> Bool {
      func hasLetters(_ cell: String) -> Bool {
        cell.unicodeScalars.contains {
          $0.properties.isAlphabetic || $0.properties.numericType != nil
        }
      }
      guard let cell = first[column], !shapes[column].isBlank, !hasLetters(cell) else {
        return false
      }
      let known = cells(column).filter { !CellShape($0).isBlank }
      return known.count > 1 && known.count(where: { !hasLetters($0) }) * 5 >= known.count * 4
    }

    /// Whether a cell begins with a folder, and all of those below it with the same one.
    private func isInFolder(_ column: Int) -> Bool {
      guard let cell = first[column], let slash = cell.firstIndex(of: "/"), slash > cell.startIndex
      else { return false }
      let known = cells(column).filter { !CellShape($0).isBlank }
      return known.count > 1 && known.allSatisfy { $0.hasPrefix(cell[...slash]) }
    }

    /// Whether a cell ends with a point and up to four letters, as do at least 80% of those below it, and one
    /// of them with the same letters: names of files, or of hosts. Not in a record whose first field is
    /// empty, as above the names of rows. In a single column of words three with the same letters are enough.
    private func hasExtension(_ column: Int) -> Bool {
      guard shapes.first?.isBlank == false, let cell = first[column],
        let ending = Self.ending(cell)
      else { return false }
      let known = cells(column).filter { !CellShape($0).isBlank }
      let endings = known.compactMap(Self.ending)
      if first.count == 1, endings.count(where: { $0 == ending }) > 2,
        !known.contains(where: { $0.contains(" ") })
      {
        return true
      }
      return known.count > 1 && endings.contains(ending) && endings.count * 5 >= known.count * 4
    }

    /// The letters behind the last point of a word; nil where these are none, or more than four.
    private static func ending(_ cell: String) -> Substring? {
      guard let point = cell.lastIndex(of: "."), point > cell.startIndex, !cell.contains(" ") else {
        return nil
      }
      let ending = cell[cell.index(after: point)...]
      return (1...4).contains(ending.utf8.count)
        && ending.utf8.allSatisfy { ($0 | 0x20) &- 0x61 < 26 } ? ending : nil
    }

    /// Four words or more that end with a full stop.
    private func isSentence(_ cell: String) -> Bool {
      guard cell.utf8.count > 24, let last = cell.utf8.last, last == 0x2E || last == 0x21 else {
        return false
      }
      return cell.utf8.filter { $0 == 0x20 }.count > 2
    }

    /// The first of two columns that are equal in the first record and in 30% of the others.
    private var equalNeighbours: Int? {
      first.indices.dropLast().first { column in
        guard let cell = first[column], !shapes[column].isBlank, first[column + 1] == cell else {
          return false
        }
        let same = below.filter {
          column + 1 < $0.count && $0[column] != nil && $0[column] == $0[column + 1]
        }
        return !below.isEmpty && same.count * 10 >= below.count * 3
      }
    }
  }
}
