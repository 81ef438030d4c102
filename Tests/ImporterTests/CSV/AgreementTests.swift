import Importer
import Testing
import TestSupport

/// The fast splitter and parser agree with the slow, obvious ones.
@Suite struct AgreementTests {
  static let cases: [String] = [
    "", "a", "a\n", "a,b", "a,b\n", "a,b\nc,d", "a,b\nc,d\n", "a,b\r\nc,d\r\n", "a,b\rc,d\r",
    "a,b\nc,d\r\ne,f\rg,h", "\n", "\r", "\r\n", "\n\n\n", "\r\r\r", "\r\n\r\n", "\n\r\n\r", "\na,b",
    "a,b\n\n\nc,d\n\n", "a,b\r\r\nc,d", "a,b\r\n\rc,d\r\n\n", ",", ",\n,", ",,", "a,", ",a",
    "a,\n,b",
    "\"a\",\"b\"", "\"a\",\"b\"\n", "\"\",\"\"", "\"\",", ",\"\"\n", "\"a,b\",c", "\"a\nb\",c",
    "\"a\r\nb\",c\n", "\"a\rb\",\"c\nd\"\r\n", "\"\n\n\",\"\r\r\"\r\rx,y", "\"a\r\",\"\nb\"\n",
    "\"a\"\"b\",c", "\"\"\"a\"\"\",\"\"\"\"", "\"\"\"\",\"\"\"\"\"\"\n", "\"\"\"\"\"\"\"\",x",
    "\"a\"\"\n\"\"b\",\"\"\"\"\r\n", "a\"b,c\"d", "a\"\"b,\"c\"", "a\",\"b\"\n", "a,b\"\n\"c\",d",
    " \"a\",b", "a, \"b\"\n", "\"a\" ,b", "\"a\"b,c\nd,e", "\"a\"b\"c,d\ne,f",
    "\"a\"b\"\"c,\"d\"\n",
    "\"a\"\"b\"c,d\n\"e\",f", "\"a\"b,\"c\"d\n", "a,\"b\"c", "\"", "\"\n", "a,\"", "a,\"b",
    "a,\"b\nc,d\n",
    "\"a\"x,\"b\nc", "\"a\"\"", "\"a\"\"\n", "a,b\n\"c,d\r\n\r\n", "a,b,c", "a", "a,b,c\na\na,b\n",
    "a,b,\"c\"\"d\",\"e\ne\"\n", "a,b\n,\n\"\"\n", "a\0,\0b\n\0", "\u{FEFF}a,b\nc,d",
    "\u{FEFF}\"a\",b", "\u{FEFF}", "\u{FEFF}\n", "a,\u{FEFF}b\n\u{FEFF}c,d", "é,美\n😀,\"ñ\"\"ñ\"\n",
    "a;b\nc;d", "'a','b'", "a\tb\n", "\"a\"\r\n\"b\",c", "\"a\",b\"\r\n\"c\",d\"\n",
    "x,\"y\"\r\r\n\"",
    // Blanks around quotes.
    " \"a\" , \"b\" \n", "\t\"a\"\t,\t \"b\"", " \"a\" x,b\n", "  \"a\nb\"  ,c\n", "  \"a",
    "  ,  \n",
    " \"a,b\" \r\n \"c\"", "a, b \"c\", \"d\"\n", "\"a\"  \"b\",c\n", " \"\" , \"\"\n",
    "\"a, \"b\",c",
    // Escapes, comments and long delimiters, in the dialects that have them.
    "\"a\\\"b\",c\n", "\"a\\\\\",c\n", "a\\,b,c\n", "a\\\nb,c\n", "a\\\r\nb,c\n", "\"a\\\r\nb\",c",
    "a\\",
    "a\\\r", "\"a\\", "C:\\dir,\"D:\\x\"\n", "\\N,\\\\\n", "\"a\"\\,b", "#x,y\na,b",
    "a,b\n#\"c,d\n#e\nf,g", "#a,\"b,c\"\nd,e\n", "#a,\nb,c\n", "#a\\,b,c\n", "#a,\"b\nc,d\n",
    "#,b,\n#a\\\nc\n", "#a,b,c\"d,e\"\n", "# \"a b\" c\n#\"a b\n", "#a, \"b,c\" \n#a, \n", "#\"\n",
    "#a,\"b\"\"c\",\n#a,\"b\"c,\"d,\n", "a,b\n#c,\"d,e",
    "#", "#a", "#\n#\r\n\r#\rb,c", "\"a\n#b\",c\n", " #a,b\n", "a,b\n#a,b", "a||b\nc|d||e\n",
    "a|||b||c|", "||\n|||\n||||\n", "\"a||b\"||c\n", "a\\||b||c\n", "a||\"b\" ||  \"c\"\n",
    "a§b§\"c§d\"\n",
    "|", "a|", "a||", "é§美\n",
    // Text behind closing quotes, which lenient dialects accept.
    "\"a\" b ,c\n", "\"a\"\"b\"c\"d,\"e\"f\n", "\"\"a,\"\"\"\"b\"c\"\"\n", "\"a\\\"b\"\\,c,d\n",
    "'a' b||'c'd\n",
    "\"a\" \"b\",\"c\" \n",
    // Runs of blanks.
    "a b\n", "  a \t b  \r\n\tc\t\td\t\n", "   \n \t\r\n\ta b\n  ", " ", "a b ", "a  b\n\n \n c d",
    "  \r\r\n \r a  b\r", " \"a b\"  c\n", "\"a\nb\"\t\"\" \n", "a \"b\"x c\n", "a  \"b\"\"c \"\n",
    " \"a \n b", "x\\ y  z\\\\ \n", "a\\\t b\n", " # a b\nc d\n", "# a  b \na b\n", "#a\nb c\n",
    " #\n \n",
    "a#b  c\n", "é  美 \n", "a\0 \0b\n", "\u{FEFF}  a b\n", "a   b   c\n a\n",
  ]

