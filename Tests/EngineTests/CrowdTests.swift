import Foundation
import TestSupport
import Testing

@testable import Engine

/// Readers and writers of four processes at once, one of them killed now and then: nothing is lost, nothing
/// is torn. A few seconds; with SHEAF_LONG=1, minutes.
@Suite("Crowd of processes", .serialized)
struct CrowdTests {
  private static var seconds: Double {
    System.environment("SHEAF_LONG") == "1" ? 90 : 2.5
  }

  /// One run of `Tests/Crowd`.
  private final class Member {
    private let process = Process()
    private let messages: URL
    private static let number = Shared<Int>()

    init(_ words: [String], in folder: TemporaryFolder) throws {
      Self.number.append(1)
      messages = folder.url.appendingPathComponent("messages-\(Self.number.list.count)")
      _ = FileManager.default.createFile(atPath: messages.path, contents: nil)
      process.executableURL = URL(fileURLWithPath: try Self.program())
      process.arguments = words
      process.standardInput = FileHandle.nullDevice
      let output = try FileHandle(forWritingTo: messages)
      process.standardOutput = output
      process.standardError = output
      try process.run()
    }

    func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

    /// Waits for its end: what it said, and whether it ended well.
    func join() -> (isWell: Bool, said: String) {
      process.waitUntilExit()
      let said = (try? String(contentsOf: messages, encoding: .utf8)) ?? ""
      return (process.terminationReason == .exit && process.terminationStatus == 0, said)
    }

    private final class Here {}

    private static func program() throws -> String {
      #if canImport(Darwin)
        var folder = Bundle(for: Here.self).bundlePath
      #else
        var folder = System.resolved("/proc/self/exe")
      #endif
      for _ in 0..<5 {
        folder = System.directory(of: folder)
        let path = folder + "/Crowd"
        if let status = try? System.status(path: path), status.isRegular { return path }
      }
      throw SystemError(operation: "find the program Crowd near", path: folder, code: ENOENT)
    }
  }

  private func verify(_ folder: TemporaryFolder, _ promises: [String]) throws {
    let (isWell, said) = try Member(
      ["verify", folder.path("a.sheaf")] + promises.map { folder.path($0) }, in: folder
    ).join()
    #expect(isWell, "\(said)")
    if System.environment("SHEAF_FIGURES") != nil { print(said) }
    #expect(folder.names().filter { $0.hasPrefix("a.") } == ["a.sheaf"])
  }

  @Test("Two writers and two readers in four processes")
  func crowd() throws {
    let folder = TemporaryFolder()
    let (path, time) = (folder.path("a.sheaf"), "\(Self.seconds)")
    let members = [
      try Member(["writer", path, time, "1", folder.path("p1")], in: folder),
      try Member(["writer", path, time, "2", folder.path("p2")], in: folder),
      try Member(["reader", path, time, "3"], in: folder),
      try Member(["reader", path, time, "4"], in: folder),
    ]
    for member in members {
      let (isWell, said) = member.join()
      #expect(isWell, "\(said)")
    }
    try verify(folder, ["p1", "p2"])
  }

  @Test("The same, with a writer and a reader killed at random and started again")
  func killed() throws {
    let folder = TemporaryFolder()
    let (path, time) = (folder.path("a.sheaf"), "\(Self.seconds)")
    let seed = System.monotonicNanoseconds
    var random = SplitMix64(seed: seed)
    let members = [
      try Member(["writer", path, time, "1", folder.path("p1")], in: folder),
      try Member(["reader", path, time, "3"], in: folder),
    ]
    let end = System.monotonicNanoseconds + UInt64(Self.seconds * 1e9)
    var kills = 0
    while System.monotonicNanoseconds < end {
      let victims = [
        try Member(["writer", path, "600", "2", folder.path("p2")], in: folder),
        try Member(["reader", path, "600", "4"], in: folder),
      ]
      for victim in victims {
        System.sleep(milliseconds: UInt32.random(in: 5...200, using: &random))
        victim.kill()
        let (isWell, said) = victim.join()
        #expect(!isWell && said == "", "seed \(seed): \(said)")
        kills += 1
      }
    }
    for member in members {
      let (isWell, said) = member.join()
      #expect(isWell, "seed \(seed), \(kills) kills: \(said)")
    }
    #expect(kills > 4)
    try verify(folder, ["p1", "p2"])
  }
}
