import Base
import Engine
import Foundation
import Testing

@testable import Command

/// A new file is flushed before it replaces another, and its folder afterwards: after a power cut there
/// is the old file or the new one, whole.
@Suite struct OutputOrderTests {
  private enum Call: Equatable {
    case flush(String)
    case rename(to: String)
  }

  /// What a run flushes, and the targets of its renames, in order: the last parts of their paths. Nil
  /// where calls cannot be traced.
  private func calls(_ bench: Workbench, _ words: [String]) throws -> [Call]? {
    func last(_ path: Substring) -> String { String(path.split(separator: "/").last ?? path) }
    let lines = try Tools.trace(
      "fsync,fdatasync,rename,renameat,renameat2", words, in: bench)
    return lines?.compactMap { line in
      if line.contains("sync("), let open = line.firstIndex(of: "<"),
        let close = line[open...].firstIndex(of: ">")
      {
        return .flush(last(line[line.index(after: open)..<close]))
      }
      let names = line.split(separator: "\"", omittingEmptySubsequences: false)
      return line.contains("rename") && names.count > 3 ? .rename(to: last(names[3])) : nil
    }
  }

  @Test(
    "A command flushes its output before it renames and reports it",
    arguments: [
      ["export", "t.sheaf", "--output", "out"], ["compact", "t.sheaf", "--into", "out"],
      ["compact", "t.sheaf"], ["backup", "t.sheaf", "--to", "out"],
    ])
  func order(words: [String]) throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a\n1\n2\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database])
    let place = words.contains("out") ? "out" : "t.sheaf"
    guard
      let calls = try calls(
        bench, words.map { ["t.sheaf", "out"].contains($0) ? bench.path($0) : $0 })
    else { return }
    let folder = try #require(System.directory(of: bench.path("x")).split(separator: "/").last)
    let renaming = try #require(calls.firstIndex(of: .rename(to: place)), "\(calls)")
    guard case .flush(let written)? = calls[..<renaming].last else {
      Issue.record("\(calls)")
      return
    }
    #expect(
      place == "out" ? written.hasPrefix(".sheaf-output-") : written == "t.sheaf-temporary",
      "\(calls)")
    #expect(calls[(renaming + 1)...].first == .flush(String(folder)), "\(calls)")
  }
}
