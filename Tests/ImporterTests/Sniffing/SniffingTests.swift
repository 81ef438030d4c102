import Importer
import TestSupport
import Testing

@testable import Importer

/// Where an input's table begins, its header and its names. Each rule has cases that it is for, and
/// others that look like them.
@Suite struct SniffingTests {
  /// The result in short: skipped lines, then names or the number of columns.
  static func found(_ text: String, _ change: (inout ImportOptions) -> Void = { _ in })
    throws -> (place: String, notes: String, delimiter: String)
  {
    var options = ImportOptions(inputs: ["t.csv"], database: "")
    options.isSniffing = true
    change(&options)
    let opened = try InputPlanner(options: options, path: "t.csv").open(
      MemorySource(Array(text.utf8), name: "t.csv"))
    let names = opened.header.names
    let place = opened.hasHeader ? names.joined(separator: "|") : "\(names.count) columns"
    return (
      "\(opened.report.skippedLines): \(place)",
      opened.told(options) { _ in false }.joined(separator: "\n"),
      opened.report.delimiter
    )
  }

  @Test("A sign that stands alone is no quote where all is well without it")
  func signsAlone() throws {
    let feet =
      "item,unit,length\nrope,m,3\nboard,',5\nnail,cm,4\nbeam,',7\nplank,',6\nrod,m,2\nbar,',8\n"
    for sign in ["'", "`"] {
      let text = feet.replacing("'", with: sign)
      let found = try Self.found(text + "last,m,1\n")
      #expect(found.place == "0: item|unit|length" && !found.notes.contains("quote"), "\(found)")
      // Also with a record that is too short, between two of them.
      let short = try Self.found(text.replacing("nail,cm,4", with: "nail,cm") + "last,m,1\n")
      #expect(!short.notes.contains("is taken for a quote"), "\(short)")
      // And where more records are looked at than are counted.
      let long = (0..<2000).map { "item \($0),\($0 % 3 == 0 ? sign : "m"),\($0)\n" }.joined()
      let many = try Self.found("item,unit,length\n" + long)
      #expect(many.place == "0: item|unit|length", "\(many)")
      #expect(!many.notes.contains("is taken for a quote"), "\(many)")
    }
    // Two of them in each record, with as many fields in all.
    let sizes = (0..<20).map { "board \($0),\($0 % 7 + 1),',\($0 % 11),'\n" }
    let inches = try Self.found(sizes.joined())
    #expect(inches.place == "0: 5 columns", "\(inches)")
    // The usual quote is used, and correctly.
    let prices = (0..<20).map { "'b\($0)',\($0 % 3 == 0 ? "''" : "m"),\"$7,\(100 + $0).00\"\n" }
    let found = try Self.found("tag,unit,price\n" + prices.joined())
    #expect(found.place == "0: tag|unit|price" && !found.notes.contains("quote"), "\(found)")
    // What is in such quotes throughout is told.
    let words = (0..<20).map { "'word \($0)',\($0),'\($0), and more'\n" }
    let framed = try Self.found("a,b,c\n" + words.joined())
    #expect(framed.place == "0: a|b|c", "\(framed)")
    #expect(framed.notes.contains("--quote '\"' keeps it"), "\(framed)")
    let alike = try Self.found("a,b\n'one',1\n'two',2\n'three',3\n")
    #expect(alike.notes.contains("is taken for a quote"), "\(alike)")
  }

