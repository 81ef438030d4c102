import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Command

/// A test's own folder with the built program, and checks of what is left in it.
final class Workbench {
  let folder: TemporaryFolder
  private let root: String?

  /// - Parameter root: an existing folder; nil: a new one.
  init(root: String? = nil) throws {
    folder = TemporaryFolder()
    self.root = root
  }

  var database: String { path("t.sheaf") }

  func path(_ name: String) -> String { root.map { $0 + "/" + name } ?? folder.path(name) }

  func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
  }

  func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  func text(_ name: String) throws -> String { String(decoding: try read(name), as: UTF8.self) }

  func names() -> [String] {
    let folder = System.directory(of: path("x"))
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }

  /// Runs a command and expects its status. A failure must print one line on standard error.
  @discardableResult
  func run(
    _ arguments: [String], input: String = "", status: Command.ExitStatus = .done,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> SheafProcess.Result {
    let result = try SheafProcess.run(arguments, input: Array(input.utf8))
    #expect(
      result.status == status.rawValue, "\(arguments): \(result.errorText)",
      sourceLocation: sourceLocation)
    let lines = result.errorText.split(separator: "\n")
    if status == .done {
      #expect(lines.isEmpty, "\(result.errorText)", sourceLocation: sourceLocation)
    } else {
      #expect(lines.count == 1, "\(result.errorText)", sourceLocation: sourceLocation)
      #expect(
        result.errorText.hasPrefix("sheaf \(arguments[0]): "), "\(result.errorText)",
        sourceLocation: sourceLocation)
    }
    expectNothingLeft(sourceLocation: sourceLocation)
    return result
  }

  /// The rejects file with the highest number: an import that is killed before its first commit leaves
  /// one.
  func lastRejects(_ stem: String) -> String {
    let names = self.names()
    var last = "\(stem).csv"
    for number in 2..<100 where names.contains("\(stem).\(number).csv") {
      last = "\(stem).\(number).csv"
    }
    return last
  }

  /// Records an issue when a lock or temporary file is there.
  func expectNothingLeft(sourceLocation: SourceLocation = #_sourceLocation) {
    let left = names().filter { $0.contains("-lock") || $0.contains("-temporary") }
    #expect(left == [], sourceLocation: sourceLocation)
  }

  func export(_ more: String...) throws -> String {
    try run(["export", database] + more).outputText
  }

  /// Runs a command with a JSON report.
  func report(
    _ arguments: [String], input: String = "", status: Command.ExitStatus = .done,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Report {
    let result = try run(
      arguments + ["--report", "json"], input: input, status: status,
      sourceLocation: sourceLocation)
    return try Report(result.output)
  }
}

/// A JSON report, read by Foundation's own reader.
struct Report {
  let value: Any

  init(_ bytes: [UInt8]) throws {
    #expect(bytes.filter { $0 == 0x0A }.count == 1, "a report is one line")
    value = try JSONSerialization.jsonObject(with: Data(bytes))
  }

  private init(value: Any) { self.value = value }

  subscript(_ key: String) -> Report {
    Report(value: (value as? [String: Any])?[key] ?? NSError(domain: "no key \(key)", code: 0))
  }
  subscript(_ index: Int) -> Report {
    let array = value as? [Any] ?? []
    return Report(
      value: index < array.count ? array[index] : NSError(domain: "no \(index)", code: 0))
  }

  var int: Int? { value as? Int }
  var double: Double? { value as? Double }
  var text: String? { value as? String }
  var bool: Bool? { value as? Bool }
  var isNull: Bool { value is NSNull }
  var keys: Set<String> { Set((value as? [String: Any] ?? [:]).keys) }
  var count: Int { (value as? [Any])?.count ?? -1 }
}
