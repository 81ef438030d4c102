import Testing

@testable import Command

@Suite struct ArgumentParserTests {
  private static let size = Option<Int>("size", .size, default: "1kB", help: "A size")
  private static let names = Option<[String]>("names", .nameList, help: "Names")
  private static let null = Option<String>("null", .text, repeatable: true, help: "Spellings")
  private static let into = Option<String>("into", .path, required: true, help: "A file")
  private static let quiet = Flag("quiet", help: "Say nothing")

  private static let definition = CommandDefinition(
    name: "try", summary: "A command for these tests", usage: "CSV... --into FILE",
    positionals: [.init(name: "CSV", help: "Files", isRepeatable: true)],
    options: [size, names, null, into, quiet],
    run: { _, _ in .done })

  private func parse(_ words: String...) throws -> ParsedArguments {
    switch try ArgumentParser(definition: Self.definition).parse(words) {
    case .help: throw CommandError(.bug, "help was asked for")
    case .arguments(let parsed): parsed
    }
  }

  private func failure(_ words: String...) -> String {
    do {
      _ = try ArgumentParser(definition: Self.definition).parse(words)
      return "no error"
    } catch {
      #expect(error.status == .usage)
      #expect(!error.message.contains("\n"))
      return error.message
    }
  }

  @Test("A value follows its option after a blank or an equals sign, wherever the option stands")
  func bothWaysToGiveAValue() throws {
    for words in [["--into", "x=y", "a"], ["--into=x=y", "a"], ["a", "--into", "x=y"]] {
      let outcome = try ArgumentParser(definition: Self.definition).parse(words)
      guard case .arguments(let parsed) = outcome else {
        Issue.record("help from \(words)")
        continue
      }
      #expect(try parsed.required(Self.into) == "x=y")
      #expect(parsed.positionals == ["a"])
    }
  }

  @Test("Defaults, flags and repeated options are parsed")
  func defaultsFlagsAndRepetition() throws {
    let parsed = try parse("-", "--into=f", "--null", "NA", "--null=", "--quiet")
    #expect(try parsed.value(Self.size) == 1000)
    #expect(!parsed.isGiven(Self.size))
    #expect(try parsed.value(Self.names) == nil)
    #expect(try parsed.values(Self.null) == ["NA", ""])
    #expect(parsed.isSet(Self.quiet))
    #expect(parsed.positionals == ["-"])
  }

  @Test("Behind two dashes, every word is a positional argument")
  func twoDashesEndTheOptions() throws {
    let parsed = try parse("--into", "f", "--", "--help", "-h", "--bogus")
    #expect(parsed.positionals == ["--help", "-h", "--bogus"])
  }

  @Test("Help is given wherever it is asked for, whatever else is wrong")
  func helpAnywhereAndWhateverElseIsWrong() throws {
    for words in [["--help"], ["-h"], ["--bogus", "x", "-h"], ["--into", "--help"]] {
      guard case .help = try ArgumentParser(definition: Self.definition).parse(words) else {
        Issue.record("no help from \(words)")
        continue
      }
    }
  }

  @Test("An error names the mistaken option and the likely one")
  func mistakesAreNamed() {
    #expect(failure("a", "--inot", "f") == "unknown option \"--inot\"; did you mean --into?")
    #expect(failure("a", "-q").hasPrefix("unknown option \"-q\""))
    #expect(failure("a", "-into=f").hasPrefix("unknown option \"-into\""))
    #expect(failure("a", "---into=f").hasPrefix("unknown option \"---into\""))
    #expect(
      failure("a", "--into", "f", "--zzz") == "unknown option \"--zzz\" (see sheaf help try)")
    #expect(failure("a", "--into").hasPrefix("--into needs a value: --into FILE"))
    #expect(failure("a", "--into", "--quiet").contains("write --into=--quiet"))
    #expect(failure("a", "--into", "").contains("\"\" is not allowed; expected the path of a file"))
    #expect(
      failure("a", "--into", "f", "--size", "9XB")
        == "--size: \"9XB\" is not allowed; expected a size such as 70MB, 512KiB, 1GiB "
        + "or a number of bytes")
    #expect(failure("a", "--into", "f", "--quiet=yes").contains("--quiet takes no value"))
    #expect(failure("a", "--into", "f", "--into", "g") == "--into is given twice; give it once")
    #expect(failure("--into", "f").hasPrefix("CSV is missing"))
    #expect(failure("a").hasPrefix("--into FILE is missing"))
  }

  @Test("A surplus argument is a usage error")
  func tooManyArguments() {
    let parser = ArgumentParser(definition: HelpCommand.definition)
    #expect(
      throws: CommandError.usage("unexpected argument \"b\"; usage: sheaf help [COMMAND | --man]")
    ) {
      _ = try parser.parse(["a", "b"])
    }
  }
}

