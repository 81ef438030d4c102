import Engine
import Foundation
import Importer
import TestSupport
import Testing

/// Generated inputs in every dialect and encoding, with columns of every type and with faults. The
/// generator knows the result: the rows, the rejects byte for byte, and the types, which are those of
/// the same rows written plainly.
@Suite struct DialectCorpusTests {
  /// A dialect, and how its fields are written.
  struct Style: Sendable, CustomStringConvertible {
    var delimiter = ","
    var quote: Character? = "\""
    /// nil: the quote is doubled.
    var escape: Character?
    var comment: String?
    var recordEnd = "\n"

    var description: String {
      "delimiter \(delimiter.debugDescription), quote \(quote.map(String.init) ?? "none"), escape "
        + "\(escape.map(String.init) ?? "-"), comment \(comment ?? "-"), "
        + "end \(recordEnd.debugDescription)"
    }

    /// - Parameter isQuoted: whether it is quoted without need.
    func field(_ value: String?, isQuoted: Bool) -> String {
      guard let value else { return "" }
      let special = [delimiter, "\n", "\r", comment].compactMap { $0 }
      guard let quote else {
        guard let escape else { return value }
        var text = value.replacing(bytes: "\(escape)", by: "\(escape)\(escape)")
        for word in special { text = text.replacing(bytes: word, by: "\(escape)\(word)") }
        return text
      }
      let needs =
        value.isEmpty || value.has("\(quote)") || special.contains { value.has($0) }
        || escape.map { value.has("\($0)") } ?? false
      guard needs || isQuoted else { return value }
      let sign = escape ?? quote
      var text = value
      if let escape {
        text = text.replacing(bytes: "\(escape)", by: "\(escape)\(escape)")
      }
      text = text.replacing(bytes: "\(quote)", by: "\(sign)\(quote)")
      return "\(quote)\(text)\(quote)"
    }

    /// Texts that fields must not contain, since the dialect cannot write them.
    var unwritable: [String] {
      quote != nil || escape != nil ? [] : [delimiter, "\n", "\r"]
    }
  }

  static let styles = [
    Style(), Style(delimiter: ";", quote: "'", recordEnd: "\r\n"),
    Style(delimiter: "\t", quote: nil), Style(delimiter: "|", escape: "\\", recordEnd: "\r"),
    Style(delimiter: "||", comment: "//"), Style(delimiter: "§", recordEnd: "\r\n"),
    Style(delimiter: ",", quote: nil, escape: "\\"),
    Style(delimiter: "::", quote: "'", escape: "\\"),
  ]

  private static let types = [
    "int", "double", "bool", "date", "datetime", "written", "zeros", "text",
  ]

  /// An input and its contents.
  private struct Corpus {
    var bytes: [UInt8] = []
    var header: [UInt8] = []
    var rows: [[String?]] = []
    var rejects: [[UInt8]] = []
  }

  private static func encoded(_ text: String, _ encoding: TextEncoding) -> [UInt8] {
    let foundation: String.Encoding =
      switch encoding {
      case .utf8: .utf8
      case .latin1: .isoLatin1
      case .windows1252: .windowsCP1252
      case .utf16LE: .utf16LittleEndian
      case .utf16BE: .utf16BigEndian
      default: .ascii
      }
    return text.data(using: foundation).map { Array($0) } ?? []
  }

  private static func value(
    _ type: String, _ style: Style, _ encoding: TextEncoding, _ random: inout SplitMix64
  ) -> String? {
    func pick(_ limit: UInt64) -> Int { Int(random.next() % limit) }
    if pick(9) == 0 { return nil }
    let day = String(format: "%04d-%02d-%02d", 1990 + pick(60), 1 + pick(12), 1 + pick(28))
    switch type {
    case "int": return ["0", "-7", "9223372036854775807", "\(pick(1_000_000))"][pick(4)]
    case "double": return ["-0.25", "1e3", "4.10", "\(pick(1000)).5"][pick(4)]
    case "bool": return pick(2) == 0 ? "true" : "false"
    case "date": return day
    case "datetime": return day + "T0\(pick(9)):15:00Z"
    case "written": return "\(["May", "July", "August"][pick(3)]) \(1 + pick(28)), 2018"
    case "zeros": return String(format: "%05d", pick(99_999))
    default:
      var pieces = ["a", "Bc", " ", "\"", "'", "\\", "#", "/", ",", ";", "|", "\t", "\n", "x\r\ny"]
      switch encoding {
      case .latin1: pieces += ["é", "ÿ", "§"]
      case .windows1252: pieces += ["é", "€", "§", "š"]
      default: pieces += ["é", "€", "😀", "§", "\u{0301}"]
      }
      var text = "t"
      for _ in 0..<pick(6) { text += pieces[pick(UInt64(pieces.count))] }
      for word in style.unwritable { text = text.replacing(bytes: word, by: "_") }
      // The reader keeps blanks around unquoted fields; a writer need not know that.
      return text + "t"
    }
  }