  /// As in real files: a title, too few names, and records of all lengths.
  @Test("Records of any lengths are looked at", arguments: 0..<4 as Range<UInt64>)
  func ragged(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let cells = [
      "1", "2.5", "x", "alpha beta", " y", "", "2020-01-01", "NA", "10", "#", "1/2/20", "nan",
      "\"q\"",
      "1.234,56 €", "5%", "title", "12:30",
    ]
    for _ in 0..<Effort.rounds(1000, long: 100_000) {
      let width = Int.random(in: 1...6, using: &random)
      let delimiter = [",", ";", "\t", "|", " "].randomElement(using: &random) ?? ","
      var text = ""
      for row in 0..<Int.random(in: 0...9, using: &random) {
        let count =
          Int.random(in: 0..<4, using: &random) > 0
          ? max(1, row == 0 ? width - 1 : width) : Int.random(in: 1...width + 2, using: &random)
        let fields = (0..<count).map { column in
          column == 0 && row > 0 && Bool.random(using: &random)
            ? ["\(row)", "n\(row)"].randomElement(using: &random) ?? ""
            : cells.randomElement(using: &random) ?? ""
        }
        text += fields.joined(separator: delimiter) + "\n"
      }
      do {
        _ = try Self.found(text)
      } catch is ImportError {}
    }
  }

  /// The short record in the middle lacks the field that has a blank elsewhere.
  @Test func aCutTextBesideAShortRecord() throws {
    let text = "alpha,beta,gamma\nx1, x,2.5,3\nx2\nx3, z,4.5,5\nx4, z,4.5,5\nx5, q,1.5,2\n"
    #expect(try !Self.found(text).place.isEmpty)
  }

  // MARK: Preambles

  @Test(
    "Titles, labels and notes above a table are skipped; lines that may be records are not",
    arguments: [
      // Titles of spreadsheets: as wide as the table, and at most a quarter filled.
      ("Report 2020,,\nName,Qty,Price\nA,1,2.5\nB,2,3.5\n", "1: Name|Qty|Price"),
      (
        "Report 2020,,\nPrinted today,,\n,,\nName,Qty,Price\nA,1,2.5\nB,2,3.5\n",
        "3: Name|Qty|Price"
      ),
      ("R,,,\nName,City,Land,Code\nA,Rom,IT,x\nB,Oslo,NO,y\n", "1: Name|City|Land|Code"),
      // Labels and their values.
      (
        "Konto:;DE123;;\nVon:;01.01.2020;;\n\nTag;Text;Betrag;EUR\n02.01.20;A;1,5;x\n03.01.20;B;2,5;y\n",
        "3: Tag|Text|Betrag|EUR"
      ),
      // Padded, with few columns, above a blank line only; a table of its own; a header as open as they are.
      ("IBAN,D1,\nBank,X,\n\na,b,c\nx,2,y\nz,4,y\n", "3: a|b|c"),
      ("IBAN,D1,\nBank,X,\na,b,c\nx,2,y\nz,4,y\n", "0: IBAN|D1|column3"),
      ("n,D1,\n1,X,\n\na,b,c\nx,2,y\nz,4,y\n", "0: n|D1|column3"),
      ("IBAN,D1,\nBank,X,\n\na,b,\nx,2,\nz,4,y\n", "0: IBAN|D1|column3"),
      // Lines narrower than the table, above figures, even if they outnumber its records.
      ("Model,X\nSerial,123\nTime,V1,V2\n0.1,1,2\n0.2,3,4\n", "2: Time|V1|V2"),
      ("a;1\nb;2\nc;3\nd;4\n\nDay;In;Out\n2020-01-02;1;2\n", "5: Day|In|Out"),
      ("T\n\nname,n\nx,1\ny,2\n", "2: name|n"),
      // Notes behind the table do not matter.
      ("Made by,me\nTime,V1,V2\n0.1,1,2\n0.2,3,4\n0.3,5,6\nEnd of report\n", "1: Time|V1|V2"),
      // Comments with as many fields as the table, above a header that figures reveal.
      ("# by me\n# day,in,out\n\n1,2,3\n4,5,6\n", "1: # day|in|out"),
      ("#s, m, h\nday,in,out\n1,2,3\n4,5,6\n", "1: day|in|out"),
      ("# a\n# by me\n# day,in,out\n1,2,3\n4,5,6\n", "2: # day|in|out"),
      // Figures only, below a title of one field.
      ("sensor 7\n1,2\n3,4\n5,6\n7,8\n9,1\n", "1: 2 columns"),
      // Texts beside figures in half of the columns, below a title of several words.
      (
        "kappa 0.24\nBr\t1\t2.44\nC\t1\t2.48\nC\t2\t2.49\nCl\t1\t2.5\nF\t1\t3.0\n", "1: 3 columns"
      ),
      // No: a single word may be the first field of a truncated record; texts only; too few records.
      ("Br\nC\t1\t2.48\nC\t2\t2.49\nCl\t1\t2.5\nF\t1\t3.0\nS\t1\t3.0\n", "0: Br"),
      ("a title\nx\ty\tz\nx\tz\ty\nz\ty\tx\nz\tx\ty\nx\tx\tx\n", "0: a title"),
      ("a title\nC\t1\t2.48\nF\t1\t3.0\n", "0: a title"),
      // No: a record is sparse, or shorter.
      ("name,qty,price\nA,,\nB,1,2\n", "0: name|qty|price"),
      ("A,,\nB,1,2\nC,3,4\n", "0: 3 columns"),
      ("x,y\nA,1,2\nB,3,4\nC,5,6\n", "0: column1|x|y"),
      // Groups above names belong to the names; the first column has no group.
      (
        ",G1,,G2,,\nname,a,b,c,d,e\nx,1,2,3,4,5\ny,1,2,3,4,5\n",
        "0: column1|G1|column3|G2|column5|column6"
      ),
      // Sections that repeat.
      ("Fruit,,\napple,red,x\npear,green,y\nNuts,,\nhazel,brown,z\nwal,brown,z\n", "0: 3 columns"),
      // A column of text that sometimes has a delimiter.
      ("Hello, world\nfoo\nbar\n", "0: Hello|world"),
    ])
  func preambles(text: String, expected: String) throws {
    #expect(try Self.found(text).place == expected)
  }