/// The definitions of all commands: names, options, defaults and help.
@Suite struct CommandTableTests {
  @Test(
    "Each option of a command has its own name and help, and no default if it is required",
    arguments: CommandTable.all.map(\.name))
  func everyTableIsSound(name: String) throws {
    let definition = try CommandTable.command(named: name)
    #expect(Set(definition.options.map(\.name)).count == definition.options.count)
    for option in definition.options {
      #expect(!option.help.isEmpty, "--\(option.name)")
      #expect(
        !option.help.hasSuffix(".") || option.help.hasSuffix("..."), "--\(option.name)")
      #expect(!(option.isRequired && option.defaultText != nil), "--\(option.name)")
    }
  }

  /// Help and manual show each default as text: the parser must accept it as a value of its option.
  @Test func everyDefaultIsAccepted() {
    for definition in CommandTable.all {
      for case let option as any Checkable in definition.options { option.check() }
    }
  }

  @Test("Help fits 80 columns, names each command and option, and is styled only when asked")
  func helpFitsEightyColumnsAndNamesEveryOption() {
    let help = HelpText(commands: CommandTable.all, styled: false)
    for definition in CommandTable.all {
      let page = help.page(of: definition)
      #expect(help.overview.contains("  \(definition.name) "))
      for option in definition.options { #expect(page.contains("  --\(option.name)")) }
      for line in page.split(separator: "\n") { #expect(line.count <= HelpText.width, "\(line)") }
    }
    for line in help.overview.split(separator: "\n") { #expect(line.count <= HelpText.width) }
    #expect(!help.overview.contains("\u{1B}"))
    #expect(HelpText(commands: [], styled: true).overview.contains("\u{1B}[1mUsage"))
  }

  /// The defaults of an import are those that the command line promises.
  @Test func importDefaults() throws {
    let parser = ArgumentParser(definition: ImportCommand.definition)
    guard case .arguments(let parsed) = try parser.parse(["a.csv", "--into", "f"]) else { return }
    #expect(try parsed.value(ImportCommand.batchSize) == nil)
    #expect(try ImportCommand.options(parsed).effectiveBatchSize == .records(1000))
    #expect(try parsed.required(ImportCommand.durability) == .group)
    #expect(try parsed.required(ImportCommand.queue) == 8)
    #expect(try parsed.required(ImportCommand.maxRejects) == .count(0))
    #expect(try parsed.required(ImportCommand.compactAbove) == 70_000_000)
    #expect(try parsed.required(ImportCommand.compactUsedBelow) == Percent(value: 50))
    #expect(try parsed.required(ImportCommand.types) == .infer)
    #expect(try parsed.required(ImportCommand.ragged) == .reject)
    #expect(try parsed.required(ImportCommand.compact) == .auto)
    #expect(try parsed.required(ImportCommand.progress) == .auto)
    #expect(try parsed.required(CommonOptions.report) == .text)
    #expect(try parsed.value(ImportCommand.parsers) == nil)
    #expect(try parsed.value(ImportCommand.delimiter) == nil)
    #expect(try parsed.value(ImportCommand.quote) == nil)
  }
}

private protocol Checkable {
  func check()
}

extension Option: Checkable {
  fileprivate func check() {
    if let text = defaultValue { #expect(accepts(text), "--\(name)") }
  }
}
