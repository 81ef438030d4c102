import Base

/// Returns copies instead of the mapping, for bytes that others may overwrite or truncate meanwhile. In the
/// mapping these would change during use, or their loss would end the process.
///
/// A copy is made once, and kept until `forget` or the release of the storage.
///
/// Thread rule: any thread.
package final class CopyingStorage: Storage, @unchecked Sendable {
  // @unchecked: `lock` guards the mutable state.
  private let inner: any Storage
  private let lock = Lock()
  private var copies: [Int: UnsafeMutableRawBufferPointer] = [:]
  /// The offsets of the copies in the file, by address.
  private var offsets: [UnsafeRawPointer: Int] = [:]
  /// Copies that longer ones have replaced; readers may still use them.
  private var replaced: [UnsafeMutableRawBufferPointer] = []
  private var failure: SystemError?

  package init(_ inner: any Storage) { self.inner = inner }

  deinit {
    for copy in copies.values { copy.deallocate() }
    for copy in replaced { copy.deallocate() }
  }

  package var path: String { inner.path }
  package var viewFailure: SystemError { lock.withLock { failure } ?? inner.viewFailure }

  package func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    lock.withLock {
      if let copy = copies[offset], copy.count >= count {
        return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(copy)[..<count])
      }
      // The length comes from the file: nothing is allocated for bytes that do not exist.
      let length: Int
      do throws(SystemError) {
        length = try inner.length()
      } catch {
        failure = error
        return nil
      }
      guard offset >= 0, count >= 0, count <= length, offset <= length - count else { return nil }
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 1), alignment: 8)
      do throws(SystemError) {
        let target = UnsafeMutableRawBufferPointer(rebasing: copy[..<count])
        guard try inner.read(into: target, at: offset) == count else {
          copy.deallocate()
          return nil
        }
      } catch {
        failure = error
        copy.deallocate()
        return nil
      }
      if let old = copies.updateValue(copy, forKey: offset) {
        if let base = old.baseAddress { offsets[UnsafeRawPointer(base)] = nil }
        replaced.append(old)
      }
      if let base = copy.baseAddress { offsets[UnsafeRawPointer(base)] = offset }
      return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(copy)[..<count])
    }
  }

  /// Releases the copy, which no reader may use any longer.
  package func forget(_ bytes: UnsafeRawBufferPointer) {
    lock.withLock {
      guard let base = bytes.baseAddress, let offset = offsets.removeValue(forKey: base) else {
        return
      }
      copies.removeValue(forKey: offset)?.deallocate()
    }
  }

  package func length() throws(SystemError) -> Int { try inner.length() }
  package func resize(to length: Int) throws(SystemError) { try inner.resize(to: length) }
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
    throws(SystemError) -> Int
  { try inner.read(into: buffer, at: offset) }
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    try inner.write(bytes, at: offset)
  }
  package func flush() throws(SystemError) { try inner.flush() }
}
