import Base
import Engine
import Foundation
import Testing

@testable import Command

/// What a version says of rejects files is on the disk before the version is: their bytes, and the folder's
/// entries of new ones.
@Suite struct RejectOrderTests {
  /// Records that go one by one, the third of them to the rejects.
  private let input = "a\n1\n2\n3,more\n4\n"

  private func words(_ bench: Workbench, _ durability: String) -> [String] {
    [
      "import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "unlimited",
      "--batch-size", "1", "--durability", durability, "--parsers", "1",
    ]
  }

  /// The last parts of the paths that a run flushes, in order; nil where nobody can look.
  private func flushes(_ bench: Workbench, _ words: [String]) throws -> [String]? {
    try Tools.trace("fsync,fdatasync,sync_file_range", words, in: bench)?.compactMap { line in
      // Of a call that another thread's interrupts, the beginning is a line of its own.
      guard let open = line.firstIndex(of: "<"),
        let close = line[open...].firstIndex(of: ">"), line.contains("sync(")
      else { return nil }
      return line[line.index(after: open)..<close].split(separator: "/").last.map(String.init)
    }
  }

  @Test(arguments: ["full", "group", "none"])
  func order(durability: String) throws {
    let bench = try Workbench()
    try bench.write("in.csv", input)
    guard let flushed = try flushes(bench, words(bench, durability)) else { return }
    let folder = try #require(System.directory(of: bench.path("x")).split(separator: "/").last)
    let rejects = try #require(
      flushed.firstIndex(of: "in.rejects.csv"), "\(durability): \(flushed)")
    let rest = flushed[rejects...].filter { $0 != "t.sheaf" }
    #expect(
      rest == ["in.rejects.csv", "in.rejects.csv.reasons.jsonl", String(folder)],
      "\(durability): \(flushed)")
    let last = try #require(flushed.lastIndex(of: String(folder)))
    #expect(flushed[last...].contains("t.sheaf"), "\(durability): \(flushed)")
    if durability == "full" {
      // No commit lies between: the three are flushed together, for the one that comes next.
      #expect(flushed[rejects..<last].contains("t.sheaf") == false, "\(flushed)")
    }
  }

  /// An answer that nothing is left to do rests on a version that is on the disk.
  @Test func whatIsCompleteIsDurable() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a\n1\n")
    try bench.run(words(bench, "full"))
    guard let flushed = try flushes(bench, words(bench, "full") + ["--resume"]) else { return }
    #expect(flushed.contains("t.sheaf"), "\(flushed)")
  }

  /// A rejects file that somebody has cut, of an input that goes on and of one that is complete.
  @Test(arguments: [["--limit", "3"], []])
  func shorterOnesAreTold(first: [String]) throws {
    let bench = try Workbench()
    try bench.write("in.csv", input)
    try bench.run(words(bench, "full") + first)
    try bench.write("in.rejects.csv", "a\n")
    let text = try bench.run(words(bench, "full") + ["--resume"]).outputText
    #expect(text.contains("in.rejects.csv has 2 bytes, and 9 were written"), "\(text)")
    #expect(text.contains("rejected records are missing there"))
  }
}
