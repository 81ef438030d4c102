import Foundation

/// A test's own folder, removed at the test's end.
package final class TemporaryFolder: Sendable {
  package let url: URL

  package init() {
    url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "sheaf-tests-\(UUID().uuidString)")
    try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// True when another user may enter such folders, once their own permissions let them: those above do.
  package static let canBeEnteredByOthers: Bool = {
    var folder = FileManager.default.temporaryDirectory.standardizedFileURL
    while true {
      let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path)
      guard let permissions = (attributes?[.posixPermissions] as? NSNumber)?.intValue,
        permissions & 0o001 != 0
      else { return false }
      if folder.path == "/" { return true }
      folder.deleteLastPathComponent()
    }
  }()

  package func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  package func names() -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
  }

  package func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: url.appendingPathComponent(name)))
  }

  package func write(_ name: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: url.appendingPathComponent(name))
  }
}
