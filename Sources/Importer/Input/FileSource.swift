import Engine

/// Reads an open descriptor: a file by path, standard input, or any pipe.
///
/// Thread rule: see `ByteSource`.
package final class FileSource: ByteSource, @unchecked Sendable {
  // @unchecked: `position` is touched by the one thread that reads; see `ByteSource`.
  package let name: String
  package let identity: InputIdentity?
  private let descriptor: Int32
  private let closesDescriptor: Bool
  private var position = 0
  /// Asked while a pipe has nothing to read: true ends the wait with `ImportError.interrupted`. Set
  /// before the source is read.
  package var isCancelled: @Sendable () -> Bool = { false }

  /// Opens the file at `path`. A named pipe or a device is fine: its size is unknown.
  ///
  /// - Throws: `ImportError.unreadableInput` when it is missing, a directory or not permitted.
  package init(path: String) throws(ImportError) {
    do {
      let descriptor = try System.open(path, .readOnly)
      do {
        let status = try System.status(descriptor, path: path)
        if status.isDirectory {
          throw ImportError.unreadableInput(path: path, reason: "it is a directory")
        }
        identity = Self.identity(status)
      } catch {
        System.close(descriptor)
        throw error
      }
      self.descriptor = descriptor
    } catch {
      throw Self.unreadable(error, path: path)
    }
    name = path
    closesDescriptor = true
    System.adviseSequential(descriptor)
  }

  /// Reads a descriptor that somebody else opened and will close.
  ///
  /// - Throws: `ImportError.unreadableInput` when it is not open or a directory.
  package init(descriptor: Int32, name: String) throws(ImportError) {
    do {
      let status = try System.status(descriptor, path: name)
      if status.isDirectory {
        throw ImportError.unreadableInput(path: name, reason: "it is a directory")
      }
      identity = Self.identity(status)
    } catch {
      throw Self.unreadable(error, path: name)
    }
    self.name = name
    self.descriptor = descriptor
    closesDescriptor = false
  }

  /// Standard input, whatever it is connected to.
  package static func standardInput() throws(ImportError) -> FileSource {
    try FileSource(descriptor: 0, name: "standard input")
  }

  deinit {
    if closesDescriptor { System.close(descriptor) }
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int {
    if identity == nil {
      // Nobody knows when a pipe goes on: a person must be able to end the wait.
      while !System.waitForInput(descriptor, milliseconds: 100) {
        if isCancelled() { throw .interrupted }
      }
    }
    do {
      let count = try System.read(descriptor, into: buffer, path: name)
      position += count
      return count
    } catch {
      throw ImportError.readFailed(path: name, byteOffset: position, reason: error.reason)
    }
  }

  package func seek(to offset: Int) throws(ImportError) {
    do {
      try System.seek(descriptor, to: offset, path: name)
      position = offset
    } catch {
      throw ImportError.notSeekable(path: name)
    }
  }

  private static func identity(_ status: FileStatus) -> InputIdentity? {
    guard status.isRegular else { return nil }
    return InputIdentity(
      size: status.size, device: status.device, inode: status.inode, modified: status.modified)
  }

  private static func unreadable(_ error: any Error, path: String) -> ImportError {
    switch error {
    case let error as ImportError: error
    case let error as SystemError: .unreadableInput(path: path, reason: error.reason)
    default: .unreadableInput(path: path, reason: "\(error)")
    }
  }
}
