import Base
import Engine
import Importer

/// The child processes of `sheaf tune` and `sheaf torture`. A child runs one import or one compaction, so
/// that its time and its memory are its own, or any command as a person would run it.
///
/// `sheaf tune-run PARENT` is not for people: no help names it, and its output may change. It ends with the
/// process of that number, and prints a line for each number, or one line `failure STATUS MESSAGE`. `sheaf
/// tune-run PARENT command ...` prints the command's output.
enum ChildProgram {
  static func run(_ words: [String], _ output: BufferedOutput) throws -> ExitStatus {
    do {
      guard let parent = words.first.flatMap({ Int32($0) }) else {
        throw CommandError.usage("this is for sheaf tune and sheaf torture")
      }
      // The parent has ended, so the numbers would not be read.
      guard System.endWithParent(parent) else { return .done }
      let words = words.dropFirst()
      if words.first == "command" { return CommandRunner.run(Array(words.dropFirst())) }
      let facts =
        switch words.first {
        case "import": try importing(Array(words.dropFirst()))
        case "compact": try compacting(words.dropFirst().first ?? "")
        default: throw CommandError.usage("this is for sheaf tune and sheaf torture")
        }
      for (fact, number) in facts { try output.write("\(fact.rawValue) \(number)\n") }
      return .done
    } catch {
      let failure = CommandError(writing: error)
      try output.write(
        "failure \(failure.status.rawValue) \(StandardError.escaped(failure.message))\n")
      return failure.status
    }
  }

  private static func importing(_ words: [String]) throws -> [(ChildWord.Fact, Int)] {
    let parser = ArgumentParser(definition: ImportCommand.definition)
    guard case .arguments(let arguments) = try parser.parse(words) else {
      throw CommandError.usage("--help is no option of an import that is measured")
    }
    let report = try Importer.run(try ImportCommand.options(arguments))
    return [
      (.records, report.read), (.rejected, report.rejected), (.transactions, report.batches),
      (.bytesWritten, report.bytesWritten), (.fileBytes, report.file?.total ?? 0),
      (.peakMemory, System.peakMemory),
    ]
  }

  private static func compacting(_ path: String) throws -> [(ChildWord.Fact, Int)] {
    let result = try DatabaseFile.use(path, .existing, Waiting()) { try $0.compact() }
    guard result.decision == .compacted else {
      throw CommandError(.inputOutput, "\(path): not compacted: \(result.reason ?? "")")
    }
    return [(.fileBytes, result.after), (.peakMemory, System.peakMemory)]
  }
}
