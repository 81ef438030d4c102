import Base
import Engine
import Foundation
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@testable import Command

/// Changes to the database file while an import waits for the first bytes of a pipe.
@Suite(.timeLimit(.minutes(60))) struct DisplacedInputTests {
  private func filled() throws -> Workbench {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,2\n3,4\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"])
    #expect(mkfifo(bench.path("pipe"), 0o600) == 0)
    return bench
  }

  /// Has an import open the pipe, runs `meanwhile`, then sends the input.
  private func run(_ bench: Workbench, meanwhile: () throws -> Void) throws -> SheafProcess.Result {
    let process = try SheafProcess([
      "import", bench.path("pipe"), "--into", bench.database, "--table", "t",
    ])
    var writing: Int32 = -1
    process.waitWhile {
      writing = open(bench.path("pipe"), O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return writing < 0
    }
    try meanwhile()
    let bytes = Array("a,b\n5,6\n".utf8)
    #expect(write(writing, bytes, bytes.count) == bytes.count)
    close(writing)
    return process.finish()
  }

  @Test("A database that stays in place is imported into")
  func nothingHappens() throws {
    let bench = try filled()
    let result = try run(bench) {}
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try bench.export("--no-header") == "1,2\n3,4\n5,6\n")
  }

  @Test("A database that was removed while a pipe waited is not created again")
  func itIsRemoved() throws {
    let bench = try filled()
    let result = try run(bench) { try System.remove(bench.database) }
    #expect(result.status == 74)
    #expect(result.errorText.contains("was removed or moved before it was opened"))
    #expect(bench.names() == ["in.csv", "pipe"])
  }

  @Test("A database that was moved while a pipe waited is left as it is")
  func itIsMoved() throws {
    let bench = try filled()
    let result = try run(bench) { try System.rename(bench.database, to: bench.path("old.sheaf")) }
    #expect(result.status == 74)
    #expect(bench.names() == ["in.csv", "old.sheaf", "pipe"])
    #expect(
      try bench.run(["export", bench.path("old.sheaf"), "--no-header"]).outputText == "1,2\n3,4\n")
  }

  @Test(
    "Another database under the same name is not imported into", arguments: ["another", "older"])
  func itIsReplaced(by kind: String) throws {
    let bench = try filled()
    let other = bench.path("other.sheaf")
    if kind == "another" {
      try bench.run(["import", bench.path("in.csv"), "--into", other, "--table", "t"])
    } else {
      try FileManager.default.copyItem(atPath: bench.database, toPath: other)
      try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"])
    }
    let before = try bench.read("other.sheaf")
    let result = try run(bench) { try System.rename(other, to: bench.database) }
    #expect(result.status == 74)
    #expect(result.errorText.contains("another file took the database file's place"))
    #expect(try bench.read("t.sheaf") == before)
  }

  @Test("A database that was compacted meanwhile is imported into")
  func itIsCompacted() throws {
    let bench = try filled()
    let result = try run(bench) {
      let inode = try System.status(path: bench.database).inode
      try bench.run(["compact", bench.database])
      #expect(try System.status(path: bench.database).inode != inode)
    }
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try bench.export("--no-header") == "1,2\n3,4\n5,6\n")
  }

  /// The file did not exist when the command began, and is made meanwhile.
  @Test func itIsMade() throws {
    let bench = try filled()
    try System.rename(bench.database, to: bench.path("later.sheaf"))
    let result = try run(bench) {
      try System.rename(bench.path("later.sheaf"), to: bench.database)
    }
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try bench.export("--no-header") == "1,2\n3,4\n5,6\n")
  }
}
