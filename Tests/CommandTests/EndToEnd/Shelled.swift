import Foundation

@testable import Command

/// Runs the built program in a shell, for redirections and pipelines.
enum Shelled {
  /// - Parameter words: the text behind `sheaf`; it may continue with pipes and redirections.
  static func run(_ words: String) throws -> SheafProcess.Result {
    try SheafProcess.run(
      ["-c", "\"$SHEAF\" \(words)"], program: "/bin/sh",
      environment: ["SHEAF": SheafProcess.program()])
  }
}
