import Engine

/// Finds the dialect of an input from a sample of its beginning, as far as it was not given.
///
/// Records are parsed with each delimiter that may be meant, and the one under which the most records
/// agree on the most common number of fields (more than one) wins; a tie goes to the one whose fields
/// look more like numbers and dates, then to the one that gives more fields, then to the order named
/// here. Where none gives two fields, it is the comma: then the input has one column.
///
/// Quotes and escapes other than `"` written twice are tried where the sample has any, and taken only
/// where they explain more. Nothing that is found makes records disappear: what does not fit the
/// dialect is rejected later, with its reason.
package struct DialectSniffer {
  /// Bytes of an input that are looked at.
  package static let sampleBytes = 1 << 16
  /// Records that are parsed to judge a dialect.
  static let sampleRecords = 200
  private static let usual: [[UInt8]] = [[0x2C], [0x09], [0x3B], [0x7C]]
  /// Tried where the usual ones do not explain every record: `||`, `;;`, `::`, `§`, `¦`, `^`, `~`, and
  /// the control characters that some systems separate fields with.
  private static let unusual: [[UInt8]] = [
    [0x7C, 0x7C], [0x3B, 0x3B], [0x3A, 0x3A], [0xC2, 0xA7], [0xC2, 0xA6], [0x5E], [0x7E], [0x1F],
    [0x01],
  ]

  /// What the user said; nil is to be found. Quote and escape `.some(nil)` and an empty comment are
  /// none.
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

  /// - Parameters:
  ///   - sample: the input's first bytes, as UTF-8 without a byte-order mark.
  ///   - isWhole: whether there are no more; otherwise the last record is taken for incomplete.
  package init(_ sample: [UInt8], isWhole: Bool, given: Given = Given()) {
    self.sample = sample
    self.isWhole = isWhole
    self.given = given
  }

  /// The dialect. A comment in it that was not given has `possibleRecordFields` set.
  ///
  /// - Throws: `ImportError.invalidDialect` when what was given cannot be.
  package func dialect() throws(ImportError) -> Dialect {
    let quote = given.quote ?? 0x22
    // Whatever is found, what was given must make sense.
    _ = try Dialect(
      delimiter: given.delimiter ?? (quote == 0x2C ? [0x09] : [0x2C]), quote: quote,
      escape: given.escape, comment: given.comment)
    let leading = given.comment == nil ? leadingHashLines : []
    let hasHashes = !leading.isEmpty
    let comment: [UInt8]? = given.comment ?? (hasHashes ? [0x23] : nil)
    var best = bestTrial(quote: quote, escape: given.escape, comment: comment)
    if given.quote == nil, !sample.contains(0x22), mayOpen(0x27),
      let other = bestTrial(quote: 0x27, escape: given.escape, comment: comment),
      other.malformed == 0, other.agreeing == 1,
      other.width > 1
        || given.delimiter != nil
    {
      best = other
    }
    let ownQuote = best?.dialect.quote ?? quote
    if given.escape == nil, let ownQuote, ownQuote != 0x5C, hasEscapes(of: ownQuote),
      let other = bestTrial(quote: ownQuote, escape: 0x5C, comment: comment),
      best.map({ (-$0.malformed, $0.agreeing) < (-other.malformed, other.agreeing) }) ?? true
    {
      best = other
    }
    guard let best else {
      return try Dialect(
        delimiter: given.delimiter ?? (ownQuote == 0x2C ? [0x09] : [0x2C]), quote: ownQuote,
        escape: given.escape, comment: given.comment)
    }
    if !hasHashes { return best.dialect }
    // A last line with as many names as the table has columns is its header.
    if best.width > 1, !widths(leading, best.dialect.delimiter).contains(best.width) {
      var dialect = best.dialect
      dialect.possibleRecordFields = best.width
      return dialect
    }
    return try Dialect(
      delimiter: best.dialect.delimiter.bytes, quote: best.dialect.quote,
      escape: .some(best.dialect.escape))
  }

  // MARK: Trials

  /// How the sample looks in a dialect.
  private struct Trial {
    let dialect: Dialect
    /// Records with text after a closing quote, or a quote that is not closed.
    let malformed: Int
    /// The share of records that have the most common number of fields.
    let agreeing: Double
    /// That number.
    let width: Int
    let typed: Double
  }

  private func bestTrial(quote: UInt8?, escape: UInt8??, comment: [UInt8]?) -> Trial? {
    func best(of delimiters: [[UInt8]]) -> Trial? {
      var best: Trial?
      for delimiter in delimiters {
        guard
          let dialect = try? Dialect(
            delimiter: delimiter, quote: quote, escape: escape, comment: comment),
          let trial = try? trial(dialect), trial.width > 1 || given.delimiter != nil
        else { continue }
        if let best,
          (best.agreeing, best.typed, best.width) >= (trial.agreeing, trial.typed, trial.width)
        {
          continue
        }
        best = trial
      }
      return best
    }
    if let delimiter = given.delimiter { return best(of: [delimiter]) }
    let usual = best(of: Self.usual.filter { sample.contains($0[0]) })
    if let usual, usual.agreeing == 1, !isAlwaysDoubled(usual.dialect.delimiter.first) {
      return usual
    }
    let unusual = best(of: Self.unusual.filter(sample.holds))
    guard let unusual, unusual.agreeing == 1 else { return usual }
    return unusual
  }

  private func trial(_ dialect: Dialect) throws -> Trial? {
    let splitter = RecordSplitter(source: MemorySource(sample), dialect: dialect)
    guard let chunk = try splitter.next(recordLimit: Self.sampleRecords) else { return nil }
    let parsed = RecordParser(dialect: dialect, columnCount: 1, ragged: .extend).parse(chunk)
    var count = parsed.recordCount
    if chunk.isLast, !isWhole, count > 1 { count -= 1 }
    var tally: [Int: Int] = [:]
    var malformed = 0
    for index in 0..<count {
      let record = parsed.record(index)
      if record.row == .max {
        malformed += 1
      } else {
        tally[Int(record.fieldCount), default: 0] += 1
      }
    }
    // Of equally common numbers the larger one, so that the result does not depend on hashing.
    guard let common = tally.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }) else {
      return nil
    }
    let fields =
      (0..<parsed.rowCount).map { parsed.span(row: $0, column: 0) } + parsed.surplus.map(\.span)
    let typed = fields.prefix(1000).filter { span in
      parsed.text(span).map { HeaderSniffer.looksTyped(String(decoding: $0, as: UTF8.self)) }
        ?? true
    }
    return Trial(
      dialect: dialect, malformed: malformed, agreeing: Double(common.value) / Double(count),
      width: common.key, typed: Double(typed.count) / Double(max(1, min(1000, fields.count))))
  }

  // MARK: Looking at bytes

  /// The lines before any other that begin with `#`. Elsewhere such lines say nothing: they are more
  /// likely to be records.
  private var leadingHashLines: [ArraySlice<UInt8>] {
    guard sample.first(where: { !isLineEnd($0) }) == 0x23 else { return [] }
    return Array(sample.split(whereSeparator: isLineEnd).prefix { $0.first == 0x23 })
  }

  /// Whether a quote stands where it may open a field, at least twice.
  private func mayOpen(_ quote: UInt8) -> Bool {
    let before = Self.usual.map { $0[0] } + (given.delimiter.map { Array($0.suffix(1)) } ?? [])
    var found = 0
    for index in sample.indices where sample[index] == quote {
      if index == 0 || isLineEnd(sample[index - 1]) || before.contains(sample[index - 1]) {
        found += 1
        if found == 2 { return true }
      }
    }
    return false
  }

  private func hasEscapes(of quote: UInt8) -> Bool {
    sample.indices.dropFirst().contains { sample[$0] == quote && sample[$0 - 1] == 0x5C }
  }

  /// Whether a delimiter is never alone: then it is half of one.
  private func isAlwaysDoubled(_ delimiter: UInt8) -> Bool {
    var run = 0
    for byte in sample {
      if byte == delimiter {
        run += 1
      } else {
        if run % 2 == 1 { return false }
        run = 0
      }
    }
    return run % 2 == 0
  }

  /// The numbers of fields that lines would have as records.
  private func widths(_ lines: [ArraySlice<UInt8>], _ delimiter: ShortPattern) -> Set<Int> {
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

  /// The delimiter that a first line such as `sep=;` names, as spreadsheets write it.
  package static func declaredDelimiter(_ sample: [UInt8]) -> UInt8? {
    guard sample.count > 5, sample[..<3].elementsEqual("sep".utf8), sample[3] == 0x3D,
      sample[5] == 0x0A || sample[5] == 0x0D, sample[4] < 0x80, sample[4] != 0x22,
      sample[4] != 0x0A, sample[4] != 0x0D
    else { return nil }
    return sample[4]
  }

  // MARK: Record ends

  /// The record ends in a sample, in the order of their first occurrence: `\n`, `\r\n` or `\r`. Line
  /// ends inside quotes end no record.
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
