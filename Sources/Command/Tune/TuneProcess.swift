import Engine

/// Starts this program again for one import or compaction, and measures the whole process.
enum TuneProcess {
  /// A signal asked the experiment to end; the child has been ended.
  struct Interrupted: Error {}

  struct Measurement {
    /// From the start of the process to its end.
    let seconds: Double
    let userSeconds: Double
    let systemSeconds: Double
    fileprivate let facts: [String: Int]

    subscript(_ fact: TuneChild.Fact) -> Int { facts[fact.rawValue] ?? 0 }
  }

  /// More than a child ever prints.
  private static let outputLimit = 64 << 10

  /// - Throws: `Interrupted`, or a `CommandError` with what the child said of its failure.
  static func run(_ words: [String]) throws -> Measurement {
    guard let program = System.programPath else {
      throw CommandError(.bug, "the file of the running program is not to be found")
    }
    if Interrupt.signal != nil { throw Interrupted() }
    let began = System.monotonicNanoseconds
    let child = try System.start(
      program, [TuneChild.word, "\(System.processIdentifier)"] + words)
    let text: String
    do {
      text = try output(of: child)
    } catch {
      System.end(child)
      System.close(child.output)
      _ = try? System.waitForEnd(of: child)
      throw error
    }
    let ending = try System.waitForEnd(of: child)
    let seconds = Double(System.monotonicNanoseconds - began) / 1e9
    System.close(child.output)
    if Interrupt.signal != nil { throw Interrupted() }
    return Measurement(
      seconds: rounded(seconds), userSeconds: rounded(ending.userSeconds),
      systemSeconds: rounded(ending.systemSeconds), facts: try facts(text, ending))
  }

  /// Microseconds: more digits would only pretend.
  private static func rounded(_ seconds: Double) -> Double { (seconds * 1e6).rounded() / 1e6 }

  private static func output(of child: ChildProcess) throws -> String {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      if Interrupt.signal != nil { throw Interrupted() }
      guard System.waitForInput(child.output, milliseconds: 100) else { continue }
      let count = try piece.withUnsafeMutableBytes {
        try System.read(child.output, into: $0, path: "output of a measured process")
      }
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      if bytes.count < outputLimit { bytes += piece[..<count] }
    }
  }

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
    // What the system does when it is out of memory.
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