  /// With `--header no` no header shows where the table begins.
  @Test func preamblesOfRecords() throws {
    for text in ["A,,\nx,y,z\np,q,r\n", "a;1\n\nDay;In;Out\n2020-01-02;1;2\n2020-01-03;1;2\n"] {
      #expect(try Self.found(text) { $0.header = .absent }.place.hasPrefix("0: "))
      #expect(try !Self.found(text).place.hasPrefix("0: "))
    }
    let titled = "T\n\n1,2\n3,4\n5,6\n"
    #expect(try Self.found(titled) { $0.header = .absent }.place == "2: 2 columns")
  }

  // MARK: Headers

  @Test(
    "A first record is a header where its fields are names for the values below",
    arguments: [
      // Names that are figures.
      ("Country,2000,2001\nFrance,1.5,2.5\nSpain,2.5,1.5\n", "0: Country|2000|2001"),
      ("Province,Lat,1/22/20,1/23/20,1/24/20\nA,1.5,0,3\nB,2.5,4,1\n", nil),
      ("Province,Lat,1/22/20,1/23/20\nA,1.5,0,3\nB,2.5,4,1\n", "0: Province|Lat|1/22/20|1/23/20"),
      ("bin,-inf,0,1,inf\nA,4,3,9,1\nB,2,8,1,5\n", "0: bin|-inf|0|1|inf"),
      (",0,1\n0,1.5,2.5\n1,3.5,1.5\n", "0: column1|0|1"),
      ("Month,0\n2016-01-01,129.5\n2016-02-01,306.5\n2016-03-01,143.5\n", "0: Month|0"),
      ("id,100022,100025\nid1,TRUE,FALSE\nid2,TRUE,TRUE\nid3,FALSE,TRUE\n", "0: id|100022|100025"),
      // Figures in quotes above figures without, as R writes names; not figures that need quotes, nor
      // figures in quotes below.
      (
        "\"86\" \"37\" \"83\"\n\"1\" 0 5 1\n\"2\" 4 1 0\n\"3\" 1 1 1\n\"4\" 0 0 1\n\"5\" 0 0 2\n",
        "0: column1|86|37|83"
      ),
      ("\"10\",\"7\"\n1.5,2\n2.5,3\n", "0: 10|7"),
      ("\"10\",7\n\"11\",2\n\"12\",5\n", "0: 2 columns"),
      ("\"10\",\"7\"\n\"1.5\",\"2\"\n\"2.5\",\"3\"\n", "0: 2 columns"),
      ("\"10\",\"7\"\n\"11\",2\n\"12\",\"5\"\n", "0: 2 columns"),
      ("\"1,234\",\"5,678\"\n567,890\n678,432\n", "0: 2 columns"),
      ("\"10\",\"7\"\n1.5,2\n", "0: 2 columns"),
      // Ranges and days above numbers are names; not above similar ones, alone, or above a single
      // record.
      (",2-9,10-19,20+\nA,43,16,3\nB,6,11,10\n", "0: column1|2-9|10-19|20+"),
      ("city,5/1/20,3/1/20\nA,43,16\nB,6,11\n", "0: city|5/1/20|3/1/20"),
      ("A,12-14,5-6\nB,7,8\nC,9-10,4\n", "0: 3 columns"),
      ("A,12-14,5\nB,7,8\nC,9,4\n", "0: 3 columns"),
      ("A,12-14,5-6\nB,7,8\n", "0: 3 columns"), ("1-2,12-14,5-6\n3,7,8\n4,5,6\n", "0: 3 columns"),
      // Figures that are values.
      ("Bach,1685,1750\nHaydn,1732,1809\nLiszt,1811,1886\n", "0: 3 columns"),
      ("A,1,5\nB,2,6\nC,3,7\n", "0: 3 columns"), ("x,1,2,3\ny,2,3,4\nz,1,5,9\n", "0: 4 columns"),
      ("Photo,NaN\nDraw,4.5\n", "0: 2 columns"),
      ("400,x\n401A,y\n401B,z\n402A,w\n", "0: 2 columns"),
      // Texts that are values.
      ("https://a.org/x,foo\nhttps://b.org/y,bar\nhttps://c.org/z,baz\n", "0: 2 columns"),
      ("ann@a.org,Ann\nbob@b.org,Bob\n", "0: 2 columns"),
      ("AB-1234,foo\nCD-9876,bar\nEF-1111,baz\n", "0: 2 columns"),
      ("$5.00,07 Nov 2013\n$6.50,08 Nov 2013\n", "0: 2 columns"),
      ("The first thing that I saw there.,a\nAnother one that came behind it.,b\n", "0: 2 columns"),
      ("uk,uk\nde,at\nfr,fr\nes,es\n", "0: 2 columns"),
      ("0041..005A;L\n0061..007A;L\n00AA;L\n", "0: 2 columns"),
      ("KEYCAP ONE;0031 FE0F\nKEYCAP TWO;0032 FE0F\n", "0: 2 columns"),
      ("C1\tbell\nC2\tblack-hole\nC3\tbox\n", "0: 2 columns"),
      ("so be it\nso be it\nso be it\n", "0: 1 columns"),
      ("😀\tgrin\n😁\tbeam\n🤣\troll\n", "0: 2 columns"),
      ("a/b.json\na/c.json\na/d.json\n", "0: 1 columns"),
      ("000-x.xml\n{m}-y.xml\nz.cfg\nw.xml\n", "0: 1 columns"),
      ("a.com,x\nb.c.com,y\nc.org,z\n", "0: 2 columns"),
      // Names that look like such texts.
      ("a.xml\nb.cfg\nc.cfg\nd.pdf\ne.txt\n", "0: a.xml"),
      ("a.xml\nb.xml\nc\nd.xml\ne\n", "0: a.xml"),
      ("Sepal.Length,x\na.Length,y\nb.Length,z\n", "0: Sepal.Length|x"),
      ("e.g. com\na. com\nb. com\n", "0: e.g. com"),
      (",t,a.html\n1,x,b.html\n2,y,c.html\n3,z,d.html\n", "0: column1|t|a.html"),
      ("a.com,x\nb.com,y\n", "0: a.com|x"),
      ("icon\ttext\n😁\tbeam\n🤣\troll\n", "0: icon|text"),
      ("?\ttext\nx\tbeam\n🤣\troll\n", "0: ?|text"),
      ("a/c,x\na/b,y\nc/d,z\n", "0: a/c|x"), ("in/out\nup\ndown\n", "0: in/out"),
      ("face,decade\nfeed,0a1b\nbeef,1c2d\n", "0: face|decade"),
      ("Q1,Q2\nQ2,x\nQ4,y\n", "0: Q1|Q2"), ("a1,b\na2,x\na4,y\n", "0: a1|b"),
      ("code1\nAB 12\ncode1\nAB 13\n", "0: code1"), ("x\n1\n2\nx\n3\n", "0: x"),
      ("code1,name\nAB-1234,foo\nCD-9876,bar\n", "0: code1|name"),
      (
        "Which of these do you like?,e-mail\nApples,ann@a.org\nPears,bob@b.org\n",
        "0: Which of these do you like?|e-mail"
      ),
      ("id,url\nx,https://a.org/x\ny,https://b.org/y\n", "0: id|url"),
      ("price,percent\n$5.00,5%\n\"$1,000.00\",6 %\n", "0: price|percent"),
      ("key,id\na,0f8fad5b-d9cb-469f-a165-70867728950e\n", "0: key|id"),
      ("answer,name\nyes,x\nno,y\n", "0: answer|name"),
      // A missing value tells nothing.
      ("day,v\n2020-01-01,NA\n2020-01-02,3\n", "0: day|v"),
      // Names with a delimiter at the end, above names of rows, and behind a #.
      ("a,b,c,\n1,2,3\n4,5,6\n", "0: a|b|c"), ("mpg cyl\nMazda 21 6\n", "0: mpg cyl"),
      ("mpg\tcyl\nMazda\t21\t6\nDatsun\t22\t4\nVolvo\t23\t4\n", "0: column1|mpg|cyl"),
      ("# a b\n1 2\n3 4\n5 6\n7 8\n9 1\n", "0: a|b"),
      // Names of rows in fewer than three records: numbered as by R, and beside figures only.
      ("mpg,cyl\nMazda RX4,21.0,6\n", "0: column1|mpg|cyl"),
      ("\"mpg\",\"cyl\"\n\"1\",21.0,6\n\"2\",22.8,4\n", "0: column1|mpg|cyl"),
      ("\"x\"\n\"1\",5\n\"2\",7\n", "0: column1|x"),
      ("name,city\n1,Smith,Paris\n2,Doe,Rome\n", "0: column1|name|city"),
      ("name,city\n1,Smith,Paris\n", "0: name|city"),
      // No: a text or number was split, or names come twice.
      ("n,name\n1,Smith, John\n2,Doe, Jane\n", "0: n|name"),
      ("name,city\nSmith, John,Paris\n", "0: name|city"),
      ("name,price\nfoo,1,50\n", "0: name|price"), ("n,price\n1,1,234\n2,2,345\n", "0: n|price"),
      ("a,b\nx,1.5,6\nx,2.5,7\n", "0: a|b"), ("a,b\n2,x,y\n", "0: a|b"),
      ("n,name\n1,Smith, John\n2,Doe, Jane\n3,Roe, Ann\n", "0: n|name"),
      ("id,name\n1,Smith,John\n2,Doe,Jane\n", "0: id|name"), ("a,b\n1,x,\n", "0: a|b"),
      // Names that mean numbers to programs.
      ("name,x,nan\nfoo,1,2\nbar,2,3\n", "0: name|x|nan"),
      ("id,nan,value\n1,2,3\n2,3,4\n", "0: id|nan|value"),
      ("Country,nan,inf\nFrance,1.5,2.5\nSpain,2,3\n", "0: Country|nan|inf"),
      ("bin,-inf,0,1,inf\n1,4,3,9,1\n2,2,8,1,5\n", "0: bin|-inf|0|1|inf"),
      // No: values of the same kind below, or a single one.
      ("a,nan,inf\nb,nan,2\nc,1,3\n", "0: 3 columns"), ("a,nan\nb,2\nc,3\n", "0: 2 columns"),
      ("a,nan,1.5\nb,2,2.5\n", "0: 3 columns"), ("a,nan,nan\nb,1,2\nc,1,3\n", "0: 3 columns"),
    ] as [(String, String?)])
  func headers(text: String, expected: String?) throws {
    guard let expected else { return }
    #expect(try Self.found(text).place == expected)
  }

