import Testing

@testable import Importer

/// The dialects of samples like those of real files.
@Suite struct DialectSnifferTests {
  /// A sample; its delimiter, quote, escape and comment as text, `-` for none.
  @Test(arguments: [
    ("a,b\n1,2\n", ", \" \" -"), ("a;b\n1,5;2,5\n", "; \" \" -"),
    ("1,5;2,5\n3,25;4,75\n", "; \" \" -"), ("a\tb\tc\n1\t2\t3\n", "\t \" \" -"),
    ("a|b|c\n1|2|3\n", "| \" \" -"), ("a||b\n1||2\n3||\n", "| \" \" -"),
    ("a||b|c\n1||2\n3||4\nx|y||z\n", "|| \" \" -"),
    ("id|name||x\n1|y||z\n", "| \" \" -"), ("a§b\n1§2\n", "§ \" \" -"),
    ("a^b^c\n1^2^3\n", "^ \" \" -"), ("a~b\n1~2\n", "~ \" \" -"),
    ("a\u{1F}b\n1\u{1F}2\n", "\u{1F} \" \" -"), ("a::b\n1::2\n", ":: \" \" -"),
    ("name\nfoo\nbar\n", ", \" \" -"), ("name\n\"a;b\"\n\"c;d\"\n", ", \" \" -"),
    ("\"a;b\",\"c;d\"\n\"e;f\",\"g\"\n", ", \" \" -"),
    ("Hello, world\nfoo\nbar\n", ", \" \" -"), ("", ", \" \" -"), ("\n\n", ", \" \" -"),
    ("date,time\n2018-01-01,12:30:05\n2018-01-02,13:30:05\n", ", \" \" -"),
    // A tab in every record is not part of texts; a tab behind each delimiter is a blank.
    ("gi|4|N|\tMVT\ngi|5|N|\tMML\ngi|6|N|\tMAL\n", "\t \" \" -"),
    ("a,\tb,\tc\nd,\te,\tf\n", ", \" \" -"), ("a,\tb\nd,\te\n", ", \" \" -"),
    // Quotes.
    ("'a','b'\n'1,5','x'\n", ", ' ' -"), ("a,b\n'tis,so\n'twas,x\n", ", \" \" -"),
    ("a,b\n\"x\",'y'\n", ", \" \" -"), ("id,name\n1,O'Neil\n2,D'Arcy\n", ", \" \" -"),
    ("id,t\n1,'a\\'s'\n2,'b'\n", ", ' \\ -"), ("id,t\n1,`a\\`, b`\n2,`b`\n", ", ` \\ -"),
    ("id,t\n1,it\\'s\n2,'tis\n3,dogs'\n", ", \" \" -"),
    ("'a' 'b' 'c'\n1 2 3\n2 3 4\n3 4 5\n4 5 6\n5 6 7\n", "  ' ' -"),
    ("a 'b c'\nd 'tis\ne dogs' f\ng h i\nj k l\n", ", \" \" -"),
    // Decimal commas between blanks, and texts that look like them.
    ("1,5 2,5\n3,5 4,5\n5,5 6,5\n", "  \" \" -"), ("a b\n1,5 2,5\n3 4,5\n5,5 6\n", "  \" \" -"),
    ("-1,5e3 2,5\n\n3,5 4,5\n5,5 6,5\n", "  \" \" -"),
    ("i,p,n\n1,5 2,5\n3,5 4,5\n5,5 6,5\n", ", \" \" -"),
    ("1,5 x,5\n3,5 y,5\n5,5 z,5\n", ", \" \" -"),
    ("1,5.5 2,5\n3,5.5 4,5\n5,5.5 6,5\n", ", \" \" -"),
    ("1,70 80 72,1\n2,70 81 73,2\n3,71 82 74,3\n", ", \" \" -"),
    ("1,5 2,5\n3,5 4,5\n", ", \" \" -"), ("1,5,2 3,5\n3,5,1 4,5\n5,5,2 6,5\n", ", \" \" -"),
    // Escapes.
    ("a,b\n\"x \\\"y\\\", z\",1\n\"w\",2\n", ", \" \\ -"),
    ("a,b\n\"C:\\dir\\\",1\n\"D:\\\",2\n", ", \" \" -"), ("a,b\n\"x \"\"y\"\"\",1\n", ", \" \" -"),
    ("\"k\",\"v\"\n\"1\", \"Doe\\, J\"\n\"2\",\"x (\\\"y\\\")\"\n", ", \" \\ -"),
    ("d,t\n1/1/19,\"x\"\n1/2/19,\"x, y\"\n1/3/19,'x'\n", ", \" \" -"),
    ("c;l;n\nX;\"3.5;4.1\";97,7\n", "; \" \" -"), ("c0\nv0\na;b\n", ", \" \" -"),
    // Comments are lines at the front, except the header.
    ("# by me\na,b\n1,2\n", ", \" \" #"), ("# by me, 2024, x\na,b\n1,2\n", ", \" \" #"),
    ("#a,b\n1,2\n3,4\n", ", \" \" -"), ("a,b\n1,2\n#3\n", ", \" \" -"),
    ("# note\n#a,b\n1,2\n", ", \" \" -"), ("#\n#\nx\ny\n", ", \" \" -"),
    // Above a blank line: names, and texts.
    ("# a,b,c\n\n1,2,3\n4,5,6\n", ", \" \" -"),
    ("# by me\r\n# a,b,c\r\n\r\n1,2,3\r\n", ", \" \" -"),
    ("# a,b\n\n1,2\n3,4\n", ", \" \" #"), ("# a,b,\n\n1,2,3\n4,5,6\n", ", \" \" #"),
    ("# made by me, on a day in May, alone\n\n1,2,3\n4,5,6\n", ", \" \" #"),
    ("# made by me, today, alone\n\na,b,c\n4,5,6\n", ", \" \" #"),
  ])
  func found(sample: String, dialect: String) throws {
    var sniffer = DialectSniffer(Array(sample.utf8), isWhole: true)
    let found = try sniffer.find()
    func text(_ byte: UInt8?) -> String {
      byte.map { String(decoding: [$0], as: UTF8.self) } ?? "-"
    }
    #expect(
      "\(found.delimiter.text) \(text(found.quote)) \(text(found.escape)) \(found.comment?.text ?? "-")"
        == dialect)
    // A sample that ends anywhere in its last record gives the same result.
    #expect((found.possibleRecordFields != nil) == (found.comment != nil))
  }

  @Test("Given parts of the dialect stay")
  func whatIsGivenStays() throws {
    let sample = Array("# x\na;b;c\n1;'2';\"3\\\"\"\n".utf8)
    let given = DialectSniffer.Given(
      delimiter: [0x2C], quote: .some(nil), escape: .some(nil), comment: [])
    var sniffer = DialectSniffer(sample, isWhole: true, given: given)
    #expect(try sniffer.find() == Dialect(quote: nil, escape: .some(nil)))
    sniffer = DialectSniffer(sample, isWhole: true, given: .init(delimiter: [0x22], quote: 0x22))
    #expect(throws: ImportError.self) { try sniffer.find() }
  }

  @Test(
    "Lines narrower than the table below are a preamble, certain or possible",
    arguments: [
      (["a,b", "1,2", "3,4"], Preamble.Finding.none),
      (["T", "a,b", "1,2", "3,4"], .certain(lines: 1)),
      (["T", "U", "a,b,c", "1,2,3", "4,5,6"], .certain(lines: 2)),
      (["T", "", "a,b", "c,d"], .certain(lines: 2)),
      (["T", "a,b", "1,2,3"], .possible(lines: 2)),
      // A column of text in which a late value has a comma.
      (["c", "v", "a,b", "c,d", "e,f", "g,h"], .possible(lines: 2)),
      (["c", "v", "a,b", "c,1"], .possible(lines: 2)),
      (["T", "1,2", "3,4"], .possible(lines: 1)),
      (["T", "a,b"], .possible(lines: 1)), (["T", "U"], .none), ([], .none),
    ])
  func preambles(lines: [String], finding: Preamble.Finding) {
    let places = lines.indices.filter { !lines[$0].isEmpty }
    let records: [[String?]] = places.map { lines[$0].split(separator: ",").map { String($0) } }
    #expect(Preamble.find(records, lines: places.map { $0 + 1 }, needsHeader: true) == finding)
  }

  @Test("Dialects whose parts cannot be told apart are refused")
  func dialectsThatCannotBe() {
    func refused(
      _ delimiter: String, _ quote: UInt8? = 0x22, _ escape: UInt8?? = nil, _ comment: String? = nil
    ) -> Bool {
      do {
        _ = try Dialect(
          delimiter: Array(delimiter.utf8), quote: quote, escape: escape,
          comment: comment.map { Array($0.utf8) })
        return false
      } catch {
        return "\(error)".contains("--delimiter")
      }
    }
    #expect(!refused("§") && !refused("||") && !refused(",", nil, 0x5C, "//"))
    #expect(refused("") && refused("abcde") && refused("a\n") && refused("\"") && refused("a\"b"))
    #expect(refused(",", 0x22, 0x2C) && refused("\\", 0x22, 0x5C) && refused(",", 0x0A))
    #expect(refused(",", 0x22, nil, "\"x") && refused(",", 0x22, nil, ",") && refused("é", 0xC3))
    #expect(refused(",", 0x22, 0x5C, "\\x") && refused(",", 0x22, nil, "#\n"))
  }
}
