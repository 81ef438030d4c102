import Foundation
import TestSupport

/// Runs `scripts/sheaf-dump`, and other programs.
enum Python {
  struct Result {
    let status: Int32
    let output: String
    let error: String
  }

  static var isThere: Bool {
    ((ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")).contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/python3")
    }
  }

  static func dump(_ arguments: [String], in folder: TemporaryFolder) throws -> Result {
    try run([Repository.path("scripts/sheaf-dump")] + arguments, in: folder)
  }

  static func run(_ arguments: [String], in folder: TemporaryFolder) throws -> Result {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3"] + arguments
    // Output goes to files: a full pipe would stop the program.
    try folder.write("output", [])
    try folder.write("error", [])
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path("output")))
    let error = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path("error")))
    process.standardOutput = output
    process.standardError = error
    try process.run()
    process.waitUntilExit()
    try output.close()
    try error.close()
    return Result(
      status: process.terminationStatus,
      output: String(decoding: try folder.read("output"), as: UTF8.self),
      error: String(decoding: try folder.read("error"), as: UTF8.self))
  }
}
