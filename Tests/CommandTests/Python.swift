import TestSupport

/// Runs `scripts/sheaf-dump`, and other programs.
enum Python {
  static var isThere: Bool { Tools.path("python3") != nil }

  static func dump(_ arguments: [String]) throws -> SheafProcess.Result {
    try run([Repository.path("scripts/sheaf-dump")] + arguments)
  }

  static func run(_ arguments: [String]) throws -> SheafProcess.Result {
    try SheafProcess.run(["python3"] + arguments, program: "/usr/bin/env")
  }
}
