@testable import Engine

/// Passes everything on to another storage until an operation of a chosen number, which fails.
///
/// Thread rule: any thread.
final class FailingStorage: Storage, @unchecked Sendable {
  // @unchecked: what changes is guarded by `lock`.

  enum Kind: String, Sendable, CaseIterable { case write, resize, flush, read }

  let inner: any Storage
  private let lock = Lock()
  private var count = 0
  private var failAt = Int.max
  private var code: Int32 = 5
  private var failed: Kind?
  private var failsReads = false

  var path: String { inner.path }

  init(_ inner: any Storage) { self.inner = inner }

  /// Operations so far.
  var operations: Int { lock.withLock { count } }

  /// What failed, if anything has.
  var failure: Kind? { lock.withLock { failed } }

  /// Makes the `number`-th operation from now on (counted from 0) fail, once.
  ///
  /// - Parameter reads: reading counts, too; a view that fails is not there.
  func fail(after number: Int, code: Int32, reads: Bool = false) {
    lock.withLock {
      failAt = count + number
      failed = nil
      failsReads = reads
      self.code = code
    }
  }

  /// Nothing fails any more.
  func recover() { lock.withLock { failAt = .max } }

  private func step(_ kind: Kind) throws(SystemError) {
    let fails = lock.withLock {
      defer { count += 1 }
      if count == failAt { failed = kind }
      return count == failAt
    }
    if fails { throw SystemError(operation: kind.rawValue, path: path, code: code) }
  }

  func length() throws(SystemError) -> Int { try inner.length() }

  func resize(to length: Int) throws(SystemError) {
    try step(.resize)
    try inner.resize(to: length)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    do {
      try step(.write)
    } catch {
      // A write that fails may have written some of its bytes.
      try inner.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: offset)
      throw error
    }
    try inner.write(bytes, at: offset)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
    throws(SystemError) -> Int
  {
    if lock.withLock({ failsReads }) { try step(.read) }
    return try inner.read(into: buffer, at: offset)
  }

  func flush() throws(SystemError) {
    try step(.flush)
    try inner.flush()
  }

  func flushName() throws(SystemError) {
    try step(.flush)
    try inner.flushName()
  }

  func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    if lock.withLock({ failsReads }) {
      do { try step(.read) } catch { return nil }
    }
    return inner.view(at: offset, count: count)
  }
}
