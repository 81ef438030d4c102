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
  static func isShort(_ header: [String?], over below: ArraySlice<[String?]>, width: Int) -> Bool {
    guard header.count == width - 1, below.count > 2 else { return false }
    // An empty field behind the last column is a superfluous delimiter.
    if below.allSatisfy({ $0.last == .some(nil) }) { return false }
    // One word over two columns, the first of which is not named, is more likely a title.
    return header.count > 1
      || (!(header[0] ?? " ").contains(" ")
        && below.allSatisfy { !CellShape($0[0]).isTyped })
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
    var count = 1
    while count < 3, records.count > count + 2,
      isNames(records[count], above: records[(count + 1)...])
    {
      count += 1
    }
    return count
  }

  /// Whether a record has a text over each column that has only figures: over at least two such columns, or
  /// over one in a record of at most two fields.
  private static func isNames(_ record: [String?], above below: ArraySlice<[String?]>) -> Bool {
    var figures = 0
    var others = 0
    for (column, cell) in record.enumerated() {
      let shapes = below.compactMap { column < $0.count ? CellShape($0[column]) : nil }
        .filter { !$0.isBlank }
      guard !shapes.isEmpty, shapes.allSatisfy(\.isTyped) else { continue }
      // A missing value does not belong to a header.
      if CellShape(cell).isTyped { others += 1 } else if !CellShape(cell).isBlank { figures += 1 }
    }
    return figures > 3 * others && (figures > 1 || record.count < 3)
  }
}