  @Test("Several rows of names are noted with --header-lines, which joins them")
  func rowsOfNamesAreNoted() throws {
    let text = "day,temp,wind\n,deg C,km/h\n2020-01-01,5,7\n2020-01-02,6,8\n2020-01-03,6,9\n"
    #expect(try Self.found(text).notes.contains("--header-lines 2"))
    #expect(try Self.found(text) { $0.headerLines = 2 }.place == "0: day|temp deg C|wind km/h")
    // The figures below all rows of names count.
    let three = "name,area,volt\nUnits,m2,V\n[0],a,v\nx,1.5,2\ny,2.5,3\nz,3.5,4\n"
    #expect(try Self.found(three).notes.contains("--header-lines 3"))
    let plain = "day,temp,wind\n2020-01-01,5,7\n2020-01-02,6,8\n2020-01-03,,9\n2020-01-04,1,9\n"
    #expect(try !Self.found(plain).notes.contains("--header-lines"))
    #expect(try !Self.found("# by\n# me\n#\n1\n2\n3\n").notes.contains("--header-lines"))
  }

  @Test("Comments above a single column are noted with --comment; names and values are not")
  func commentsBeforeOneColumnAreNoted() throws {
    for text in ["#\n# by me\n#\nx\ny\n", "# by me\n1\n2\n", "## x\n1\n"] {
      #expect(try Self.found(text).notes.contains("--comment '#' leaves such lines out"), "\(text)")
    }
    for text in ["#name\n1\n2\n", "#a\n#b\n", "x\n#b\nc\n", "# a,b\n1,2\n"] {
      #expect(try !Self.found(text).notes.contains("--comment"), "\(text)")
    }
    #expect(try !Self.found("# by me\n1\n2\n") { $0.comment = "" }.notes.contains("--comment"))
  }

