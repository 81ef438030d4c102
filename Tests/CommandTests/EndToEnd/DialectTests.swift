import Foundation
import Testing

@testable import Command

/// Every dialect option, and the dialects that are found without options, through the built program.
@Suite struct DialectTests {
  private func table(
    _ bench: Workbench, _ bytes: [UInt8], _ words: [String] = []
  ) throws -> (csv: String, report: Report) {
    try Data(bytes).write(to: URL(fileURLWithPath: bench.path("in.csv")))
    let report = try bench.report(
      ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--truncate"]
        + words)
    return (try bench.export(), report)
  }

  @Test(
    "A table is read as its dialect, given or found, says: from a file and from a pipe",
    arguments: [
      (["--delimiter", "||"], "a||b\n1||x|y\n", "a,b\n1,x|y\n"),
      (["--delimiter", "§"], "a§b\n1§\"x§y\"\n", "a,b\n1,x§y\n"),
      (["--delimiter", "\\t|"], "a\t|b\n1\t|2\n", "a,b\n1,2\n"),
      (["--escape", "\\"], "a,b\n\"x\\\"y\",p\\,q\n", "a,b\n\"x\"\"y\",\"p,q\"\n"),
      (["--escape", "\\"], "a,b\nC:\\dir,\\N\n", "a,b\nC:\\dir,\\N\n"),
      (["--escape", "none"], "a,b\n\"x\",y\\\n", "a,b\nx,y\\\n"),
      (["--quote", "none", "--escape", "\\"], "a,b\n\"x\\\ny,2\n", "a,b\n\"\"\"x\ny\",2\n"),
      (["--quote", "'"], "a,b\n'x,y',\"\n", "a,b\n\"x,y\",\"\"\"\"\n"),
      (["--comment", "//"], "// c, d\na,b\n// \"e\n1,2\n//", "a,b\n1,2\n"),
      (["--comment", "none"], "#a,b\n#1,2\n", "#a,b\n#1,2\n"),
      (["--skip-lines", "2"], "x,\"y\nz\na,b\n1,2\n", "a,b\n1,2\n"),
      (["--skip-lines", "0", "--ragged", "extend"], "T\na,b\n1,2\n", "T,extra1\na,b\n1,2\n"),
      (["--encoding", "utf-8", "--header", "yes"], "1,é\n2,3\n", "1,é\n2,3\n"),
      (["--skip-footer", "2"], "a,b\n1,2\n3,4\ntotal\nend\n", "a,b\n1,2\n3,4\n"),
      (["--skip-footer", "1"], "a,b\r\n1,2\r\nend", "a,b\n1,2\n"),
      (["--skip-footer", "1"], "a,b\n1,2\n\n", "a,b\n1,2\n"),
      (["--header-lines", "2"], "a,b,c\nx,,y\n1,2,3\n", "a x,b,c y\n1,2,3\n"),
      (["--header-lines", "3"], "G,,\na,b,\n,x,\n1,2,3\n", "G a,b x,column3\n1,2,3\n"),
      (
        ["--quotes", "lenient"], "a,b\n\"x\"y,2\n\"p\" \"q\",\"r\"\"s\"t\n",
        "a,b\nxy,2\n\"p \"\"q\"\"\",\"r\"\"st\"\n"
      ),
      // Without options.
      ([], "Report,,\nName,Qty,Price\nA,1,2.5\n", "Name,Qty,Price\nA,1,2.5\n"),
      ([], "Land,2000,2001\nFR,1.5,2.5\n", "Land,2000,2001\nFR,1.5,2.5\n"),
      ([], "mpg\tcyl\nM\t1\t6\nD\t2\t4\nV\t3\t4\n", "column1,mpg,cyl\nM,1,6\nD,2,4\nV,3,4\n"),
      ([], "a, b\n \"x, y\" , \"z\"\n1,\t\"w\"\n", "a,b\n\"x, y\",z\n1,w\n"),
      ([], "a,b\n5\" disk,x \"y\" z\n", "a,b\n\"5\"\" disk\",\"x \"\"y\"\" z\"\n"),
      ([], "a,b,\n1,2,\n3,4,\n", "a,b\n1,2\n3,4\n"), ([], "a,b\n1,2,\n3,4,\n", "a,b\n1,2\n3,4\n"),
      ([], "a,b\r\n1,2\n3,4\r5,6\n\n", "a,b\n1,2\n3,4\n5,6\n"),
      ([], "# made today\na;b\n# and\n1,5;x\n", "a,b\n\"1,5\",x\n"),
      ([], "Title\n\nname,n\nx,1\ny,2\n", "name,n\nx,1\ny,2\n"),
      ([], "sep=;\na,x;b\n1;2,5\n", "\"a,x\",b\n1,\"2,5\"\n"),
      (["--skip-lines", "0"], "sep=;\na;b\n", "sep=,column2\na,b\n"),
      ([], "'a','b'\n'x,y','z'\n", "a,b\n\"x,y\",z\n"),
      ([], "a,b\n\"x \\\"y\\\"\",1\n\"z\",2\n", "a,b\n\"x \"\"y\"\"\",1\nz,2\n"),
    ] as [([String], String, String)])
  func tables(words: [String], input: String, output: String) throws {
    let bench = try Workbench()
    #expect(try table(bench, Array(input.utf8), words).csv == output)
    // Through a pipe, which can be read only once.
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "p", "--quiet"] + words, input: input)
    #expect(try bench.export("--table", "p") == output)
  }

  static let text = "na;é\n1;\"€ü\"\n2;😀\n"

  private static func encoded(_ text: String, _ encoding: String, mark: Bool = false) -> [UInt8] {
    func units(_ isLittle: Bool) -> [UInt8] {
      ((mark ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit -> [UInt8] in
        let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
        return isLittle ? [low, high] : [high, low]
      }
    }
    switch encoding {
    case "utf-16le": return units(true)
    case "utf-16be": return units(false)
    case "utf-8": return (mark ? [0xEF, 0xBB, 0xBF] : []) + Array(text.utf8)
    default:
      return text.unicodeScalars.map { $0 == "€" ? 0x80 : UInt8(truncatingIfNeeded: $0.value) }
    }
  }

  @Test(
    "UTF-8 and UTF-16 are read, with a mark or by the option",
    arguments: ["utf-8", "utf-16le", "utf-16be"], [false, true])
  func unicode(encoding: String, hasMark: Bool) throws {
    let bench = try Workbench()
    let bytes = Self.encoded(Self.text, encoding, mark: hasMark)
    let (csv, report) = try table(bench, bytes, hasMark ? [] : ["--encoding", encoding])
    #expect(csv == "na,é\n1,€ü\n2,😀\n")
    #expect(report["dialect"]["encoding"].text == encoding)
    #expect(report["bytesRead"].int == bytes.count)
  }

  @Test("windows-1252 and latin1 are converted")
  func bytesThatAreCharacters() throws {
    let bench = try Workbench()
    let (csv, _) = try table(
      bench, Self.encoded("na;é\n1;€\n", "windows-1252"), ["--encoding", "windows-1252"])
    #expect(csv == "na,é\n1,€\n")
    let (latin, _) = try table(
      bench, Self.encoded("na;é\n1;ÿ\n", "latin1"), ["--encoding", "latin1"])
    #expect(latin == "na,é\n1,ÿ\n")
    // The byte-order mark counts more than the option, and the report says so.
    let (marked, report) = try table(
      bench, Self.encoded("na;é\n1;ÿ\n", "utf-8", mark: true), ["--encoding", "latin1"])
    #expect(marked == "na,é\n1,ÿ\n")
    #expect(report["notes"][0].text?.contains("byte-order mark says utf-8") == true)
  }

  /// Encodings have many names. An unknown or unreadable one is wrong usage.
  @Test func namesOfEncodings() throws {
    let bench = try Workbench()
    for name in ["CP1251", "windows-1251", "win1251"] {
      let (csv, report) = try table(
        bench, Array("a;b\n1;".utf8) + [0xCF, 0xF0] + [0x0A], ["--encoding", name])
      #expect(csv == "a,b\n1,Пр\n" && report["dialect"]["encoding"].text == "windows-1251")
    }
    for (name, part) in [
      ("koi8-x", "did you mean koi8-r?"), ("nonsense", "'iconv -l' lists"),
      ("utf-32", "'iconv -f utf-32 -t UTF-8'"), ("iso-2022-jp", "is not read"),
    ] {
      let words = [bench.path("in.csv"), "--encoding", name]
      let sniffed = try bench.run(["sniff"] + words, status: .usage)
      #expect(sniffed.errorText.contains(part), "\(sniffed.errorText)")
      let imported = try bench.run(["import", "--into", bench.database] + words, status: .usage)
      #expect(imported.errorText.contains(part) && !imported.errorText.contains("did you mean utf"))
    }
  }

  /// Rejects have the input's own bytes and offsets, and can be imported again.
  @Test(arguments: ["utf-16le", "utf-16be"])
  func rejectsOfUTF16(encoding: String) throws {
    let bench = try Workbench()
    var bytes = Self.encoded("a,b\n1,é,x\n2,😀\n", encoding, mark: true)
    let third = bytes.count
    bytes += Self.encoded("3,", encoding)
    bytes += encoding == "utf-16le" ? [0x00, 0xD8] : [0xD8, 0x00]
    bytes += Self.encoded("\n4,x\n", encoding)
    let (csv, _) = try table(bench, bytes, ["--max-rejects", "2", "--header", "yes"])
    #expect(csv == "a,b\n2,😀\n4,x\n")
    let rejects = try bench.read("in.rejects.csv")
    #expect(
      rejects == Self.encoded("a,b\n1,é,x\n3,", encoding, mark: true)
        + (encoding == "utf-16le" ? [0, 0xD8] : [0xD8, 0]) + Self.encoded("\n", encoding))
    let reasons = try bench.text("in.rejects.csv.reasons.jsonl").split(separator: "\n")
    #expect(reasons[0].contains("\"line\":2,\"position\":9,\"byteOffset\":18,"), "\(reasons)")
    #expect(reasons[1].contains("\"line\":4,\"position\":5,\"byteOffset\":\(third + 4),"))
    #expect(reasons[1].contains("not valid UTF-16"))
    let again = try bench.run(
      [
        "import", bench.path("in.rejects.csv"), "--into", bench.database, "--table", "again",
        "--ragged", "extend", "--max-rejects", "1", "--rejects", bench.path("r2.csv"), "--quiet",
      ])
    #expect(again.output.isEmpty)
    #expect(try bench.export("--table", "again") == "a,b,extra1\n1,é,x\n")
  }

  /// An interrupted import of UTF-16 is resumed at the right byte.
  @Test func resumingUTF16() throws {
    let bench = try Workbench()
    let rows = (1...500).map { "\($0),\($0 == 301 ? "x,y" : "é€😀")\n" }.joined()
    let bytes = Self.encoded("id,text\n" + rows, "utf-16le", mark: true)
    try Data(bytes).write(to: URL(fileURLWithPath: bench.path("in.csv")))
    let words = ["import", bench.path("in.csv"), "--into", bench.database, "--batch-size", "100"]
    try bench.run(words, status: .dataRefused)
    let report = try bench.report(words + ["--resume", "--max-rejects", "1"])
    #expect(report["resumedAt"]["record"].int == 300 && report["read"].int == 200)
    let expected = (1...500).filter { $0 != 301 }.map { "\($0),é€😀\n" }.joined()
    #expect(try bench.export() == "id,text\n" + expected)
  }

  @Test(
    "Inputs that are not text in a known encoding are refused with advice",
    arguments: [
      ([0xFF, 0xFE, 0, 0, 0x61, 0, 0, 0], "UTF-32"),
      (Array("a,b\n1,2\n".utf8).flatMap { [$0, 0] }, "--encoding utf-16le"),
      (Array("a,b\n1,2\n".utf8).flatMap { [0, $0] }, "--encoding utf-16be"),
      (Array("a,b\n1,2\n".utf8).flatMap { [$0, 0, 0, 0] }, "UTF-32"),
      (Array("caf".utf8) + [0xE9] + Array(",b\n1,2\n".utf8), "--encoding"),
    ] as [([UInt8], String)])
  func refused(bytes: [UInt8], advice: String) throws {
    let bench = try Workbench()
    try Data(bytes).write(to: URL(fileURLWithPath: bench.path("in.csv")))
    let result = try bench.run(
      ["import", bench.path("in.csv"), "--into", bench.database], status: .dataRefused)
    #expect(result.errorText.contains(advice), "\(result.errorText)")
    #expect(bench.names() == ["in.csv"])
  }

  @Test("More header lines than there are records are refused, and no record becomes a name")
  func tooManyHeaderLines() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,v\n1,2\n3,4\n")
    let result = try bench.run(
      ["import", bench.path("in.csv"), "--into", bench.database, "--header-lines", "4"],
      status: .dataRefused)
    #expect(result.errorText.contains("--header-lines 4 is more than the 3 records"))
    #expect(bench.names() == ["in.csv"])
  }

  /// Names that the user gives are names, too.
  @Test func givenHeaderInTheInput() throws {
    for (input, number) in [("a,b\n1,2\n", 1), ("1,2\na,b\n", 2)] {
      let bench = try Workbench()
      let (csv, report) = try table(
        bench, Array(input.utf8), ["--header", "a,b", "--max-rejects", "unlimited"])
      #expect(csv == "a,b\n1,2\n" && report["rejected"].int == 1)
      let names = bench.names().filter { $0.hasSuffix(".reasons.jsonl") }
      let reasons = try bench.text(try #require(names.first))
      #expect(reasons.contains("the header again") && reasons.contains("\"record\":\(number),"))
    }
  }

  /// Ambiguous records are rejected, and nothing is lost: every line is a row, a reject, or counted.
  @Test(arguments: [
    ("a,b\n1,2\na,b\n3,4\n", "a,b\n1,2\n3,4\n", "the header again"),
    ("# c\na,b\n1,2\n#3,4\n# d\n", "a,b\n1,2\n", "may be a comment or a record"),
    ("# c\na,b\n1,2\n#3,\"4,5\"\n# d\n6,7\n", "a,b\n1,2\n6,7\n", "may be a comment or a record"),
    ("# c\na,b,\n1,2,\n#3,4,\n# d\n6,7,\n", "a,b\n1,2\n6,7\n", "may be a comment or a record"),
    ("# c\na,b\n1,2,\n#3,4,\n# d\n6,7,\n", "a,b\n1,2\n6,7\n", "may be a comment or a record"),
    ("a,b\n1,2\nx,y,z\n3,4,5\n", "a,b\n1,2\n", "too many fields"),
    ("a,b\n\"x\" y,2\n1,2\n", "a,b\n1,2\n", "text after a closing quote"),
    ("a,b\n1,2\n3,\"x\n4,5", "a,b\n1,2\n", "never closed"),
  ])
  func ambiguous(input: String, output: String, reason: String) throws {
    let bench = try Workbench()
    let (csv, report) = try table(bench, Array(input.utf8), ["--max-rejects", "unlimited"])
    if reason != "too many fields" || !input.contains("x,y,z") { #expect(csv == output) }
    #expect((report["rejected"].int ?? 0) > 0)
    let reasons = try bench.text("in.rejects.csv.reasons.jsonl")
    #expect(reasons.contains(reason), "\(reasons)")
    let dry = try SheafProcess.run([
      "import", bench.path("in.csv"), "--into", bench.path("dry.sheaf"), "--dry-run",
    ])
    #expect(dry.status == Command.ExitStatus.dataRefused.rawValue)
    #expect(dry.outputText.contains("  dialect     delimiter (,), quote (\"), "))
    #expect(dry.errorText.contains(reason))
  }

  /// A delimiter at the end of every record is dropped. A later record with a value behind it is
  /// rejected.
  @Test func trailingDelimiters() throws {
    for header in ["a,b,", "a,b"] {
      let bench = try Workbench()
      let rows = (1...150).map { "\($0),x,\n" }.joined()
      let csv = "\(header)\n\(rows)151,y\n152,\n153,z,1\n154,w,,\n"
      let (table, report) = try table(bench, Array(csv.utf8), ["--max-rejects", "3"])
      #expect(table == "a,b\n" + (1...150).map { "\($0),x\n" }.joined() + "151,y\n")
      #expect(report["rejected"].int == 3)
      #expect(try bench.text("in.rejects.csv") == header + "\n152,\n153,z,1\n154,w,,\n")
      let note = report["notes"][0].text ?? ""
      #expect(
        note.hasSuffix("150 records ended with a delimiter that was dropped, first at line 2"))
      // Given names imply the number of columns as a header does.
      let (named, _) = try self.table(
        try Workbench(), Array(rows.utf8), ["--header", "p,q", "--ragged", "extend"])
      #expect(named.hasPrefix("p,q\n1,x\n2,x\n"))
    }
  }

  /// A resumed import leaves the same footer lines out as an uninterrupted one.
  @Test func footersOfResumedImports() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,x\n2,y\n3,z\ntotal,3,\nend\n")
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--skip-footer",
      "2",
      "--batch-size", "1", "--resume", "--quiet",
    ]
    try bench.run(words + ["--limit", "1"])
    for _ in 0..<2 {
      try bench.run(words)
      #expect(try bench.export() == "a,b\n1,x\n2,y\n3,z\n")
    }
  }

  /// The rejects file begins with the whole header, also if that has several records.
  @Test func rejectsBelowSeveralRowsOfNames() throws {
    func utf16(_ text: String) -> [UInt8] {
      [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    }
    let bench = try Workbench()
    let (csv, report) = try table(
      bench, utf16("a,b\nx,é\n1,2\n3\n"), ["--header-lines", "2", "--max-rejects", "1"])
    #expect(csv == "a x,b é\n1,2\n" && report["rejected"].int == 1)
    let rejects = try Data(contentsOf: URL(fileURLWithPath: bench.path("in.rejects.csv")))
    #expect(Array(rejects) == utf16("a,b\nx,é\n3\n"))
  }

  @Test("The report has every part of the dialect")
  func whatIsReported() throws {
    let bench = try Workbench()
    let csv = "\u{FEFF}# x\nid;t\n1; \"a\" \n2;5\" x\n\n# y\n"
    let (_, report) = try table(bench, Array(csv.utf8))
    let dialect = report["dialect"]
    #expect(dialect["delimiter"].text == ";" && dialect["quote"].text == "\"")
    #expect(dialect["escape"].text == "\"" && dialect["comment"].text == "#")
    #expect(dialect["encoding"].text == "utf-8" && dialect["header"].bool == true)
    #expect(dialect["sniffed"].count == 7 && dialect["skippedLines"].int == 0)
    let notes = (0..<report["notes"].count).compactMap { report["notes"][$0].text }
    for note in [
      "blanks around quoted fields were dropped, first at line 3",
      "quotes inside unquoted fields were kept as they are, first at line 4",
      "1 blank line left out, first at line 5", "1 comment line left out, first at line 6",
    ] { #expect(notes.contains { $0.hasSuffix(note) }, "\(notes)") }
    let text = try bench.run([
      "import", bench.path("in.csv"), "--into", bench.database, "--delimiter", ";", "--escape",
      "none", "--skip-lines", "1", "--comment", "# ",
    ]).outputText
    #expect(
      text.contains(
        "  dialect     delimiter ;, quote (\"), escape none, comment # , header (yes), "
          + "encoding (utf-8), skipped lines 1, record end \\n\n"), "\(text)")
  }
}
