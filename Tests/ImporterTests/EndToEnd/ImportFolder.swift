import Engine
import Foundation
import Synchronization
import Testing

@testable import Importer

/// A test's own folder with a database, removed at the test's end.
final class ImportFolder: Sendable {
  private let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("sheaf-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  var database: String { path("t.sheaf") }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  func names() -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
  }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: url.appendingPathComponent(name))
  }

  func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: url.appendingPathComponent(name)))
  }

  func text(_ name: String) throws -> String { String(decoding: try read(name), as: UTF8.self) }

  /// Writes `csv` to a file and imports it into the folder's database.
  @discardableResult
  func importCSV(
    _ csv: [UInt8], as name: String = "t.csv",
    _ change: (inout ImportOptions) throws -> Void = { _ in }
  ) throws -> ImportReport {
    try write(name, csv)
    var options = ImportOptions(inputs: [path(name)], database: database)
    options.durability = .none
    options.table = "t"
    try change(&options)
    return try Importer.run(options)
  }

  @discardableResult
  func importCSV(
    _ csv: String, as name: String = "t.csv",
    _ change: (inout ImportOptions) throws -> Void = { _ in }
  ) throws -> ImportReport {
    try importCSV(Array(csv.utf8), as: name, change)
  }

  /// The table as CSV or JSON Lines.
  func export(_ format: TableExporter.Format = .csv, table: String = "t") throws -> [UInt8] {
    let database = try Database.open(database, options: .init(access: .readOnly))
    var exporter = TableExporter()
    exporter.format = format
    var bytes: [UInt8] = []
    try exporter.run(database.snapshot().table(table)) { bytes.append(contentsOf: $0) }
    try database.close()
    return bytes
  }

  func exportText(_ format: TableExporter.Format = .csv, table: String = "t") throws -> String {
    String(decoding: try export(format, table: table), as: UTF8.self)
  }

  /// The types of the table's columns, such as `a int, b text`.
  func types(table: String = "t") throws -> String {
    let database = try Database.open(database, options: .init(access: .readOnly))
    defer { try? database.close() }
    return try database.snapshot().table(table).columns.map { "\($0.name) \($0.type.name)" }
      .joined(separator: ", ")
  }

  /// Records an issue if the database is unsound, or a lock or temporary file is left.
  func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let database = try Database.open(database, options: .init(access: .readOnly))
    let report = try database.check(deep: true)
    let notes = ImportNotes.problems(try database.snapshot(), deep: true)
    try database.close()
    #expect(report.problems + notes == [], sourceLocation: sourceLocation)
    let left = names().filter { $0.contains("-lock") || $0.contains("-temporary") }
    #expect(left == [], sourceLocation: sourceLocation)
  }
}

/// Counts calls from any thread.
final class CallCounter: Sendable {
  private let count = Atomic<Int>(0)
  func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

/// Expects a report to add up: `read = imported + updated + skipped + unchanged + rejected`.
func expectBalanced(
  _ report: ImportReport, sourceLocation: SourceLocation = #_sourceLocation
) {
  let parts =
    report.imported + report.updated + report.skipped + report.unchanged + report.rejected
  #expect(report.read == parts, sourceLocation: sourceLocation)
}

/// The input as an export would write it, by the slow parser.
func canonical(_ csv: [UInt8]) -> [UInt8] {
  var parser = ReferenceParser(csv)
  if parser.records.first?.fields.count == 1 {
    parser = ReferenceParser(csv, blankLinesAreRecords: true)
  }
  var output: [UInt8] = []
  for record in parser.records {
    for (index, field) in record.fields.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      if let field { output += quoted(field) }
    }
    output.append(UInt8(ascii: "\n"))
  }
  return output
}

private func quoted(_ field: [UInt8]) -> [UInt8] {
  let quote = UInt8(ascii: "\"")
  let special: [UInt8] = [quote, UInt8(ascii: ","), UInt8(ascii: "\n"), UInt8(ascii: "\r")]
  guard field.isEmpty || field.contains(where: special.contains) else { return field }
  return [quote] + field.flatMap { $0 == quote ? [quote, quote] : [$0] } + [quote]
}

/// Where two byte strings first differ, with the bytes around; nil if they are equal.
func firstDifference(_ a: [UInt8], _ b: [UInt8]) -> String? {
  if a == b { return nil }
  let at = zip(a, b).enumerated().first { $1.0 != $1.1 }?.offset ?? min(a.count, b.count)
  func around(_ bytes: [UInt8]) -> String {
    String(decoding: bytes[max(0, at - 40)..<min(bytes.count, at + 40)], as: UTF8.self)
      .debugDescription
  }
  return "at byte \(at) of \(a.count) and \(b.count): \(around(a)) and \(around(b))"
}
