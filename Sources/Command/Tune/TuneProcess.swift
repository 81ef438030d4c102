import Base
import Engine

/// Starts this program again for one import or compaction, and measures the whole process.
enum TuneProcess {
  struct Measurement {
    /// From the start of the process to its end.
    let seconds: Double
    let userSeconds: Double
    let systemSeconds: Double
    fileprivate let facts: [String: Int]

    subscript(_ fact: ChildWord.Fact) -> Int { facts[fact.rawValue] ?? 0 }
  }

  /// - Throws: `ChildRun.Interrupted`, or a `CommandError` with the child's message about its failure.
  static func run(_ words: [String]) throws -> Measurement {
    let result = try ChildRun.finish(try ChildRun.start(words))
    return Measurement(
      seconds: rounded(result.seconds), userSeconds: rounded(result.ending.userSeconds),
      systemSeconds: rounded(result.ending.systemSeconds),
      facts: try facts(result.text, result.ending))
  }

  /// Microseconds: further digits would not be exact.
  private static func rounded(_ seconds: Double) -> Double { (seconds * 1e6).rounded() / 1e6 }

  private static func facts(_ text: String, _ ending: ChildEnding) throws(CommandError)
    -> [String: Int]
  {
    var facts: [String: Int] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 2)
      if words.count == 3, words[0] == "failure", let number = Int32(words[1]) {
        throw CommandError(ExitStatus(rawValue: number) ?? .bug, String(words[2]))
      }
      if words.count == 2, let number = Int(words[1]) { facts[String(words[0])] = number }
    }
    if ending.status == 0 { return facts }
    // The system sends this signal when it is out of memory.
    if ending.signal == System.killSignal {
      throw CommandError(
        .inputOutput, "a measured process was killed; is there enough memory? try --limit")
    }
    let end =
      ending.signal.map { "was ended by signal \($0)" }
      ?? "ended with status \(ending.status ?? -1)"
    throw CommandError(
      .bug, "a measured process \(end); this is a bug in Sheaf, please report it")
  }
}
