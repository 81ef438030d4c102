import Base
import Engine
import Foundation
import Testing

@testable import Command
import Importer

/// Names that are not valid text, and text with control characters for a terminal.
@Suite struct OddNamesTests {
  /// Writes a file whose name has bytes that are not UTF-8.
  private func write(_ path: String, _ text: String) throws {
    let file = try System.open(path, .createNew)
    defer { System.close(file) }
    try Array(text.utf8).withUnsafeBytes { try System.write(file, $0, path: path) }
  }

  @Test("A file whose name is not UTF-8 is found, imported, and shown with the bytes escaped")
  func namesThatAreNoText() throws {
    let bench = try Workbench()
    let name = PathText.text([0x64, 0xE9, 0x6A])
    try write(bench.path("") + "/" + name + ".csv", "id,name\n1,a\n2\n")
    try bench.write("dx.csv", "id,name\n3,b\n")
    let words = [
      "import", bench.path("d*.csv"), "--into", bench.database, "--table", "t",
    ]
    // The pattern finds the file, and its rejects are beside the database under its own name.
    let refused = try bench.run(words, status: .dataRefused)
    #expect(refused.errorText.contains("d\\xE9j.csv:3:1 (byte 12): too few fields"))
    let rejects = bench.path("") + "/" + name + ".rejects.csv"
    #expect(try System.status(path: rejects).size == 10)
    try System.remove(rejects)
    try System.remove(rejects + ".reasons.jsonl")
    let report = try bench.report(words + ["--max-rejects", "1"])
    #expect(
      report["inputs"][1].text == bench.path("d\\xE9j.csv")
        || report["inputs"][0].text == bench.path("d\\xE9j.csv"))
    #expect(report["imported"].int == 2)
    // The file alone, whose table has its name.
    let text = try bench.run([
      "import", bench.path("") + "/" + name + ".csv", "--into",
      bench.path("") + "/" + name + ".sheaf",
      "--max-rejects", "1",
    ]).outputText
    #expect(text.contains("into table \"d\\xE9j\" of \(bench.path("d\\xE9j.sheaf"))"))
    try bench.run(["check", bench.path("") + "/" + name + ".sheaf"])
    // Elsewhere such an argument is text.
    let null = try bench.run(
      ["import", bench.path("dx.csv"), "--into", bench.database, "--null", PathText.text([0xFF])],
      status: .usage)
    #expect(null.errorText.contains("--null: \"\\xFF\" is not UTF-8"))
    #expect(ShellWord.quoted(name + "'") == "$'d\\xE9j\\''")
  }

  /// Two names that look the same are two files.
  @Test func namesThatLookTheSame() throws {
    let bench = try Workbench()
    try bench.write("\u{E9}.csv", "k\n1\n")
    try bench.write("e\u{301}.csv", "k\n2\n")
    let report = try bench.report([
      "import", bench.path("*.csv"), "--into", bench.database, "--table", "t",
    ])
    #expect(report["imported"].int == 2)
  }

  @Test(
    "Control characters are escaped wherever they are printed",
    arguments: [
      "\u{202E}", "\u{2028}", "\u{2029}", "\u{85}", "\u{9B}", "\u{1B}", "\u{200F}", "\u{2066}",
      "\u{FEFF}",
      "\u{61C}",
    ])
  func nothingCommandsTheTerminal(_ odd: String) throws {
    let bench = try Workbench()
    let hex = String(odd.unicodeScalars.first?.value ?? 0, radix: 16)
    let shown = "\\u{\(hex)}"
    #expect(StandardError.escaped("a\(odd)b") == "a\(shown)b")
    // A control character in a column name, in a value, in a table name, and in the name of a refused
    // input.
    try bench.write("in.csv", "n\(odd)n,k\nv\(odd)v,1\n")
    let words = ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t\(odd)t"]
    let first = try bench.run(words).outputText
    #expect(first.contains("t\(shown)t") && first.contains("n\(shown)n") && !first.contains(odd))
    let report = try bench.run(words + ["--report", "json"]).outputText
    #expect(!report.contains(odd))
    #expect(try Report(Array(report.utf8))["table"].text == "t\(odd)t")
    let table = try bench.run(["query", bench.database, "k == 1"]).outputText
    #expect(table.contains("n\(shown)n") && table.contains("v\(shown)v") && !table.contains(odd))
    let info = try bench.run(["info", bench.database]).outputText
    #expect(info.contains("n\(shown)n") && !info.contains(odd))
    let refused = try bench.run(words + ["--types", "x\(odd):int"], status: .usage).errorText
    #expect(refused.contains("x\(shown)") && !refused.contains(odd))
    // An export has the data unchanged.
    #expect(try bench.export() == "n\(odd)n,k\nv\(odd)v,1\nv\(odd)v,1\n")
    let lines = try bench.export("--format", "jsonl")
    #expect(odd == "\u{1B}" || lines.contains("v\(odd)v"))
  }

  // MARK: Messages

  @Test("An input that is not UTF-8 is refused with its likely encoding")
  func encodingsAreNamed() throws {
    let bench = try Workbench()
    let path = bench.path("in.csv")
    func refusal(_ bytes: [UInt8]) throws -> String {
      try Data("a,b\n1,".utf8 + bytes + "\n".utf8).write(to: URL(fileURLWithPath: path))
      return try bench.run(
        ["import", path, "--into", bench.database], status: .dataRefused
      ).errorText
    }
    #expect(try refusal([0x63, 0xE9]).contains("--encoding, which is likely windows-1252;"))
    #expect(try !refusal([0x63, 0x81]).contains("likely"))
    #expect(try !refusal([0xC3, 0xA9, 0xE9]).contains("likely"))
  }

  @Test(
    "Inputs in other formats are refused by their name",
    arguments: [
      ("PK\u{3}\u{4}....[Content_Types].xml", "an Excel file"),
      ("PK\u{3}\u{4}....a.csv", "a ZIP archive"),
      ("PAR1\u{15}\u{4}\u{15}.", "a Parquet file"), ("SQLite format 3\0....", "an SQLite database"),
      ("%PDF-1.4\n", "a PDF document"), ("Obj\u{1}....", "an Avro file"),
      ("ARROW1\0\0", "an Arrow file"),
      ("SheafDB\n\u{1}\0\0\0", "a Sheaf database"), ("<!DOCTYPE html>\n<html>", "an HTML page"),
      ("[\n {\"a\": 1}\n]\n", "a JSON array"), ("{\"a\": 1}\n{\"a\": 2}\n", "JSON"),
    ])
  func otherFormats(contents: String, name: String) throws {
    let bench = try Workbench()
    try bench.write("in.csv", contents)
    let result = try bench.run(
      ["import", bench.path("in.csv"), "--into", bench.database], status: .dataRefused)
    #expect(
      result.errorText.contains("in.csv: the input is no CSV but \(name)"), "\(result.errorText)")
    #expect(bench.names() == ["in.csv"])
  }

  @Test("CSV that only begins like a file of another format is imported")
  func textThatOnlyLooksLikeIt() throws {
    let bench = try Workbench()
    for csv in [
      "ORC,id\n1,2\n", "PKW,id\n1,2\n", "Object,id\n1,2\n", "[a],id\n1,2\n", "{id},b\n1,2\n",
      "{\"a\";b\n1;2\n",
    ] {
      try bench.write("in.csv", csv)
      try bench.run([
        "import", bench.path("in.csv"), "--into", bench.path("\(csv.count).sheaf"), "--table",
        "t\(csv.utf8.count)\(csv.prefix(1).utf8.first ?? 0)", "--new-columns",
      ])
    }
    try bench.write("json.csv", "{\"a\":1}\n{\"a\":2}\n")
    try bench.run([
      "import", bench.path("json.csv"), "--into", bench.path("j.sheaf"), "--delimiter", ",",
      "--header", "no",
    ])
  }

  @Test("Errors quote odd option values")
  func optionsAreSaidProperly() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,2\n")
    func usage(_ words: String...) throws -> String {
      try bench.run(
        ["import", bench.path("in.csv"), "--into", bench.database] + words, status: .usage
      ).errorText
    }
    #expect(try usage("--types", "a:int,a:text").contains("--types names 'a' twice"))
    #expect(try usage("--header", "x,x").contains("--header names 'x' twice"))
    #expect(
      try usage("--batch-size", "99999999999999999999").contains(
        "\"99999999999999999999\" is too large; expected"))
    #expect(try usage("--compact-above", "99999999999TB").contains("is too large"))
    #expect(try usage("--limit", "x9999999").contains("is not allowed"))
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--header", "YES"])
    #expect(try bench.export() == "a,b\n1,2\n")
    let tune = try bench.run(["tune", bench.path("nofile")], status: .inputMissing)
    #expect(
      tune.errorText.contains("nofile: cannot read the input: No such file or directory; check"))
    #expect(
      ImportError.busy(database: "d", seconds: 1).description.contains("for 1 second;"))
    #expect(ImportError.busy(database: "d", seconds: 2).description.contains("for 2 seconds;"))
  }
}
