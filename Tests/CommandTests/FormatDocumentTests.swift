import Engine
import Foundation
import Importer
import Testing

/// `docs/file-format.md` is right as long as a reader written from it alone, `scripts/sheaf-dump`,
/// reads the same from a file as the engine does.
@Suite("The document of the file format", .enabled(if: Python.isThere))
struct FormatDocumentTests {
  @Test("A reader written from the document reads what the engine reads")
  func agreement() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("odd.sheaf")
    try OddDatabase.make(at: path, in: folder, seed: 1)
    let database = try Database.open(path, options: .init(access: .readOnly))
    let use = try database.tableUse("odd")
    let encodings = Set(use.columns.flatMap(\.encodings.keys))
    #expect(encodings == Set(ColumnEncoding.allCases.map(\.name)), "some encoding is not tried")
    var exported: [UInt8] = []
    try TableExporter().run(try database.snapshot().table("odd")) {
      exported.append(contentsOf: $0)
    }
    try database.close()

    let walk = try Python.dump([path], in: folder)
    #expect(walk.status == 0, "\(walk.error)")
    #expect(walk.output.contains("sound: version"))
    #expect(walk.output.contains("tree of 3 levels"))
    let table = try Python.dump([path, "--csv", "odd"], in: folder)
    #expect(table.status == 0, "\(table.error)")
    #expect(table.output == String(decoding: exported, as: UTF8.self))
  }

  @Test("It reads a compacted file the same way")
  func compacted() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("odd.sheaf")
    try OddDatabase.make(at: path, in: folder, seed: 2)
    let before = try Python.dump([path, "--csv"], in: folder)
    let database = try Database.open(path)
    #expect(try database.compact().decision == .compacted)
    try database.close()
    let after = try Python.dump([path, "--csv"], in: folder)
    #expect(before.status == 0 && after.status == 0, "\(before.error) \(after.error)")
    #expect(before.output == after.output)
  }

  @Test("It refuses a block whose bytes have changed")
  func damage() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("odd.sheaf")
    try OddDatabase.make(at: path, in: folder, seed: 3)
    var bytes = try folder.read("odd.sheaf")
    let name = Array("a name to be found".utf8)
    // Earlier versions' copies, in free pages, are changed too.
    let places = bytes.indices.filter { bytes[$0...].starts(with: name) }
    try #require(!places.isEmpty, "the text is not in the file")
    for place in places { bytes[place] ^= 1 }
    try folder.write("odd.sheaf", bytes)
    let walk = try Python.dump([path], in: folder)
    #expect(walk.status == 1)
    #expect(walk.error.contains("checksum"))
  }
}

/// A database with everything the format knows: all encodings, nulls, exceptions, gaps between keys,
/// columns that old clusters lack, a tree of three levels.
private enum OddDatabase {
  static func make(at path: String, in folder: TemporaryFolder, seed: UInt64) throws {
    var random = SeededRandom(state: seed)
    var csv = "whole,money,double,day,moment,local,word,name,same,nothing\n"
    for row in 0..<2000 {
      csv += line(row, &random)
    }
    try folder.write("odd.csv", Array(csv.utf8))
    var options = ImportOptions(inputs: [folder.path("odd.csv")], database: path)
    options.types = .named(["whole": .text, "double": .text])
    options.compaction.mode = .never
    let report = try Importer.run(options)
    #expect(report.imported == 2000)
    try edit(path, &random)
  }

  private static func line(_ row: Int, _ random: inout SeededRandom) -> String {
    func orNull(_ text: String) -> String { random.next() % 11 == 0 ? "" : text }
    let whole = row % 40 == 39 ? ["+5", "007", "1e3", "9999999999"][row / 40 % 4] : "\(row * 3)"
    let money = "\(random.next() % 50).\(random.next() % 10)"
    let double = Double(bitPattern: random.next() & 0xBFFF_FFFF_FFFF_FFFF).description
    let day = CalendarDate(daysSince1970: Int(random.next() % 3_000_000) - 700_000)
    let moment = DateTime(microsecondsSince1970: Int64(random.next() % (1 << 45)) - 1 << 44)
    let local = "2018-0\(row % 9 + 1)-11 0\(row % 7):1\(row % 6):07.\(100 + row % 900)+05:30"
    let word = ["red", "green", "blue, too"][Int(random.next() % 3)]
    let name = row == 77 ? "a name to be found" : "n\(random.next())\(row % 5 == 0 ? "\"\n" : "")"
    let fields = [
      orNull(whole), orNull(money + (row % 3 == 0 ? "5" : "")), orNull(double),
      orNull(day?.description ?? ""), orNull(moment?.description ?? ""), orNull(local),
      orNull("\"\(word)\""), "\"\(name.replacing("\"", with: "\"\""))\"", "same", "",
    ]
    return fields.joined(separator: ",") + "\n"
  }

  private static func edit(_ path: String, _ random: inout SeededRandom) throws {
    var options = Database.Options()
    options.limits.nodeCapacity = 3
    options.limits.clusterRows = 200
    let database = try Database.open(path, options: options)
    try database.write { transaction in
      let table = try transaction.table("odd")
      // The object that `damage` looks for stays.
      for key in 1...2000 where random.next() % 5 == 0 && key != 78 {
        try table.delete(Int64(key))
      }
      for key in 1001...1100 where try table.row(forKey: Int64(key)) != nil {
        try table.update(Int64(key), ["name": .null, "word": .text("")])
      }
    }
    try database.write { transaction in
      let table = try transaction.table("odd")
      try table.editor.addColumn(Column("raw", .data))
      for count in 0..<300 {
        let raw = (0..<count % 7).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        try table.insert(["raw": .data(raw), "money": .double(Double(count) / 8)])
      }
    }
    try database.close()
  }
}

/// SplitMix64, as published by Sebastiano Vigna.
private struct SeededRandom {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

/// Runs `scripts/sheaf-dump`.
private enum Python {
  struct Result {
    let status: Int32
    let output: String
    let error: String
  }

  static var isThere: Bool {
    ((ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")).contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/python3")
    }
  }

  static func dump(_ arguments: [String], in folder: TemporaryFolder) throws -> Result {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", Repository.path("scripts/sheaf-dump")] + arguments
    // Files rather than pipes: no limit on what the program prints before anybody reads.
    try folder.write("output", [])
    try folder.write("error", [])
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path("output")))
    let error = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path("error")))
    process.standardOutput = output
    process.standardError = error
    try process.run()
    process.waitUntilExit()
    try output.close()
    try error.close()
    return Result(
      status: process.terminationStatus,
      output: String(decoding: try folder.read("output"), as: UTF8.self),
      error: String(decoding: try folder.read("error"), as: UTF8.self))
  }
}
