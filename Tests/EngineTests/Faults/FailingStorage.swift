import Base
import Foundation

@testable import Engine

/// Passes operations on to another storage, until one with a chosen number fails or the process dies
/// with it.
///
/// Thread rule: any thread.
final class FailingStorage: Storage, @unchecked Sendable {
  // @unchecked: what changes is guarded by `lock`.

  enum Kind: String, Sendable, CaseIterable {
    case write, resize, flush, read, view, length

    /// The kinds that change the file or make changes durable.
    static let changes: Set<Kind> = [.write, .resize, .flush]
    static let all = Set(allCases)
  }

  let inner: any Storage
  private let lock = Lock()
  private var count = 0
  private var failAt = Int.max
  private var code: Int32 = 5
  private var failed: Kind?
  private var kinds = Kind.changes
  private var isMortal = false
  private var isDead = false
  /// Whether an operation came after the process's death.
  private var hasDied = false

  var path: String { inner.path }

  init(_ inner: any Storage) { self.inner = inner }

  /// The number of operations so far.
  var operations: Int { lock.withLock { count } }

  /// The kind of the operation that failed, if any has.
  var failure: Kind? { lock.withLock { failed } }

  /// Makes the `number`-th operation from now on (counted from 0) fail, once.
  ///
  /// - Parameter kinds: the operations that count and may fail. A view that fails is nil.
  func fail(after number: Int, code: Int32, kinds: Set<Kind> = Kind.changes) {
    lock.withLock {
      failAt = count + number
      failed = nil
      self.kinds = kinds
      self.code = code
    }
  }

  /// Makes the process of this storage's user die at the `number`-th operation from now on: no later
  /// one has an effect.
  func die(after number: Int) {
    fail(after: number, code: 5)
    lock.withLock { isMortal = true }
  }

  /// Nothing fails any more.
  func recover() { lock.withLock { failAt = .max } }

  private func step(_ kind: Kind) throws(SystemError) {
    let fails = lock.withLock {
      if isDead {
        hasDied = true
        return true
      }
      if !kinds.contains(kind) { return false }
      if count == failAt {
        failed = kind
        isDead = isMortal
      }
      count += 1
      return count - 1 == failAt
    }
    if fails { throw SystemError(operation: kind.rawValue, path: path, code: code) }
  }

  func length() throws(SystemError) -> Int {
    try step(.length)
    return try inner.length()
  }

  func resize(to length: Int) throws(SystemError) {
    try step(.resize)
    try inner.resize(to: length)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    do {
      try step(.write)
    } catch {
      // A failed write may have written a part. A write after death has written nothing.
      if lock.withLock({ hasDied }) { throw error }
      try inner.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: offset)
      throw error
    }
    try inner.write(bytes, at: offset)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
    throws(SystemError) -> Int
  {
    try step(.read)
    return try inner.read(into: buffer, at: offset)
  }

  func flush() throws(SystemError) {
    try step(.flush)
    try inner.flush()
  }

  func flushName() throws(SystemError) {
    do {
      try step(.flush)
    } catch {
      // Without a descriptor the folder is not opened, and nothing is flushed.
      let isOpened = error.code != EMFILE
      throw isOpened ? error : SystemError(operation: "open", path: path, code: error.code)
    }
    try inner.flushName()
  }

  func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    do { try step(.view) } catch { return nil }
    return inner.view(at: offset, count: count)
  }
}
