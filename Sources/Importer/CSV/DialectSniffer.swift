import Engine

/// Finds the delimiter of an input from a sample of its beginning.
///
/// Each of comma, tab, semicolon and bar is tried: records are parsed with it, and the one under
/// which the most records agree on the most common number of fields (more than one) wins; a tie goes
/// to the one that gives more fields, then to the order named here. Where none gives two fields, it
/// is the comma: then the input has one column.
package enum DialectSniffer {
  /// Bytes of an input that are looked at.
  package static let sampleBytes = 1 << 16
  private static let sampleRecords = 200
  private static let candidates: [UInt8] = [0x2C, 0x09, 0x3B, 0x7C]

  /// - Parameters:
  ///   - sample: the input's first bytes.
  ///   - isWhole: whether there are no more; otherwise the last record is taken for incomplete.
  package static func delimiter(_ sample: [UInt8], isWhole: Bool, quote: UInt8?) -> UInt8 {
    var best: (delimiter: UInt8, agreeing: Double, fields: Int)?
    for candidate in candidates where candidate != quote {
      guard let dialect = try? Dialect(delimiter: candidate, quote: quote),
        let counts = try? fieldCounts(sample, isWhole: isWhole, dialect), !counts.isEmpty
      else { continue }
      var tally: [Int: Int] = [:]
      for count in counts { tally[count, default: 0] += 1 }
      // Of equally common numbers the larger one, so that the result does not depend on hashing.
      guard let common = tally.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }),
        common.key > 1
      else { continue }
      let agreeing = Double(common.value) / Double(counts.count)
      if let best, (best.agreeing, best.fields) >= (agreeing, common.key) { continue }
      best = (candidate, agreeing, common.key)
    }
    return best?.delimiter ?? 0x2C
  }

  /// The numbers of fields of the sample's records.
  private static func fieldCounts(_ sample: [UInt8], isWhole: Bool, _ dialect: Dialect) throws
    -> [Int]
  {
    let splitter = RecordSplitter(source: MemorySource(sample), dialect: dialect)
    guard let chunk = try splitter.next(recordLimit: sampleRecords) else { return [] }
    let parsed = RecordParser(dialect: dialect, columnCount: 1, ragged: .extend).parse(chunk)
    var counts = (0..<parsed.recordCount).map { Int(parsed.record($0).fieldCount) }
    if chunk.isLast, !isWhole, counts.count > 1 { counts.removeLast() }
    return counts
  }

  /// The first record end of a sample: `\n`, `\r\n` or `\r`; nil when it has none. Line ends
  /// inside quotes end no record.
  ///
  /// - Parameter delimiter: one that was given, besides those that are tried.
  package static func recordEnd(_ sample: [UInt8], quote: UInt8?, delimiter: UInt8?) -> String? {
    var isQuoted = false
    // Whether a quote here opens a field, or is the second of two inside one.
    var mayOpen = true
    let end = sample.firstIndex { byte in
      if byte == quote, isQuoted || mayOpen {
        isQuoted.toggle()
        mayOpen = true
      } else {
        mayOpen = byte == delimiter || candidates.contains(byte)
      }
      return !isQuoted && (byte == 0x0A || byte == 0x0D)
    }
    guard let index = end else { return nil }
    if sample[index] == 0x0A { return "\n" }
    return index + 1 < sample.count && sample[index + 1] == 0x0A ? "\r\n" : "\r"
  }
}
