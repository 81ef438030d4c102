import Engine
import Foundation
import Synchronization
import Testing

@testable import Importer

/// Inputs that are truncated, or written to while they are read.
@Suite("Unfinished inputs") struct UnfinishedTests {
  private static func csv(_ count: Int) -> String {
    "id,name\n" + (1...count).map { "\($0),n\($0)\n" }.joined()
  }

  @Test("A last record without a line end is noted", arguments: [1, 3, 1000])
  func noted(batch: Int) throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV(Self.csv(5) + "6,n") { $0.batchSize = .records(batch) }
    #expect(report.imported == 6 && report.notes.count == 1)
    #expect(report.notes.first?.contains("the last record, at line 7, has no line end") == true)
    // If no line has an end, the end of the last one is not missed.
    #expect(try ImportFolder().importCSV("5,6").notes == [])
    #expect(try ImportFolder().importCSV(Self.csv(5)).notes == [])
    #expect(try ImportFolder().importCSV(Self.csv(5) + "6,n") { $0.limit = 5 }.notes == [])
    #expect(try ImportFolder().importCSV("a\r1\r2\r").notes == [])
  }

  @Test("Where it is refused, nothing of its batch is committed", arguments: [1, 2, 3, 300, 1000])
  func refused(batch: Int) throws {
    let folder = try ImportFolder()
    let finished = Self.csv(700)
    func run(_ csv: String, resume: Bool = false) throws -> ImportReport {
      try folder.importCSV(csv) {
        $0.batchSize = .records(batch)
        $0.requiresFinalNewline = true
        $0.resume = resume
      }
    }
    #expect(
      throws: ImportError.unfinished(
        position: .init(
          file: folder.path("t.csv"), line: 702, column: 1, byteOffset: finished.utf8.count))
    ) { try run(finished + "701,n") }
    let whole = 701 / batch * batch
    let committed = whole == 701 ? 701 - batch : whole
    // Without a committed batch there is no table.
    let count = (try? folder.exportText().split(separator: "\n").count - 1) ?? 0
    #expect(count == committed)
    // The complete input resumes behind what was committed.
    let rest = try run(finished + "701,name\n", resume: true)
    #expect(rest.imported == 701 - committed)
    #expect(try folder.exportText() == finished + "701,name\n")
    try folder.expectSound()
  }

  @Test("A header that was cut off, and a quote that never closes")
  func others() throws {
    for csv in ["id,na", "id,name\n1,\"x\n"] {
      let folder = try ImportFolder()
      #expect(throws: ImportError.self) {
        try folder.importCSV(csv) {
          $0.requiresFinalNewline = true
          $0.maxRejects = .unlimited
        }
      }
    }
  }

  @Test("A file that is written to while it is read")
  func changing() throws {
    let folder = try ImportFolder()
    let path = folder.path("t.csv")
    let isDone = Atomic(false)
    let report = try folder.importCSV(Self.csv(50)) {
      $0.batchSize = .records(10)
      $0.progress = { _ in
        guard !isDone.exchange(true, ordering: .relaxed),
          let file = FileHandle(forWritingAtPath: path)
        else { return }
        _ = try? file.seekToEnd()
        file.write(Data("51,x\n".utf8))
        try? file.close()
      }
    }
    #expect(report.notes.count == 1, "\(report.notes)")
    #expect(
      report.notes.first?.contains("was written to while it was read: it had") == true)
  }
}