  static let dialects: [Dialect] = {
    let other = [
      try? Dialect(delimiter: [UInt8(ascii: ";")], quote: UInt8(ascii: "'")),
      try? Dialect(delimiter: [UInt8(ascii: ",")], quote: nil),
      try? Dialect(delimiter: [0x09]),
      try? Dialect(escape: 0x5C),
      try? Dialect(quote: nil, escape: 0x5C),
      try? Dialect(escape: .some(nil), comment: [0x23]),
      try? Dialect(delimiter: Array("||".utf8), escape: 0x5C, comment: Array("#".utf8)),
      try? Dialect(delimiter: Array("§".utf8)),
      try? Dialect(delimiter: Array(", ".utf8), quote: 0x27),
      sniffedComment(try? Dialect(comment: [0x23])), lenient(try? Dialect()),
      sniffedComment(try? Dialect(escape: 0x5C, comment: [0x23])),
      lenient(try? Dialect(escape: 0x5C)),
      lenient(try? Dialect(delimiter: Array("||".utf8), quote: 0x27)), whitespace,
      try? Dialect(delimiter: Dialect.whitespace, quote: nil),
      lenient(try? Dialect(delimiter: Dialect.whitespace, escape: 0x5C, comment: [0x23])),
      sniffedComment(try? Dialect(delimiter: Dialect.whitespace, comment: [0x23])),
      try? Dialect(delimiter: Dialect.whitespace, comment: Array("# ".utf8)),
    ]
    return [.rfc4180] + other.compactMap { $0 }
  }()

  private static func lenient(_ dialect: Dialect?) -> Dialect? {
    var dialect = dialect
    dialect?.keepsTextBehindQuotes = true
    return dialect
  }

  private static func sniffedComment(_ dialect: Dialect?) -> Dialect? {
    var dialect = dialect
    dialect?.possibleRecordFields = 2
    return dialect
  }

  private static let whitespace = try? Dialect(delimiter: Dialect.whitespace)

  @Test("Hand-picked cases parse as in the reference parser, in every dialect and policy")
  func handPickedCasesInEveryDialectAndPolicy() throws {
    #expect(Self.dialects.count == 20)
    for text in Effort.some(Self.cases) {
      for dialect in Self.dialects {
        for isBlankRecord in [false, true] {
          let reference = ReferenceParser(
            Array(text.utf8), dialect: dialect, blankLinesAreRecords: isBlankRecord)
          for ragged in [ImportOptions.Ragged.reject, .pad, .extend] {
            for columnCount in 1...3 {
              try expectAgreement(
                reference,
                Feed(
                  dialect: dialect, columnCount: columnCount, ragged: ragged,
                  blankLinesAreRecords: isBlankRecord))
            }
          }
        }
      }
    }
  }

