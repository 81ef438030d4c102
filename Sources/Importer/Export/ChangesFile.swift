import Base
import Engine

/// A file of changes in JSON Lines, which gets its name when it is complete.
///
/// Thread rule: one thread at a time.
final class ChangesFile {
  let path: String
  private let file: ReplacementFile
  private var buffer: [UInt8] = []
  private var length = 0

  private static let bufferBytes = 1 << 18

  /// Creates the temporary file at once, so that a folder without write permission is an error before the
  /// work.
  ///
  /// - Parameter database: the file whose permissions the new file gets.
  /// - Throws: `ImportError.cannotCreate`; `SystemError`.
  init(_ path: String, like database: String) throws {
    self.path = path
    try Self.check(path)
    // A dry run may have no database yet.
    let isThere = try System.statusIfPresent(path: database) != nil
    let model = isThere ? try System.open(database, .readOnly) : nil
    defer { model.map { System.close($0) } }
    file = try ReplacementFile(for: path, like: model)
  }

  /// - Throws: `ImportError.cannotCreate` when something exists that must not be replaced; `SystemError`.
  static func check(_ path: String) throws {
    try System.checkPath(path)
    if let reason = try Database.refusal(ofOutput: path) {
      throw ImportError.cannotCreate(path: path, reason: reason)
    }
    let folder = System.directory(of: path)
    guard try System.statusIfPresent(path: folder)?.isDirectory == true else {
      throw ImportError.cannotCreate(path: path, reason: "there is no folder '\(folder)'")
    }
    guard let status = try System.linkStatus(path: path) else { return }
    let reason =
      !status.isRegular
      ? "it is no regular file"
      : try Database.isDatabase(at: path)
        ? "it is a Sheaf database"
        : try hasOthers(path) ? "it is there already, and holds something else than changes" : nil
    if let reason { throw ImportError.cannotCreate(path: path, reason: reason) }
    // A file that the user may not write is not replaced either.
    System.close(try System.openRegular(path, writable: true))
  }

  /// Returns whether a file has content that this type does not write.
  private static func hasOthers(_ path: String) throws -> Bool {
    let descriptor = try System.openRegular(path, writable: false)
    defer { System.close(descriptor) }
    let beginning = Array("{\"table\":".utf8)
    var bytes = [UInt8](repeating: 0, count: beginning.count)
    let count = try bytes.withUnsafeMutableBytes {
      try System.read(descriptor, at: 0, into: $0, path: path)
    }
    return count > 0 && bytes != beginning
  }

  func append(_ bytes: [UInt8]) throws {
    buffer += bytes
    if buffer.count >= Self.bufferBytes { try writeOut() }
  }

  private func writeOut() throws {
    try buffer.withUnsafeBytes {
      try System.write(file.descriptor, at: length, $0, path: path)
    }
    length += buffer.count
    buffer.removeAll(keepingCapacity: true)
  }

  /// Makes the file durable and gives it its name.
  func putInPlace() throws {
    try writeOut()
    try file.putInPlace(replacing: true)
  }
}
