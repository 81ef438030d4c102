import Foundation
import TestSupport
import Testing

@testable import Importer

/// The records of rejects files: each is found once, and looked for in a time that does not grow with those
/// found before.
@Suite struct RejectedRecordsTests {
  private let folder = TemporaryFolder()

  private func records(_ texts: String...) throws -> RejectedRecords {
    let records = RejectedRecords()
    for (index, text) in texts.enumerated() {
      let path = folder.path("\(index).csv")
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      try records.add(path)
    }
    return records
  }

  @Test("Equal records are taken as often as they are there, each with one comparison")
  func manyEqual() throws {
    let count = 50_000
    let some = try records(
      String(repeating: "1,2,3\n", count: count - 1), "4,5,6\n1,2,3\r\n")
    let record = Array("1,2,3".utf8)
    for _ in 0..<count where !some.take(record) {
      Issue.record("a record is missing")
      return
    }
    #expect(!some.take(record) && some.take(Array("4,5,6".utf8)))
    #expect(some.comparisons == count + 1)
  }

  @Test("Records of several lines that begin alike are found in any order")
  func alike() throws {
    let texts = (0..<20).map { "1,\"a\n\($0)\",x" }
    let inOrder = try records(texts.joined(separator: "\n"))
    for text in texts { #expect(inOrder.take(Array(text.utf8)), "\(text)") }
    #expect(inOrder.comparisons == texts.count)
    let some = try records(texts.joined(separator: "\n"))
    for text in texts.shuffled() { #expect(some.take(Array(text.utf8)), "\(text)") }
    for text in texts { #expect(!some.take(Array(text.utf8)), "\(text)") }
    #expect(!some.take([]))
  }
}
