import Base
import Engine
import Foundation
import Testing

@testable import Command

#if canImport(FoundationXML)
  import FoundationXML
#endif
#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// `sheaf tune`: the built program on small files.
@Suite struct TuneTests {
  static let csv =
    "id,name,score\n" + (1...120).map { "\($0),\"name, \($0 % 7)\",\($0).5\n" }.joined()

  private static func results(_ bench: Workbench, _ folder: String) throws -> Report {
    let text = try bench.text("\(folder)/results.json")
    return try Report(Array((text.split(separator: "\n").joined() + "\n").utf8))
  }

  @Test("CSV, JSON and page have the same results")
  func theThreeFilesAgree() throws {
    let bench = try Workbench()
    try bench.write("in <&>.csv", Self.csv)
    let printed = try bench.run([
      "tune", bench.path("in <&>.csv"), "--batch-sizes", "50,7,all", "--durability", "none,group",
      "--repeat", "2", "--output", bench.path("out"), "--report", "json",
    ])
    #expect(bench.names().filter { !$0.hasPrefix("in") } == ["out"])
    let left = try FileManager.default.contentsOfDirectory(atPath: bench.path("out")).sorted()
    #expect(left == ["report.html", "results.csv", "results.json"])

    // Standard output has the JSON of the file.
    let results = try Self.results(bench, "out")
    let said = try Report(printed.output)
    #expect((said.value as? NSDictionary) == (results.value as? NSDictionary))
    #expect(results["command"].text == "tune" && results["complete"].bool == true)
    #expect(results["input"]["records"].int == 120 && results["input"]["rejected"].int == 0)
    #expect(results["input"]["bytes"].int == Self.csv.utf8.count)
    #expect((results["machine"]["cores"].int ?? 0) > 0)
    #expect((results["machine"]["memory"].int ?? 0) > 0)
    #expect(results["settings"]["batchSizes"].count == 3)
    #expect((0..<3).map { results["settings"]["batchSizes"][$0].int } == [7, 50, nil])

    // Each combination comes once a round; the second round runs backwards.
    let runs = results["runs"]
    #expect(runs.count == 12 && results["summary"].count == 6)
    func name(_ run: Report) -> String {
      (run["batchSize"].int.map { "\($0)" } ?? run["batchSize"].text ?? "?") + " "
        + (run["durability"].text ?? "?")
    }
    let order = (0..<12).map { name(runs[$0]) }
    #expect(
      order.prefix(6) == ["7 group", "7 none", "50 group", "50 none", "all group", "all none"])
    #expect(Array(order.suffix(6)) == order.prefix(6).reversed())
    for index in 0..<12 {
      let run = runs[index]
      #expect(run["records"].int == 120 && run["rejected"].int == 0)
      let size = run["batchSize"].int ?? 120
      #expect(run["transactions"].int == (120 + size - 1) / size)
      for number in ["bytesWritten", "fileBytes", "compactedBytes", "peakMemory"] {
        #expect((run[number].int ?? 0) > 0, "\(number) of \(order[index])")
      }
      #expect((run["compactedBytes"].int ?? 0) <= (run["fileBytes"].int ?? 0))
      #expect((run["seconds"].double ?? 0) > 0 && (run["compactSeconds"].double ?? 0) > 0)
      // A plausible figure for a debug build: neither zero nor the gigabytes of the parent.
      #expect((1_000_000..<1_000_000_000).contains(run["peakMemory"].int ?? 0))
    }

