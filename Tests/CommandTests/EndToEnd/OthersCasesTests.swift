import Testing

@testable import Command

/// Inputs like those that other CSV readers are tested with, or have read wrongly, written anew. Each
/// has one answer: a table, or a reason.
@Suite struct OthersCasesTests {
  @Test(
    "Each input that other readers found hard is a table, or a reject with reason and place",
    arguments: [
      // Quotes: commas, doubled quotes, lines of both kinds and JSON inside; empty fields beside.
      ("first,last,zip\nJo,\"Doe, Jr.\",08075\n", "first,last,zip\nJo,\"Doe, Jr.\",08075\n"),
      ("a,b\n1,\"ha \"\"ha\"\" ha\"\n3,4\n", "a,b\n1,\"ha \"\"ha\"\" ha\"\n3,4\n"),
      ("a,b\r\n1,\"x\r\ny\"\r\n", "a,b\n1,\"x\r\ny\"\n"),
      ("a,b,c\n1,\"\",\"\"\n2,3,4\n", "a,b,c\n1,\"\",\"\"\n2,3,4\n"),
      ("k,v\n1,\"{\"\"t\"\": [1, 2]}\"\n", "k,v\n1,\"{\"\"t\"\": [1, 2]}\"\n"),
      ("a,b\n\"\"\"\",\"\"\"\"\"\"\n", "a,b\n\"\"\"\",\"\"\"\"\"\"\n"),
      ("a,b\n\",\",\"\n\"\n", "a,b\n\",\",\"\n\"\n"),
      ("a,b\nx\"\",\"\"\n", "a,b\n\"x\"\"\"\"\",\"\"\n"), ("a,b\nx,'y\n", "a,b\nx,'y\n"),
      // Text that is not ASCII, in names, values and beside delimiters.
      ("é,名\nß,ʤ\n", "é,名\nß,ʤ\n"), ("a,b\n😀,😀,\n", "a,b\n😀,😀\n"),
      // Record ends: none at the end, several, a lone carriage return, mixed within one input.
      ("a,b\n1,2\n3,", "a,b\n1,2\n3,\n"), ("a,b\r\r1,2\r", "a,b\n1,2\n"),
      ("a,b\n\r1,2\n\r", "a,b\n1,2\n"),
      ("a,b\n1,2\n\n\n", "a,b\n1,2\n"), ("\n\na,b\n1,2", "a,b\n1,2\n"),
      // Blanks that belong to a field, and blanks that do not.
      ("a,b\n 1 , 2 \n", "a,b\n 1 , 2 \n"), ("a,b\n  \"1\"  ,\t\"2\"\t\n", "a,b\n1,2\n"),
      ("a,b\n x \"y\",2\n", "a,b\n\" x \"\"y\"\"\",2\n"),
      ("a,b\n \"x\" y,2\n", "reject: text after a closing quote"),
      ("a\tb\n \"x\"\t\"y\" \n", "a,b\nx,y\n"),
      // Misplaced quotes.
      ("a,b\n\"x\"y,2\n", "reject: text after a closing quote"),
      ("a,b\n1,\"\n", "reject: never closed"),
      ("a,b\n\"1,2\n3,4\n", "reject: never closed"), ("a,b\n1,\"x\"\"\n", "reject: never closed"),
      // Wrong numbers of fields; in a table of one column a blank line is a record.
      ("a,b\n1\n", "reject: too few fields"), ("a,b\n1,2,3\n", "reject: too many fields"),
      ("a,b\n \n1,2\n", "reject: too few fields"), ("a\n\n1\n", "a\n\n1\n"),
      // A header alone; column names that come twice, have no letters, or are numbers; sections.
      ("a,b", "a,b\n"), ("a,a\nx,1\n", "a,a_2\nx,1\n"), ("a,,c\nx,1,2\n", "a,column2,c\nx,1,2\n"),
      ("2019,2020\n1,2\n", "column1,column2\n2019,2020\n1,2\n"),
      ("a,b\n1,2\na,b\n", "reject: the header again"),
      ("a,b\n1,2\n\nx,y,z\n3,4,5\n", "reject: too many fields"),
      // Bytes that are not text, and one that is.
      ("a,b\nx\0y,\0\n", "a,b\nx\0y,\0\n"), ("a,b\n\u{FEFF}1,2\n", "a,b\n\u{FEFF}1,2\n"),
      ("\u{FEFF}\"a b\",c\n1,2\n", "a b,c\n1,2\n"),
      ("\u{FEFF}\u{FEFF}a,b\n1,2\n", "\"\u{FEFF}a\",b\n1,2\n"),
      // Other delimiters, and fields that contain possible delimiters.
      ("a;b;c\n1,1;2,2;3,3\n", "a,b,c\n\"1,1\",\"2,2\",\"3,3\"\n"),
      ("t;a,b;c\n1;2,3;4\n", "t,\"a,b\",c\n1,\"2,3\",4\n"),
      ("a|b\nx,y|z\nw|v\n", "a,b\n\"x,y\",z\nw,v\n"), ("a,b\n1;2,3|4\n", "a,b\n1;2,3|4\n"),
      ("k\u{1}v\nx\u{1}1\n", "k,v\nx,1\n"), ("a:b\nc:d\n", "a:b\nc:d\n"),
    ])
  func cases(input: String, answer: String) throws {
    let bench = try Workbench()
    try bench.write("in.csv", input)
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--header",
      input.hasPrefix("2019") ? "no" : "yes",
    ]
    guard answer.hasPrefix("reject: ") else {
      try bench.run(words)
      #expect(try bench.export() == answer)
      return
    }
    let result = try bench.run(words, status: .dataRefused)
    #expect(result.errorText.contains(answer.dropFirst(8)), "\(result.errorText)")
    #expect(result.errorText.contains("in.csv:") && result.errorText.contains("(byte "))
    // Nothing is lost: each record is a row or a reject.
    let report = try bench.report(words + ["--max-rejects", "unlimited"])
    let (read, imported) = (report["read"].int ?? 0, report["imported"].int ?? 0)
    #expect(read == imported + (report["rejected"].int ?? 0))
  }
}
