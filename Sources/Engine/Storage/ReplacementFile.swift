import Base

/// A file that is written beside its destination, under a temporary name, and renamed when it is complete.
/// Until then the old file stays whole, whatever happens to the process, the disk or the machine.
///
/// Killed processes leave such files. The next process that writes into the folder removes them; it
/// recognizes them by their names and by the missing lock.
///
/// Thread rule: one thread at a time.
package final class ReplacementFile {
  /// The destination.
  package let path: String
  /// The path until the file is complete.
  package let temporary: String
  /// The descriptor, open for reading and writing.
  package let descriptor: Int32
  private var isDone = false
  /// The numbers of bytes that were added, and of those that are on their way to the disk.
  private var added = 0
  private var flushing = 0

  private static let prefix = ".sheaf-output-"
  private static let nameDigits = 16
  private static let lockByte = 1 << 60
  /// So many bytes go to the disk at a time.
  private static let flushBytes = 8 << 20

  /// Creates the temporary file, empty.
  ///
  /// - Parameters:
  ///   - path: must not be a symbolic link.
  ///   - model: the file whose owner and permissions it gets, as far as the user may set them; nil: those of
  ///     a new file.
  ///   - announcing: receives the temporary file's path before the file exists, for a signal handler.
  /// - Throws: `SystemError`.
  package init(
    for path: String, like model: Int32?, announcing: (String) -> Void = { _ in }
  ) throws(SystemError) {
    self.path = path
    let folder = System.directory(of: path)
    Self.removeLeftovers(folder)
    while true {
      let number = String(UInt64.random(in: .min ... .max), radix: 16)
      let digits = String(repeating: "0", count: Self.nameDigits - number.utf8.count) + number
      let temporary =
        folder == "/" ? "/\(Self.prefix)\(digits)" : "\(folder)/\(Self.prefix)\(digits)"
      announcing(temporary)
      let descriptor: Int32
      do throws(SystemError) {
        descriptor = try System.open(
          temporary, .createNew, permissions: model == nil ? 0o644 : 0o600)
      } catch {
        // The error names the path that the user knows.
        throw SystemError(operation: error.operation, path: path, code: error.code)
      }
      do throws(SystemError) {
        _ = try System.lock(
          descriptor, .exclusive, at: Self.lockByte, length: 1, wait: true, path: temporary)
        // Another process may have removed it as a leftover meanwhile.
        guard let named = try System.linkStatus(path: temporary),
          try named.inode == System.status(descriptor, path: temporary).inode
        else {
          System.close(descriptor)
          continue
        }
        if let model {
          try System.copyAccessAsAllowed(from: model, to: descriptor, path: temporary)
        }
      } catch {
        System.close(descriptor)
        try? System.remove(temporary)
        throw SystemError(operation: error.operation, path: path, code: error.code)
      }
      self.temporary = temporary
      self.descriptor = descriptor
      return
    }
  }

  deinit {
    if !isDone { try? System.remove(temporary) }
    System.close(descriptor)
  }

  /// Adds bytes at the end of a file to which nothing else is written. They are on their way to the disk
  /// while more are added, so that `putInPlace` waits for less.
  ///
  /// - Throws: `SystemError`.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try System.write(descriptor, bytes, path: path)
    added += bytes.count
    guard added - flushing >= Self.flushBytes else { return }
    System.beginFlush(descriptor, flushing..<added)
    flushing = added
  }

  /// Flushes the file, gives it its name, and flushes the folder.
  ///
  /// - Parameter replacing: whether an existing file may be replaced.
  /// - Throws: `SystemError`, whose `isExisting` is true when a file exists that must not be replaced. The
  ///   existing file is then unchanged.
  package func putInPlace(replacing: Bool) throws(SystemError) {
    try System.flush(descriptor, path: path)
    if replacing {
      try System.rename(temporary, to: path)
    } else {
      try System.renameToNew(temporary, to: path)
    }
    isDone = true
    try System.flushDirectory(of: path)
  }

  private static func removeLeftovers(_ folder: String) {
    for name in (try? System.names(in: folder)) ?? [] where name.hasPrefix(prefix) {
      guard name.utf8.count == prefix.utf8.count + nameDigits else { continue }
      let path = "\(folder)/\(name)"
      guard let descriptor = try? System.openRegular(path, writable: true) else { continue }
      defer { System.close(descriptor) }
      let isLeft = try? System.lock(
        descriptor, .exclusive, at: lockByte, length: 1, wait: false, path: path)
      if isLeft == true { try? System.remove(path) }
    }
  }
}
