import Base
import Engine

/// Reads an open descriptor: a file opened by path, standard input, or any pipe.
///
/// Thread rule: see `ByteSource`.
package final class FileSource: ByteSource, PositionedSource, @unchecked Sendable {
  // @unchecked: only the reading thread uses `position`; see `ByteSource`.
  package let name: String
  package let identity: InputIdentity?
  let descriptor: Int32
  private let closesDescriptor: Bool
  private var position = 0
  package var isCancelled: @Sendable () -> Bool = { false }

  /// Opens the file at `path`. A named pipe or a device is allowed: its size is unknown.
  ///
  /// - Parameter awaitsWriter: true if a named pipe must have a writer when this returns, as for a program
  ///   that is going to read it.
  /// - Throws: `ImportError.unreadableInput` when it is missing, a directory or not readable for this user.
  package init(path: String, awaitsWriter: Bool = false) throws(ImportError) {
    do {
      let descriptor =
        try awaitsWriter ? System.open(path, .readOnly) : System.openInput(path)
      do {
        let status = try System.status(descriptor, path: path)
        if status.isDirectory {
          throw ImportError.isDirectory(path: path)
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

  /// Reads a descriptor that the caller opened and will close.
  ///
  /// - Throws: `ImportError.unreadableInput` when it is not open or a directory.
  package init(descriptor: Int32, name: String) throws(ImportError) {
    do {
      let status = try System.status(descriptor, path: name)
      if status.isDirectory {
        throw ImportError.isDirectory(path: name)
      }
      identity = Self.identity(status)
    } catch {
      throw Self.unreadable(error, path: name)
    }
    self.name = name
    self.descriptor = descriptor
    closesDescriptor = false
  }

  /// Opens the file at `path`; if it is compressed, reads it through the program that decompresses it. `-` is
  /// standard input.
  ///
  /// - Throws: `ImportError.unreadableInput`, `.missingProgram`.
  package static func open(_ path: String) throws(ImportError) -> any ByteSource {
    if path == "-" { return try standardInput() }
    let source = try FileSource(
      path: path, awaitsWriter: Compression.of(path: path, beginning: []) != nil)
    guard let compression = Compression.of(path: path, beginning: try source.beginning()) else {
      return source
    }
    return try DecompressedSource(source, compression)
  }

  /// The first bytes of a file; none of a pipe, which cannot be read again.
  private func beginning() throws(ImportError) -> [UInt8] {
    guard identity != nil else { return [] }
    do {
      return try System.beginning(descriptor, count: Compression.beginningBytes, path: name)
    } catch {
      throw ImportError.readFailed(path: name, byteOffset: 0, reason: error.reason)
    }
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
      // A pipe may pause for any time: the user must be able to end the wait.
      while !System.waitForInput(descriptor, milliseconds: 100) {
        if isCancelled() { throw .interrupted }
      }
    }
    let count: Int
    do {
      count = try System.read(descriptor, into: buffer, path: name)
    } catch {
      throw ImportError.readFailed(path: name, byteOffset: position, reason: error.reason)
    }
    position += count
    if count == 0, identity == nil, endWasInterrupted() { throw .interrupted }
    return count
  }

  /// True after an interruption. A terminal's interrupt key also ends the program that writes into a pipe;
  /// the end of the pipe is then not the end of the input.
  private func endWasInterrupted() -> Bool {
    // The signal is on its way to a thread of this process.
    System.sleep(milliseconds: 5)
    return isCancelled()
  }

  /// Nil for pipes, and for descriptors of the caller, such as standard input, which may begin in the middle
  /// of a file.
  package var positioned: (any PositionedSource)? {
    closesDescriptor && identity != nil ? self : nil
  }

  package func readAhead(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    // The next ordinary read from here fails again, and reports the failure.
    (try? System.read(descriptor, at: offset, into: buffer, path: name)) ?? 0
  }

  package func seek(to offset: Int) throws(ImportError) {
    do {
      try System.seek(descriptor, to: offset, path: name)
      position = offset
    } catch {
      throw ImportError.notSeekable(path: name)
    }
  }

  package var change: String? {
    guard let identity else { return nil }
    let now: InputIdentity?
    do {
      now = Self.identity(try System.status(descriptor, path: name))
    } catch {
      return "whether the file was written to while it was read cannot be told: \(error.reason)"
    }
    guard let now, now.size != identity.size || now.modified != identity.modified else {
      return nil
    }
    let sizes =
      now.size == identity.size ? "" : ": it had \(identity.size) bytes, and has \(now.size) now"
    return
      "the file was written to while it was read\(sizes); what was imported may be part of both, so "
      + "see that it is complete first, or move it into place"
  }

  private static func identity(_ status: FileStatus) -> InputIdentity? {
    guard status.isRegular else { return nil }
    return InputIdentity(
      size: status.size, device: status.device, inode: status.inode, modified: status.modified)
  }

  private static func unreadable(_ error: any Error, path: String) -> ImportError {
    switch error {
    case let error as ImportError: error
    case let error as SystemError:
      .unreadableInput(
        path: path, reason: error.reason + (error.filesAdvice.map { ": \($0)" } ?? ""))
    default: .unreadableInput(path: path, reason: "\(error)")
    }
  }
}
