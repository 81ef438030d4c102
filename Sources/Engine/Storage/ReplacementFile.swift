import Base

/// A file that is written beside its place, under a name of its own, and put there when it is
/// complete: what was there stays whole until then, whatever becomes of the process, the disk or
/// the machine.
///
/// What killed processes have left of such files is removed by the next one that writes into the
/// folder: it knows them by their names, and that nobody holds their locks any more.
///
/// Thread rule: one thread at a time.
package final class ReplacementFile {
  /// Its place.
  package let path: String
  /// Where it is until it is complete.
  package let temporary: String
  /// Open for reading and writing.
  package let descriptor: Int32
  private var isDone = false

  private static let prefix = ".sheaf-output-"
  private static let nameDigits = 16
  private static let lockByte = 1 << 60

  /// Creates the temporary file, empty.
  ///
  /// - Parameters:
  ///   - path: must not be a symbolic link.
  ///   - model: whose owner and permissions it gets, as far as the user may give them; nil: those of a new
  ///     file.
  ///   - announcing: told the temporary file's path before it is there, so that a signal's handler
  ///     can know it.
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
        // A person knows the file by its own name.
        throw SystemError(operation: error.operation, path: path, code: error.code)
      }
      do throws(SystemError) {
        _ = try System.lock(
          descriptor, .exclusive, at: Self.lockByte, length: 1, wait: true, path: temporary)
        // Whoever removes leftovers may have come between.
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

  /// Flushes the file, gives it its name, and flushes the folder.
  ///
  /// - Parameter replacing: whether it takes the place of a file that is there.
  /// - Throws: `SystemError`, whose `isExisting` says that something is there that is not to be
  ///   replaced. What is there is then as it was.
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