  /// Figures above the names, such as the numbers of rows and columns.
  @Test func figuresAboveNamesAreNoted() throws {
    #expect(try Self.found("10,2\n\"id\",\"z\"\n1,2.2\n2,3.1\n").notes.contains("--skip-lines 1"))
    let groups = ",2021-22,2021-22,2022-23,2022-23\n,W,L,W,L\nTeam,,,,\nA,2,3,4,5\nB,3,2,5,6\n"
    #expect(try Self.found(groups).notes.contains("--skip-lines 1"))
    // Padded titles above texts alone, and a note below: nothing certain.
    let padded =
      "Amt;;;\nStand;;;\nKreis;Name;Ort;Land\n01a;Flens;x;ab\n01b;Kiel;yy;bc c\n01c;Luebeck;z;d\n(c) Amt;;;\n"
    #expect(try Self.found(padded).notes.contains("--skip-lines 2"))
    let units =
      ";;;\nAmt;;;\n;;;\nKreis;Name;Bev;Area\n;;Anzahl;qkm\n01001;Flens;91113;56,73\n"
      + "01002;Kiel;246243;118,65\n01003;Luebeck;216277;214,19\n01004;-;.;x\n(c) Amt;;;\n"
    #expect(try Self.found(units).notes.contains("--skip-lines 3"))
    for text in [
      "10,2\nid,3\n1,2.2\n2,3.1\n", "10,2\nid,z\nx,y\nz,w\n", "10,2\n1,2.2\n2,3.1\n3,2\n",
      "10\nid\n1\n2\n",
    ] {
      #expect(try !Self.found(text).notes.contains("--skip-lines"), "\(text)")
    }
  }

