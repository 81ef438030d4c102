import Foundation
import TestSupport
import Testing

// The example of the README, from its first line to its last.
import Engine
import Importer

/// Imports a CSV file, then changes what was imported.
func importApps(_ csv: String, into file: String) throws -> [String] {
  var options = ImportOptions(inputs: [csv], database: file)
  options.table = "apps"
  options.batchSize = .records(1000)  // objects in one transaction
  let report = try Importer.run(options)

  let database = try Database.open(file)
  let before = try database.snapshot()  // one version, for any thread, for as long as it is held
  try database.write { transaction in  // all of it or nothing
    let apps = try transaction.table("apps")
    try apps.update(1, ["Rating": .double(5)])
    try apps.delete(2)
  }
  let after = try database.snapshot()
  let counts = try [before.table("apps").count, after.table("apps").count]
  let first = try after.table("apps").row(forKey: 1)
  try database.close()
  return ["\(report.imported) imported", "\(counts)", "\(first?["Rating"] ?? .null)"]
}
// The end of the example.

// The example of a query.
/// The ten most reviewed games that are rated well.
func bestGames(in table: Table) throws -> [String] {
  var query = Query(column("Rating") >= 4.5 && column("Category") == "GAME")
  query.sort = [.descending("Reviews")]
  query.limit = 10
  query.columns = ["App"]
  let known = try Query(Predicate("Rating is not null")).count(in: table)
  return try query.rows(in: table).map { "\($0["App"] ?? .null) of \(known)" }
}
// The end of the query.

@Suite("The README")
struct ReadmeExampleTests {
  /// The commands of the page in order, without those that measure or exercise a disk for long.
  private func commands(_ readme: String) -> [String] {
    var commands: [String] = []
    var goesOn = false
    for line in readme.split(separator: "\n", omittingEmptySubsequences: false) {
      if goesOn {
        commands[commands.count - 1] += " " + line.drop { $0 == " " }
      } else if line.hasPrefix("    sheaf ") {
        commands.append(String(line.dropFirst(4)))
      } else {
        continue
      }
      goesOn = line.hasSuffix("\\")
      if goesOn { commands[commands.count - 1].removeLast() }
    }
    return commands
  }

  @Test("Its commands run as they stand there, on files that are there, and print what it says")
  func shell() throws {
    let readme = String(decoding: try Repository.read("README.md"), as: UTF8.self)
    let folder = TemporaryFolder()
    let place = folder.path("")
    let first = "sheaf import samples/googleplaystore.csv --into apps.sheaf"
    #expect(readme.contains("    swift run -c release \(first)\n"))
    let commands = commands(readme)
    #expect(commands.count > 8)
    // The folder has the package's samples, and the shell finds the program by its name.
    let start = """
      cd \(place) && mkdir bin && ln -s "$SHEAF" bin/sheaf && ln -s \(Repository.path("samples")) samples
      PATH=$PWD/bin:$PATH
      """
    var script = "set -euo pipefail\n\(start)\n\(first) > printed\n"
    for command in commands where !command.hasPrefix("sheaf tune ") {
      script += "{ \(command)\n} > last 2>&1 || { cat last >&2; exit 1; }\n"
    }
    let environment = ["SHEAF": try SheafProcess.program()]
    let result = try Tools.run("bash", ["-c", script], environment: environment)
    guard let result else { return }
    #expect(result.status == 0, "\(result.errorText)")
    // Times differ, and free bytes depend on the length of the noted path.
    let shown = try #require(part(of: readme, from: "It prints:\n\n", to: "\n\n"))
    let printed = String(decoding: try folder.read("printed"), as: UTF8.self)
    func withoutTimes(_ text: String) -> [String] {
      let changing = #/in [0-9.]+ s \([0-9.]+ .B\/s\)|[0-9.]+ kB free/#
      return text.replacing(changing, with: "_").split(separator: "\n").map {
        $0.trimmingCharacters(in: .whitespaces)
      }
    }
    // The page shows only the first columns.
    for (said, found) in zip(withoutTimes(shown), withoutTimes(printed)) {
      if said.hasPrefix("columns") {
        #expect(found.hasPrefix(said.dropLast(3)))
        break
      }
      #expect(said == found)
    }
    #expect(withoutTimes(shown).suffix(3) == withoutTimes(printed).suffix(3))
  }

