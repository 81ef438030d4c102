/// A sequence of bytes read once, from the front.
///
/// Thread rule: used by one thread at a time; may be handed from the thread that opened it to the
/// one that reads it. Nothing is shared while it is read.
package protocol ByteSource: AnyObject, Sendable {
  /// How errors and reports name the input.
  var name: String { get }

  /// What tells this input from another or a changed one; nil for pipes.
  var identity: InputIdentity? { get }

  /// What has become of the file since it was opened, for a note; nil when it is the same, or no file.
  var change: String? { get }

  /// Asked while a pipe has nothing to read: true ends the wait with `ImportError.interrupted`. Set
  /// before the source is read.
  var isCancelled: @Sendable () -> Bool { get set }

  /// Reads up to `buffer.count` bytes into the front of `buffer` and returns how many; fewer than
  /// asked for is normal, 0 means the end.
  ///
  /// - Throws: `ImportError.readFailed`.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int

  /// The same bytes, for threads that read them ahead; nil where they can only be read one after the other.
  var positioned: (any PositionedSource)? { get }

  /// Makes the next read begin at `offset` bytes from the start.
  ///
  /// - Throws: `ImportError.notSeekable` for pipes.
  func seek(to offset: Int) throws(ImportError)
}

/// Bytes that can be read from any place.
///
/// Thread rule: any thread.
package protocol PositionedSource: Sendable {
  var name: String { get }

  /// Reads `buffer.count` bytes from `offset` on and returns how many; fewer at the end, and where
  /// they cannot be read: who reads on from there is told why.
  func readAhead(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int
}

extension ByteSource {
  package var positioned: (any PositionedSource)? { nil }
  package var change: String? { nil }

  /// Bytes in the whole input; nil when only its end will tell.
  package var size: Int? { identity?.size }
}

/// What a file system says of an input file.
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
