import Engine
import TestSupport
import Testing

@testable import Importer

/// Columns that records get in addition to their fields.
@Suite struct AddedColumnTests {
  private static func added() throws -> [AddedColumn] {
    [
      try AddedColumn("file", "{path}"), try AddedColumn("number", "{record}"),
      try AddedColumn("line", "{line}"),
      try AddedColumn("source", "night {{{name}}} {line}-{record}"),
      try AddedColumn("nothing", ""), try AddedColumn("region", "eu"),
    ]
  }

  /// Records with escaped, surplus or missing fields, and rejected ones.
  private static func csv(_ random: inout SplitMix64, records: Int) -> String {
    var csv = "id,a,b\n"
    for id in 1...records {
      let text =
        ["x", "\"two\nlines\"", "\"q\"\"q\"", "", "\"\"", "ä€", "a b "]
        .randomElement(using: &random) ?? "x"
      csv += "\(id),\(text),\(["1", "22", "\"3\"", "z"].randomElement(using: &random) ?? "1")"
      csv += Int.random(in: 0..<9, using: &random) == 0 ? ",more\n" : "\n"
      if Int.random(in: 0..<20, using: &random) == 0 { csv += "\n" }
    }
    return csv
  }

  /// The numbers of the records and of their first lines, by the slow reader.
  private func places(_ csv: String) -> [(record: Int, line: Int)] {
    var places: [(Int, Int)] = []
    var (line, isQuoted, isAtStart, isHeader) = (1, false, true, true)
    for character in csv.unicodeScalars {
      if isAtStart, character != "\n" {
        if !isHeader { places.append((places.count + 1, line)) }
        (isHeader, isAtStart) = (false, false)
      }
      if character == "\"" { isQuoted.toggle() }
      guard character == "\n" else { continue }
      line += 1
      if !isQuoted { isAtStart = true }
    }
    return places
  }

  @Test(
    "Added columns have their values in every record", arguments: Effort.seeds(1..<6),
    [false, true])
  func allKinds(seed: UInt64, isKeyed: Bool) throws {
    var random = SplitMix64(seed: seed)
    let records = [3, 40, 300, 2600].randomElement(using: &random) ?? 3
    let csv = Self.csv(&random, records: records)
    let batch =
      [ImportOptions.BatchSize.records(7), .records(1000), .all].randomElement(using: &random)
      ?? .all
    let encoding: TextEncoding? = Bool.random(using: &random) ? .windows1252 : nil
    let bytes: [UInt8] =
      encoding == nil
      ? Array(csv.utf8) : csv.replacing("ä€", with: "ae").unicodeScalars.map { UInt8($0.value) }
    func change(_ options: inout ImportOptions) {
      options.batchSize = batch
      options.ragged = .extend
      options.encoding = encoding
      options.maxRejects = .unlimited
      options.types = .named(["b": .int])
      if isKeyed { options.key = "id" }
    }
    let (plain, folder) = (try ImportFolder(), try ImportFolder())
    try plain.importCSV(bytes, change)
    let report = try folder.importCSV(bytes) {
      change(&$0)
      $0.addedColumns = try Self.added()
    }
    let note = "seed \(seed), \(batch)"
    // The fields stay the same.
    let database = try Database.open(folder.database)
    defer { try? database.close() }
    let table = try database.snapshot().table("t")
    let own = try Database.open(plain.database)
    defer { try? own.close() }
    let without = try own.snapshot().table("t")
    #expect(table.count == without.count && table.count == report.imported, "\(note)")
    let names = without.columns.map(\.name)
    var expected: [[Value]] = []
    try without.forEachRow { row in expected.append(names.map { row[$0] ?? .null }) }
    let places = places(String(decoding: bytes, as: UTF8.self))
    var position = 0
    try table.forEachRow { row in
      try #require(names.map { row[$0] ?? .null } == expected[position], "\(note): \(position)")
      guard case .int(let id)? = row["id"] else { return }
      let place = places[Int(id) - 1]
      try #require(row["file"] == .text(folder.path("t.csv")), "\(note)")
      try #require(row["number"] == .int(Int64(place.record)), "\(note): \(row)")
      try #require(row["line"] == .int(Int64(place.line)), "\(note): \(row)")
      try #require(row["source"] == .text("night {t.csv} \(place.line)-\(place.record)"))
      try #require(row["nothing"] == .null && row["region"] == .text("eu"))
      position += 1
    }
    guard report.rejected > 0 else { return }
    #expect(try folder.read("t.rejects.csv") == plain.read("t.rejects.csv"), "\(note)")
    let reasons = try [folder, plain].map {
      try $0.text("t.rejects.csv.reasons.jsonl").replacing($0.path(""), with: "")
    }
    #expect(reasons[0] == reasons[1], "\(note)")
  }

  @Test("An import that goes on numbers its records on")
  func resumed() throws {
    let csv = "a\n" + (1...900).map { "v\($0)\n" }.joined()
    func change(_ options: inout ImportOptions) throws {
      options.batchSize = .records(100)
      options.header = .firstRecord
      options.addedColumns = [try AddedColumn("n", "{record}")]
    }
    let (folder, whole) = (try ImportFolder(), try ImportFolder())
    try whole.importCSV(csv, change)
    let batches = CallCounter()
    let first = try folder.importCSV(csv) {
      try change(&$0)
      $0.shouldStop = { batches.next() > 4 }
    }
    #expect(first.imported < 900 && first.imported > 0)
    try folder.importCSV(csv) {
      try change(&$0)
      $0.resume = true
    }
    #expect(try folder.exportText() == whole.exportText())
    // Another template is another import.
    #expect(throws: (any Error).self) {
      let other = try ImportFolder()
      let stops = CallCounter()
      try other.importCSV(csv) {
        try change(&$0)
        $0.shouldStop = { stops.next() > 4 }
      }
      try other.importCSV(csv) {
        try change(&$0)
        $0.addedColumns = [try AddedColumn("n", "{line}")]
        $0.resume = true
      }
    }
  }

  @Test("A number of the record may be the key")
  func asKey() throws {
    let folder = try ImportFolder()
    func night(_ csv: String) throws -> ImportReport {
      try folder.importCSV(csv) {
        $0.header = .firstRecord
        $0.key = "n"
        $0.conflictPolicy = .update
        $0.addedColumns = [try AddedColumn("n", "{record}")]
      }
    }
    _ = try night("a,b\nx,1\ny,2\n")
    let report = try night("a,b\nx,1\nz,2\nw,3\n")
    #expect(report.unchanged == 1 && report.updated == 1 && report.imported == 1)
    #expect(try folder.exportText() == "a,b,n\nx,1,1\nz,2,2\nw,3,3\n")
  }

  @Test("Folders of a path are columns")
  func folders() throws {
    func columns(_ path: String) throws -> [String] {
      var options = ImportOptions(inputs: [path], database: "")
      options.takesFolderColumns = true
      return try AddedValues(options, path: path, taken: ["a"]).columns.map {
        "\($0.name)=\($0.constant.map { String(decoding: $0, as: UTF8.self) } ?? "?")"
      }
    }
    #expect(
      try columns("/data/region=eu/day=2024-01-02/x=y.csv") == ["region=eu", "day=2024-01-02"])
    #expect(try columns("region=us%3Awest/a.csv") == ["region=us:west"])
    #expect(try columns("r=__HIVE_DEFAULT_PARTITION__/s=/a.csv") == ["r=", "s="])
    #expect(try columns("r=50%/s=%zz/t=%FF/=x/a.csv") == ["r=50%", "s=%zz", "t=%FF"])
    #expect(try columns("r=5%+3x/s=%-0/t=%4A%4a/a.csv") == ["r=5%+3x", "s=%-0", "t=JJ"])
    #expect(try columns("a.csv") == [] && columns("-") == [])
    #expect(throws: ImportError.self) { try columns("a=1/x.csv") }
    #expect(throws: ImportError.self) { try columns("r=1/r=2/x.csv") }
  }

  @Test("Wrong templates are refused")
  func templates() throws {
    for wrong in ["{", "}", "{}", "{Path}", "a{b", "{path", "x}y", "{{}"] {
      #expect(throws: ImportError.self, "\(wrong)") { try AddedColumn("a", wrong) }
    }
    #expect(throws: ImportError.self) { try AddedColumn("", "x") }
    #expect(try AddedColumn("a", "{{{line}}}").parts == [.text("{"), .line, .text("}")])
    let folder = try ImportFolder()
    #expect(throws: ImportError.self) {
      try folder.importCSV("a,c\n1,2\n") {
        $0.addedColumns = [try AddedColumn("x", "{line}" + String(repeating: "y", count: 1 << 16))]
      }
    }
    for name in ["a", "b"] {
      #expect(throws: ImportError.self, "\(name)") {
        try folder.importCSV("a,c\n1,2\n") {
          $0.renames = ["c": "b"]
          $0.addedColumns = [try AddedColumn(name, "x")]
        }
      }
    }
  }
}