  private static func corpus(_ style: Style, _ encoding: TextEncoding, _ random: inout SplitMix64)
    -> Corpus
  {
    var corpus = Corpus()
    func line(_ fields: [String]) -> String { fields.joined(separator: style.delimiter) }
    corpus.header = encoded(line(types), encoding)
    corpus.bytes = corpus.header + encoded(style.recordEnd, encoding)
    for row in 0..<260 {
      let values = types.map { value($0, style, encoding, &random) }
      var fields = values.map { style.field($0, isQuoted: random.next() % 5 == 0) }
      var broken: [UInt8] = []
      switch row < 20 ? 20 : random.next() % 20 {
      case 0: fields.removeLast()
      case 1: fields.append("surplus")
      case 2 where style.quote != nil:
        fields[0] = style.field("1", isQuoted: true) + "x"
      case 3:
        switch encoding {
        case .utf8: broken = [0xFF]
        case .windows1252: broken = [0x81]
        case .utf16LE: broken = [0x00, 0xD8]
        case .utf16BE: broken = [0xD8, 0x00]
        default: fields.removeLast()
        }
        if !broken.isEmpty { fields[fields.count - 1] = "" }
      case 4 where style.comment != nil:
        corpus.bytes += encoded("\(style.comment ?? "")not a record\(style.recordEnd)", encoding)
        fallthrough
      default:
        corpus.rows.append(values)
        corpus.bytes += encoded(line(fields) + style.recordEnd, encoding)
        continue
      }
      let record = encoded(line(fields), encoding) + broken
      corpus.rejects.append(record)
      corpus.bytes += record + encoded(style.recordEnd, encoding)
    }
    return corpus
  }

  private static func options(_ style: Style, _ encoding: TextEncoding)
    -> (inout ImportOptions) -> Void
  {
    { options in
      options.delimiter = style.delimiter
      options.quote = .some(style.quote?.asciiValue)
      options.escape = .some((style.escape ?? style.quote)?.asciiValue)
      options.comment = style.comment ?? ""
      options.header = .firstRecord
      options.encoding = encoding
      options.skipLines = 0
      options.maxRejects = .unlimited
    }
  }

  @Test(
    "Rows in any style and encoding import like plain ones, and rejects keep their bytes",
    arguments: Effort.some(styles), [TextEncoding.utf8, .latin1, .windows1252, .utf16LE, .utf16BE])
  func whatIsWrittenIsRead(style: Style, encoding: TextEncoding) throws {
    for seed in 1...3 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed &* 1000 &+ UInt64(style.description.utf8.count))
      let corpus = Self.corpus(style, encoding, &random)
      let what: Comment = "seed \(seed), \(encoding), \(style)"
      let folder = try ImportFolder()
      let sizes: [ImportOptions.BatchSize] = [.records(7), .records(1000), .all]
      let report = try folder.importCSV(corpus.bytes) {
        Self.options(style, encoding)(&$0)
        $0.batchSize = sizes[Int(seed) - 1]
      }
      #expect(report.imported == corpus.rows.count, what)
      #expect(report.rejected == corpus.rejects.count, what)
      expectBalanced(report)
      // The same rows, written plainly.
      let plain = Style()
      let csv = ([Self.types] + corpus.rows).map { row in
        row.map { plain.field($0, isQuoted: false) }.joined(separator: ",") + "\n"
      }.joined()
      let twin = try ImportFolder()
      try twin.importCSV(csv) {
        Self.options(plain, .utf8)(&$0)
      }
      #expect(firstDifference(try folder.export(), try twin.export()) == nil, what)
      #expect(firstDifference(try twin.export(), Array(csv.utf8)) == nil, what)
      #expect(try folder.types() == twin.types(), what)
      try folder.expectSound()
      if corpus.rejects.isEmpty { continue }
      let end = Self.encoded("\n", encoding)
      let mark: [UInt8] =
        encoding == .utf16LE ? [0xFF, 0xFE] : encoding == .utf16BE ? [0xFE, 0xFF] : []
      let rejects = corpus.rejects.reduce(mark + corpus.header + end) { $0 + $1 + end }
      #expect(firstDifference(try folder.read("t.rejects.csv"), rejects) == nil, what)
    }
  }
}

extension String {
  /// By bytes: a quote and an accent behind it are one character otherwise, and so are the two bytes of
  /// a line end.
  fileprivate func has(_ word: String) -> Bool { replacing(bytes: word, by: word + "\0") != self }

  fileprivate func replacing(bytes word: String, by other: String) -> String {
    let (bytes, wanted) = (Array(utf8), Array(word.utf8))
    var result: [UInt8] = []
    var position = 0
    while position < bytes.count {
      if bytes[position...].starts(with: wanted) {
        result += Array(other.utf8)
        position += wanted.count
      } else {
        result.append(bytes[position])
        position += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
