import Base

/// The encodings that explain every byte of an input that is not UTF-8, the most likely first. The user sees
/// the guess, and `sheaf sniff` decodes an input with it; an import never uses it.
///
/// Thread rule: a plain value, `Sendable`.
package struct EncodingGuess: Sendable, Equatable {
  package let encoding: TextEncoding
  /// Other encodings in which every byte is plausible text, the most likely first.
  package let others: [TextEncoding]
  /// Whether the encoding is likely, rather than only possible.
  package let isLikely: Bool
  /// Whether the whole input was examined.
  var isWhole = true

  /// The maximum bytes that are scored; but a candidate must explain every byte read.
  private static let scoredBytes = 1 << 14

  /// The candidates, each with a penalty: old encodings explain much when there are few bytes. Of candidates
  /// with equal scores the first is used.
  private static let candidates:
    [(name: String, malus: Double, writing: TextPlausibility.Writing)] =
      [
        ("windows-1252", 0, .narrow), ("windows-1251", 0, .narrow), ("windows-1250", 0, .narrow),
        ("cp932", 0, .japanese), ("gb18030", 0, .simplified), ("big5-hkscs", 0, .traditional),
        ("cp949", 0, .korean), ("euc-jp", 0, .japanese), ("koi8-r", 0, .narrow),
        ("windows-1253", 0, .narrow), ("windows-1254", 0, .narrow), ("windows-1255", 0, .narrow),
        ("windows-1256", 0, .narrow), ("windows-1257", 0, .narrow), ("windows-874", 0, .narrow),
        ("koi8-u", 0.5, .narrow), ("iso-8859-15", 0.5, .narrow), ("iso-8859-2", 0.5, .narrow),
        ("iso-8859-7", 0.5, .narrow), ("iso-8859-9", 0.5, .narrow), ("iso-8859-5", 0.5, .narrow),
        ("windows-1258", 1, .narrow), ("cp866", 2, .narrow), ("cp850", 4, .narrow),
        ("cp852", 4, .narrow), ("macintosh", 4, .narrow), ("cp437", 5, .narrow),
      ]

  /// The encoding for reading the beginning of an input that names none; nil when it is UTF-8, perhaps with
  /// damaged places, or not text at all.
  static func ofInput(_ bytes: [UInt8], isWhole: Bool) -> EncodingGuess? {
    if let encoding = unmarked(bytes) {
      return EncodingGuess(encoding: encoding, others: [], isLikely: true, isWhole: isWhole)
    }
    // Bytes that are not text in any encoding are reported elsewhere.
    if bytes.prefix(4096).count(where: { $0 == 0 }) * 10 > min(bytes.count, 4096) { return nil }
    guard isForeign(bytes, isWhole: isWhole) else { return nil }
    return ranked(bytes, isWhole: isWhole)
      ?? EncodingGuess(encoding: .latin1, others: [], isLikely: false, isWhole: isWhole)
  }

  /// The guess if it is more likely than not; nil also for text of another encoding that no candidate
  /// explains.
  package static func likely(_ bytes: [UInt8], isWhole: Bool) -> EncodingGuess? {
    guard isForeign(bytes, isWhole: isWhole) else { return nil }
    return ranked(bytes, isWhole: isWhole).flatMap { $0.isLikely ? $0 : nil }
  }

  /// The note for the user.
  package var note: String {
    if encoding == .utf16LE || encoding == .utf16BE {
      return "it looks like UTF-16 without a byte-order mark, and is read so here; say --encoding "
        + encoding.rawValue
    }
    let all = isWhole ? "every byte" : "every byte of its first 64 KiB"
    guard isLikely else {
      return encoding == .latin1
        ? "it is not UTF-8, and no encoding that was tried explains \(all); read here as latin1, in which "
          + "every byte is a character: name the right one with --encoding"
        : "it is not UTF-8; --encoding \(encoding.rawValue), as which it is read here, explains \(all)"
          + "\(alsoExplaining), but none gives likely text: see that the fields are right"
    }
    return
      "it is not UTF-8; --encoding \(encoding.rawValue), as which it is read here, explains \(all) "
      + "and gives the likeliest text\(alsoExplaining); see that the fields are right"
  }

  private var alsoExplaining: String {
    guard let first = others.first else { return "" }
    let named = others.prefix(3).map(\.rawValue)
    let more = others.count - named.count
    let list =
      more > 0
      ? named.joined(separator: ", ") + " and \(more) more"
      : named.count > 1
        ? named.dropLast().joined(separator: ", ") + " and " + (named.last ?? "") : first.rawValue
    return " (so \(others.count == 1 ? "does" : "do") \(list))"
  }

  // MARK: Evidence

  /// True when the bytes are text in another encoding, and not UTF-8 with some damaged places: only a few
  /// bytes beyond ASCII form characters of UTF-8 by chance.
  private static func isForeign(_ bytes: [UInt8], isWhole: Bool) -> Bool {
    var parser = Unicode.UTF8.ForwardParser()
    var input = bytes.makeIterator()
    var (sound, broken) = (0, 0)
    while true {
      switch parser.parseScalar(from: &input) {
      case .emptyInput:
        // The last character may be incomplete.
        if broken == 1, !isWhole, sound > 0 { return false }
        return broken > sound
      case .valid(let scalar): if scalar.count > 1 { sound += 1 }
      case .error: broken += 1
      }
    }
  }

  /// UTF-16 without a byte-order mark: NUL bytes are only at odd offsets, or only at even ones, and line
  /// feeds are beside them.
  static func unmarked(_ bytes: [UInt8]) -> TextEncoding? {
    let count = min(bytes.count, scoredBytes) & ~1
    var (even, odd) = (0, 0)
    var (feeds, little, big) = (0, 0, 0)
    var index = 0
    while index < count {
      let (first, second) = (bytes[index], bytes[index + 1])
      if first == 0 { even += 1 }
      if second == 0 { odd += 1 }
      if first == 0x0A || second == 0x0A { feeds += 1 }
      if first == 0x0A, second == 0 { little += 1 }
      if first == 0, second == 0x0A { big += 1 }
      index += 2
    }
    let isLittle = odd > even
    let (most, least) = isLittle ? (odd, even) : (even, odd)
    let paired = isLittle ? little : big
    // Bytes that are not UTF-8 need less evidence.
    let wanted = String(validating: bytes[..<count], as: UTF8.self) == nil ? 3 : 8
    guard most >= wanted, most * 100 >= count, least * 20 <= most, paired > 0,
      paired * 10 >= feeds * 6
    else { return nil }
    var transcoder = Transcoder(isLittle ? .utf16LE : .utf16BE)
    var text: [UInt8] = []
    bytes[..<count].withUnsafeBytes { transcoder.decode($0, isLast: false, to: &text) }
    guard String(validating: text, as: UTF8.self) != nil else { return nil }
    return isLittle ? .utf16LE : .utf16BE
  }

  private static func ranked(_ bytes: [UInt8], isWhole: Bool) -> EncodingGuess? {
    let scored = sample(bytes)
    var found: [(encoding: TextEncoding, score: Double)] = []
    for candidate in candidates {
      guard let converter = EncodingNames.converter(candidate.name) else { continue }
      let text = SystemText(converter)
      var output: [UInt8] = []
      bytes.withUnsafeBytes { text.decode($0, isLast: isWhole, to: &output) }
      if output.contains(0xFE) { continue }
      let score = TextPlausibility.score(scored, candidate.writing, text.codes)
      found.append((TextEncoding(tried: candidate.name), score - candidate.malus))
    }
    // Of equal candidates the first stays first.
    let order = found.indices.sorted {
      found[$0].score != found[$1].score ? found[$0].score > found[$1].score : $0 < $1
    }
    guard let best = order.first else { return nil }
    let others = order.dropFirst().map { found[$0] }
    return EncodingGuess(
      encoding: found[best].encoding,
      others: others.filter { $0.score > 0 || found[best].score <= 0 }.map(\.encoding),
      isLikely: found[best].score > 0, isWhole: isWhole)
  }

  /// The bytes to score: all of a short input, otherwise lines with bytes beyond ASCII.
  private static func sample(_ bytes: [UInt8]) -> [UInt8] {
    if bytes.count <= scoredBytes { return bytes }
    var sample: [UInt8] = []
    for line in bytes.split(separator: 0x0A) where line.contains(where: { $0 >= 0x80 }) {
      sample += line.prefix(scoredBytes - sample.count)
      sample.append(0x0A)
      if sample.count >= scoredBytes { break }
    }
    return sample
  }
}
