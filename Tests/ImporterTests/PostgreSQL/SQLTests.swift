import Testing

@testable import Importer

/// Parts of statements, and codes of answers.
@Suite struct SQLTests {
  @Test("Names are quoted whatever is in them")
  func names() {
    #expect(SQLText.name("a") == "\"a\"")
    #expect(SQLText.name("a\"; DROP TABLE b; --") == "\"a\"\"; DROP TABLE b; --\"")
    // A combining mark makes another character of the quote, but the server sees the quote.
    #expect(SQLText.name("a\"\u{301}; DROP --").unicodeScalars.count { $0 == "\"" } == 4)
    #expect(SQLText.name("a\u{600}\"; DROP --").unicodeScalars.count { $0 == "\"" } == 4)
    #expect(SQLText.name("\"\"") == "\"\"\"\"\"\"")
    #expect(SQLText.problem(withName: String(repeating: "x", count: 63)) == nil)
    #expect(SQLText.problem(withName: String(repeating: "é", count: 32)) != nil)
    #expect(SQLText.problem(withName: "") != nil)
    #expect(SQLText.problem(withName: "a\0b") != nil)
  }

  @Test("Literals cannot be left, whatever standard_conforming_strings is")
  func literals() {
    #expect(SQLText.literal("it's") == "'it''s'")
    #expect(SQLText.literal("\\' or 1=1 --") == " E'\\\\'' or 1=1 --'")
    #expect(SQLText.literal("\\") == " E'\\\\'")
    #expect(SQLText.literal(String?.none) == "NULL")
    #expect(SQLText.literal("a\0b") == "'a\u{FFFD}b'")
    #expect(SQLText.literal([0x00, 0xFF, 0x27] as [UInt8]) == " E'\\\\x00ff27'::bytea")
  }

  @Test("An accent behind a quote makes nothing else of it")
  func accents() {
    #expect(SQLText.name("a\"\u{301}").utf8.elementsEqual("\"a\"\"\u{301}\"".utf8))
    #expect(SQLText.literal("a'\u{301}").utf8.elementsEqual("'a''\u{301}'".utf8))
    #expect(SQLText.literal("a\\\u{301}").utf8.elementsEqual(" E'a\\\\\u{301}'".utf8))
    let said = ServerTarget.harmless("missing \"=\" after \"\u{301}SECRET\" in the string")
    #expect(said == "missing \"...\" after \"...\" in the string")
  }

  @Test(
    "What each code means is the table of docs/distributed.md",
    arguments: [
      ("42P01", ServerError.Kind.usage), ("42703", .usage), ("42P10", .usage), ("0A000", .usage),
      ("22003", .data), ("22021", .data), ("23505", .data), ("23503", .data), ("42804", .data),
      ("P0001", .data), ("45000", .data), ("U0001", .data), ("54000", .data), ("54001", .data),
      ("54011", .usage), ("55000", .usage),
      ("3D000", .missing), ("28P01", .missing), ("28000", .missing), ("42501", .missing),
      ("25006", .missing),
      ("08006", .inputOutput), ("57P01", .inputOutput), ("57P02", .inputOutput),
      ("58030", .inputOutput),
      ("53100", .inputOutput), ("XX000", .inputOutput), ("53300", .busy), ("57P03", .busy),
      ("55P03", .busy),
      ("40001", .busy), ("40P01", .busy), ("40003", .busy), ("57014", .busy),
    ])
  func kinds(_ code: String, _ kind: ServerError.Kind) {
    #expect(SQLState(code).kind == kind)
  }

  @Test("What may pass is tried again, and nothing else")
  func transient() {
    for code in [
      "40001", "40P01", "40003", "08006", "57P01", "57P03", "53300", "55P03", "XX000", "25P03",
    ] {
      #expect(SQLState(code).isTransient, "\(code)")
    }
    for code in ["22003", "23505", "42P01", "42501", "28P01", "53100", "0A000", "57014"] {
      #expect(!SQLState(code).isTransient, "\(code)")
    }
  }

  @Test("Single rows are refused by errors of data alone")
  func rows() {
    for code in ["22001", "22P02", "23502", "23514", "23503", "42804", "P0001", "45000", "54000"] {
      #expect(SQLState(code).isOfRows, "\(code)")
    }
    for code in ["42703", "53100", "40001", "08006", "XX000", "42501"] {
      #expect(!SQLState(code).isOfRows, "\(code)")
    }
  }

  @Test("The code is found in a refused connection's message, in any language")
  func messages() {
    #expect(
      SQLState.inMessage("connection to server at \"h\", port 5432 failed: FATAL:  28P01: password")
        == SQLState("28P01"))
    #expect(
      SQLState.inMessage("FATAL: 57P03: the database system is starting up") == SQLState("57P03"))
    #expect(SQLState.inMessage("FATALE : 3D000: la base n'existe pas") == SQLState("3D000"))
    #expect(SQLState.inMessage("could not connect: Connection refused") == nil)
    #expect(SQLState.inMessage("at port: 12: refused: HELLO: nobody") == nil)
  }

  @Test(
    "The row is found in what the server says of a COPY",
    arguments: [
      ("COPY apps, line 3, column size: \"x\"", 3), ("COPY apps, line 12: \"a\tb\"", 12),
      ("COPY apps, Zeile 7, Spalte id: »x«", 7),
      ("SQL function \"f\" statement 1; COPY apps, line 4", 4),
      ("COPY apps, line 5, column id: \"COPY apps, line 9\"", 5),
    ])
  func lines(_ context: String, _ line: Int) {
    #expect(RowTransfer.line(context, table: "apps") == line)
  }

  @Test(
    "No row is made up where the server names none",
    arguments: [
      nil, "", "COPY other, line 3", "COPY apps", "COPY apps, ", "COPY apps, column a: \"3\"",
      "COPY apps, line 0", "COPY apps, line 99999999999999999999",
      "SQL statement \"SELECT 1 FROM ONLY x\"",
    ] as [String?])
  func noLines(_ context: String?) {
    #expect(RowTransfer.line(context, table: "apps") == nil)
  }

  @Test("Rows of the checkpoint tables that make no sense are none")
  func storedRanges() {
    let good: [String?] = ["1", "10", "20", "3", "00ff", "5", "4", "0", "0", "0", "1"]
    #expect(StoredRange(ServerRow(fields: good)) != nil)
    for (index, field) in [
      (0, "0"), (0, "x"), (0, nil), (1, "-1"), (2, "9"), (5, "6"), (10, "-1"), (6, nil),
      (2, "99999999999999999999"),
    ] as [(Int, String?)] {
      var row = good
      row[index] = field
      #expect(StoredRange(ServerRow(fields: row)) == nil, "\(index) \(field ?? "nil")")
    }
    #expect(StoredRange(ServerRow(fields: Array(good.dropLast()))) == nil)
  }
}
