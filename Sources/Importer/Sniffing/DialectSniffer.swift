import Engine

/// Finds the parts of an input's dialect that were not given, from a sample of its beginning.
///
/// Records are parsed with each possible delimiter, and the one that explains them best wins: by
/// `DialectTrial.score`, then by the larger number of fields, then by the order here. When none gives two
/// fields, it is the comma, and the input has one column.
///
/// Quotes and escapes other than `"` written twice are tried where the sample has any, and taken only where
/// they explain more. No result makes records disappear: a record that does not fit the dialect is rejected
/// later, with the reason.
package struct DialectSniffer {
  /// How many bytes of the input are sampled.
  package static let sampleBytes = 1 << 16
  private static let usual: [[UInt8]] = [[0x2C], [0x09], [0x3B], [0x7C]]
  /// Tried when the usual ones do not explain every record: `||`, `;;`, `::`, `§`, `¦`, `^`, `~`, and the
  /// control characters that some systems use.
  private static let unusual: [[UInt8]] = [
    [0x7C, 0x7C], [0x3B, 0x3B], [0x3A, 0x3A], [0xC2, 0xA7], [0xC2, 0xA6], [0x5E], [0x7E], [0x1F],
    [0x01],
  ]
  /// Tried when neither do: blanks, `#`, and a comma with a blank where commas are decimal. Behind these,
  /// runs of blanks.
  private static let rare: [[UInt8]] = [[0x20], [0x2C, 0x20], [0x23]]

  /// The parts that the user specified; nil: to be found. Quote and escape `.some(nil)` and an empty comment
  /// mean none.
  package struct Given: Sendable {
    package var delimiter: [UInt8]?
    package var quote: UInt8??
    package var escape: UInt8??
    package var comment: [UInt8]?

    package init(
      delimiter: [UInt8]? = nil, quote: UInt8?? = nil, escape: UInt8?? = nil,
      comment: [UInt8]? = nil
    ) {
      self.delimiter = delimiter
      self.quote = quote
      self.escape = escape
      self.comment = comment
    }
  }

  private let sample: [UInt8]
  private let isWhole: Bool
  private let given: Given
  /// The trials so far, in their order.
  private(set) var trials: [DialectTrial] = []
  /// The number of lines at the front that are comments, although one of them has as many fields as a record.
  private(set) var leadingComments = 0
  /// The words of a comment at the front that may be the names of the columns.
  private(set) var namesInComment: [String] = []
  /// Whether the first line has as many words as there are columns, and may be a title all the same.
  private(set) var mayHaveTitle = false

  /// - Parameters:
  ///   - sample: the input's first bytes, as UTF-8 without a byte-order mark.
  ///   - isWhole: whether the sample is the whole input; otherwise the last record counts as incomplete.
  package init(_ sample: [UInt8], isWhole: Bool, given: Given = Given()) {
    self.sample = sample
    self.isWhole = isWhole
    self.given = given
  }

  /// The dialect; keeps the trials. If its comment was found rather than given, `possibleRecordFields` is
  /// set.
  ///
  /// - Throws: `ImportError.invalidDialect` when the given parts are impossible.
  mutating func find() throws(ImportError) -> Dialect {
    let quote = given.quote ?? 0x22
    // Whatever is found, the given parts must be valid.
    _ = try Dialect(
      delimiter: given.delimiter ?? (quote == 0x2C ? [0x09] : [0x2C]), quote: quote,
      escape: given.escape, comment: given.comment)
    let leading = given.comment == nil ? leadingHashLines : []
    let hasHashes = !leading.isEmpty
    let comment: [UInt8]? = given.comment ?? (hasHashes ? [0x23] : nil)
    var best = bestTrial(quote: quote, escape: given.escape, comment: comment)
    if given.quote == nil {
      for other in [UInt8(0x27), 0x60] where mayFrame(other, best?.dialect) {
        best = better(best, bestFramed(by: other, comment))
      }
    }
    let ownQuote = best?.dialect.quote ?? quote
    if given.escape == nil, best?.dialect.escape != 0x5C, sample.contains(0x5C), ownQuote != 0x5C,
      hasEscapes(of: [ownQuote, best?.dialect.delimiter.first].compactMap(\.self)),
      let other = bestTrial(quote: ownQuote, escape: 0x5C, comment: comment),
      best.map({ explainsLess($0, than: other) }) ?? true
    {
      best = other
    }
    guard let best else {
      return try Dialect(
        delimiter: given.delimiter ?? (ownQuote == 0x2C ? [0x09] : [0x2C]), quote: ownQuote,
        escape: given.escape, comment: given.comment)
    }
    mayHaveTitle = best.mayHaveTitle
    if !hasHashes { return best.dialect }
    if best.width > 1, !isHeader(leading, over: best) {
      namesInComment = possibleNames(leading, over: best)
      var dialect = best.dialect
      dialect.possibleRecordFields = best.width
      if widths(leading, dialect).contains(best.width) {
        leadingComments = leadingLines(leading)
      }
      return dialect
    }
    return try Dialect(
      delimiter: Array(best.dialect.delimiterName.utf8), quote: best.dialect.quote,
      escape: .some(best.dialect.escape))
  }

  /// The number of lines up to the last of these.
  private func leadingLines(_ lines: [ArraySlice<UInt8>]) -> Int {
    guard let last = lines.last else { return 0 }
    var count = 1
    var previous: UInt8 = 0
    for byte in sample[..<last.startIndex] {
      if byte == 0x0D || (byte == 0x0A && previous != 0x0D) { count += 1 }
      previous = byte
    }
    return count
  }

  // MARK: Trials

  private mutating func bestTrial(quote: UInt8?, escape: UInt8??, comment: [UInt8]?)
    -> DialectTrial?
  {
    func best(of delimiters: [[UInt8]]) -> DialectTrial? {
      let dialects = delimiters.compactMap {
        try? Dialect(delimiter: $0, quote: quote, escape: escape, comment: comment)
      }
      return self.best(of: dialects)
    }
    if let delimiter = given.delimiter { return best(of: [delimiter]) }
    let usual = best(of: Self.usual.filter { sample.contains($0[0]) })
    if usual?.dialect.delimiter.bytes == [0x2C], DecimalCommas.areBetweenBlanks(sample, isWhole) {
      for blanks in [[0x20], Dialect.whitespace] {
        if let trial = best(of: [blanks]), trial.explainsAll, !trial.hasEmptyFields { return trial }
      }
    }
    if let usual, usual.agreeing == 1 {
      return other(than: usual) { best(of: [$0]) } ?? usual
    }
    if let unusual = best(of: Self.unusual.filter(sample.holds)), unusual.agreeing == 1 {
      return unusual
    }
    let rare = best(of: Self.rare.filter(sample.holds)).flatMap { isConvincing($0) ? $0 : nil }
    // Where blanks stand in runs, there are empty fields between them.
    if let rare, rare.dialect.delimiter.bytes != [0x20] || !rare.hasEmptyFields { return rare }
    if sample.contains(where: { $0 == 0x20 || $0 == 0x09 }),
      let runs = best(of: [Dialect.whitespace]), isConvincing(runs), !runs.cutsFields
    {
      return runs
    }
    return rare ?? usual
  }

  /// A trial with a rarer delimiter that explains more than a usual one, although that one divides all
  /// records evenly: the same sign twice, if every second field is empty in all records; a comma with a
  /// blank, if commas without are decimal; or a sign of the first line that leaves more columns typed.
  private func other(
    than usual: DialectTrial, _ attempt: ([UInt8]) -> DialectTrial?
  ) -> DialectTrial? {
    let delimiter = usual.dialect.delimiter.bytes
    if usual.isDoubled, delimiter == [0x7C] || delimiter == [0x3B],
      let twice = attempt(delimiter + delimiter), twice.explainsAll,
      twice.width * 2 == usual.width + 1
    {
      return twice
    }
    guard delimiter == [0x2C] else { return nil }
    if DecimalCommas.areBehindBlanks(sample, isWhole), let spaced = attempt([0x2C, 0x20]),
      spaced.explainsAll, spaced.skipped == 0
    {
      return spaced
    }
    let line = sample.prefix { !isLineEnd($0) }
    for sign in Self.unusual where sign.count == 1 && line.count(where: { $0 == sign[0] }) > 1 {
      if let trial = attempt(sign), trial.explainsAll, trial.skipped == 0,
        trial.typedColumns > usual.typedColumns, trial.width > usual.width || usual.skipped > 0
      {
        return trial
      }
    }
    return nil
  }

  /// The best trial with a quote that is not the usual one, written twice inside or behind a backslash.
  private mutating func bestFramed(by quote: UInt8, _ comment: [UInt8]?) -> DialectTrial? {
    let best = bestTrial(quote: quote, escape: given.escape, comment: comment)
    guard given.escape == nil, best?.explainsAll != true, hasEscapes(of: [quote]) else {
      return best
    }
    let escaped = bestTrial(quote: quote, escape: 0x5C, comment: comment)
    return escaped?.explainsAll == true ? escaped : best
  }

  private mutating func best(of dialects: [Dialect]) -> DialectTrial? {
    var best: DialectTrial?
    for dialect in dialects {
      guard
        let trial = try? DialectTrial(sample, isWhole: isWhole, dialect: dialect, rivals: rivals)
      else { continue }
      trials.append(trial)
      guard trial.width > 1 || given.delimiter != nil else { continue }
      if let best, (best.score, best.width) >= (trial.score, trial.width) { continue }
      best = trial
    }
    return best
  }

  private var rivals: [UInt8] { Self.usual.map { $0[0] } }

  /// Whether blanks and similar characters really separate fields: texts contain them too.
  private func isConvincing(_ trial: DialectTrial) -> Bool {
    guard trial.explainsAll, trial.records >= 5 else { return false }
    // Where blanks stand in runs in all records, there are empty columns between them.
    if trial.dialect.delimiter.bytes == [0x20], trial.hasEmptyColumn { return false }
    return trial.width > 2
      ? trial.typedColumns * 3 >= trial.width : trial.typedColumns * 2 >= trial.width
  }

  /// Whether records are better formed in another dialect with the same quote and another escape.
  private func explainsLess(_ one: DialectTrial, than other: DialectTrial) -> Bool {
    if one.malformed != other.malformed { return one.malformed > other.malformed }
    if one.agreeing != other.agreeing { return one.agreeing < other.agreeing }
    return one.hasStrayQuotes && !other.hasStrayQuotes
  }

  /// Whether a line with `#` is the table's header: the last one, directly above the first record, or the
  /// very first, with as many names as the first record has fields, provided that this record is not a header
  /// itself. So is the last one above a blank line, with at least three names that are no sentence.
  private func isHeader(_ lines: [ArraySlice<UInt8>], over trial: DialectTrial) -> Bool {
    let dialect = trial.dialect
    guard let first = lines.first, let last = lines.last,
      let width = widths([last], dialect).first
    else { return false }
    let below = HeaderSniffer.judge(trial.firstRecords)
    let behind = sample[last.endIndex...].prefix(3)
    let next = behind.dropFirst(behind.starts(with: [0x0D, 0x0A]) ? 2 : 1).first
    if next.map(isLineEnd) == true {
      if !below.isCertain, width == trial.width, width > 2, areNames(last, dialect) { return true }
    } else if next != nil {
      if width == trial.width { return !below.isCertain }
      // `# a b` has the comment as a separate field; one name less means a column of row names.
      let isAlone = last.dropFirst().starts(with: dialect.delimiter.bytes)
      if width == trial.width - 1 || (width == trial.width + 1 && isAlone) {
        return !below.isHeader
      }
    }
    return widths([first], dialect).contains(trial.width) && !below.isCertain
      && first.dropFirst().first != 0x20
  }

  /// Whether a comment consists of a few words between delimiters that sentences hardly have.
  private func areNames(_ line: ArraySlice<UInt8>, _ dialect: Dialect) -> Bool {
    guard dialect.delimiter.count == 1, let delimiter = dialect.delimiter.bytes.first,
      delimiter != 0x20
    else { return false }
    return line.dropFirst().split(separator: delimiter, omittingEmptySubsequences: false).allSatisfy
    {
      let words = $0.split(separator: 0x20).count
      return words > 0 && words < 4
    }
  }

  /// The words of the last comment, if there are as many as columns and these have no names.
  private func possibleNames(_ lines: [ArraySlice<UInt8>], over trial: DialectTrial) -> [String] {
    guard let last = lines.last, let first = lines.first,
      !HeaderSniffer.judge(trial.firstRecords).isHeader,
      let delimiter = trial.dialect.delimiter.bytes.first
    else { return [] }
    let isBlank = delimiter == 0x20
    let names = widths([last], trial.dialect).contains(trial.width) || isBlank ? last : first
    if names != last, !areNames(first, trial.dialect) { return [] }
    let words = names.drop { $0 == 0x23 }.split(omittingEmptySubsequences: isBlank) {
      $0 == delimiter || (trial.dialect.isWhitespace && $0 == 0x09)
    }
    guard words.count == trial.width, trial.dialect.delimiter.count == 1 else { return [] }
    return words.map { word in
      String(decoding: word.drop { $0 == 0x20 }, as: UTF8.self)
    }
  }

  /// Which of two quotes is meant. The other one is, only if fields begin and end with it, more of them than
  /// with the first, and all records are as well formed. Where the first explains all records, too, it is not
  /// used, and the records are the same with both; and the fields, if some are the sign alone: signs such as
  /// those of feet would join what is between them.
  private func better(_ one: DialectTrial?, _ other: DialectTrial?) -> DialectTrial? {
    guard let other, other.explainsAll, other.framedFields > 1,
      other.framedFields > one?.quotedFields ?? 0,
      other.agreeing >= one?.agreeing ?? 0 || (one?.malformed ?? 1) > 0
    else { return one }
    if let one, one.explainsAll, one.width > 1,
      one.quotedFields > 0 || one.skipped + one.records != other.skipped + other.records
        || one.byteCount != other.byteCount
        || one.width != other.width && standsAlone(other.dialect.quote, one.dialect)
    {
      return one
    }
    return other
  }

  // MARK: Looking at bytes

  /// The lines at the very beginning that start with `#`. Elsewhere such lines mean nothing: they are more
  /// likely to be records.
  private var leadingHashLines: [ArraySlice<UInt8>] {
    guard sample.first(where: { !isLineEnd($0) }) == 0x23 else { return [] }
    return Array(sample.split(whereSeparator: isLineEnd).prefix { $0.first == 0x23 })
  }

  /// Whether a quote occurs where a field may begin and where one may end, at least twice each.
  ///
  /// - Parameter dialect: the best one with the usual quote.
  private func mayFrame(_ quote: UInt8, _ dialect: Dialect?) -> Bool {
    let edges = Self.usual.map { $0[0] } + edges(dialect)
    var opening = 0
    var closing = 0
    for index in sample.indices where sample[index] == quote {
      if index == 0 || edges.contains(sample[index - 1]) { opening += 1 }
      if index + 1 == sample.count || edges.contains(sample[index + 1]) { closing += 1 }
      if opening > 1, closing > 1 { return true }
    }
    return false
  }

  /// Whether a field consists of the sign alone.
  private func standsAlone(_ sign: UInt8?, _ dialect: Dialect) -> Bool {
    let edges = edges(dialect)
    return sample.indices.contains { index in
      sample[index] == sign && (index == 0 || edges.contains(sample[index - 1]))
        && (index + 1 == sample.count || edges.contains(sample[index + 1]))
    }
  }

  /// The bytes next to a field.
  private func edges(_ dialect: Dialect?) -> [UInt8] {
    let own =
      dialect?.isWhitespace ?? (given.delimiter == Dialect.whitespace)
      ? [0x20, 0x09] : given.delimiter ?? dialect?.delimiter.bytes ?? []
    return [0x0A, 0x0D] + own
  }

  /// Whether one of these bytes follows a backslash.
  private func hasEscapes(of bytes: [UInt8]) -> Bool {
    sample.indices.dropFirst().contains { sample[$0 - 1] == 0x5C && bytes.contains(sample[$0]) }
  }

  /// The numbers of fields that lines would have as records.
  private func widths(_ lines: [ArraySlice<UInt8>], _ dialect: Dialect) -> Set<Int> {
    if dialect.isWhitespace {
      return Set(lines.map { $0.split { $0 == 0x20 || $0 == 0x09 }.count })
    }
    let delimiter = dialect.delimiter
    var widths: Set<Int> = []
    for line in lines {
      var width = 1
      line.withUnsafeBytes { bytes in
        guard let base = bytes.baseAddress else { return }
        var index = 0
        while index < bytes.count {
          if case .yes = delimiter.match(base, at: index, count: bytes.count) {
            width += 1
            index += delimiter.count
          } else {
            index += 1
          }
        }
      }
      widths.insert(width)
    }
    return widths
  }

  private func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

  /// The delimiter in a first line such as `sep=;`, as spreadsheets write it, with more delimiters behind it
  /// when the table is wider.
  package static func declaredDelimiter(_ sample: [UInt8]) -> UInt8? {
    guard sample.starts(with: "sep=".utf8), sample.count > 5, sample[4] < 0x80, sample[4] != 0x22,
      sample[4] != 0x0A, sample[4] != 0x0D
    else { return nil }
    let behind = sample[5...].first { $0 != sample[4] }
    return behind == 0x0A || behind == 0x0D ? sample[4] : nil
  }

  // MARK: Record ends

  /// The record ends in a sample, in the order of their first occurrence: `\n`, `\r\n` or `\r`. Line ends
  /// inside quotes do not end records.
  package static func recordEnds(_ sample: [UInt8], _ dialect: Dialect) -> [String] {
    var found: [String] = []
    sample.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      var start = 0
      while start < bytes.count, found.count < 3 {
        var scan = RecordScan(
          dialect: dialect, recordLimit: 1, byteLimit: .max, maximumRecordBytes: .max,
          blankLinesAreRecords: true)
        guard
          case .cut(let end) = scan.advance(base + start, count: bytes.count - start, atEnd: true)
        else { return }
        start += end
        var name = bytes[start - 1] == 0x0A ? "\n" : "\r"
        if name == "\r", start < bytes.count, bytes[start] == 0x0A {
          name = "\r\n"
          start += 1
        }
        if !found.contains(name) { found.append(name) }
      }
    }
    return found
  }
}

extension [UInt8] {
  fileprivate func holds(_ part: [UInt8]) -> Bool {
    guard let first = part.first else { return false }
    return indices.contains { self[$0] == first && self[$0...].starts(with: part) }
  }
}
