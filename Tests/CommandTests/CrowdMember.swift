import Base
import Engine

/// Starts and joins runs of `Tests/Crowd`.
enum CrowdMember {
  /// Starts the program.
  static func start(_ words: [String]) throws -> SheafProcess {
    try SheafProcess(words, program: program())
  }

  /// Waits for a run's end. Returns its output, and its problem if it had one.
  static func join(_ process: SheafProcess) -> (output: String, problem: String?) {
    let result = process.finish()
    if result.status == 0 { return (result.outputText, nil) }
    let ending = result.status.map { "status \($0)" } ?? "signal \(result.signal ?? 0)"
    return (result.outputText, "\(ending): \(result.errorText)")
  }

  /// The path of the program, which is built beside `sheaf`.
  static func program() throws -> String {
    System.directory(of: try SheafProcess.program()) + "/Crowd"
  }
}
