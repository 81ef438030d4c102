import Foundation
import Testing

@testable import Command

/// The help of every command and the manual page, both made from one table.
@Suite struct ManualTests {
  @Test("docs/sheaf.1 is what the program prints as its manual")
  func theCommittedPageIsTheTables() throws {
    let rendered = try SheafProcess.run(["help", "--man"])
    #expect(rendered.status == 0)
    #expect(
      Array(rendered.output) == (try? Repository.read("docs/sheaf.1")),
      "docs/sheaf.1 is not what the table of commands says: swift run sheaf help --man > docs/sheaf.1"
    )
  }

  @Test("mandoc and groff find nothing wrong in the manual")
  func formattersFindNothingWrong() throws {
    let page = Repository.path("docs/sheaf.1")
    if let lint = try Tools.run("mandoc", ["-Tlint", page]) {
      #expect(lint.status == 0 && lint.output.isEmpty, "\(lint.outputText)")
    }
    if let groff = try Tools.run("groff", ["-man", "-ww", "-Tutf8", page]) {
      #expect(groff.status == 0 && groff.error.isEmpty, "\(groff.errorText)")
    }
    if let man = try Tools.run(
      "man", ["-l", page], environment: ["MANPAGER": "cat", "LC_ALL": "C"])
    {
      let text = man.outputText
      #expect(man.status == 0, "\(man.errorText)")
      for command in CommandTable.all { #expect(text.contains("sheaf \(command.name)")) }
      for status in Command.ExitStatus.allCases { #expect(text.contains("\(status.rawValue)")) }
    }
  }

  /// roff prints any text of the tables unchanged.
  @Test func nothingIsARequest() {
    #expect(ManPage.line(".SH x") == "\\&.SH x")
    #expect(ManPage.line("a\\b -c 'd'") == "a\\eb \\-c \\(aqd\\(aq")
    let long = ManPage.paragraph(Array(repeating: ".abcdefgh", count: 20).joined(separator: " "))
    #expect(long.split(separator: "\n").count == 3)
    #expect(long.split(separator: "\n").allSatisfy { $0.hasPrefix("\\&.") && $0.count <= 80 })
  }

  @Test("Each command has help with examples and all options, however it is asked for")
  func everyCommandHasHelpWithExamples() throws {
    for command in CommandTable.all {
      let help = try SheafProcess.run(["help", command.name])
      #expect(help.status == 0 && help.error.isEmpty)
      for flag in ["--help", "-h"] {
        #expect(try SheafProcess.run([command.name, flag]).output == help.output)
        // `--help` counts more than any other fault.
        #expect(try SheafProcess.run([command.name, "--nonsense", flag]).output == help.output)
      }
      let text = help.outputText
      #expect(text.hasPrefix(command.summary + ".\n"))
      #expect(text.contains("\nExamples:\n"), "\(command.name)")
      for option in command.options { #expect(text.contains("--\(option.name)")) }
      #expect(text.split(separator: "\n").allSatisfy { $0.count <= 200 })
    }
    let overview = try SheafProcess.run(["--help"])
    #expect(overview.status == 0)
    for words in [["help"], ["-h"]] {
      #expect(try SheafProcess.run(words).output == overview.output)
    }
    #expect(try SheafProcess.run(["--version"]).outputText == "sheaf \(Version.number)\n")
    #expect(try SheafProcess.run(["-V"]).outputText == "sheaf \(Version.number)\n")
    let nothing = try SheafProcess.run([])
    #expect(nothing.status == 64 && nothing.output.isEmpty)
  }

  /// The parser takes the commands of the examples.
  @Test func theExamplesAreRight() throws {
    for command in CommandTable.all {
      for example in command.examples {
        var found = 0
        let parts = example.command.replacingOccurrences(of: "\"$(", with: "| ")
          .replacingOccurrences(of: ")\"", with: "").split(separator: "|")
        for part in parts {
          let words = ShellWords.split(String(part)).prefix { $0 != ">" }
          guard words.first == "sheaf", let name = words.dropFirst().first else { continue }
          found += 1
          let parser = ArgumentParser(definition: try CommandTable.command(named: name))
          do {
            _ = try parser.parse(Array(words.dropFirst(2)))
          } catch {
            Issue.record("\(example.command): \(error)")
          }
        }
        #expect(found > 0, "\(example.command)")
      }
    }
  }

  @Test(
    "A mistyped command or option gets a suggestion",
    arguments: [
      (["improt"], "did you mean sheaf import?"), (["EXPORT"], "did you mean sheaf export?"),
      (["help", "querry"], "did you mean sheaf query?"),
      (["import", "a.csv", "--inot", "x"], "did you mean --into?"),
      (["import", "a.csv", "--into", "x", "--Batch-Size", "1"], "did you mean --batch-size?"),
      (["import", "a.csv", "--into", "x", "--durability", "ful"], "did you mean full?"),
      (["import", "a.csv", "--into", "x", "--on-conflict", "Update"], "did you mean update?"),
      (["export", "a", "--format", "cvs"], "did you mean csv?"),
      (["compact", "a", "--report", "jsno"], "did you mean json?"),
      (["import", "a.csv", "--into", "x", "--header", "yse"], ""),
      (["--verison"], "a command comes first"),
    ])
  func mistypedWords(arguments: [String], advice: String) throws {
    let result = try SheafProcess.run(arguments)
    if advice.isEmpty { return }
    #expect(result.status == 64 && result.output.isEmpty)
    #expect(result.errorText.contains(advice), "\(result.errorText)")
    #expect(result.errorText.split(separator: "\n").count == 1)
  }

  @Test("A mistyped column or table gets a suggestion")
  func mistypedColumnsAndTables() throws {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "apps"],
      input: "App,Rating,Content Rating\nx,4.5,Teen\n")
    let file = bench.database
    for (arguments, advice) in [
      (["export", file, "--columns", "Ap"], "did you mean App?"),
      (["export", file, "--columns", "rating"], "did you mean Rating?"),
      (["export", file, "--where", "Ratin > 4"], "did you mean Rating?"),
      (["export", file, "--table", "aps"], "did you mean apps?"),
      (["query", file, "--columns", "App,Ratign"], "did you mean Rating?"),
      (["query", file, "--sort", "Ratng:desc"], "did you mean Rating?"),
      (["query", file, "--group-by", "CONTENT RATING"], "did you mean Content Rating?"),
      (["query", file, "--avg", "Ratings"], "did you mean Rating?"),
      (["query", file, "`Content Ratin` == 'Teen'"], "did you mean `Content Rating`?"),
      (["query", file, "--table", "app"], "did you mean apps?"),
    ] {
      let result = try bench.run(arguments, status: .usage)
      #expect(result.errorText.contains(advice), "\(result.errorText)")
    }
    for (option, value) in [("--types", "Ratng:int"), ("--key", "Ap")] {
      let result = try bench.run(
        ["import", "-", "--into", bench.path("n.sheaf"), option, value], input: "App,Rating\nx,1\n",
        status: .usage)
      #expect(result.errorText.contains("did you mean "), "\(result.errorText)")
    }
  }

  @Test("The README's list of commands is that of the program")
  func readme() throws {
    let text = String(decoding: try Repository.read("README.md"), as: UTF8.self)
    let list = try #require(text.firstMatch(of: /lists the commands: ([^.]*)\./)).output.1
    let names = list.matches(of: /`([a-z]+)`/).map { String($0.output.1) }
    #expect(Set(names) == Set(CommandTable.all.map(\.name)).subtracting(["help"]))
    #expect(names.count == Set(names).count)
  }
}