  /// The last comment, if it has a word for each column.
  @Test func namesInCommentsAreNoted() throws {
    for text in [
      "# a b c\n\n1 2 3\n4 5 6\n7 8 9\n3 2 1\n6 5 4\n", "# a;b;c d e f\n\n1;2;3\n4;5;6\n",
    ] {
      let found = try Self.found(text)
      #expect(found.notes.contains("give --header 'a,b,c"), "\(found)")
    }
    for text in [
      "# a b c\nx y z\n1 2 3\n4 5 6\n7 8 9\n3 2 1\n6 5 4\n", "# by me\n\n1,2,3\n4,5,6\n",
      "# a,b\n\nc,d\n1,2\n",
    ] {
      #expect(try !Self.found(text).notes.contains("--header '"), "\(text)")
    }
    let named = "# a b c\n\n1 2 3\n4 5 6\n7 8 9\n3 2 1\n6 5 4\n"
    #expect(try !Self.found(named) { $0.header = .absent }.notes.contains("--header '"))
  }

  /// Records that are too few or too odd to be split, which is noted.
  @Test(
    arguments: [
      ("1 3.4 hello\n2 6.4 world\n", 3), ("a b c\n1 2 3\n4 5 6\n", 3), ("x 1\n \ny 2\n", 2),
      // Texts; a date with its time, an amount with its currency, a number; one line; lines of any
      // lengths.
      ("phone\n030 123 456\n040 234 567\n", nil), ("It was\na dark\nand stormy\n", nil),
      ("at\n2018-08-03 12:30\n2018-08-03 12:31\n", nil),
      ("sum\n12.50 EUR\n13.50 EUR\n", nil), ("n\n1 234\n5 678\n", nil), ("1 2 3\n", nil),
      ("1.5 0.3\n2.5 0.4\n&\n", nil), ("1.5 0.3\n2.5 0.4\n3.5 0.4\n4.5 0.4\n&\n", 2),
      ("1 2\n1 2 3\n1\n4 5 6\n", nil), ("John Smith\nJane Doe\nMax Miller\n", nil),
    ] as [(String, Int?)])
  func singleBlanksAreNoted(text: String, fields: Int?) throws {
    let notes = try Self.found(text).notes
    #expect(notes.contains("--delimiter ' ' if it has") == (fields != nil), "\(notes)")
    if let fields { #expect(notes.contains("\(fields) fields with a blank between")) }
  }

  // MARK: Ends

  @Test(
    "Totals and notes below a table are its footer; records that look like them are not",
    arguments: [
      (["a,b,c", "x,1,2", "y,3,4", "z,5,6", "Total,,12"], 3, 1),
      (["a,b,c", "1,1,2", "2,3,4", "3,5,6", "End of report"], 3, 1),
      (["a,b,c", "1,1,2", "2,3,4", "3,5,6", "Source: me", "made today"], 3, 2),
      (["a,b", "x,1", "y,3", "Total:,4"], 2, 1),
      (["a,b,c", "x,1,2", "y,3,4", "Grand total,4,6"], 3, 1),
      // No: sums of groups, a word, a name.
      (["a,b", "x,1", "Total,1", "y,3", "Total,3"], 2, 0),
      (["a,b", "x,q", "y,r", "total,s"], 2, 0),
      (["a,b", "x,1", "y,3", "Totalis,4"], 2, 0),
      // A truncated record, an empty one, and a value.
      (["a,b,c", "1,1,2", "2,3,4", "3,5,6", "4,5"], 3, 0),
      (["a,b,c", "x,1,2", "y,3,4", "z,5,6"], 3, 0),
      (["a,b,c", "x,1,2", "y,3,4", "z,5,6", "w,,"], 3, 0), (["n", "x", "y", "z"], 1, 0),
    ])
  func footers(lines: [String], width: Int, count: Int) {
    let records: [[String?]] = lines.map {
      $0.split(separator: ",", omittingEmptySubsequences: false).map {
        $0.isEmpty ? nil : String($0)
      }
    }
    #expect(TableEnd.footer(records, width: width) == count)
  }

  /// Tables of every shape, with and without header, preamble and blanks. The generator knows the
  /// result.
  @Test func generatedTables() throws {
    for seed in Effort.seeds(1..<1500) {
      var table = RandomTable(seed: seed)
      let input = table.write()
      let found = try Self.found(input.text)
      #expect(found.place == input.expected, "seed \(seed):\n\(input.text.prefix(600))")
    }
  }
}

/// A random table, and how it must be read.
private struct RandomTable {
  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  private static let words = [
    "apple", "stone", "River", "north wind", "Ostend", "quiet", "lamp oil", "Zebra", "moss",
    "O'Hara", "tin",
    "blue-green", "Étude", "Straße",
  ]
  private static let names = [
    "name", "day", "amount", "City", "unit price", "Qty", "note", "Land", "kind of thing", "rate",
    "zip",
    "Größe", "total", "x",
  ]

