import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `sheaf info`: figures that add up, and lines that fit the terminal.
@Suite struct InfoTests {
  private func filled(rows: Int = 3000) throws -> Workbench {
    let bench = try Workbench()
    let sample = try SheafProcess.run(["sample", "--rows", "\(rows)"])
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "apps", "--compact", "never"],
      input: sample.outputText)
    return bench
  }

  /// The parts of the file sum up to its size, and the encodings of a column to its bytes.
  private func expectSums(_ info: Report, sourceLocation: SourceLocation = #_sourceLocation) {
    let file = info["file"]
    let parts = ["objects", "changes", "indexes", "structure", "kept", "pinned", "free"]
    #expect(
      parts.reduce(0) { $0 + (file[$1].int ?? -1_000_000) } == file["total"].int,
      sourceLocation: sourceLocation)
    for table in 0..<info["tables"].count {
      let columns = info["tables"][table]["columns"]
      var shares = 0.0
      for index in 0..<columns.count {
        let encodings = columns[index]["encodingBytes"]
        let sum = encodings.keys.reduce(0) { $0 + (encodings[$1].int ?? 0) }
        #expect(sum == columns[index]["bytes"].int, sourceLocation: sourceLocation)
        #expect(encodings.keys == columns[index]["encodings"].keys, sourceLocation: sourceLocation)
        shares += columns[index]["share"].double ?? 2
      }
      #expect(shares <= 1.001, sourceLocation: sourceLocation)
    }
  }

  /// The estimate is near the result of the compaction.
  @Test func theEstimateIsNear() throws {
    let bench = try filled()
    let info = try bench.report(["info", bench.database])
    expectSums(info)
    let estimate = info["compaction"]
    #expect(estimate["objects"].int == 3000 && estimate["sampledObjects"].int == 3000)
    #expect(estimate["approximate"].bool == true)
    let before = try System.status(path: bench.database).size
    #expect(estimate["before"].int == before)
    try bench.run(["compact", bench.database])
    let after = try System.status(path: bench.database).size
    let estimated = try #require(estimate["after"].int)
    #expect(abs(estimated - after) <= after / 10 + 8192, "\(estimated) is not \(after)")
    #expect(estimate["saved"].int == before - estimated)
    let compacted = try bench.report(["info", bench.database])
    expectSums(compacted)
    #expect((compacted["compaction"]["saved"].int ?? .max) <= 16_384)
    let text = try bench.run(["info", bench.database]).outputText
    #expect(text.contains("About nothing: "))
  }

  /// Keys, changed rows, free pages and two tables.
  @Test func everyPartIsNamed() throws {
    let bench = try Workbench()
    func users(_ suffix: String, _ ids: StrideTo<Int>) -> String {
      "id,name\n" + ids.map { "\($0),name \($0) \(suffix)\n" }.joined()
    }
    let words = [
      "import", "-", "--into", bench.database, "--table", "users", "--key", "id", "--on-conflict",
      "update", "--compact", "never",
    ]
    try bench.run(words, input: users("a", stride(from: 0, to: 3000, by: 1)))
    try bench.run(words, input: users("b", stride(from: 0, to: 3000, by: 100)))
    try bench.run(["import", "-", "--into", bench.database], input: "x\n1\n")
    let info = try bench.report(["info", bench.database])
    expectSums(info)
    #expect((info["file"]["changes"].int ?? 0) > 0 && (info["file"]["indexes"].int ?? 0) > 0)
    let text = try bench.run(["info", bench.database]).outputText
    for part in ["objects", "changes", "indexes", "structure", "free"] {
      #expect(text.contains("\n  \(part) "), "\(part): \(text)")
    }
    #expect(text.contains("The primary key is id; its index takes "))
    #expect(text.contains("\ntable users: 3,000 objects in "))
    #expect(text.contains("\ntable stdin: 1 object in 1 cluster, "))
    let none = try bench.report(["info", bench.database, "--no-estimate"])
    #expect(none["compaction"]["after"].isNull)
  }

  /// Another process holds a version while pages of it are replaced.
  @Test func whoPinsWhat() throws {
    let bench = try filled()
    let database = try Database.open(bench.database, options: .init(access: .readOnly))
    let held = try database.snapshot()
    let words = ["import", "-", "--into", bench.database, "--table", "apps", "--truncate"]
    let other = try SheafProcess.run(
      words, input: try SheafProcess.run(["sample", "--rows", "10"]).output)
    #expect(other.status == 0, "\(other.errorText)")
    let info = try Report(SheafProcess.run(["info", bench.database, "--report", "json"]).output)
    expectSums(info)
    #expect(info["readers"][0]["pid"].int == Int(System.processIdentifier))
    #expect(info["readers"][0]["version"].int == Int(held.version))
    let pinned = try #require(info["readers"][0]["pinned"].int)
    #expect(pinned > 0 && pinned == info["file"]["pinned"].int)
    let text = try SheafProcess.run(["info", bench.database]).outputText
    let flat = text.replacingOccurrences(of: "\n  ", with: " ")
    #expect(
      flat.contains(
        "version \(held.version) is held by process \(System.processIdentifier) (1 snapshot), and "
          + "keeps \(HumanFormat.size(pinned)) from reuse until it is released."), "\(text)")
    #expect(text.contains("  pinned "))
    #expect(flat.contains("not before the readers above are done"))
    withExtendedLifetime(held) {}
    try database.close()
  }

  /// Lines fit at every width; without a Unicode locale the page is ASCII.
  @Test func itFits() throws {
    let bench = try filled(rows: 1500)
    let database = try Database.open(bench.database, options: .init(access: .readOnly))
    let info = try DatabaseInfo(database, path: bench.database, estimates: false)
    for width in [1, 40, 44, 60, 80, 100, 200] {
      for isUnicode in [true, false] {
        let printer = InfoPrinter(info: info, width: width, isUnicode: isUnicode, isRich: false)
        // The path's line may be longer.
        for line in printer.text.split(separator: "\n").dropFirst() {
          #expect(DisplayWidth.of(String(line)) <= min(max(width, 40), 110), "\(width): \(line)")
          #expect(!line.hasSuffix(" "))
          if !isUnicode { #expect(line.allSatisfy { $0.isASCII }, "\(line)") }
        }
      }
    }
    try database.close()
    for (locale, isPlain) in [("C", true), ("C.UTF-8", false), ("de_DE.utf8", false)] {
      let result = try SheafProcess.run(["info", bench.database], environment: ["LC_ALL": locale])
      #expect(result.outputText.allSatisfy { $0.isASCII } == isPlain, "\(locale)")
      #expect(!result.outputText.contains("\u{1B}"))
    }
  }

  @Test("An empty database has no tables and nothing to compact")
  func anEmptyDatabase() throws {
    let bench = try Workbench()
    try Database.open(bench.database).close()
    let info = try bench.report(["info", bench.database])
    expectSums(info)
    #expect(info["tables"].count == 0 && info["compaction"]["objects"].int == 0)
    let text = try bench.run(["info", bench.database]).outputText
    #expect(text.contains("About nothing"))
  }

  @Test("Bars show shares with and without Unicode")
  func bars() {
    let unicode = TextBar(isUnicode: true, width: 4)
    #expect(unicode.text(4, of: 4) == "████" && unicode.text(1, of: 8) == "▌")
    #expect(unicode.text(1, of: 1_000_000) == "▏" && unicode.text(0, of: 5) == "")
    #expect(unicode.text(9, of: 4) == "████" && unicode.text(1, of: 0) == "")
    let plain = TextBar(isUnicode: false, width: 4)
    #expect(plain.text(4, of: 4) == "####" && plain.text(1, of: 1_000_000) == "#")
    #expect(TextBar.allowsUnicode { $0 == "LANG" ? "en_US.UTF-8" : nil })
    #expect(TextBar.allowsUnicode { $0 == "LC_CTYPE" ? "UTF-8" : "C" } == false)
    #expect(TextBar.allowsUnicode { $0 == "LC_ALL" ? "" : "de_DE.utf8@euro" })
    #expect(!TextBar.allowsUnicode { _ in nil })
  }
}
