import Foundation

@testable import Engine

/// A folder for the files of one run, in memory if the machine has such a place.
final class ScheduledFolder: Sendable {
  private let url: URL

  init() throws {
    let memory = "/dev/shm"
    let parent =
      FileManager.default.isWritableFile(atPath: memory)
      ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
    url = parent.appendingPathComponent("sheaf-schedules-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// Gives a file another name. Returns its path.
  func link(_ name: String, as other: String) throws -> String {
    try FileManager.default.linkItem(atPath: path(name), toPath: path(other))
    return path(other)
  }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
