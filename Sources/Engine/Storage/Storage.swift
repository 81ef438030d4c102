import Base

/// The bytes of a database. All access to the disk goes through this protocol, so that tests can replace the
/// disk.
///
/// A storage makes one promise: when `flush` has returned, all earlier writes and resizes survive a power
/// cut. Between flushes any subset of the writes may survive, torn at 512 bytes.
///
/// Thread rule: `view` from any thread; the other methods from the thread that has the writers' turn, except
/// `flush` and the commit slots' `write`, which the flusher thread may call at the same time.
package protocol Storage: AnyObject, Sendable {
  /// The file's path, for messages.
  var path: String { get }

  /// The current length in bytes.
  func length() throws(SystemError) -> Int

  /// Extends the file with zeros, or truncates it.
  func resize(to length: Int) throws(SystemError)

  /// Writes all bytes at an offset within the file's length.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError)

  /// Reads up to `buffer.count` bytes at an offset; fewer at the end of the file.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int

  /// Makes all earlier writes and resizes durable.
  func flush() throws(SystemError)

  /// The bytes in place, valid until the storage is released; nil when they cannot be mapped.
  ///
  /// The caller ensures that the range is inside the file: accessing bytes beyond its end would end the
  /// process.
  func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer?

  /// Why `view` returned nil: no space for a mapping, or the system's error.
  var viewFailure: SystemError { get }

  /// A hint that bytes of a view will not be read again soon and need not count as this process's memory.
  func forget(_ bytes: UnsafeRawBufferPointer)

  /// Like `forget`, for all mapped pages of a part of the file, whether they were read or not. Views of them
  /// stay valid.
  func forget(_ range: Range<Int>)

  /// Makes the file's name in its folder durable, in case the process that created or renamed the file was
  /// killed before that.
  func flushName() throws(SystemError)

  /// Throws `EngineError.displaced` when the path no longer names this file.
  func checkName() throws
}

/// Defaults for a storage in memory, which has no name.
extension Storage {
  package var viewFailure: SystemError { .noMemory("map", path) }
  package func forget(_ bytes: UnsafeRawBufferPointer) {}
  package func forget(_ range: Range<Int>) {}
  package func flushName() throws(SystemError) {}
  package func checkName() throws {}
}

extension Storage {
  /// Throws `EngineError.displaced` when the file is shorter than this process left it: the next write would
  /// add the part that was truncated from outside as zeros.
  package func checkLength(_ least: Int) throws {
    let present = try length()
    guard present < least else { return }
    throw EngineError.displaced(
      path: path,
      reason:
        "the database file was cut short from outside while it was open, from \(least) bytes to \(present): "
        + "run 'sheaf check', and restore a copy")
  }
}
