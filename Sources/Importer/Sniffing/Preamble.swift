/// Lines before the header of a table: a title, a date, the name of a system, how something was measured.
///
/// They are skipped only when there is no doubt. Each must be *apart* from the table: it has fewer fields; or
/// as many, of which at most a quarter, or only the first half, are filled, as spreadsheets write titles; or
/// it begins with `#`. Everything that follows, except notes at the end, must have one number of fields and
/// begin with a header. A table of one column in which a delimiter occurs later looks almost the same, and so
/// does a truncated record. So one of these is required: figures below names or among them prove the header;
/// or the lines have one field and a blank line precedes the header; or the lines are as wide as the table.
package enum Preamble {
  /// More lines than this are not a preamble.
  static let maximumLines = 60

  /// The finding about the front of a sample.
  package enum Finding: Sendable, Equatable {
    case none
    /// This many lines are to be skipped.
    case certain(lines: Int)
    /// This many lines may not belong to the table.
    case possible(lines: Int)
  }

  /// - Parameters:
  ///   - records: the first records.
  ///   - lines: the line of each; the sample begins with line 1.
  ///   - needsHeader: whether the table must begin with what looks like a header.
  package static func find(
    _ records: [[String?]], lines: [Int], needsHeader: Bool
  ) -> Finding {
    let widths = records.drop(while: isComment).map(\.count)
    let common = find(records, lines, width: commonWidth(widths), needsHeader)
    if case .certain = common { return common }
    // There may be more lines before the table than records in it.
    if let widest = widths.max(), widest > 2,
      case .certain(let lines) = find(records, lines, width: widest, needsHeader)
    {
      return .certain(lines: lines)
    }
    // A table without a header, as the user says, has none that figures could prove.
    guard needsHeader else { return common }
    return findBehindBlankLine(records, lines).map { .certain(lines: $0) } ?? common
  }

  /// The lines before a table that begins behind a blank line with a header that figures prove. Some of the
  /// records before it must have fewer fields, and none more; or the last field of each is empty, as
  /// spreadsheets pad labels and values, and that of the header is not.
  private static func findBehindBlankLine(_ records: [[String?]], _ lines: [Int]) -> Int? {
    for first in records.indices.dropFirst() where lines[first] > lines[first - 1] + 1 {
      let width = records[first].count
      let heads = records[..<first]
      let end = records.lastIndex { isWide($0, width) } ?? first
      let table = Array(records[first...end])
      if lines[first] > maximumLines { return nil }
      if width > 1, table.count > 1, isOneTable(table, width, isCertain: true), !isTable(heads),
        heads.allSatisfy({ $0.count <= width }),
        heads.contains(where: { $0.count < width }) || arePadded(heads, above: records[first]),
        HeaderSniffer.judge(table).isCertain
      {
        return lines[first] - 1
      }
    }
    return nil
  }

  private static func arePadded(_ heads: ArraySlice<[String?]>, above header: [String?]) -> Bool {
    func isOpen(_ record: [String?]) -> Bool { record.last.map(CellShape.isEmpty) ?? true }
    guard !isOpen(header) else { return false }
    return heads.allSatisfy(isOpen)
  }

  /// How many lines of words precede a table of nothing but figures and its header, where runs of blanks
  /// separate fields: each word of a title is a field then, and their number says nothing. Fewer words than
  /// columns, and more than one, may be names, as may any directly above the table without a figure. Where
  /// there are figures for all columns above, or names above a line of nothing but figures, that line is one
  /// of the table with an empty field.
  ///
  /// - Complexity: O(cells).
  static func titles(_ records: [[String?]]) -> Int {
    let width = commonWidth(records.map(\.count))
    func hasFigures(_ record: [String?]) -> Bool {
      record.count == width
        && record.allSatisfy { CellShape($0).isTyped || CellShape($0).isBlank }
    }
    func isOfNames(_ record: [String?]) -> Bool {
      record.count == width && !record.contains { CellShape($0).isTyped }
    }
    guard width > 1, let last = records.lastIndex(where: { !hasFigures($0) }) else { return 0 }
    let below = records.count - last - 1
    let count = records[last].count
    guard below >= 5, below > last, last < maximumLines, count == 1 || count >= width,
      !records[...last].contains(where: isComment), !records[..<last].contains(where: hasFigures)
    else { return 0 }
    if last > 0, isOfNames(records[last - 1]), records[last].allSatisfy({ CellShape($0).isTyped }) {
      return 0
    }
    return (records[...last].lastIndex { !isOfNames($0) } ?? -1) + 1
  }

  private static func find(
    _ records: [[String?]], _ lines: [Int], width: Int, _ needsHeader: Bool
  ) -> Finding {
    guard width > 1, let head = records.first, isComment(head) || !isGroups(head, width),
      let first = records.firstIndex(where: { isOfTable($0, width) }), first > 0,
      records[..<first].allSatisfy({ isApart($0, width) })
    else { return .none }
    let heads = records[..<first]
    // Totals and notes behind the table say nothing about what precedes it.
    let end = records.lastIndex { isWide($0, width) } ?? first
    let table = Array(records[first...end])
    let header = HeaderSniffer.judge(table)
    let skipped = lines[first] - 1
    if first == 1, !header.isHeader,
      head.count == width + 1 && head[0] == "#"
        || (head.allSatisfy { !CellShape($0).isTyped }
          && HeaderForm.isShort(head, over: table[...], width: width))
    {
      return .none
    }
    let isLong = table.count > max(1, first)
    let isEnough = table.count > (heads.allSatisfy { $0.count == 1 } ? 2 : 1)
    guard skipped <= maximumLines, isLong || !isTable(heads),
      isOneTable(table, width, isCertain: header.isCertain),
      isLong || (isEnough && header.isCertain) || (table.count > 1 && heads.allSatisfy(isComment))
    else { return .possible(lines: skipped) }
    let hasBlankLine = lines[first] > lines[first - 1] + 1
    let areLines = heads.allSatisfy { $0.count == 1 || isProse($0) } && !hasBlanks(table)
    let isCertain: Bool
    if heads.allSatisfy(isComment) {
      isCertain = true
    } else if !needsHeader {
      isCertain =
        isLong
        && (heads.allSatisfy { $0.count == 1 } && hasBlankLine
          || heads.allSatisfy { $0.count == 1 || isMixed($0) } && isOfFigures(table))
    } else if !isLong || end + 1 < records.count {
      isCertain = header.isCertain
    } else if areLines || heads.allSatisfy({ $0.count == 1 }) {
      isCertain =
        hasBlankLine
        ? header.isHeader || isOfFigures(table)
        : header.isCertain || isOfFigures(table)
          || (header.isHeader
            ? heads.contains { hasWords($0) || isProse($0) } && isEven(table, width)
            : heads.allSatisfy(hasWords) && isHalfTyped(table, width))
    } else if heads.allSatisfy({ isTitle($0) && $0.count == width }) {
      isCertain =
        header.isCertain || (header.isHeader && width > 2 && !hasSections(table, width))
    } else {
      // A label and its value are not the beginning of a record, if there are several.
      let areLabels = heads.count > 1 && heads.allSatisfy { $0.count * 2 <= width }
      isCertain =
        header.isCertain || (areLabels && header.isHeader && isEven(table, width))
        || (heads.allSatisfy(isMixed) && isOfFigures(table))
    }
    return isCertain ? .certain(lines: skipped) : .possible(lines: skipped)
  }

  /// Whether a record has as many fields as the table, or one more that is empty, as when a header ends with
  /// a delimiter.
  private static func isWide(_ record: [String?], _ width: Int) -> Bool {
    record.count == width || (record.count == width + 1 && record.last == .some(nil))
  }

  /// Whether all records have one number of fields, or nearly all when the first is certainly the header.
  private static func isOneTable(_ table: [[String?]], _ width: Int, isCertain: Bool) -> Bool {
    let others = table.count { !isWide($0, width) }
    return others == 0 || (isCertain && others * 10 <= table.count)
  }

  /// Whether lines are a table themselves, with a header over a first column of figures; lines with labels
  /// and values have none.
  private static func isTable(_ heads: ArraySlice<[String?]>) -> Bool {
    guard let width = heads.first?.count, width > 1, heads.allSatisfy({ $0.count == width }) else {
      return false
    }
    return HeaderSniffer.judge(heads.map { [$0[0]] }).isCertain
  }

  private static func isComment(_ record: [String?]) -> Bool {
    record.first?.map { $0.hasPrefix("#") } ?? false
  }

  /// The most common number of fields; of equally common ones the larger.
  static func commonWidth(_ widths: [Int]) -> Int {
    var tally: [Int: Int] = [:]
    for width in widths { tally[width, default: 0] += 1 }
    return tally.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key ?? 0
  }

  private static func filled(_ record: [String?]) -> Int {
    record.count { !CellShape.isEmpty($0) }
  }

  /// Whether a record may be the table's first: as wide, and half filled, not only at its front.
  private static func isOfTable(_ record: [String?], _ width: Int) -> Bool {
    isWide(record, width) && filled(record) * 2 >= width && !(width > 2 && isAtFront(record))
  }

  private static func isApart(_ record: [String?], _ width: Int) -> Bool {
    record.count < width || isAtFront(record) || filled(record) <= max(1, width / 4)
      || isComment(record)
  }

  /// Whether a record has names of groups of columns, the first of which belongs to no group.
  private static func isGroups(_ record: [String?], _ width: Int) -> Bool {
    record.count == width && CellShape.isEmpty(record[0]) && filled(record) > 0
  }

  /// Whether a record of the table's width is filled like a title.
  private static func isTitle(_ record: [String?]) -> Bool {
    let filled = filled(record)
    if filled == 0 { return true }
    return !CellShape.isEmpty(record[0]) && filled <= max(1, record.count / 4)
  }

  /// Whether records of at least three fields are filled like titles, and not all of them are empty.
  static func areTitles(_ records: [[String?]]) -> Bool {
    records.allSatisfy { $0.count > 2 && isTitle($0) } && records.contains { filled($0) > 0 }
  }

  /// Whether only the first half of a record is filled, or only a label and its value.
  private static func isAtFront(_ record: [String?]) -> Bool {
    guard let last = record.lastIndex(where: { !CellShape.isEmpty($0) }) else { return true }
    guard let first = record[0], !CellShape.isEmpty(first) else { return false }
    return (last + 1) * 2 <= record.count || (last == 1 && record.count > 2 && first.last == ":")
  }

  /// Whether records like titles occur repeatedly: then they belong to the table.
  private static func hasSections(_ table: [[String?]], _ width: Int) -> Bool {
    table.count { isTitle($0) } * 10 > table.count
  }

  /// Whether the first field has several words.
  private static func hasWords(_ record: [String?]) -> Bool {
    record[0].map { $0.split(separator: " ").count > 1 } ?? false
  }

  /// Whether a blank is in front of each field but the first, as behind the commas of a sentence.
  private static func isProse(_ record: [String?]) -> Bool {
    record.count > 1 && record.dropFirst().allSatisfy { $0?.first == " " }
  }

  /// Whether more than one record in ten has a blank in front of a field.
  private static func hasBlanks(_ table: [[String?]]) -> Bool {
    table.count { $0.dropFirst().contains { $0?.first == " " } } * 10 > table.count
  }

  /// Whether a record has both figures and words, so that it is neither one of figures nor one of names.
  private static func isMixed(_ record: [String?]) -> Bool {
    let shapes = record.map { CellShape($0) }
    return shapes.contains { $0.isTyped } && shapes.contains { !$0.isTyped && !$0.isBlank }
  }

  /// Whether enough records have the same number of fields, at least three.
  private static func isEven(_ table: [[String?]], _ width: Int) -> Bool {
    width > 2 && table.count > 5 && table.allSatisfy { isWide($0, width) }
  }

  /// Whether at least half of at least three columns have only figures, in enough records.
  private static func isHalfTyped(_ table: [[String?]], _ width: Int) -> Bool {
    guard width > 2, table.count >= 5, table.allSatisfy({ $0.count == width }) else { return false }
    let typed = (0..<width).count { column in
      table.allSatisfy { CellShape($0[column]).isTyped }
    }
    return typed * 2 >= width
  }

  /// Whether a record of nothing but figures precedes names of figures: the size of the table, or the years
  /// of groups of columns.
  static func isBelowFigures(_ records: [[String?]]) -> Bool {
    guard records.count > 3, records[0].count > 1, records[1].count == records[0].count,
      records[0].contains(where: { CellShape($0).isTyped }),
      records[0].allSatisfy({ CellShape($0).isTyped || CellShape.isEmpty($0) }),
      records[1].allSatisfy({ !CellShape($0).isTyped }),
      filled(records[1]) * 2 > records[1].count
    else { return false }
    return HeaderSniffer.judge(Array(records.dropFirst())).isCertain
  }

  /// Whether there are only figures, in enough records.
  private static func isOfFigures(_ table: [[String?]]) -> Bool {
    table.count >= 5
      && table.allSatisfy { record in
        record.allSatisfy { cell in
          let shape = CellShape(cell)
          return shape.isTyped || shape.isBlank
        } && record.contains { CellShape($0).isTyped }
      }
  }
}
