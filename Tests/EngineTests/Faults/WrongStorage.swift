@testable import Engine

/// A disk that keeps one bit wrong of what is written.
///
/// Thread rule: one thread at a time.
final class WrongStorage: Storage, @unchecked Sendable {
  // @unchecked: see the thread rule.
  private let inner: RecordingStorage
  private let place: Int

  init(_ inner: RecordingStorage, wrongAt place: Int) {
    self.inner = inner
    self.place = place
  }

  var path: String { inner.path }
  func length() throws(SystemError) -> Int { inner.length() }
  func resize(to length: Int) throws(SystemError) { try inner.resize(to: length) }
  func flush() throws(SystemError) { inner.flush() }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    try inner.write(bytes, at: offset)
    guard place >= offset, place < offset + bytes.count else { return }
    var wrong = bytes[place - offset] ^ 4
    let failure = withUnsafeBytes(of: &wrong) { wrong -> SystemError? in
      do throws(SystemError) {
        try inner.write(wrong, at: place)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
    throws(SystemError) -> Int
  { inner.read(into: buffer, at: offset) }
  func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    inner.view(at: offset, count: count)
  }
}