  @Test("Its example does what it says")
  func example() throws {
    let folder = TemporaryFolder()
    let csv = Repository.path("samples/googleplaystore.csv")
    #expect(
      try importApps(csv, into: folder.path("apps.sheaf"))
        == ["47472 imported", "[47472, 47471]", "double(5.0)"])
  }

  @Test("Its example is the one that is compiled here")
  func text() throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    let readme = String(decoding: try Repository.read("README.md"), as: UTF8.self)
    let compiled = try #require(
      part(of: source, from: "to its last.\n", to: "// The end of the example."))
    let shown = try #require(part(of: readme, from: "```swift\nimport Engine\n", to: "```"))
    #expect("import Engine\n" + shown == compiled)
  }

  @Test("Its query does what it says, and is the one that is compiled here")
  func query() throws {
    let folder = TemporaryFolder()
    _ = try importApps(Repository.path("samples/googleplaystore.csv"), into: folder.path("a.sheaf"))
    let database = try Database.open(folder.path("a.sheaf"), options: .init(access: .readOnly))
    let games = try bestGames(in: try database.snapshot().table("apps"))
    #expect(games.count == 10)
    #expect(games.allSatisfy { $0.hasPrefix("text(") && $0.hasSuffix(" of 47471") }, "\(games)")
    try database.close()
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    let readme = String(decoding: try Repository.read("README.md"), as: UTF8.self)
    let compiled = try #require(
      part(of: source, from: "// The example of a query.\n", to: "// The end of the query."))
    let shown = try #require(
      part(of: readme, from: "or with the same text:\n\n```swift\n", to: "```"))
    #expect(shown == compiled)
  }

  @Test(
    "Source files and tests that the documents name are there",
    arguments: [
      "README.md", "CONTRIBUTING.md", "docs/csv.md", "docs/design.md", "docs/distributed.md",
      "docs/file-format.md", "docs/nightly.md", "docs/performance.md", "docs/tour.md",
      "docs/tune.md",
      "docs/types.md",
    ])
  func names(document: String) throws {
    let text = String(decoding: try Repository.read(document), as: UTF8.self)
    let sources = try swiftFiles("Sources") + swiftFiles("scripts")
    let tests = try swiftFiles("Tests")
    for match in text.matches(of: #/`([A-Za-z+/]+\.swift)`/#) {
      let name = "/" + match.output.1
      #expect(
        (sources + tests).contains { $0.hasSuffix(name) }, "\(document) names \(match.output.1)")
    }
    let code = try tests.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
    for match in text.matches(of: #/`([A-Za-z]+Tests)`/#) {
      #expect(code.contains("struct \(match.output.1)"), "\(document) names \(match.output.1)")
    }
    // The table of invariants has names of tests in quotes.
    for line in text.split(separator: "\n") where line.hasPrefix("| I") {
      for match in line.matches(of: #/"([^"]+)"/#) {
        #expect(code.contains("\"\(match.output.1)\""), "\(document) names \(match.output.1)")
      }
    }
  }

  private func swiftFiles(_ folder: String) throws -> [String] {
    let root = Repository.path(folder)
    return try FileManager.default.subpathsOfDirectory(atPath: root)
      .filter { $0.hasSuffix(".swift") }.map { "\(root)/\($0)" }
  }

  /// The text between two marks.
  private func part(of text: String, from start: String, to end: String) -> String? {
    guard let opening = text.range(of: start),
      let closing = text.range(of: end, range: opening.upperBound..<text.endIndex)
    else { return nil }
    return String(text[opening.upperBound..<closing.lowerBound])
  }
}
