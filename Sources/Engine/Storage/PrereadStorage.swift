import Base

/// Makes the system read bytes before they are used in place. If the disk cannot read them, that is an error
/// here, while reading them through the mapping would end the process.
///
/// Each page is read once, into a buffer that is reused; afterwards it is in the system's cache.
///
/// Thread rule: any thread.
package final class PrereadStorage: Storage, @unchecked Sendable {
  // @unchecked: `lock` guards the mutable state.
  private let inner: any Storage
  private let lock = Lock()
  private var isRead: [UInt64] = []
  private var buffer: UnsafeMutableRawBufferPointer
  private var failure: SystemError?
  private var failures = 0

  private static let pageBytes = 4096
  private static let bufferBytes = 1 << 20

  package init(_ inner: any Storage) {
    self.inner = inner
    buffer = .allocate(byteCount: Self.bufferBytes, alignment: Self.pageBytes)
  }

  deinit { buffer.deallocate() }

  package var path: String { inner.path }

  /// The number of failed reads of bytes, of the length, and of the mapping.
  package var failureCount: Int { lock.withLock { failures } }

  package var viewFailure: SystemError { lock.withLock { failure } ?? inner.viewFailure }

  package func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    let (end, overflow) = offset.addingReportingOverflow(count)
    guard offset >= 0, count >= 0, !overflow else { return nil }
    let isThere = lock.withLock { count == 0 || preread(offset..<end) }
    guard isThere else { return nil }
    if let bytes = inner.view(at: offset, count: count) { return bytes }
    // The bytes exist, but the system has no space to map them.
    lock.withLock {
      failure = inner.viewFailure
      failures += 1
    }
    return nil
  }

  /// Returns whether the system could read all of the bytes. Requires the lock.
  private func preread(_ range: Range<Int>) -> Bool {
    var page = range.lowerBound / Self.pageBytes
    let last = (range.upperBound - 1) / Self.pageBytes
    while page <= last {
      if has(page) {
        page += 1
        continue
      }
      var next = page + 1
      while next <= last, next - page < Self.bufferBytes / Self.pageBytes, !has(next) { next += 1 }
      let bytes = UnsafeMutableRawBufferPointer(
        rebasing: buffer[..<((next - page) * Self.pageBytes)])
      do throws(SystemError) {
        let start = page * Self.pageBytes
        let count = try inner.read(into: bytes, at: start)
        guard start + count >= min(range.upperBound, start + bytes.count) else {
          // The file was truncated since it was opened.
          failure = nil
          return false
        }
      } catch {
        failure = error
        failures += 1
        return false
      }
      for read in page..<next { note(read) }
      page = next
    }
    return true
  }

  private func has(_ page: Int) -> Bool {
    page / 64 < isRead.count && isRead[page / 64] & 1 << UInt64(page % 64) != 0
  }

  private func note(_ page: Int) {
    if page / 64 >= isRead.count {
      isRead += [UInt64](repeating: 0, count: page / 64 + 1 - isRead.count)
    }
    isRead[page / 64] |= 1 << UInt64(page % 64)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
    throws(SystemError) -> Int
  {
    do throws(SystemError) {
      return try inner.read(into: buffer, at: offset)
    } catch {
      lock.withLock { failures += 1 }
      throw error
    }
  }

  package func length() throws(SystemError) -> Int {
    do throws(SystemError) {
      return try inner.length()
    } catch {
      lock.withLock { failures += 1 }
      throw error
    }
  }
  package func resize(to length: Int) throws(SystemError) { try inner.resize(to: length) }
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    try inner.write(bytes, at: offset)
  }
  package func flush() throws(SystemError) { try inner.flush() }
  package func forget(_ bytes: UnsafeRawBufferPointer) { inner.forget(bytes) }
  package func forget(_ range: Range<Int>) { inner.forget(range) }
}
