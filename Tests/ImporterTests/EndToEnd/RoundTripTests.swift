import Engine
import Foundation
import Importer
import Testing

/// I7: an export gives back what was imported, to the letter.
@Suite struct RoundTripTests {
  static let sizes: [ImportOptions.BatchSize] = [.records(1), .records(7), .records(1000), .all]

  /// The first records of the repository's sample, and their export.
  private struct Sample {
    let csv: [UInt8]
    let exported: [UInt8]
    let records: Int

    static let short = Result { try Sample(records: 300) }
    static let long = Result { try Sample(records: 2200) }

    private init(records: Int) throws {
      let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("samples/googleplaystore.csv")
      let handle = try FileHandle(forReadingFrom: url)
      defer { try? handle.close() }
      let bytes = Array(try handle.read(upToCount: records * 130) ?? Data())
      let parsed = ReferenceParser(bytes).records
      self.records = min(records, parsed.count - 2)
      csv = Array(bytes[..<parsed[self.records + 1].start])
      exported = canonical(csv)
    }
  }

  @Test(
    "The sample comes out as it went in", arguments: sizes, [ImportOptions.TypeRule.infer, .text])
  func theSample(size: ImportOptions.BatchSize, types: ImportOptions.TypeRule) throws {
    let isSmall = size == .records(1) || size == .records(7)
    let sample = try (isSmall ? Sample.short : Sample.long).get()
    let folder = try ImportFolder()
    let report = try folder.importCSV(sample.csv) {
      $0.batchSize = size
      $0.types = types
    }
    #expect(report.imported == sample.records)
    #expect(firstDifference(try folder.export(), sample.exported) == nil)
    try folder.expectSound()
    if types == .text {
      #expect(try !folder.types().contains("int"))
    } else {
      #expect(try folder.types().contains("Rating double, Reviews int"))
    }
  }

  @Test(
    "Generated odd CSV comes out as it went in", arguments: sizes,
    [ImportOptions.TypeRule.infer, .text])
  func oddities(size: ImportOptions.BatchSize, types: ImportOptions.TypeRule) throws {
    for seed in 0..<4 as Range<UInt64> {
      var generator = OddCSV(seed: seed)
      let csv = generator.make(rows: size == .records(1) ? 100 : 400, isMixed: seed % 2 == 1)
      let folder = try ImportFolder()
      let report = try folder.importCSV(csv) {
        $0.batchSize = size
        $0.types = types
        $0.header = .firstRecord
        $0.delimiter = ","
      }
      expectBalanced(report)
      #expect(report.rejected == 0, "seed \(seed)")
      let difference = firstDifference(try folder.export(), canonical(csv))
      #expect(difference == nil, "seed \(seed)")
      try folder.expectSound()
    }
  }

  /// Each spelling in columns of every other kind, and in a column by itself.
  @Test func everySpellingByItself() throws {
    let companions = ["", "1", "2.5", "2018-01-01", "2018-01-01T10:00:00", "true", "x"]
    let names = companions.indices.map { "c\($0)" }.joined(separator: ",")
    for spelling in OddCSV.numbers + OddCSV.dates + OddCSV.texts {
      let field = "\"" + spelling.replacingOccurrences(of: "\"", with: "\"\"") + "\""
      let others = companions.joined(separator: ",") + "\n"
      let own = companions.map { _ in field }.joined(separator: ",") + "\n"
      let csv = Array((names + "\n" + others + own + others).utf8)
      let folder = try ImportFolder()
      try folder.importCSV(csv) {
        $0.header = .firstRecord
        $0.delimiter = ","
      }
      let difference = firstDifference(try folder.export(), canonical(csv))
      #expect(difference == nil, "\(spelling.debugDescription)")
    }
  }

  /// An export can be imported again, with the same result, compacted or not.
  @Test func exportsImportAgain() throws {
    var generator = OddCSV(seed: 99)
    let csv = generator.make(rows: 900, isMixed: true)
    let first = try ImportFolder()
    try first.importCSV(csv) {
      $0.header = .firstRecord
      $0.delimiter = ","
    }
    let exported = try first.export()
    let second = try ImportFolder()
    let report = try second.importCSV(exported) {
      $0.header = .firstRecord
      $0.delimiter = ","
      $0.compaction.mode = .always
      $0.batchSize = .records(10)
    }
    #expect(report.compaction.decision == .compacted)
    #expect(try second.export() == exported)
    try second.expectSound()
  }
}
