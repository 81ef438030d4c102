/// How the fields of a header become the names of the columns when the records below have another number of
/// fields.
package enum HeaderForm: Sendable, Equatable {
  /// One name for each column.
  case whole
  /// One name less than there are columns: the first column has the names of rows, as R writes it.
  case withoutFirst
  /// The first field is the `#` of a comment, and each further field has a name.
  case behindHash
  /// An empty name behind the last column.
  case withEmptyLast

  /// - Parameter records: the header comes first.
  static func find(_ records: [[String?]]) -> HeaderForm {
    guard let header = records.first, records.count > 1 else { return .whole }
    let below = records.dropFirst()
    guard let width = below.first?.count, below.allSatisfy({ $0.count == width }) else {
      return .whole
    }
    if isShort(header, over: below, width: width) { return .withoutFirst }
    guard header.count == width + 1, header.count > 1 else { return .whole }
    if header.first == "#" { return .behindHash }
    return header.last == .some(nil) ? .withEmptyLast : .whole
  }

  /// Whether a header has one name less than the records below have fields.
  ///
  /// A record may also have a delimiter too many. Three that agree have not. Of fewer, the first fields must
  /// be what R writes, 1 and 2, or names beside figures only.
  static func isShort(_ header: [String?], over below: ArraySlice<[String?]>, width: Int) -> Bool {
    guard let head = header.first, header.count == width - 1, !below.isEmpty else { return false }
    // An empty field behind the last column is a superfluous delimiter, and a blank at the beginning of one
    // column alone shows that a text was cut.
    if below.allSatisfy({ $0.last == .some(nil) }) || hasCutText(below, width) { return false }
    let isNumbered = below.count > 1 && zip(1..., below).allSatisfy { $1[0] == String($0) }
    // One word over two columns, the first of which is not named, is more likely a title.
    if header.count == 1 {
      guard !(head ?? " ").contains(" ") else { return false }
      return isNumbered
        || (below.count > 2 && below.allSatisfy { !CellShape($0[0]).isTyped })
    }
    if below.count > 2 { return true }
    return (isNumbered && !isIdentifier(head ?? "") && !mayHaveThousands(below))
      || areNamesOfFigures(below)
  }

  /// Whether in all records the same column, and no other, begins with a blank: `Smith, John`.
  private static func hasCutText(_ below: ArraySlice<[String?]>, _ width: Int) -> Bool {
    let blank = (1..<max(1, width)).filter { column in
      below.allSatisfy { $0.count > column && $0[column]?.first == " " }
    }
    return blank.count == 1 && width > 2
  }

  /// Whether numbers are expected below a name.
  private static func isIdentifier(_ name: String) -> Bool {
    let word = name.lowercased()
    return word.hasSuffix("id")
      || ["#", "no", "no.", "nr", "nr.", "number", "index", "key"].contains(word)
  }

  /// Whether a delimiter may be the comma of a number in each record, as in `1,234`.
  private static func mayHaveThousands(_ below: ArraySlice<[String?]>) -> Bool {
    below.allSatisfy { record in
      zip(record.dropFirst(), record.dropFirst(2)).contains { left, right in
        guard let left, let right, let last = left.utf8.last else { return false }
        let digits = right.utf8.prefix { $0 >= 0x30 && $0 <= 0x39 }.count
        return last >= 0x30 && last <= 0x39 && left.utf8.count <= 4 && digits == 3
      }
    }
  }

  /// Whether records have different names, and nothing but figures behind them that no decimal comma has cut.
  private static func areNamesOfFigures(_ below: ArraySlice<[String?]>) -> Bool {
    let names = below.map { $0[0] }
    guard Set(names).count == names.count,
      names.allSatisfy({ !CellShape($0).isTyped && !CellShape($0).isBlank })
    else { return false }
    let isOfFigures = below.allSatisfy { record in
      record.dropFirst().allSatisfy { CellShape($0).isTyped }
    }
    return isOfFigures && !mayHaveThousands(below)
      && below.contains { $0.dropFirst().contains { $0?.contains(".") ?? false } }
  }

  /// The names among a header's fields.
  func names(_ fields: [String?]) -> [String?] {
    switch self {
    case .whole: fields
    case .withoutFirst: [nil] + fields
    case .behindHash: Array(fields.dropFirst())
    case .withEmptyLast: Array(fields.dropLast())
    }
  }

  /// The note about it in a report.
  var note: String? {
    switch self {
    case .whole: nil
    case .withoutFirst:
      "the header has one name less than the records have fields: the first column is taken for the "
        + "names of rows, and has no name"
    case .behindHash: "the '#' before the names in the header was left out"
    case .withEmptyLast: "the header ended with a delimiter that was dropped"
    }
  }
}

/// Several rows of names: groups over names, or units below them.
enum HeaderRows {
  /// How many records the header seems to have; 1 when nothing indicates more.
  ///
  /// - Parameter records: the assumed header comes first.
  static func count(_ records: [[String?]]) -> Int {
    // Comments above a single column.
    if records.first?.count == 1, records[0][0]?.hasPrefix("#") ?? false { return 1 }
    for count in [3, 2] where records.count > count + 1 {
      let below = records[count...]
      if records[1..<count].allSatisfy({ isNames($0, above: below) }) { return count }
    }
    return 1
  }

  /// Whether a record has a text over each column that has only figures: over at least two such columns, or
  /// over one in a record of at most two fields.
  private static func isNames(_ record: [String?], above below: ArraySlice<[String?]>) -> Bool {
    let shapes = record.map { CellShape($0) }
    // No more than these can be over figures. Most records are looked at no further.
    let texts = shapes.count { !$0.isTyped && !$0.isBlank }
    if texts == 0 { return false }
    var figures = 0
    var others = 0
    for (column, shape) in shapes.enumerated() where hasOnlyFigures(column, below) {
      // A missing value does not belong to a header.
      if shape.isTyped {
        others += 1
        if texts <= 3 * others { return false }
      } else if !shape.isBlank {
        figures += 1
      }
    }
    return figures > 3 * others && (figures > 1 || record.count < 3)
  }

  /// Whether a column has figures, and no text; the first text ends the search.
  private static func hasOnlyFigures(_ column: Int, _ records: ArraySlice<[String?]>) -> Bool {
    var hasAny = false
    for record in records where column < record.count {
      let shape = CellShape(record[column])
      if shape.isBlank { continue }
      guard shape.isTyped else { return false }
      hasAny = true
    }
    return hasAny
  }
}
