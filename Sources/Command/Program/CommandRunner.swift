import Importer

/// Runs the words after `sheaf`, and returns an exit status.
enum CommandRunner {
  /// Runs one command and reports its failure, if any, in one line on standard error.
  ///
  /// Everything written to standard output has left the process when this returns.
  static func run(_ arguments: [String]) -> ExitStatus {
    let output = BufferedOutput.standard()
    var prefix = Version.program
    var isDated = false
    Interrupt.installImmediate()
    do {
      let status = try dispatch(arguments, output, &prefix, &isDated)
      try output.flush()
      return status
    } catch {
      let failure = CommandError(unexpected: error)
      if failure == .closedPipe { return failure.status }
      // The output before the failure is part of the answer: print it first. If that fails too, report the
      // first failure.
      try? output.flush()
      let date = isDated ? Timestamp.now + " " : ""
      StandardError.line("\(date)\(prefix): \(withoutPasswords(failure.message))")
      return failure.status
    }
  }

  /// The message without the passwords of addresses among the command's words.
  private static func withoutPasswords(_ message: String) -> String {
    GivenWords.all.reduce(message) { message, word in
      let shown = ServerAddress.withoutPassword(word)
      return shown == word ? message : message.replacing(word, with: shown)
    }
  }

  /// - Parameters:
  ///   - prefix: set to the name of the command, once it is known, for error messages.
  ///   - isDated: set when messages go to a log, whose lines begin with the time.
  private static func dispatch(
    _ arguments: [String], _ output: BufferedOutput, _ prefix: inout String,
    _ isDated: inout Bool
  ) throws -> ExitStatus {
    let help = HelpText(commands: CommandTable.all, styled: TerminalPolicy.standardOutput.isRich)
    guard let first = arguments.first else {
      StandardError.text(HelpText(commands: CommandTable.all, styled: false).overview)
      return .usage
    }
    switch first {
    case "-h", "--help":
      try output.write(help.overview)
      return .done
    case "--version", "-V":
      try output.write(Version.line)
      return .done
    case ChildWord.first: return try ChildProgram.run(Array(arguments.dropFirst()), output)
    default: break
    }
    if first.hasPrefix("-") {
      throw CommandError.usage(
        "unknown option \"\(first)\"; a command comes first (see sheaf --help)")
    }
    let words = Array(arguments.dropFirst())
    let definition: CommandDefinition
    do throws(CommandError) {
      definition = try CommandTable.command(named: first)
    } catch {
      RunLog.noteWrongUsage(error, first, of: nil, words: words)
      throw error
    }
    prefix = "\(Version.program) \(definition.name)"
    let parser = ArgumentParser(definition: definition)
    let outcome: ArgumentParser.Outcome
    do throws(CommandError) {
      outcome = try parser.parse(words)
    } catch {
      RunLog.noteWrongUsage(error, first, of: definition, words: words)
      throw error
    }
    switch outcome {
    case .help:
      try output.write(help.page(of: definition))
      return .done
    case .arguments(let parsed):
      // A command whose option has no choice `line` does not date its messages.
      isDated = (try? parsed.required(CommonOptions.jobReport)) == .line
      return try definition.run(parsed, output)
    }
  }
}
