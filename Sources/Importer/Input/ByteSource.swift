/// A sequence of bytes that is read once, from the front.
///
/// Thread rule: one thread at a time; the thread that opened it may pass it to the one that reads it. Nothing
/// is shared during reading.
package protocol ByteSource: AnyObject, Sendable {
  /// The name of the input in errors and reports.
  var name: String { get }

  /// Distinguishes this input from another or a changed one; nil for pipes.
  var identity: InputIdentity? { get }

  /// A description of changes of the file since it was opened, for a note; nil when there are none, or it is
  /// not a file.
  var change: String? { get }

  /// Called while a pipe has nothing to read; true ends the wait with `ImportError.interrupted`. Set it
  /// before reading.
  var isCancelled: @Sendable () -> Bool { get set }

  /// Reads up to `buffer.count` bytes into the front of `buffer` and returns their number. Fewer bytes than
  /// requested are normal; 0 is the end.
  ///
  /// - Throws: `ImportError.readFailed`.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int

  /// The same bytes, for threads that read ahead; nil when they can only be read in order.
  var positioned: (any PositionedSource)? { get }

  /// Makes the next read begin at `offset` bytes from the start.
  ///
  /// - Throws: `ImportError.notSeekable` for pipes.
  func seek(to offset: Int) throws(ImportError)
}

/// Bytes that can be read at any offset.
///
/// Thread rule: any thread.
package protocol PositionedSource: Sendable {
  var name: String { get }

  /// Reads `buffer.count` bytes from `offset` and returns the number read: fewer at the end, and where they
  /// cannot be read. A later ordinary read there reports the error.
  func readAhead(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int
}

extension ByteSource {
  package var positioned: (any PositionedSource)? { nil }
  package var change: String? { nil }

  /// The size of the whole input in bytes; nil when it is unknown before the end.
  package var size: Int? { identity?.size }
}

/// What a file system reports about an input file.
package struct InputIdentity: Sendable, Equatable {
  package let size: Int
  package let device: UInt64
  package let inode: UInt64
  /// Last modification, in nanoseconds since 1970.
  package let modified: Int64

  package init(size: Int, device: UInt64, inode: UInt64, modified: Int64) {
    self.size = size
    self.device = device
    self.inode = inode
    self.modified = modified
  }
}
