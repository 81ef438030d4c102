import Foundation
import Testing
import TestSupport

@testable import Importer

/// Patterns of file names, compared with a slow and obvious matcher, and on a tree of folders.
@Suite struct FilePatternTests {
  private static func slow(_ name: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool
  {
    guard let first = pattern.first else { return name.isEmpty }
    switch first {
    case "*":
      return (name.startIndex...name.endIndex).contains { slow(name[$0...], pattern.dropFirst()) }
    case "?": return !name.isEmpty && slow(name.dropFirst(), pattern.dropFirst())
    case "[":
      // The tests' lists have one or two plain characters.
      guard let end = pattern.firstIndex(of: "]"), let next = name.first else { return false }
      var list = pattern[(pattern.startIndex + 1)..<end]
      let isInverted = list.first == "!"
      if isInverted { list = list.dropFirst() }
      return list.contains(next) != isInverted
        && slow(name.dropFirst(), pattern[(end + 1)...])
    default: return name.first == first && slow(name.dropFirst(), pattern.dropFirst())
    }
  }

  @Test("Patterns match as a slow matcher does", arguments: 0..<10 as Range<UInt64>)
  func againstTheSlowOne(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let pieces = ["a", "b", "*", "?", "[ab]", "[!b]", "**", "a", "b"]
    for _ in 0..<500 {
      let name = String(
        (0..<Int.random(in: 1...7, using: &random)).map { _ in
          Bool.random(using: &random) ? "a" : "b"
        })
      let pattern = (0..<Int.random(in: 1...6, using: &random)).map { _ in
        pieces[Int.random(in: 0..<pieces.count, using: &random)]
      }.joined()
      #expect(
        FilePattern.matches(name, pattern) == Self.slow(Array(name)[...], Array(pattern)[...]),
        "\(name), \(pattern), seed \(seed)")
    }
  }

  @Test("Lists of characters, escapes and hidden names match")
  func lists() {
    for (name, pattern, fits) in [
      ("7.csv", "[0-9].csv", true), ("x.csv", "[0-9].csv", false), ("x.csv", "[!0-9].csv", true),
      ("x.csv", "[^0-9].csv", true), ("]", "[]]", true), ("-", "[a-]", true), ("[a", "[a", true),
      ("*", "\\*", true), ("a", "\\*", false), (".hidden", "*", false), (".hidden", ".*", true),
      ("é.csv", "?.csv", true), ("a[", "a[", true), ("", "*", true), ("a", "[", false),
    ] {
      #expect(FilePattern.matches(name, pattern) == fits, "\(name), \(pattern)")
    }
  }

  @Test("Patterns find files in folders")
  func onATree() throws {
    let root = FileManager.default.temporaryDirectory
      .appendingPathComponent("sheaf-tests-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: root) }
    for path in [
      "b.csv", "a.csv", "x.txt", "sub/c.csv", "sub/deep/d.csv", ".hid/e.csv", "dir.csv/f.csv",
    ] {
      let url = root.appendingPathComponent(path)
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data().write(to: url)
    }
    // A circular link, which is not followed.
    try FileManager.default.createSymbolicLink(
      at: root.appendingPathComponent("sub/up"), withDestinationURL: root)
    func files(_ pattern: String) throws -> [String] {
      try FilePattern.files(root.path + "/" + pattern).map {
        String($0.dropFirst(root.path.count + 1))
      }
    }
    #expect(try files("*.csv") == ["a.csv", "b.csv"])
    #expect(
      try files("**/*.csv")
        == ["a.csv", "b.csv", "dir.csv/f.csv", "sub/c.csv", "sub/deep/d.csv"])
    #expect(try files("**/**/**/*.csv") == files("**/*.csv"))
    #expect(try files("**/**") == [])
    #expect(try files("*/c.csv") == ["sub/c.csv"])
    #expect(try files("sub/**/d.csv") == ["sub/deep/d.csv"])
    #expect(try files("[!a]*.csv") == ["b.csv"])
    #expect(try files("no*/x") == [] && files("nothing/*") == [])
    #expect(try files(".h*/*") == [".hid/e.csv"])
  }

  @Test("A link that leads nowhere is a file that is missing, and not one that does not match")
  func brokenLinks() throws {
    let folder = TemporaryFolder()
    let files = FileManager.default
    try Data().write(to: URL(fileURLWithPath: folder.path("a.csv")))
    for (name, target) in [("b.csv", "none"), ("c.txt", "none"), ("d.csv", ".")] {
      try files.createSymbolicLink(atPath: folder.path(name), withDestinationPath: target)
    }
    #expect(
      try FilePattern.files(folder.path("*.csv")) == ["a.csv", "b.csv"].map { folder.path($0) })
    #expect(try FilePattern.files(folder.path("**/b.*")) == [folder.path("b.csv")])
  }
}
