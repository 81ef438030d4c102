import Foundation
import TestSupport
import Testing

@testable import Command

/// A batch is a transaction, unless `--join-batches` says otherwise.
@Suite struct JoinBatchesOptionTests {
  private static let batches = 40

  private static func imported(_ more: [String]) throws -> (version: Int, text: String) {
    let bench = try Workbench()
    var csv = "id,name\n"
    for row in 1...batches * 10 { csv += "\(row),name \(row % 7)\n" }
    try bench.write("in.csv", csv)
    let report = try bench.report(
      [
        "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--batch-size",
        "10",
      ] + more)
    #expect(report["batches"].int == batches && report["imported"].int == batches * 10)
    let info = try bench.report(["info", bench.database])
    return (try #require(info["version"].int), try bench.export())
  }

  @Test("Each batch is a version of its own", arguments: ["full", "group", "none"])
  func apart(durability: String) throws {
    let (version, _) = try Self.imported(["--durability", durability])
    #expect(version > Self.batches)
  }

  @Test(
    "Batches that follow each other are one, with the same objects", arguments: ["group", "none"])
  func joined(durability: String) throws {
    let (version, text) = try Self.imported(["--durability", durability, "--join-batches", "1000"])
    #expect(version < Self.batches)
    #expect(try Self.imported([]).text == text)
  }
}