  @Test("Hand-picked cases parse as in the reference parser, wherever reads split them")
  func handPickedCasesAtEverySplitPoint() throws {
    for text in Effort.some(Self.cases) {
      for dialect in Self.dialects {
        let reference = ReferenceParser(Array(text.utf8), dialect: dialect)
        for split in 0...reference.bytes.count where dialect.isTriedAtEverySplit {
          try expectAgreement(reference, Feed(dialect: dialect, readSizes: [split, .max]))
        }
        for size in 1...3 {
          try expectAgreement(reference, Feed(dialect: dialect, readSizes: [size]))
        }
      }
    }
  }

  @Test(
    "Hand-picked cases parse as in the reference parser, wherever chunks are cut",
    arguments: [.rfc4180, whitespace].compactMap(\.self))
  func handPickedCasesAtEveryChunkCut(dialect: Dialect) throws {
    for text in Effort.some(Self.cases) {
      let reference = ReferenceParser(Array(text.utf8), dialect: dialect)
      for size in 1...max(1, reference.bytes.count) {
        try expectAgreement(reference, Feed(dialect: dialect, chunkBytes: size))
        try expectAgreement(reference, Feed(dialect: dialect, readSizes: [1], chunkBytes: size))
      }
      for limit in [1, 2, 7] {
        try expectAgreement(reference, Feed(dialect: dialect, recordLimit: limit))
        try expectAgreement(reference, Feed(dialect: dialect, readSizes: [2], recordLimit: limit))
      }
    }
  }

  /// Each case begins at every place of a block of 64 bytes.
  @Test(arguments: [.rfc4180, whitespace].compactMap(\.self))
  func handPickedCasesAcrossBlockEdges(dialect: Dialect) throws {
    let separator = dialect.isWhitespace ? "  " : ","
    let tail = String(repeating: "t\(separator)\"u\"\n", count: 6)
    let plain = String(repeating: "t\(separator)u\(dialect.isWhitespace ? " " : "")\n", count: 12)
    for (number, text) in Self.cases.enumerated() where !text.isEmpty {
      for before in stride(from: number % 3, to: 68, by: 3) {
        let isBlank = dialect.isWhitespace && before % 2 == 0
        let head =
          String(repeating: isBlank ? " " : "h", count: before) + "\(separator)\"\"\n"
        for rest in [tail + plain, plain + tail] {
          let input = Array((head + text + "\n" + rest).utf8)
          try expectAgreement(ReferenceParser(input, dialect: dialect), Feed(dialect: dialect))
        }
      }
    }
  }

  /// Whole blocks without quotes and carriage returns, followed by a quote.
  @Test func quotesBehindPlainBlocks() throws {
    let tail = "\"l1\nl2\",c\r\n" + String(repeating: "t,u\n", count: 20)
    // Several blocks are needed: the first one behind a block with quotes does not count as plain.
    let counts = Array(0..<70) + Array(stride(from: 126, to: 264, by: 3))
    for before in [
      "", "a", "a,", "a,b\n", "a,b\r", "\"a\n\"", "\"a\n\",", "\"a\n\",b", "\"a\n",
    ] {
      for filler in [" ", "\t", "x", "\n", " ,", "1,2\n"] {
        for count in counts {
          let input = before + String(repeating: filler, count: count) + tail
          let reference = ReferenceParser(Array(input.utf8))
          try expectAgreement(reference, Feed(recordLimit: count % 3 == 0 ? 40 : .max))
        }
      }
    }
  }

  /// A read ends between the two bytes of a pair, behind plain blocks and before others.
  @Test func pairsAroundReadsBetweenPlainBlocks() throws {
    let end = String(repeating: "t,u,v,w\n", count: 30)
    for count in 64..<200 {
      for quote in ["", "\""] {
        let text = quote + String(repeating: "x", count: count) + "\r"
        let rest = "\n" + String(repeating: "y", count: 140) + quote + "\n" + end
        try expectAgreement(
          ReferenceParser(Array((text + rest).utf8)),
          Feed(readSizes: [text.utf8.count, .max], recordLimit: 1))
      }
    }
  }

