import Engine

/// Lines before the header of a table: a title, a date, the name of a system.
///
/// They are left out only where there is no doubt: lines of one field, followed by nothing but more
/// records of one and the same number of fields, more than one, that begin with a header. A table of one
/// column in which a delimiter turns up later looks almost the same: so there must be a blank line
/// before the header, or numbers or dates below it.
package enum Preamble {
  /// More lines than this are no preamble.
  static let maximumLines = 20

  /// What was found at the front of a sample.
  package enum Finding: Sendable, Equatable {
    case none
    /// So many lines are to be left out.
    case certain(lines: Int)
    /// So many lines may be none of the table's.
    case possible(lines: Int)
  }

  /// - Parameters:
  ///   - records: the first records.
  ///   - lines: the line of each; the sample begins with line 1.
  ///   - needsHeader: whether the table must begin with what looks like a header.
  package static func find(
    _ records: [[String?]], lines: [Int], needsHeader: Bool
  ) -> Finding {
    guard let first = records.firstIndex(where: { $0.count > 1 }), first > 0,
      records[..<first].allSatisfy({ $0.count == 1 })
    else { return .none }
    let width = records[first].count
    let table = records[first...]
    let skipped = lines[first] - 1
    guard table.count > max(1, first), skipped <= maximumLines,
      table.allSatisfy({ $0.count == width })
    else { return .possible(lines: skipped) }
    let isApart = lines[first] > lines[first - 1] + 1
    let hasHeader = HeaderSniffer.looksLikeHeader(Array(table))
    let standsOut = HeaderSniffer.standsOut(Array(table))
    let isCertain = isApart ? !needsHeader || hasHeader : standsOut
    return isCertain ? .certain(lines: skipped) : .possible(lines: skipped)
  }
}
