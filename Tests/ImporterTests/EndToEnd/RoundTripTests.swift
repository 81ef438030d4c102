import Engine
import Foundation
import Importer
import Testing

/// I7: export gives back what was imported, to the letter.
@Suite struct RoundTripTests {
  static let sizes: [ImportOptions.BatchSize] = [.records(1), .records(7), .records(1000), .all]

  /// The first records of the repository's sample.
  private static func sample(records: Int) throws -> [UInt8] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("samples/googleplaystore.csv").path
    let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? handle.close() }
    let bytes = Array(try handle.read(upToCount: records * 160) ?? Data())
    let parsed = ReferenceParser(bytes).records
    return Array(bytes[..<parsed[min(records + 1, parsed.count - 1)].start])
  }

  @Test(arguments: sizes, [ImportOptions.TypeRule.infer, .text])
  func theSample(size: ImportOptions.BatchSize, types: ImportOptions.TypeRule) throws {
    let isSmall = size == .records(1) || size == .records(7)
    let csv = try Self.sample(records: isSmall ? 800 : 4000)
    let folder = try ImportFolder()
    let report = try folder.importCSV(csv) {
      $0.batchSize = size
      $0.types = types
    }
    #expect(report.imported == ReferenceParser(csv).records.count - 1)
    #expect(firstDifference(try folder.export(), canonical(csv)) == nil)
    try folder.expectSound()
    if types == .text {
      #expect(try !folder.types().contains("int"))
    } else {
      #expect(try folder.types().contains("Rating double, Reviews int"))
    }
  }

  @Test(arguments: sizes, [ImportOptions.TypeRule.infer, .text])
  func oddities(size: ImportOptions.BatchSize, types: ImportOptions.TypeRule) throws {
    for seed in 0..<4 as Range<UInt64> {
      var generator = OddCSV(seed: seed)
      let csv = generator.make(rows: size == .records(1) ? 150 : 600, isMixed: seed % 2 == 1)
      let folder = try ImportFolder()
      let report = try folder.importCSV(csv) {
        $0.batchSize = size
        $0.types = types
        $0.header = .firstRecord
        $0.delimiter = UInt8(ascii: ",")
      }
      expectBalanced(report)
      #expect(report.rejected == 0, "seed \(seed)")
      let difference = firstDifference(try folder.export(), canonical(csv))
      #expect(difference == nil, "seed \(seed)")
      try folder.expectSound()
    }
  }

  /// Each spelling in a column where all the others are of its own kind, alone in it, and in a
  /// cluster with many others.
  @Test func everySpellingByItself() throws {
    for spelling in OddCSV.numbers + OddCSV.dates + OddCSV.texts {
      for companions in [[], ["1", "2.5"], ["2018-01-01"], ["true"], ["x", "y"]] {
        let field = "\"" + spelling.replacingOccurrences(of: "\"", with: "\"\"") + "\""
        let rows = companions + [nil, "\"\""] + companions
        var csv = "a,b\n"
        for row in rows { csv += "\(row ?? ""),1\n" }
        csv += "\(field),1\n"
        let folder = try ImportFolder()
        try folder.importCSV(csv) {
          $0.header = .firstRecord
          $0.delimiter = UInt8(ascii: ",")
        }
        let difference = firstDifference(try folder.export(), canonical(Array(csv.utf8)))
        #expect(difference == nil, "\(spelling.debugDescription) among \(companions)")
      }
    }
  }

  /// What the export wrote imports to the same again, compacted or not.
  @Test func exportsImportAgain() throws {
    var generator = OddCSV(seed: 99)
    let csv = generator.make(rows: 900, isMixed: true)
    let first = try ImportFolder()
    try first.importCSV(csv) {
      $0.header = .firstRecord
      $0.delimiter = UInt8(ascii: ",")
    }
    let exported = try first.export()
    let second = try ImportFolder()
    let report = try second.importCSV(exported) {
      $0.header = .firstRecord
      $0.delimiter = UInt8(ascii: ",")
      $0.compaction.mode = .always
      $0.batchSize = .records(10)
    }
    #expect(report.compaction.decision == .compacted)
    #expect(try second.export() == exported)
    try second.expectSound()
  }
}
