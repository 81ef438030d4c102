import Foundation
import TestSupport
import Testing

/// Runs the programs of `samples/` and compares their output, except times and the number of reads that
/// fit into an import.
@Suite("Stories")
struct StoryTests {
  /// The lines that a program prints.
  private static func lines(_ name: String, _ arguments: [String] = []) throws -> [String] {
    let process = try SheafProcess(arguments, program: SheafProcess.program(name))
    let result = process.finish(within: 240)
    #expect(result.status == 0, "\(name): signal \(result.signal ?? 0), \(result.errorText)")
    return result.outputText.split(separator: "\n").map(String.init)
  }

  private static let csv = Repository.path("samples/googleplaystore.csv")

  @Test("An import off the main thread, which goes on reading")
  func importWithProgress() throws {
    let folder = TemporaryFolder()
    let lines = try Self.lines("ImportWithProgress", [folder.path("a.sheaf"), Self.csv])
    let end = try #require(lines.firstIndex(of: "imported 47472 objects in 48 transactions"))
    #expect(lines.suffix(from: end).count == 3)
    #expect(lines.last == "it sees 47472 objects now")
    let reads = try #require(
      lines[end + 1].firstMatch(of: #/^the main thread read ([0-9]+) times meanwhile; /#))
    #expect(try #require(Int(reads.output.1)) > 10)
    for line in lines[..<end] { #expect(line.contains(" records so far; read ")) }
  }

  @Test("An upload worker observes a filter and writes back")
  func uploadWorker() throws {
    let lines = try Self.lines("UploadWorker")
    #expect(
      lines.dropLast() == [
        "worker: uploaded beach.jpg", "worker: uploaded cat.jpg", "worker: uploaded dinner.jpg",
        "worker: uploaded forest.jpg", "worker: uploaded harbour.jpg",
      ])
    #expect(lines.last == "5 uploads are done, 0 are pending")
  }

  @Test("A reference carries an object to another thread")
  func passReference() throws {
    #expect(
      try Self.lines("PassReference") == [
        "worker: rated Maps", "main: Rating is still 1", "main: after a refresh it is 5",
        "main: the reference has been resolved already; make a new one for every use",
        "worker: Notes is gone", "worker: 1 good app",
      ])
  }

  @Test("Frozen results are shared by several threads")
  func freezeAndFanOut() throws {
    let folder = TemporaryFolder()
    let lines = try Self.lines("FreezeAndFanOut", [folder.path("a.sheaf"), Self.csv])
    try #require(lines.count == 5)
    let games = try #require(lines[0].firstMatch(of: #/^frozen: ([0-9]+) games$/#)).output.1
    #expect(try #require(Int(games)) > 1000)
    #expect(lines[1] == "deleted: 0 live, \(games) frozen")
    let sums = try #require(
      lines[2].firstMatch(of: #/^4 threads counted ([0-9]+) reviews; one query counts ([0-9]+)$/#))
    #expect(sums.output.1 == sums.output.2 && sums.output.1 != "0")
    #expect(lines[3] == "the first game is gone; its frozen copy can be read still")
    #expect(lines[4] == "0 parts failed")
  }

  @Test("Polling against observing")
  func pollOrRefresh() throws {
    #expect(
      try Self.lines("PollOrRefresh") == [
        "poll: 0 lines before refresh()", "poll: 2 lines after it, moved true",
        "poll: nothing new, moved false", "observe: 2 lines at first", "observe: inserted at [2]",
        "later: something is newer", "observe: inserted at [3, 4]", "later: 3 lines, then 5",
      ])
  }

  @Test("A silent write is told to others only")
  func silentWrite() throws {
    let lines = try Self.lines("SilentWrite")
    // Two threads print; each one's lines are in order.
    #expect(
      lines.filter { $0.hasPrefix("list") } == [
        "list: 0 rows at first", "list: wrote row 0 silently", "list: told of insertions at [1]",
      ])
    #expect(
      lines.filter { $0.hasPrefix("other") } == [
        "other: 0 rows at first", "other: told of insertions at [0]",
        "other: told of insertions at [1]",
      ])
    #expect(lines.count == 6)
  }

  @Test("A lost update, and none")
  func noStaleCopy() throws {
    #expect(
      try Self.lines("NoStaleCopy") == [
        "read outside: 100 + 10 + 10 = 110", "read inside: 100 + 100 * 10 = 1100",
        "a live object: 1100 before the write, 2100 inside", "0 threads failed",
      ])
  }

  @Test("A nested transaction is refused with advice")
  func nestedTransaction() throws {
    let folder = TemporaryFolder()
    let lines = try Self.lines("NestedTransaction", [folder.path("a.sheaf")])
    #expect(
      lines.first?.hasSuffix(
        "a.sheaf: this thread is inside a write transaction already; pass that transaction on "
          + "instead of beginning another") == true)
    #expect(
      lines.dropFirst() == [
        "after the refusal: 0 orders, 10 left", "passed on: 1 orders, 9 left",
        "one after the other: 2 orders, 8 left", "a session refuses it too",
      ])
  }

  @Test("Every story is told in the README, is short, and uses no more than anybody may")
  func allOfThem() throws {
    let readme = String(decoding: try Repository.read("README.md"), as: UTF8.self)
    let folders = try FileManager.default.contentsOfDirectory(atPath: Repository.path("samples"))
      .filter { !$0.contains(".") && $0 != "Support" }
    #expect(folders.count == 8)
    for name in folders {
      #expect(readme.contains("`\(name)`"), "the README does not name \(name)")
      let text = String(
        decoding: try Repository.read("samples/\(name)/\(name).swift"), as: UTF8.self)
      #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 100, "\(name)")
      #expect(!text.contains("@testable") && !text.contains("Foundation"), "\(name)")
    }
  }

  @Test("A story that fails says why")
  func failure() throws {
    let process = try SheafProcess(
      ["/nowhere/a.sheaf"], program: SheafProcess.program("NoStaleCopy"))
    let result = process.finish(within: 120)
    #expect(result.status == 1)
    #expect(result.errorText.contains("/nowhere/a.sheaf"))
  }
}