    try checkCSV(try bench.text("out/results.csv"), runs)
    try checkPage(try bench.read("out/report.html"), results)
  }

  private func checkCSV(_ text: String, _ runs: Report) throws {
    let lines = text.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
    let header = try #require(lines.first)
    #expect(lines.count == runs.count + 1 && text.hasSuffix("\n"))
    for (index, line) in lines.dropFirst().enumerated() {
      #expect(Set(header) == runs[index].keys && line.count == header.count)
      for (name, field) in zip(header, line) {
        let value = runs[index][name]
        let matches =
          value.text.map { $0 == field } ?? (value.double.map { $0 == Double(field) } ?? false)
        #expect(matches, "\(name) of run \(index): \(field)")
      }
    }
  }

  private func checkPage(_ bytes: [UInt8], _ results: Report) throws {
    let page = try PageReader(bytes)
    #expect(page.problem == nil)
    // The page is self-contained: it loads nothing and has no scripts.
    for name in ["script", "img", "iframe", "object", "embed", "base"] {
      #expect(page.elements[name] == nil, "<\(name)>")
    }
    #expect(page.references == ["data:,"])
    let text = String(decoding: bytes, as: UTF8.self)
    for word in ["http:", "https:", "url(", "@import", "//cdn"] {
      #expect(!text.contains(word), "\(word)")
    }
    #expect(page.elements["svg", default: 0] >= 4 && text.contains("in &lt;&amp;&gt;.csv"))
    #expect(text.contains("prefers-color-scheme: dark") && text.contains("@media print"))
    // Every number of the page is that of results.json at the named place.
    #expect(page.values.count > 12 * 14)
    for (key, value) in page.values {
      var place = results
      for step in key.split(separator: ".") {
        place = Int(step).map { place[$0] } ?? place[String(step)]
      }
      let matches =
        place.text.map { $0 == value } ?? (place.double.map { $0 == Double(value) } ?? false)
      #expect(matches, "\(key): \(value)")
    }
    let recommendation = results["recommendation"]
    #expect((recommendation["reasons"].count) >= 3)
    #expect(
      page.recommended == recommendation["batchSize"].text
        ?? recommendation["batchSize"].int.map { "\($0)" })
    #expect(recommendation["durability"].text == "group")
    for index in 0..<max(0, recommendation["reasons"].count) {
      let reason = try #require(recommendation["reasons"][index].text)
      #expect(page.text.contains(reason), "\(reason)")
    }
  }

  @Test("sheaf tune prints its table, recommends by its rule, and replaces only its own files")
  func theRuleAndTheTable() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    let text = try bench.run([
      "tune", bench.path("in.csv"), "--batch-sizes", "60,1000,all", "--durability", "full",
      "--repeat", "1", "--output", bench.path("deep/er/out"), "--limit", "100",
    ]).outputText
    #expect(text.hasPrefix("batch size  durability "))
    #expect(text.contains("recommended: ") && text.contains(", durability full\n"))
    #expect(text.contains("Batch size 1,000 is left out: the input has 100 records"))
    #expect(text.contains("written: \(bench.path("deep/er/out"))/report.html, "))
    let results = try Self.results(bench, "deep/er/out")
    #expect(results["input"]["records"].int == 100 && results["runs"].count == 2)
    let times = (0..<2).compactMap { results["summary"][$0]["seconds"]["median"].double }
    let smallIsChosen = results["recommendation"]["batchSize"].int == 60
    #expect(times.count == 2 && smallIsChosen == (times[0] <= times[1] * 1.05))
    // A second run replaces its own files only.
    try bench.write("deep/er/out/summary.md", "mine")
    #expect(
      try bench.run([
        "tune", bench.path("in.csv"), "--batch-sizes", "all", "--durability", "none", "--repeat",
        "1", "--output", bench.path("deep/er/out/"), "--quiet",
      ]).output.isEmpty)
    #expect(try Self.results(bench, "deep/er/out")["runs"].count == 1)
    #expect(try bench.text("deep/er/out/summary.md") == "mine")
  }

  /// A setting that would take too long is measured on a part of the input, which every report says.
  @Test func aPartStandsForAll() throws {
    let bench = try Workbench()
    let rows = 60_000
    try bench.write("in.csv", "a\n" + (1...rows).map { "\($0)\n" }.joined())
    let text = try bench.run([
      "tune", bench.path("in.csv"), "--batch-sizes", "1,all", "--durability", "none", "--repeat",
      "1", "--max-seconds", "1", "--output", bench.path("out"),
    ]).outputText
    let results = try Self.results(bench, "out")
    let summary = results["summary"][0]
    let run = results["runs"][0]
    let records = run["records"].int ?? 0
    #expect(records > 0 && records < rows && run["transactions"].int == records)
    #expect(results["input"]["records"].int == rows)
    #expect(summary["scaled"].bool == true && summary["records"].int == records)
    // The whole takes at least as long as the part; a small difference may fit into the same pages.
    for figure in ["seconds", "fileBytes"] {
      let (all, part) = (summary[figure]["median"].double ?? 0, run[figure].double ?? 0)
      #expect(all >= part && part > 0, "\(figure): \(all) of \(part)")
    }
    #expect(summary["peakMemory"]["median"].int == run["peakMemory"].int)
    let flat = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(text.contains("≈ ") && flat.contains(" of 60,000 records, because all would take"))
    #expect(results["notes"].count >= 1)
    try checkPageOf(bench, results)
  }

  private func checkPageOf(_ bench: Workbench, _ results: Report) throws {
    let page = try PageReader(try bench.read("out/report.html"))
    #expect(page.problem == nil && page.text.contains("≈ ") && page.text.contains("Hollow markers"))
  }

  @Test("sheaf tune passes options on to its imports, and says how many records they reject")
  func rejectedRecordsAndOptionsOfTheImport() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "k;v\n1;a\n2;b;c\n3;d\n1;e\n")
    let report = try bench.report([
      "tune", bench.path("in.csv"), "--batch-sizes", "2", "--durability", "none", "--repeat", "1",
      "--output", bench.path("out"), "--key", "k", "--types", "text", "--null=--",
    ])
    #expect(report["input"]["records"].int == 4 && report["input"]["rejected"].int == 2)
    let words = report["settings"]["importOptions"]
    #expect(
      (0..<words.count).compactMap { words[$0].text } == ["--key=k", "--types=text", "--null=--"])
    #expect(report["notes"][0].text?.hasPrefix("Rejected in every run: 2 records") == true)
    let left = try FileManager.default.contentsOfDirectory(atPath: bench.path("out"))
    #expect(left.count == 3)
  }

  @Test(
    "Options that sheaf tune does not take leave no files",
    arguments: [
      (["--batch-sizes", "0"], "--batch-sizes: \"0\" is not allowed"),
      (["--batch-sizes", "1,,2"], "--batch-sizes: "), (["--batch-sizes", "5,5"], "different"),
      (["--batch-sizes", "1,ALL"], "\"all\""),
      (["--durability", "some"], "full, group or none"),
      (["--durability", "full,full"], "--durability"),
      (["--repeat", "0"], "--repeat"), (["--limit", "0"], "--limit"),
      (["--max-seconds", "-1"], "--max-seconds"), (["--table", "x"], "unknown option \"--table\""),
      (["--into", "x"], "--into is a PostgreSQL server"),
      (["--compact", "never"], "unknown option"),
      (["second.csv"], "unexpected argument"), (["--output"], "--output needs a value"),
    ])
  func refusedOptions(words: [String], message: String) throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    let result = try bench.run(["tune", bench.path("in.csv")] + words, status: .usage)
    #expect(result.errorText.contains(message), "\(result.errorText)")
    #expect(bench.names() == ["in.csv"])
  }

  @Test("Inputs that cannot be measured are refused")
  func refusedInputs() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    try bench.write("empty.csv", "")
    try bench.write("header.csv", "a,b\n")
    let out = ["--output", bench.path("new/out"), "--header", "yes"]
    let before = bench.names()
    try bench.run(["tune", bench.path("none.csv")] + out, status: .inputMissing)
    try bench.run(["tune", bench.path(".")] + out, status: .inputMissing)
    try bench.run(["tune", "-"] + out, input: "a\n1\n", status: .usage)
    try bench.run(["tune", "/dev/null"] + out, status: .usage)
    try bench.run(["tune", bench.path("empty.csv")] + out, status: .dataRefused)
    try bench.run(["tune", bench.path("header.csv")] + out, status: .dataRefused)
    try bench.run(
      ["tune", bench.path("in.csv"), "--key", "nmae"] + out, status: .usage)
    #expect(bench.names() == before, "nothing is left of what never began")
  }

  @Test("sheaf tune refuses a folder with results of others, and changes nothing there")
  func filesOfOthersAreLeftAlone() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    for name in ["results.csv", "results.json", "report.html"] {
      let folder = "other-\(name)"
      try FileManager.default.createDirectory(
        atPath: bench.path(folder), withIntermediateDirectories: false)
      try bench.write("\(folder)/\(name)", "{\"command\":\"mine\"}\n")
      let result = try bench.run(
        ["tune", bench.path("in.csv"), "--output", bench.path(folder)], status: .cannotCreate)
      #expect(result.errorText.contains("\(folder)/\(name) exists and is no result of sheaf tune"))
      #expect(try bench.text("\(folder)/\(name)") == "{\"command\":\"mine\"}\n")
      let left = try FileManager.default.contentsOfDirectory(atPath: bench.path(folder))
      #expect(left == [name])
    }
    try bench.run(
      ["tune", bench.path("in.csv"), "--output", bench.path("in.csv")], status: .cannotCreate)
    try bench.run(
      ["tune", bench.path("in.csv"), "--output", bench.path("in.csv/x")], status: .cannotCreate)
    #expect(try bench.text("in.csv") == Self.csv)
  }

  /// An interrupted run keeps its measurements, if it has any.
  @Test(arguments: [SIGINT, SIGTERM])
  func aSignalEndsItWithWhatThereIs(signal: Int32) throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    let status = signal == SIGINT ? ExitStatus.interrupted : .terminated
    let process = try SheafProcess([
      "tune", bench.path("in.csv"), "--batch-sizes", "20,all", "--durability", "none", "--repeat",
      "1000", "--output", bench.path("out"), "--progress", "always",
    ])
    #expect(process.waitForError(containing: "run 4 of "))
    process.signal(signal)
    let result = process.finish()
    #expect(result.status == status.rawValue, "\(result.errorText)")
    #expect(result.outputText.contains("ended early"))
    let left = try FileManager.default.contentsOfDirectory(atPath: bench.path("out")).sorted()
    #expect(left == ["report.html", "results.csv", "results.json"])
    let results = try Self.results(bench, "out")
    #expect(results["complete"].bool == false && results["runs"].count >= 3)
    try checkCSV(try bench.text("out/results.csv"), results["runs"])
    #expect(try PageReader(try bench.read("out/report.html")).text.contains("Ended early"))

    let large = "a,b\n" + (1...200_000).map { "\($0),x\n" }.joined()
    try bench.write("large.csv", large)
    let early = try SheafProcess([
      "tune", bench.path("large.csv"), "--output", bench.path("early"), "--progress", "always",
    ])
    #expect(early.waitForError(containing: "warm-up"))
    early.signal(signal)
    let nothing = early.finish()
    #expect(nothing.status == status.rawValue)
    #expect(nothing.errorText.contains("interrupted before anything was measured"))
    #expect(bench.names() == ["in.csv", "large.csv", "out"])
  }

  /// A killed run leaves its database; the next run in the folder removes it.
  @Test func leftoversOfAKilledRun() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    let words = [
      "tune", bench.path("in.csv"), "--batch-sizes", "20", "--durability", "none", "--output",
      bench.path("out"),
    ]
    let process = try SheafProcess(words + ["--repeat", "1000", "--progress", "always"])
    #expect(process.waitForError(containing: "run 2 of "))
    process.signal(SIGKILL)
    #expect(process.finish().signal == SIGKILL)
    let after = try FileManager.default.contentsOfDirectory(atPath: bench.path("out"))
    #expect(after.count == 1 && after[0].hasPrefix(".tune-"))
    // Its child may still be writing.
    System.sleep(milliseconds: 300)
    try bench.run(words + ["--repeat", "1", "--quiet"])
    let left = try FileManager.default.contentsOfDirectory(atPath: bench.path("out")).sorted()
    #expect(left == ["report.html", "results.csv", "results.json"])
  }
}

/// Reads the page as XML, which it must be.
private final class PageReader: NSObject, XMLParserDelegate {
  private(set) var elements: [String: Int] = [:]
  private(set) var references: [String] = []
  private(set) var values: [(key: String, value: String)] = []
  private(set) var recommended: String?
  private(set) var text = ""
  private(set) var problem: String?

  init(_ bytes: [UInt8]) throws {
    super.init()
    let parser = XMLParser(data: Data(bytes))
    parser.delegate = self
    if !parser.parse() {
      problem = "line \(parser.lineNumber): \(parser.parserError.map { "\($0)" } ?? "not XML")"
    }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    elements[name, default: 0] += 1
    for attribute in ["src", "href", "xlink:href", "srcset", "action"] {
      if let reference = attributes[attribute] { references.append(reference) }
    }
    if let key = attributes["data-key"], let value = attributes["data-value"] {
      values.append((key, value))
    }
    if let size = attributes["data-batch-size"] { recommended = size }
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }
}
