import Base
import Engine
import TestSupport

/// One of the processes that use a database at the same time, for `CrowdTests`.
///
///     Crowd writer FILE SECONDS SEED PROMISES
///     Crowd reader FILE SECONDS SEED
///     Crowd onlooker FILE SECONDS SEED
///     Crowd verify FILE PROMISES...
///
/// An onlooker never opens the file for writing. A writer appends the number of its last row to
/// PROMISES whenever the database has reported it durable. The exit status is 0 if every rule held;
/// otherwise standard error names the broken one. Not a product: it uses only the library.
@main
enum Crowd {
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  static func main() {
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      let line = Array(
        "\(CommandLine.arguments.dropFirst().joined(separator: " ")): \(error)\n".utf8)
      line.withUnsafeBytes { try? System.write(2, $0, path: "standard error") }
      System.exit(1)
    }
  }

  private static func run(_ words: [String]) throws {
    guard words.count >= 2 else { throw Problem(description: "role and file are missing") }
    let path = words[1]
    if words[0] == "verify" { return try verify(path, Array(words.dropFirst(2))) }
    guard words.count >= 4, let seconds = Double(words[2]), let seed = UInt64(words[3]) else {
      throw Problem(description: "seconds and seed are missing")
    }
    let end = System.monotonicNanoseconds &+ UInt64(seconds * 1e9)
    if words[0] == "writer", words.count == 5 {
      var writer = try CrowdWriter(path, seed: seed, promises: words[4])
      while System.monotonicNanoseconds < end { try writer.step() }
      try writer.finish()
    } else {
      var reader = try CrowdReader(path, seed: seed, mayWrite: words[0] == "reader")
      while System.monotonicNanoseconds < end { try reader.step() }
      try reader.finish()
    }
  }

  /// At the end: the file is sound and has everything that was promised.
  private static func verify(_ path: String, _ promises: [String]) throws {
    let database = try Database.open(path)
    let problems = try database.check().problems
    guard problems.isEmpty else { throw Problem(description: "\(problems)") }
    let snapshot = try database.snapshot()
    let state = try CrowdRules.check(snapshot)
    for file in promises {
      guard let (writer, number) = try CrowdWriter.lastPromise(file) else { continue }
      guard let last = state.last[writer], last >= number else {
        throw Problem(
          description: "writer \(writer) was promised \(number), and has \(state.last[writer] ?? 0)"
        )
      }
    }
    let use = try database.fileUse()
    print("version \(snapshot.version), rows written \(state.last.values.reduce(0, +)), \(use)")
    try database.close()
  }
}
