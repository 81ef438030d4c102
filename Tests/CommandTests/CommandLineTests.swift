import Base
import Engine
import TestSupport
import Testing

@testable import Command

/// The built program, run as a person would.
@Suite struct CommandLineTests {
  @Test("--version prints the version; each way to ask for help prints the same page")
  func versionAndHelp() throws {
    #expect(try SheafProcess.run(["--version"]).outputText == "sheaf 0.1.0\n")
    let help = try SheafProcess.run(["--help"])
    #expect(help.status == 0 && help.error.isEmpty)
    #expect(try SheafProcess.run(["help"]).output == help.output)
    #expect(try SheafProcess.run(["-h"]).output == help.output)
    let page = try SheafProcess.run(["help", "import"])
    #expect(page.status == 0)
    #expect(page.outputText.contains("--batch-size N|all"))
    #expect(try SheafProcess.run(["import", "--bogus", "--help"]).output == page.output)
  }

  @Test("Without arguments, the commands are listed on standard error as wrong usage")
  func nothingAskedIsWrongUsage() throws {
    let result = try SheafProcess.run([])
    #expect(result.status == ExitStatus.usage.rawValue)
    #expect(result.output.isEmpty)
    #expect(result.errorText.contains("Commands:"))
  }

  @Test(
    "Wrong usage is one line on standard error, and nothing on standard output",
    arguments: [
      (["imprt"], "sheaf: unknown command \"imprt\"; did you mean sheaf import?\n"),
      (["--versoin"], "sheaf: unknown option \"--versoin\"; a command comes first"),
      (["help", "smaple"], "sheaf help: unknown command \"smaple\"; did you mean sheaf sample?\n"),
      (["sample", "--rows", "many"], "sheaf sample: --rows: \"many\" is not allowed; expected"),
      (["sample", "a\nb"], "sheaf sample: unexpected argument \"a\\nb\";"),
      (["import", "a.csv"], "sheaf import: --into FILE is missing;"),
    ])
  func wrongUsageIsOneLine(arguments: [String], beginning: String) throws {
    let result = try SheafProcess.run(arguments)
    #expect(result.status == ExitStatus.usage.rawValue)
    #expect(result.output.isEmpty)
    #expect(result.errorText.hasPrefix(beginning), "\(result.errorText)")
    #expect(result.errorText.split(separator: "\n").count == 1)
  }

  @Test("A sample has the same bytes on standard output and in a file")
  func aSampleToOutputAndToAFile() throws {
    let folder = TemporaryFolder()
    let printed = try SheafProcess.run(["sample", "--rows", "500", "--seed=9"])
    #expect(printed.status == 0 && printed.error.isEmpty)
    let file = try SheafProcess.run(
      ["sample", "--rows", "500", "--seed", "9", "--output", folder.path("s.csv")])
    #expect(file.status == 0 && file.output.isEmpty && file.error.isEmpty)
    #expect(try folder.read("s.csv") == printed.output)
    #expect(printed.output.count > 50_000)
  }

  @Test("An output that cannot be created ends with its own status, and says what to do")
  func anOutputThatCannotBeCreated() throws {
    let result = try SheafProcess.run(["sample", "--output", "/nowhere/at/all.csv"])
    #expect(result.status == ExitStatus.cannotCreate.rawValue)
    #expect(
      result.errorText
        == "sheaf sample: /nowhere/at/all.csv: open: No such file or directory; choose another path, "
        + "or look after the folder and its permissions\n")
  }

  #if os(Linux)
    @Test("A full disk is an error that names the file")
    func aFullDisk() throws {
      let result = try SheafProcess.run(["sample", "--rows", "5000", "--output", "/dev/full"])
      #expect(result.status == ExitStatus.inputOutput.rawValue)
      #expect(result.errorText.hasPrefix("sheaf sample: /dev/full: write: "))
      #expect(result.errorText.split(separator: "\n").count == 1)
    }
  #endif

  @Test("A closed pipe ends sheaf sample quietly, with status 0")
  func aClosedPipeEndsQuietly() throws {
    let process = try SheafProcess(["sample", "--rows", "100000000"])
    process.closeOutput(after: 100_000)
    let result = process.finish()
    #expect(result.status == 0)
    #expect(result.error.isEmpty)
  }

  @Test("A signal ends sheaf sample with its status and without a message")
  func aSignalEndsASample() throws {
    let process = try SheafProcess(["sample", "--rows", "100000000", "--output", "/dev/null"])
    System.sleep(milliseconds: 100)
    process.signal(2)
    let result = process.finish()
    #expect(result.status == ExitStatus.interrupted.rawValue && result.error.isEmpty)
  }
}
