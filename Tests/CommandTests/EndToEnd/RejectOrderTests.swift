import Base
import Engine
import Foundation
import Testing

@testable import Command

/// A rejects file is flushed before the version that refers to it, and so is the folder of a new one.
@Suite struct RejectOrderTests {
  /// Batches of one record; the third record is rejected.
  private let input = "a\n1\n2\n3,more\n4\n"

  private func words(_ bench: Workbench, _ durability: String) -> [String] {
    [
      "import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "unlimited",
      "--batch-size", "1", "--durability", durability, "--parsers", "1",
    ]
  }

  /// What a run flushes, in order: the last parts of the paths. Nil where calls cannot be traced.
  private func flushes(_ bench: Workbench, _ words: [String]) throws -> [String]? {
    try Tools.trace("fsync,fdatasync,sync_file_range", words, in: bench)?.compactMap { line in
      // The trace of an interrupted call has its beginning on a line of its own.
      guard let open = line.firstIndex(of: "<"),
        let close = line[open...].firstIndex(of: ">"), line.contains("sync(")
      else { return nil }
      return line[line.index(after: open)..<close].split(separator: "/").last.map(String.init)
    }
  }

  @Test(
    "Rejects are flushed before the commit that counts them", arguments: ["full", "group", "none"])
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
      // No commit is between them: the three flushes serve the next commit.
      #expect(flushed[rejects..<last].contains("t.sheaf") == false, "\(flushed)")
    }
  }

  /// The answer that nothing is left to do needs a durable version.
  @Test func whatIsCompleteIsDurable() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a\n1\n")
    try bench.run(words(bench, "full"))
    guard let flushed = try flushes(bench, words(bench, "full") + ["--resume"]) else { return }
    #expect(flushed.contains("t.sheaf"), "\(flushed)")
  }

  /// A rejects file was shortened: of an input that resumes, and of one that is complete.
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
