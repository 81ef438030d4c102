import Engine
import Foundation
import Testing

@testable import Importer

/// Records that are not imported are counted, explained, and kept byte for byte.
@Suite struct RejectTests {
  /// A line of the reasons file.
  private struct Reason: Decodable, Equatable {
    let file: String
    let record: Int
    let line: Int
    let position: Int
    let byteOffset: Int
    let column: String?
    let value: String?
    let reason: String
  }

  private func reasons(_ folder: ImportFolder, _ name: String) throws -> [Reason] {
    let lines = try folder.read(name + ".reasons.jsonl").split(separator: 0x0A)
    return try lines.map { try JSONDecoder().decode(Reason.self, from: Data($0)) }
  }

  /// Every kind of malformed record, among good ones.
  private static let damaged: [UInt8] = {
    var csv = Array("a,b\n1,one\n2\n3,three,more\n\"4\"x,four\n5,".utf8)
    csv += [0xFF, 0xFE]
    csv += Array("\n6,\"six\nlines\"\n7,\"sev\"\"en\"y\r\n8,eight\n9,\"open\n10,ten\n".utf8)
    return csv
  }()

  #if os(Linux)
    /// Of two files to be appended to, only the first can be opened: it is closed again.
    @Test func filesAreOpenBothOrNone() throws {
      let folder = try ImportFolder()
      let (path, reasons) = (folder.path("t.rejects.csv"), "t.rejects.csv.reasons.jsonl")
      try folder.write(reasons, Array("{\"file\":\"x\"}\n".utf8))
      try FileManager.default.createSymbolicLink(
        atPath: path, withDestinationPath: folder.path("elsewhere"))
      let log = RejectLog(
        name: RejectName(base: path, isGiven: false), database: folder.database)
      let place = RejectPlace(number: 1, records: 5, reasons: 13)
      #expect(try !log.goOn(at: place, input: "x", after: 0))
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
      }
      #expect(!open.contains(folder.path(reasons)))
      withExtendedLifetime(log) {}
    }
  #endif

  @Test(
    "Each malformed record is rejected byte for byte, with its reason, line and byte",
    arguments: [1, 2, 7, 300])
  func everyReasonWithItsPlace(batch: Int) throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV(Self.damaged) {
      $0.maxRejects = .unlimited
      $0.batchSize = .records(batch)
    }
    expectBalanced(report)
    #expect(report.read == 9)
    #expect(report.imported == 3)
    #expect(report.rejected == 6)
    let csv = Self.damaged
    let rejects = Array("a,b\n2\n3,three,more\n\"4\"x,four\n5,".utf8) + [0xFF, 0xFE]
    let rest = "\n7,\"sev\"\"en\"y\n9,\"open\n10,ten\n\n"
    #expect(try folder.read("t.rejects.csv") == rejects + Array(rest.utf8))
    #expect(try folder.exportText() == "a,b\n1,one\n6,\"six\nlines\"\n8,eight\n")
    let reasons = try reasons(folder, "t.rejects.csv")
    #expect(reasons.map(\.record) == [2, 3, 4, 5, 7, 9])
    #expect(reasons.map(\.line) == [3, 4, 5, 6, 9, 11])
    let file = folder.path("t.csv")
    #expect(reasons.allSatisfy { $0.file == file && $0.column == nil && $0.value == nil })
    for reason in reasons {
      let start = csv[..<reason.byteOffset].lastIndex { $0 == 0x0A }.map { $0 + 1 } ?? 0
      #expect(reason.position == reason.byteOffset - start + 1, "record \(reason.record)")
    }
    #expect(csv[reasons[1].byteOffset] == UInt8(ascii: "m"))
    #expect(csv[reasons[2].byteOffset] == UInt8(ascii: "x"))
    #expect(csv[reasons[3].byteOffset] == 0xFF)
    #expect(csv[reasons[4].byteOffset] == UInt8(ascii: "y"))
    #expect(csv[reasons[5].byteOffset] == UInt8(ascii: "\""))
    let words = [
      "too few", "too many", "after a closing", "UTF-8", "after a closing", "never closed",
    ]
    for (reason, word) in zip(reasons, words) { #expect(reason.reason.contains(word)) }
    try folder.expectSound()
  }

  @Test("Ragged records are padded or extended")
  func padAndExtend() throws {
    let csv = "a,b\n1,one\n2\n3,three,more\n4,four,,\"\",x\n5,five\n"
    let padded = try ImportFolder()
    let pad = try padded.importCSV(csv) {
      $0.ragged = .pad
      $0.maxRejects = .unlimited
    }
    #expect((pad.imported, pad.rejected) == (3, 2))
    #expect(try padded.exportText() == "a,b\n1,one\n2,\n5,five\n")
    for batch in [1, 2, 1000] {
      let extended = try ImportFolder()
      let extend = try extended.importCSV(csv) {
        $0.ragged = .extend
        $0.batchSize = .records(batch)
      }
      #expect((extend.imported, extend.rejected) == (5, 0))
      #expect(
        try extended.exportText()
          == "a,b,extra1,extra2,extra3\n1,one,,,\n2,,,,\n3,three,more,,\n4,four,,\"\",x\n5,five,,,\n"
      )
      try extended.expectSound()
      // A second input fills the existing columns, whatever its own types are.
      try extended.importCSV("a,b\n6,six,7\n", as: "u.csv") { $0.ragged = .extend }
      #expect(try extended.exportText().hasSuffix("\n6,six,7,,\n"))
      #expect(try extended.types().contains("extra1 text"))
    }
  }

  @Test("Given types reject values with their place", arguments: [1, 100, 1000])
  func strictTypes(batch: Int) throws {
    var csv = "Name,Rating,Day\n"
    for record in 1...900 {
      let rating = record % 300 == 7 ? "good" : record % 300 == 8 ? "" : "4.5"
      csv += "n\(record),\(rating),\(record == 400 ? "\"soon\"" : "2018-08-03")\n"
    }
    let folder = try ImportFolder()
    let report = try folder.importCSV(csv) {
      $0.types = .named(["Rating": .double, "Day": .date])
      $0.batchSize = .records(batch)
      $0.maxRejects = .count(4)
    }
    expectBalanced(report)
    #expect((report.read, report.rejected) == (900, 4))
    #expect(report.columns[1].nulls == 3)
    #expect(try folder.types() == "Name text, Rating double, Day date")
    #expect(
      try folder.text("t.rejects.csv")
        == "Name,Rating,Day\nn7,good,2018-08-03\nn307,good,2018-08-03\nn400,4.5,\"soon\"\nn607,good,2018-08-03\n"
    )
    let reasons = try reasons(folder, "t.rejects.csv")
    #expect(reasons.map(\.line) == [8, 308, 401, 608])
    #expect(reasons.map(\.column) == ["Rating", "Rating", "Day", "Rating"])
    #expect(reasons.map(\.value) == ["good", "good", "soon", "good"])
    #expect(reasons[0].reason.contains("is not a double; expected a number like 4.5"))
    let bytes = Array(csv.utf8)
    for reason in reasons {
      let value = Array((reason.value ?? "").utf8)
      #expect(Array(bytes[reason.byteOffset...].prefix(value.count)) == value)
    }
    try folder.expectSound()
  }

  /// Batches before the limit stay, and a higher limit continues from there.
  @Test(arguments: [1, 10, 300])
  func theLimitOfRejects(batch: Int) throws {
    var csv = "a,b\n"
    for record in 1...1000 { csv += record % 100 == 0 ? "\(record)\n" : "\(record),x\n" }
    func change(_ options: inout ImportOptions) {
      options.batchSize = .records(batch)
      options.maxRejects = .count(4)
    }
    let folder = try ImportFolder()
    let error = try #require(throws: ImportError.self) { try folder.importCSV(csv, change) }
    guard case .tooManyRejects(let count, let first, let path, let batches, let objects) = error
    else {
      Issue.record("\(error)")
      return
    }
    let committed = 499 / batch * batch
    #expect(count == 5)
    #expect(first?.record == 100)
    #expect(path == folder.path("t.rejects.csv"))
    #expect(batches == committed / batch)
    #expect(objects == committed - committed / 100)
    #expect(try folder.text("t.rejects.csv") == "a,b\n100\n200\n300\n400\n500\n")
    try folder.expectSound()
    // Resuming starts from what is committed, for the rejects, too.
    try folder.importCSV(csv) {
      change(&$0)
      $0.resume = true
      $0.limit = committed
    }
    let kept = (1...5).map { $0 * 100 }.filter { $0 <= committed }.map { "\($0)\n" }.joined()
    #expect(try folder.text("t.rejects.csv") == (kept.isEmpty ? "" : "a,b\n" + kept))
    #expect(!folder.names().contains("t.rejects.2.csv"))
    let report = try folder.importCSV(csv) {
      change(&$0)
      $0.maxRejects = .unlimited
      $0.resume = true
    }
    expectBalanced(report)
    #expect(report.resumedAt?.record == committed)
    #expect(report.read == 1000 - committed)
    let whole = try ImportFolder()
    try whole.importCSV(csv) {
      change(&$0)
      $0.maxRejects = .unlimited
    }
    #expect(try folder.export() == whole.export())
    #expect(try folder.read("t.rejects.csv") == whole.read("t.rejects.csv"))
    #expect(
      try reasons(folder, "t.rejects.csv").map(\.record)
        == reasons(whole, "t.rejects.csv").map(\.record))
  }

  @Test(
    "The limit of rejects ends the import at the next one",
    arguments: [
      (ImportOptions.RejectLimit.count(10), true), (.count(9), false), (.share(0.01), true),
      (.share(0.0099), false), (.unlimited, true), (.count(0), false),
    ])
  func limits(limit: ImportOptions.RejectLimit, isEnough: Bool) throws {
    var csv = "a,b\n"
    for record in 1...1000 { csv += record % 100 == 50 ? "\(record)\n" : "\(record),x\n" }
    let folder = try ImportFolder()
    if isEnough {
      #expect(try folder.importCSV(csv) { $0.maxRejects = limit }.rejected == 10)
    } else {
      #expect(throws: ImportError.self) { try folder.importCSV(csv) { $0.maxRejects = limit } }
    }
  }

  /// A limit in percent is checked at the end of a short input, too, and where `--limit` ends it.
  @Test func aShareOfFewRecords() throws {
    let folder = try ImportFolder()
    let csv = "a,b\n1,x\n2\n3,x\n4,x\n5,x\n"
    for limit in [nil, 4] {
      #expect(throws: ImportError.self) {
        try folder.importCSV(csv) {
          $0.maxRejects = .share(0.1)
          $0.limit = limit
        }
      }
    }
    #expect(try folder.importCSV(csv) { $0.maxRejects = .share(0.2) }.rejected == 1)
  }

  /// Several inputs may share a rejects file; an import that begins anew has another.
  @Test func severalInputs() throws {
    let folder = try ImportFolder()
    for name in ["x", "y"] { try folder.write(name + ".csv", Array("a,b\n\(name)\n1,2\n".utf8)) }
    for name in ["all.csv", "all.2.csv"] {
      let report = try folder.importCSV("a,b\n0\n") {
        $0.inputs += ["x", "y"].map { folder.path($0 + ".csv") }
        $0.maxRejects = .unlimited
        $0.rejects = folder.path("all.csv")
      }
      #expect((report.read, report.rejected) == (5, 3))
      #expect(report.rejects?.path == folder.path(name))
      #expect(try folder.text(name) == "a,b\n0\nx\ny\n")
      #expect(try reasons(folder, name).count == 3)
    }
    try folder.importCSV("a,b\n0\n") {
      $0.maxRejects = .unlimited
      $0.rejects = folder.path("all.csv")
    }
    #expect(try folder.text("all.3.csv") == "a,b\n0\n")
    #expect(try folder.text("all.csv") == "a,b\n0\nx\ny\n")
    let separate = try folder.importCSV("a,b\n0\n") {
      $0.inputs += ["x", "y"].map { folder.path($0 + ".csv") }
      $0.maxRejects = .unlimited
    }
    #expect(try folder.text("x.rejects.csv") == "a,b\nx\n")
    #expect(separate.rejects?.path == folder.path("t.rejects.csv"))
    #expect(separate.notes.filter { $0.contains("rejects.csv") }.count == 2)
  }

  @Test("Rejects are never written over an input or the database")
  func rejectsNeverGoOverAnInputOrTheDatabase() throws {
    let folder = try ImportFolder()
    let csv = "a,b\n1\n"
    for name in ["t.csv", "t.sheaf"] {
      #expect(throws: ImportError.self) {
        try folder.importCSV(csv) {
          $0.rejects = folder.path(name)
          $0.maxRejects = .unlimited
        }
      }
      #expect(try folder.text("t.csv") == csv)
    }
    #expect(folder.names() == ["t.csv"])
  }

  @Test("No file of rejects appears without a reject, nor in a dry run")
  func noFilesWithoutARejectOrInADryRun() throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV(Self.damaged) { $0.dryRun = true }
    #expect((report.read, report.imported, report.rejected) == (9, 3, 6))
    #expect(report.rejects == nil && report.file == nil)
    #expect(folder.names() == ["t.csv"])
    try folder.importCSV("a,b\n1,2\n")
    #expect(folder.names() == ["t.csv", "t.sheaf"])
  }
}
