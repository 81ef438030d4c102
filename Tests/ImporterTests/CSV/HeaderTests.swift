import Importer
import Testing

/// Names of columns, from the header or made up.
@Suite struct HeaderTests {
  @Test("Names are kept as they are, without the blanks around them")
  func namesAreTrimmedAndKept() {
    let header = Header(["App", " Content Rating\t", "app"])
    #expect(header.names == ["App", "Content Rating", "app"])
    #expect(header.notes.isEmpty)
  }

  @Test("Empty and repeated names are made unique, each with a note")
  func emptyAndRepeatedNamesAreMadeUnique() {
    let header = Header(["a", "", "a", " ", "a", "b"])
    #expect(header.names == ["a", "column2", "a_2", "column4", "a_3", "b"])
    #expect(
      header.notes == [
        .emptyName(column: 2, became: "column2"),
        .duplicateName("a", column: 3, became: "a_2"),
        .emptyName(column: 4, became: "column4"),
        .duplicateName("a", column: 5, became: "a_3"),
      ])
  }

  @Test("A made-up name never takes the name of another column")
  func madeUpNamesTakeNobodysName() {
    #expect(Header(["a", "a", "a_2"]).names == ["a", "a_3", "a_2"])
    #expect(Header(["", "column1"]).names == ["column1_2", "column1"])
    #expect(Header(["a", "a_2", "a", "a_2"]).names == ["a", "a_2", "a_3", "a_2_2"])
  }

  @Test("Ten thousand equal names are made unique quickly", .timeLimit(.minutes(60)))
  func tenThousandEqualNames() {
    let header = Header([String](repeating: "x", count: 10_000))
    #expect(Set(header.names).count == 10_000)
    #expect(header.names.last == "x_10000")
  }

  @Test("Names are read from the first record, without byte order mark, quotes and escapes")
  func readFromTheFirstRecord() throws {
    let splitter = RecordSplitter(
      source: MemorySource(Array("\u{FEFF}\"App\",\"a \"\"b\"\"\",,\"x\ny\"\n1,2,3,4\n".utf8)))
    let chunk = try #require(try splitter.next(recordLimit: 1))
    let header = try Header(
      rows: Header.records(chunk, dialect: .rfc4180, file: "f", limit: 1))
    #expect(header.names == ["App", "a \"b\"", "column3", "x\ny"])
  }

  @Test("A malformed header is an error that says where, and names the option --header")
  func malformedHeaderIsAnErrorThatSaysWhere() throws {
    for (text, place) in [
      ("\"a\"b,c\n", "f:1:4 (byte 3)"), ("\n\na,\"b", "f:3:3 (byte 4)"),
      (String(repeating: ",", count: Header.maximumColumns), "more than \(Header.maximumColumns)"),
    ] {
      let splitter = RecordSplitter(source: MemorySource(Array(text.utf8)))
      let chunk = try #require(try splitter.next(recordLimit: 1))
      #expect {
        try Header(
          rows: Header.records(chunk, dialect: .rfc4180, file: "f", limit: 1))
      } throws: { "\($0)".contains(place) && "\($0)".contains("--header") }
    }
  }

  @Test(
    "A header that is not UTF-8 is refused with the likely encoding",
    arguments: [([0x6E, 0xE9], true), ([0x6E, 0x81], false), ([0xC3, 0xA9, 0xE9], false)])
  func headerInAnotherEncoding(name: [UInt8], isLikely: Bool) throws {
    let splitter = RecordSplitter(source: MemorySource(name + Array(",b\n1,2\n".utf8)))
    let chunk = try #require(try splitter.next(recordLimit: 1))
    #expect {
      try Header(
        rows: Header.records(chunk, dialect: .rfc4180, file: "f", limit: 1))
    } throws: {
      "\($0)".contains("with --encoding") && "\($0)".contains("windows-1252") == isLikely
    }
  }

  @Test(
    "A header is told from a record",
    arguments: [
      (["App,Rating", "Photo,4.1", "Draw,NaN"], true),
      (["App,Released", "Photo,2018-01-07", "Draw,"], true),
      (["name,colour", "apple,red", "pear,green"], true),
      (["App,Category"], true),
      (["App,,Rating", "Photo,x,4.1"], true),
      (["1,2", "3,4"], false),
      (["Photo,4.1", "Draw,4.5"], false),
      (["Photo,NaN", "Draw,4.5"], false),
      (["x,y", "x,z", "w,y"], false),
      (["a,a", "b,c"], true),
      (["a,", "b,c"], true),
      (["2018-01-07,x", "2018-01-08,y"], false),
      ([], false),
    ])
  func sniffing(lines: [String], isHeader: Bool) {
    let records = lines.map {
      $0.split(separator: ",", omittingEmptySubsequences: false).map {
        $0.isEmpty ? nil : String($0)
      }
    }
    #expect(HeaderSniffer.judge(records).isHeader == isHeader)
  }

  @Test("Records for sniffing may have different numbers of fields")
  func recordsForSniffingMayBeRagged() throws {
    let splitter = RecordSplitter(source: MemorySource(Array("a,b\n1\n2,3,4\n\"x\"y\n".utf8)))
    let chunk = try #require(try splitter.next(recordLimit: .max))
    let records = try Header.records(chunk, dialect: .rfc4180, file: "f", limit: 3)
    #expect(records == [["a", "b"], ["1"], ["2", "3", "4"]])
  }
}