  private mutating func pick<T>(_ items: [T]) -> T {
    items[Int.random(in: 0..<items.count, using: &random)]
  }

  private mutating func value(_ kind: Int, _ mark: String) -> String {
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    switch kind {
    case 0: return "\(number(-9...99999))"
    case 1: return "\(number(0...999))\(mark)\(number(10...99))"
    case 2: return "20\(number(10...29))-0\(number(1...9))-\(number(10...28))"
    case 3: return "\(number(10...28)).0\(number(1...9)).20\(number(10...29))"
    default: return pick(Self.words)
    }
  }

  mutating func write() -> (text: String, expected: String) {
    let delimiter = pick([",", ";", "\t", "|"])
    let mark = delimiter == "," ? "." : pick([".", ","])
    let width = Int.random(in: 2...9, using: &random)
    var kinds = (0..<width).map { _ in Int.random(in: 0...6, using: &random) }
    // At least one column distinguishes the header from a record.
    kinds[Int.random(in: 0..<width, using: &random)] = Int.random(in: 0...3, using: &random)
    var names = Self.names
    names.shuffle(using: &random)
    names = Array(names.prefix(width))
    let quotes = Int.random(in: 0...3, using: &random) == 0
    func line(_ cells: [String]) -> String {
      cells.map { quotes ? "\"\($0)\"" : $0 }.joined(separator: delimiter) + "\n"
    }
    var text = ""
    var skipped = 0
    let hasHeader = Int.random(in: 0...3, using: &random) > 0
    if hasHeader, width > 2 {
      switch Int.random(in: 0...5, using: &random) {
      case 0:
        text += "Report of \(pick(Self.words))\n\n"
        skipped = 2
      case 1:
        for _ in 0...Int.random(in: 0...3, using: &random) {
          text += line([pick(Self.words)] + Array(repeating: "", count: width - 1))
          skipped += 1
        }
      case 2:
        text += "made by\(delimiter)me\n"
        skipped = 1
        if width == 3 {
          // With names of rows the header has one name less.
          (text, skipped) = ("", 0)
        }
      default: break
      }
    }
    if hasHeader { text += line(names) }
    for _ in 0..<Int.random(in: 6...30, using: &random) {
      text += line(kinds.map { value($0, mark) })
    }
    return (text, "\(skipped): " + (hasHeader ? names.joined(separator: "|") : "\(width) columns"))
  }
}