  @Test(
    "The parser agrees with the slow one on generated inputs", arguments: 0..<4 as Range<UInt64>)
  func generatedInputs(part: UInt64) throws {
    for seed in (part * 400)..<(part * 400 + 400) {
      var random = SplitMix64(seed: seed)
      let input = Self.generated(&random)
      let isBlankRecord = Bool.random(using: &random)
      let dialect = Self.dialects[Int.random(in: 0..<Self.dialects.count, using: &random)]
      let reference = ReferenceParser(
        input, dialect: dialect, blankLinesAreRecords: isBlankRecord)
      var feed = Feed(dialect: dialect, blankLinesAreRecords: isBlankRecord)
      for _ in 0..<3 {
        feed.columnCount = Int.random(in: 1...4, using: &random)
        feed.ragged = [.reject, .pad, .extend].randomElement(using: &random) ?? .reject
        feed.readSizes =
          [[], [1], [2, 1, 63, 3], [64], [65, .max], [7]]
          .randomElement(using: &random) ?? []
        feed.chunkBytes =
          [1, 2, 30, 64, 100, 1 << 20].randomElement(using: &random) ?? 1
        feed.recordLimit = [1, 2, 7, .max].randomElement(using: &random) ?? 1
        try expectAgreement(reference, feed, seed: seed)
      }
    }
  }

  @Test("Small generated inputs parse as in the reference parser, wherever reads split them")
  func smallGeneratedInputsAtEverySplitPoint() throws {
    for seed in 10_000..<(10_000 + 150) as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let input = Array(Self.generated(&random).prefix(Int.random(in: 1...90, using: &random)))
      let reference = ReferenceParser(input)
      for split in stride(from: 1, through: input.count, by: 1) {
        try expectAgreement(reference, Feed(readSizes: [split, .max]), seed: seed)
      }
    }
  }

  /// Text with many structural characters; some inputs are well-formed for long stretches, so that the
  /// fast path is taken, too.
  static func generated(_ random: inout SplitMix64) -> [UInt8] {
    let wild: [String] = [
      "\"", "\"", "\"\"", ",", ",", "\n", "\r", "\r\n", " ", "a", "b", "cd", "é", "美", "😀", ";",
      "'", "\t", " ", "\\", "\\", "#", "\n#", "|", "||", "§", ", ",
      "\0",
    ]
    let fields: [String] = [
      "\"x\"", "\"x,y\"", "\"\"", "\"a\"\"b\"", "\"l1\nl2\"", "\"l1\r\nl2\"", "plain", "",
      "longer plain text",
      "1.5", "naïve", "\"美\"", " \"x\"", "\"x\" ", "5\" x", "   \"y z\"  ",
    ]
    let invalid: [[UInt8]] = [
      [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80], [0x80],
      [0xF0, 0x9F, 0x98],
    ]
    let separators =
      Bool.random(using: &random)
      ? [","] : [" ", "  ", "   ", "\t", String(repeating: " ", count: 70)]
    let isWild = Int.random(in: 0..<3, using: &random) == 0
    // Other inputs rarely have whole blocks without quotes.
    let usual =
      Int.random(in: 0..<3, using: &random) == 0 ? fields.filter { !$0.contains("\"") } : fields
    let hasInvalid = Int.random(in: 0..<4, using: &random) == 0
    var bytes: [UInt8] = Int.random(in: 0..<8, using: &random) == 0 ? [0xEF, 0xBB, 0xBF] : []
    let end = ["\n", "\r\n", "\r"].randomElement(using: &random) ?? "\n"
    for _ in 0..<Int.random(in: 0..<80, using: &random) {
      if hasInvalid && Int.random(in: 0..<12, using: &random) == 0 {
        bytes += invalid.randomElement(using: &random) ?? []
      }
      if isWild || Int.random(in: 0..<60, using: &random) == 0 {
        bytes += Array((wild.randomElement(using: &random) ?? "").utf8)
      } else {
        bytes += Array((usual.randomElement(using: &random) ?? "").utf8)
        let isEnd = Int.random(in: 0..<3, using: &random) == 0
        bytes += Array((isEnd ? end : separators.randomElement(using: &random) ?? ",").utf8)
      }
    }
    return bytes
  }
}

extension Dialect {
  /// Whether the dialect has a path of its own: most have a delimiter of one byte and double their
  /// quotes, and nothing else.
  fileprivate var isTriedAtEverySplit: Bool {
    self == .rfc4180 || delimiter.count > 1 || isWhitespace || escape != quote || comment != nil
  }
}
